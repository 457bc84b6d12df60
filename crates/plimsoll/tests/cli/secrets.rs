//! What a run writes may hold secrets: who may read it, and what of it is left out.

use crate::common::server::Server;
use crate::common::{Folder, LOUD, short};
use std::fs;
use std::os::unix::fs::PermissionsExt;

const OK: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
const SECRET: &str = "swordfish";

fn mode(folder: &Folder, name: &str) -> u32 {
    let about = fs::metadata(folder.path(name)).unwrap();
    about.permissions().mode() & 0o777
}

/// A sweep of a server with a secret header.
fn sweep(folder: &Folder, server: &Server, more: &str) {
    let headers = format!("-H 'Authorization: Bearer {SECRET}' -H 'Accept: text/plain'");
    let url = server.url();
    let run = format!("--levels 50 --rated 20 -o run.plimsoll {headers} {url} {more}");
    folder.run(short(&run)).says(0, &[]);
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

#[test]
fn a_hidden_header_is_not_recorded_and_a_resumed_run_asks_for_it() {
    let (folder, server) = (Folder::new(), Server::start(OK));
    sweep(&folder, &server, "");
    assert!(!holds_the_secret(&folder));
    interrupt(&folder);
    let resume = |more: &str| folder.run(format!("sweep --resume run.plimsoll {more}"));
    let token = format!("-H 'authorization: Bearer {SECRET}'");
    resume("").says(2, &["Authorization", "-H 'NAME: VALUE'"]);
    resume("-H 'Cookie: a'").says(2, &["no header Cookie"]);
    resume(&format!("{token} -H 'Accept: text/html'")).says(2, &["header Accept"]);
    resume(&format!("--keep-headers {token}")).says(2, &["--keep-headers"]);
    resume(&token).says(0, &[]);
    assert!(!holds_the_secret(&folder));
    let json = folder.run("report run.plimsoll --format json");
    let headers = &json.json()["plan"]["workload"]["headers"];
    let shown = serde_json::json!([["Accept", "text/plain"], ["Authorization", "(hidden)"]]);
    assert_eq!(*headers, shown);
}

#[test]
fn headers_are_recorded_when_that_is_asked_for() {
    let (folder, server) = (Folder::new(), Server::start(OK));
    sweep(&folder, &server, "--keep-headers");
    assert!(holds_the_secret(&folder));
    interrupt(&folder);
    folder.run("sweep --resume run.plimsoll").says(0, &[]);
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
    for reader in ["report", "report --format json"] {
        folder.run(format!("{reader} run.plimsoll")).says(0, &[]);
    }
    set(0o600);
    let commands = [r#"note: resuming runs copies of the command ["touch", "ran"]"#];
    folder.run(resume).says(0, &commands);
}
