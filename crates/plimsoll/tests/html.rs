//! The page with charts: where it is written, and where it is not. What is in
//! it the tests of `report` see, and a browser in the end-to-end tests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

mod common;

use common::Folder;
use std::fs;

const TABLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/data/graviton3-netty.csv"
);

/// A folder with a record in it and no page.
fn with_record() -> Folder {
    let folder = Folder::new();
    let args = ["import", TABLE, "-o", "run.plimsoll", "--no-html"];
    folder.run(&args).says(0, &[]);
    assert!(!folder.path("run.html").exists(), "--no-html");
    folder
}

#[test]
fn a_report_is_written_as_its_file_is_named() {
    let folder = with_record();
    for (file, begins) in [
        ("a.html", "<!doctype html>"),
        ("a.json", "{"),
        ("a.csv", "load_pct,"),
        ("a.txt", "graviton3-netty (imported table)\n"),
    ] {
        let ended = folder.run(&["report", "run.plimsoll", "-o", file]);
        ended.says(0, &[]);
        assert_eq!(ended.stdout, "", "{file}");
        let text = fs::read_to_string(folder.path(file)).unwrap();
        assert!(text.starts_with(begins), "{file}: {}", &text[..60]);
    }
    let page = folder.run(&["report", "run.plimsoll", "--format", "html"]);
    assert!(page.says(0, &[]).stdout.ends_with("</html>\n"));
}

#[test]
fn a_mistake_about_the_file_is_told_before_anything_is_written() {
    let folder = with_record();
    let before = fs::read(folder.path("run.plimsoll")).unwrap();
    for (file, words) in [
        (
            "report.pdf",
            &["report.pdf", ".html, .json, .csv, .txt"][..],
        ),
        ("run.plimsoll", &["does not end in .html"]),
        (
            "no/where.html",
            &["no/where.html cannot be written: No such file or directory (os error 2);"],
        ),
    ] {
        folder
            .run(&["report", "run.plimsoll", "-o", file])
            .says(2, words);
        assert!(!folder.path("report.pdf").exists());
    }
    let over = [
        "report",
        "run.plimsoll",
        "--format",
        "html",
        "-o",
        "./run.plimsoll",
    ];
    folder
        .run(&over)
        .says(2, &["is what is read here", "overwrite"]);
    let over = [
        "compare",
        "run.plimsoll",
        "run.plimsoll",
        "--format",
        "html",
        "-o",
        "run.plimsoll",
    ];
    folder.run(&over).says(2, &["is what is read here"]);
    assert!(fs::read(folder.path("run.plimsoll")).unwrap() == before);
}

#[test]
fn a_run_leaves_its_page_beside_its_record_and_never_fails_over_it() {
    let folder = Folder::new();
    let import = |name: &str| folder.run(&["import", TABLE, "-o", name]);
    import("a.plimsoll").says(0, &["Charts: a.html"]);
    assert!(folder.path("a.html").exists());
    // Somebody else's file of that name is left alone.
    fs::write(folder.path("b.html"), "<p>mine</p>").unwrap();
    import("b.plimsoll").says(0, &["no charts at b.html", "another file"]);
    assert_eq!(
        fs::read_to_string(folder.path("b.html")).unwrap(),
        "<p>mine</p>"
    );
    fs::create_dir(folder.path("c.html")).unwrap();
    import("c.plimsoll").says(0, &["no charts at c.html"]);
    import("d.html").says(0, &["the record has that name"]);
}

#[test]
fn secrets_of_the_command_line_are_not_in_the_page() {
    let folder = with_record();
    let args = [
        "import",
        TABLE,
        "-o",
        "named.plimsoll",
        "--note",
        "http://user:hunter2@host/",
    ];
    folder.run(&args).says(0, &["Charts: named.html"]);
    let page = fs::read_to_string(folder.path("named.html")).unwrap();
    let command = page.split("<pre>").nth(1).unwrap();
    let command = command.split("</pre>").next().unwrap();
    assert!(command.contains("user:(hidden)@host"), "{command}");
    assert!(!command.contains("hunter2"), "{command}");
}
