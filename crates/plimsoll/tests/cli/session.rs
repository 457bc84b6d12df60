//! What the session does for every experiment, asked of each.

use crate::common::{Folder, LOUD, has, send, table, trials_in, unwrapped, wait};
use plimsoll_load::known::{Behaviour, KnownServer};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::fs;
use std::sync::OnceLock;
use std::time::Duration;

/// The shortest run of each experiment, as far as its last argument.
const RUNS: [(&str, &str); 9] = [
    (
        "sweep",
        "--quick --trials 1 -z 200ms --levels 20 --rated 500",
    ),
    (
        "yield",
        "--quick --passes 1 -z 150ms --arms nice --rated 500",
    ),
    ("copies", "--quick --numbers 1 -- true"),
    ("lateness", "--sleeps 100us,1ms --passes 1 -z 100ms"),
    (
        "rig",
        "peak grain --grain 0,20us --scheduler central-queue --passes 1 -z 100ms",
    ),
    (
        "wake",
        "--policies as-is,spinner --waits timer --gaps 100us,1ms --passes 1 -z 100ms",
    ),
    (
        "burst",
        "--burst 300ms --break 300ms --cycles 1 --step 20ms",
    ),
    ("run", "--rate 500 -z 200ms"),
    (
        "versus",
        "http://SERVER/new --against http://SERVER/old --rate 500 --passes 1 -z 200ms",
    ),
];

/// With the address of a server that answers as long as the tests run.
fn at_server(args: &str) -> String {
    static SERVER: OnceLock<KnownServer> = OnceLock::new();
    let server = SERVER.get_or_init(|| {
        let after = Duration::from_micros(100);
        KnownServer::start(Behaviour::Answer { after }).unwrap()
    });
    args.replace("SERVER", &server.addr().to_string())
}

/// Flags of all commands.
const COMMON: [&str; 3] = ["--color", "--no-charts", "--help"];

/// A complete run, recorded in `run.plimsoll`.
fn complete((name, args): (&str, &str)) -> Folder {
    let folder = Folder::new();
    let loud = LOUD.join(" ");
    let args = at_server(args);
    let run = format!("{name} --plain -o run.plimsoll {loud} {args}");
    folder.run(run).says(0, &[]);
    folder
}

fn change(folder: &Folder, sql: &str) {
    folder.change("run.plimsoll", sql);
}

/// A page of help: each flag with the heading above it.
fn flags(folder: &Folder, command: &str, help: &str) -> Vec<(String, String)> {
    let page = folder.run([command, help]);
    page.says(0, &[]);
    let mut heading = String::new();
    let mut found = Vec::new();
    for line in page.stdout.lines() {
        let text = line.trim_start();
        if !line.starts_with(' ') && line.ends_with(':') {
            heading = line.to_owned();
        } else if text.starts_with('-')
            && let Some(name) = text.split_whitespace().find(|w| w.starts_with("--"))
        {
            found.push((heading.clone(), name.trim_end_matches(',').to_owned()));
        }
    }
    found
}

#[test]
fn a_run_stopped_within_a_trial_says_how_to_resume_it() {
    for (name, args) in RUNS {
        let folder = Folder::new();
        let loud = LOUD.join(" ");
        let long = at_server(args)
            .replace("-z 200ms", "-z 20s")
            .replace("-- true", "-- sleep 20");
        let line = format!("{name} --plain -o run.plimsoll {loud} {long}");
        let child = folder.spawn(line);
        let record = folder.path("run.plimsoll");
        wait("a record", || record.exists());
        if name == "sweep" {
            wait("the idle baseline", || trials_in(&record) > 0);
        }
        send(&child, &[Signal::TERM]);
        let ended = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        // The shortest runs may end before the signal comes.
        if ended.status.code() != Some(0) {
            assert_eq!(ended.status.code(), Some(130), "{name}: {stderr}");
            let resume = format!("resume with: plimsoll {name} --resume run.plimsoll");
            assert!(stderr.contains(&resume), "{name}: {stderr}");
        }
        assert!(name != "sweep" || ended.status.code() == Some(130));
    }
}

#[test]
fn a_plan_that_no_run_has_is_refused_in_every_command() {
    for (name, args) in [RUNS[0], RUNS[3]] {
        let folder = complete((name, args));
        for (field, words) in [
            ("window_ns", "window_ns is 0 ns"),
            ("seed", "plan_json"),
            ("passes", "passes is 4294967295"),
        ] {
            let value = match field {
                "window_ns" => "0",
                "seed" => "-1",
                _ => "4294967295",
            };
            let whole = fs::read(folder.path("run.plimsoll")).unwrap();
            let sql =
                format!("UPDATE run SET plan_json = json_set(plan_json, '$.{field}', {value})");
            change(&folder, &format!("{sql}, ended = 'interrupted'"));
            let resume = format!("{name} --resume run.plimsoll");
            for line in [
                "report run.plimsoll",
                "plan run.plimsoll --peak 10",
                &resume,
            ] {
                let refused = folder.run(line);
                // Lateness has no load line to plan with.
                if !(name == "lateness" && line.starts_with("plan")) {
                    refused.says(2, &[words]);
                    assert_eq!(refused.stderr.trim_end().lines().count(), 1, "{refused:?}");
                }
            }
            fs::write(folder.path("run.plimsoll"), whole).unwrap();
        }
    }
}

#[test]
fn every_experiment_is_in_the_list() {
    let folder = Folder::new();
    let page = folder.run("--help").stdout;
    let (_, commands) = page.split_once("\nCommands:\n").unwrap();
    let names = commands.lines().take_while(|line| !line.is_empty());
    let names = names.filter_map(|line| line.split_whitespace().next());
    let resumes = |name: &&str| {
        let help = folder.run([name, "--help"]).stdout;
        help.contains("--resume")
    };
    let found: BTreeSet<&str> = names
        .filter(|name| *name != "help")
        .filter(resumes)
        .collect();
    assert_eq!(found, RUNS.iter().map(|run| run.0).collect());
}

#[test]
fn every_flag_of_an_experiment_stands_under_a_heading() {
    let folder = Folder::new();
    for (name, _) in RUNS {
        let all = flags(&folder, name, "--help");
        let short = flags(&folder, name, "-h");
        for page in [&all, &short] {
            assert!(page.len() >= 5, "{name}: {page:?}");
            for (heading, flag) in page {
                let is_common = COMMON.contains(&flag.as_str());
                assert_eq!(heading == "Options:", is_common, "{name}: {heading} {flag}");
            }
        }
        assert!(short.iter().all(|flag| all.contains(flag)), "{name}");
    }
    let short = flags(&folder, "yield", "-h");
    for flag in ["--curve", "--headrooms"] {
        let own = ("Question:".to_owned(), flag.to_owned());
        assert!(short.contains(&own), "{flag}: {short:?}");
    }
}

/// Makes a record that refuses its first trial. A refusal reads as a usage error
/// when a record is opened, but here it ends a run.
const REFUSES: &str = "
    DELETE FROM histogram; DELETE FROM second; DELETE FROM slot; DELETE FROM trial;
    UPDATE run SET ended = 'interrupted';
    PRAGMA writable_schema = ON;
    UPDATE sqlite_schema SET sql = replace(sql, '(''valid'', ''invalid'')', '(''refused'')')
    WHERE name = 'trial'";

#[test]
fn a_record_that_cannot_be_appended_fails_the_run_of_every_experiment() {
    for run in RUNS {
        let folder = complete(run);
        let record = folder.path("run.plimsoll");
        assert!(trials_in(&record) >= 1, "{}", run.0);
        change(&folder, REFUSES);
        let resumed = folder.run([run.0, "--plain", "--resume", "run.plimsoll"]);
        resumed.says(1, &["run.plimsoll", "plimsoll: nothing was measured yet"]);
        assert_eq!(trials_in(&record), 0, "{}", run.0);
        folder.run("report run.plimsoll").says(0, &[]);
    }
}

#[test]
fn an_interrupted_run_says_so_in_text_and_page_and_json_for_every_experiment() {
    for run in RUNS {
        let folder = complete(run);
        let whole = folder.run("report run.plimsoll").stdout;
        let sentence = "The run was interrupted";
        assert!(!whole.contains(sentence), "{whole}");
        change(&folder, "UPDATE run SET ended = 'interrupted'");
        let text = folder.run("report run.plimsoll").stdout;
        let written = folder.run("report run.plimsoll -o page.html");
        written.says(0, &[]);
        let page = folder.read("page.html");
        let page = page.replace("<span class=\"flag\">", "");
        let page = page.replace("</span>", "");
        let resume = format!("plimsoll {} --resume run.plimsoll", run.0);
        for shown in [text, page] {
            has(&unwrapped(&shown), &[sentence, &resume]);
        }
        let json = folder.run("report run.plimsoll --format json");
        assert_eq!(json.json()["record"]["ended"], "interrupted", "{}", run.0);
    }
}

#[test]
fn a_repeated_goal_has_the_effect_of_one() {
    let folder = Folder::new();
    for name in ["graviton3-netty", "intel-smt-netty"] {
        let csv = table(name);
        let import = ["import", &csv, "-o", name, "--cpus", "8", "--no-html"];
        folder.run(import).says(0, &[]);
    }
    for command in [
        "report graviton3-netty",
        "compare graviton3-netty intel-smt-netty",
        "plan graviton3-netty --lower-bound --peak 1e6",
    ] {
        let with = |goals: usize| {
            let goals = " --goal p99<2x".repeat(goals);
            folder.run(format!("{command} --format json{goals}")).json()
        };
        assert_eq!(with(2), with(1), "{command}");
    }
    let goals = format!("{} --goal p99<10s --goal p99<10s", RUNS[0].1);
    let folder = complete(("sweep", &goals));
    let json = folder.run("report run.plimsoll --format json");
    assert_eq!(json.json()["plan"]["goals"].as_array().unwrap().len(), 1);
}

#[test]
fn help_speaks_of_requests_only_where_there_are_any() {
    let folder = Folder::new();
    let page = folder.run("sweep --help").stdout;
    has(&page, &["--max-slip", "a server cannot be"]);
    for name in ["copies", "lateness", "rig"] {
        let page = folder.run([name, "--help"]).stdout;
        has(&page, &["--seed", "--cpus", "--max-steal", "csv:"]);
        for words in [
            "load generator",
            "hash service",
            "arrivals",
            "per arm",
            "server",
        ] {
            assert!(!page.contains(words), "{name}: {words}: {page}");
        }
        // Calls of `rig wait` have one.
        assert_eq!(page.contains("slip"), name == "rig", "{name}: {page}");
    }
}
