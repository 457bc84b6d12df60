//! The page with charts: where it is written, and where it is not. What is in
//! it the tests of `report` see, and a browser in the end-to-end tests.

use crate::common::{Ended, Folder, has, table};
use std::fs;

fn import(folder: &Folder, flags: &str) -> Ended {
    folder.run(format!("import '{}' {flags}", table("graviton3-netty")))
}

#[test]
fn a_report_is_written_as_its_file_is_named() {
    let folder = Folder::new();
    import(&folder, "-o run.plimsoll --no-html").says(0, &[]);
    assert!(!folder.path("run.html").exists(), "--no-html");
    for (file, begins) in [
        ("a.html", "<!doctype html>"),
        ("a.json", "{"),
        ("a.csv", "load_pct,"),
        ("a.txt", "graviton3-netty (imported table)\n"),
    ] {
        let ended = folder.run(["report", "run.plimsoll", "-o", file]);
        assert_eq!(ended.says(0, &[]).stdout, "", "{file}");
        let text = folder.read(file);
        assert!(text.starts_with(begins), "{file}: {}", &text[..60]);
    }
    let page = folder.run("report run.plimsoll --format html");
    assert!(page.says(0, &[]).stdout.ends_with("</html>\n"));
}

#[test]
fn a_run_leaves_its_page_beside_its_record_and_never_fails_over_it() {
    let folder = Folder::new();
    folder.write("b.html", "<p>mine</p>");
    fs::create_dir(folder.path("c.html")).unwrap();
    for (record, words) in [
        ("a.plimsoll", &["Charts: a.html"][..]),
        ("b.plimsoll", &["no charts at b.html", "another file"]),
        ("c.plimsoll", &["no charts at c.html"]),
        ("d.html", &["the record has that name"]),
    ] {
        import(&folder, &format!("-o {record}")).says(0, words);
    }
    assert!(folder.path("a.html").exists());
    assert_eq!(folder.read("b.html"), "<p>mine</p>", "not our page");
}

#[test]
fn secrets_of_the_command_line_are_not_in_the_page() {
    let folder = Folder::new();
    let note = "-o named.plimsoll --note http://user:hunter2@host/";
    import(&folder, note).says(0, &["Charts: named.html"]);
    let page = folder.read("named.html");
    let command = page.split("<pre>").nth(1).unwrap();
    let command = command.split("</pre>").next().unwrap();
    has(command, &["(hidden)@host"]);
    assert!(!command.contains("hunter2"), "{command}");
}
