//! What a run writes may hold secrets: who may read it, and what of it is left out.

use crate::common::server::Server;
use crate::common::{Ended, Folder, LOUD, has, short, unwrapped};
use std::fs;
use std::os::unix::fs::PermissionsExt;

const OK: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
const SECRET: &str = "swordfish";

fn mode(folder: &Folder, name: &str) -> u32 {
    let about = fs::metadata(folder.path(name)).unwrap();
    about.permissions().mode() & 0o777
}

/// Where a request may have a secret.
fn secrets(server: &Server) -> String {
    format!(
        "{}?key={SECRET} -kH 'X-Customer: {SECRET}' -H 'Accept: text/plain' -d {SECRET}",
        server.url()
    )
}

/// A sweep of a server with secrets.
fn sweep(folder: &Folder, server: &Server, more: &str) -> Ended {
    let request = secrets(server);
    let run = format!("--levels 50 --rated 20 -o run.plimsoll {request} {more}");
    folder.run(short(&run))
}

/// Makes a run one that can be resumed.
fn interrupt(folder: &Folder) {
    folder.change("run.plimsoll", "UPDATE run SET ended = 'interrupted'");
}

fn holds_the_secret(folder: &Folder) -> bool {
    let bytes = fs::read(folder.path("run.plimsoll")).unwrap();
    bytes
        .windows(SECRET.len())
        .any(|part| part == SECRET.as_bytes())
}

#[test]
fn files_of_a_run_and_its_report_are_for_their_owner_alone() {
    let folder = Folder::new();
    let sweep = short("--levels 5 --rated 100 -o run.plimsoll");
    folder.run(sweep).says(0, &[]);
    assert_eq!(mode(&folder, "run.plimsoll"), 0o600);
    assert_eq!(mode(&folder, "run.html"), 0o600);
    for name in ["out.html", "out.json", "out.csv", "out.txt"] {
        folder
            .run(["report", "run.plimsoll", "-o", name])
            .says(0, &[]);
        assert_eq!(mode(&folder, name), 0o600, "{name}");
    }
    let export = folder.run("export run.plimsoll --hdr logs");
    export.says(0, &[]);
    for log in fs::read_dir(folder.path("logs")).unwrap() {
        let log = log.unwrap().path();
        assert_eq!(mode(&folder, log.to_str().unwrap()), 0o600, "{log:?}");
    }
}

/// Asserts that nothing that people or programs are shown of a record has the secret.
fn is_shown_nowhere(folder: &Folder) {
    let other = folder.path("other.plimsoll");
    fs::copy(folder.path("run.plimsoll"), other).unwrap();
    for command in [
        "report run.plimsoll",
        "report run.plimsoll --format json",
        "report run.plimsoll --format csv",
        "report run.plimsoll --format html",
        "compare run.plimsoll other.plimsoll",
        "compare run.plimsoll other.plimsoll --format json",
        "plan run.plimsoll --peak 100 --format json",
        "export run.plimsoll --hdr logs",
        "sweep --resume run.plimsoll",
        "yield --resume run.plimsoll",
    ] {
        let ended = folder.run(command);
        let shown = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!shown.contains(SECRET), "{command}: {ended:#?}");
    }
    for log in fs::read_dir(folder.path("logs")).unwrap() {
        let log = fs::read_to_string(log.unwrap().path()).unwrap();
        assert!(!log.contains(SECRET), "{log}");
    }
}

#[test]
fn what_may_be_secret_is_neither_recorded_nor_shown_and_a_resumed_run_asks_for_it() {
    let (folder, server) = (Folder::new(), Server::start(OK));
    let ended = sweep(&folder, &server, "");
    let shown = format!("{}{}", ended.says(0, &[]).stdout, ended.stderr);
    assert!(!shown.contains(SECRET), "{shown}");
    assert!(!folder.read("run.html").contains(SECRET));
    assert!(!holds_the_secret(&folder));
    let json = folder.run("report run.plimsoll --format json").json();
    let workload = &json["plan"]["workload"];
    let headers = serde_json::json!([["X-Customer", "(hidden)"], ["Accept", "text/plain"]]);
    assert_eq!(workload["headers"], headers);
    assert_eq!(workload["omitted_body_bytes"], 9);
    let page = unwrapped(&folder.read("run.html"));
    let command = "--insecure --header &#39;X-Customer: (hidden)&#39;";
    has(
        &page,
        &["?key=(hidden)", command, "--data &#39;(hidden)&#39;"],
    );
    interrupt(&folder);
    let resume = |more: &str| folder.run(format!("sweep --resume run.plimsoll {more}"));
    let url = format!("{}?key=VALUE", server.url());
    let flags = format!("with '{url}' -H 'X-Customer: VALUE' -d BODY");
    resume("").says(2, &[&flags]);
    is_shown_nowhere(&folder);
    resume("-H 'Cookie: a'").says(2, &["no header Cookie"]);
    resume("-H 'Accept: text/html'").says(2, &["header Accept"]);
    resume("http://elsewhere/").says(2, &["the URL is http://elsewhere/ and was"]);
    resume(&format!("{url} --keep-secrets")).says(2, &["--keep-secrets"]);
    folder.write("headers", format!("\nx-customer: {SECRET}\r\n"));
    folder.write("body", SECRET);
    let url = format!("{}?key={SECRET}", server.url());
    resume(&format!("{url} -H @headers -d @body")).says(0, &[]);
    assert!(!holds_the_secret(&folder));
}

#[test]
fn secrets_are_recorded_when_that_is_asked_for_and_hidden_all_the_same() {
    let (folder, server) = (Folder::new(), Server::start(OK));
    sweep(&folder, &server, "--keep-secrets").says(0, &[]);
    assert!(holds_the_secret(&folder));
    interrupt(&folder);
    folder.run("sweep --resume run.plimsoll").says(0, &[]);
    // As older versions did.
    let url = format!("'http://u:{SECRET}@h/?k={SECRET}'");
    let failed = format!("UPDATE run SET ended = 'failed', failure = {url}");
    folder.change("run.plimsoll", &failed);
    is_shown_nowhere(&folder);
}

#[test]
fn messages_have_no_secret() {
    let folder = Folder::new();
    folder.write("headers", format!("Accept: */*\n{SECRET}\n"));
    for (request, words) in [
        (
            format!("http://127.0.0.1:1/?k={SECRET}"),
            "?k=(hidden) cannot be reached",
        ),
        (format!("http://me:{SECRET}@h/"), "(hidden)@h/"),
        (format!("http://me:{SECRET}/x@h/"), "(hidden)@h/"),
        (
            format!("me:{SECRET}@h/?k={SECRET}"),
            "does not say how to connect",
        ),
        (
            format!("http://h/ -H {SECRET}"),
            "the text given is not a header",
        ),
        (
            "http://h/ -H @headers".to_owned(),
            "line 2 of 'headers' is not a header",
        ),
        ("http://h/ -H @none".to_owned(), "'none' cannot be read"),
        (
            format!("http://h/ http://me:{SECRET}@h/?k={SECRET}"),
            "unexpected argument 'http://(hidden)@h/?k=(hidden)'",
        ),
        (
            format!("http://127.0.0.1:1/ --node-metrics http://n/?k={SECRET}"),
            "cannot be reached",
        ),
    ] {
        for command in ["sweep", "yield"] {
            if command == "yield" && request.contains("--node-metrics") {
                continue;
            }
            let ended = folder.run(format!("{command} {request}"));
            assert!(ended.stderr.contains(words), "{ended:#?}");
            assert!(!ended.stderr.contains(SECRET), "{ended:#?}");
        }
    }
}

#[test]
fn a_run_is_resumed_only_from_a_record_that_nobody_else_can_write() {
    let folder = Folder::new();
    let loud = LOUD.join(" ");
    let run = format!("copies --quick --numbers 1 -o run.plimsoll {loud} -- touch ran");
    folder.run(run).says(0, &[]);
    interrupt(&folder);
    let path = folder.path("run.plimsoll");
    let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    set(0o666);
    let resume = "copies --resume run.plimsoll";
    let refused = folder.run(resume);
    refused.says(2, &["can be written by others", "chmod go-w"]);
    assert!(!refused.stderr.contains("resuming runs"), "{refused:#?}");
    // Before anything in it is looked at: a second open could find another file.
    let other = folder.run("sweep --resume run.plimsoll");
    other.says(2, &["can be written by others"]);
    for reader in ["report", "report --format json"] {
        folder.run(format!("{reader} run.plimsoll")).says(0, &[]);
    }
    set(0o600);
    fs::create_dir(folder.path("elsewhere")).unwrap();
    let mut elsewhere = folder.command("copies --resume ../run.plimsoll");
    elsewhere.current_dir(folder.path("elsewhere"));
    let refused = Ended::of(elsewhere);
    refused.says(2, &["was begun in", "change to that folder"]);
    assert!(!folder.path("elsewhere/ran").exists());
    let commands = [r#"note: resuming runs copies of the command ["touch", "ran"]"#];
    folder.run(resume).says(0, &commands);
}

#[test]
fn a_run_is_resumed_only_in_a_folder_that_nobody_else_can_write_to() {
    let folder = Folder::new();
    fs::create_dir(folder.path("shared")).unwrap();
    let resumed = |arguments: &str| {
        let mut command = folder.command(arguments);
        command.current_dir(folder.path("shared"));
        Ended::of(command)
    };
    let loud = LOUD.join(" ");
    let run = format!("copies --quick --numbers 1 -o ../run.plimsoll {loud} -- ./job");
    fs::write(folder.path("shared/job"), "#!/bin/sh\n").unwrap();
    let open = |name: &str, mode| {
        fs::set_permissions(folder.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    open("shared/job", 0o755);
    resumed(&run).says(0, &[]);
    interrupt(&folder);
    open("shared", 0o777);
    let words = ["is in a folder that others can write to", "--resume runs"];
    resumed("copies --resume ../run.plimsoll").says(2, &words);
    open("shared", 0o755);
    resumed("copies --resume ../run.plimsoll").says(0, &[]);
}
