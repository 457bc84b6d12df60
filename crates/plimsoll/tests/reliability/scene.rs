//! One run, one fault, and what became of the trials that had ended before it.

use crate::common::{Arguments, Folder, LONG, LOUD, unignoring, wait};
use crate::nginx::Nginx;
use rusqlite::{Connection, OpenFlags};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Instant;

/// Nine trials of a load that any machine carries.
const SWEEP: &str = "sweep --quick --plain --duration 200ms --seed 1 --levels 20,40 --trials 4 \
                     --rated 1000 --cpus 1 -o run/run.plimsoll";

/// What a fault is given to.
pub(crate) struct Scene {
    pub(crate) nginx: Nginx,
    pub(crate) folder: Folder,
    pub(crate) child: Child,
}

pub(crate) struct Fault {
    pub(crate) name: &'static str,
    /// After this many trials; the tenth is never begun.
    pub(crate) after: usize,
    /// What the sweep is started by.
    pub(crate) started: fn(&Folder, Command) -> Command,
    pub(crate) give: fn(&mut Scene),
    /// What takes it away, before the run is resumed.
    pub(crate) mend: fn(&mut Scene),
}

#[derive(Debug)]
pub(crate) struct Row {
    fault: &'static str,
    given: String,
    did: String,
    pub(crate) lost: usize,
    /// Whether a resumed run is complete, if this one was not.
    pub(crate) completes: bool,
    then: &'static str,
}

impl Row {
    /// Of a run that was killed and then resumed.
    pub(crate) fn killed(stage: &str, lost: usize) -> Row {
        Row {
            fault: "SIGKILL",
            given: stage.to_owned(),
            did: "ended by signal 9".to_owned(),
            lost,
            completes: true,
            then: "resumed to its end",
        }
    }

    pub(crate) fn line(&self) -> String {
        let Row {
            fault,
            given,
            did,
            lost,
            then,
            ..
        } = self;
        format!("| {fault} | {given} | {did} | {lost} | {then} |\n")
    }
}

/// Where a record is, in a folder that can be a disk of its own.
pub(crate) const RECORD: &str = "run/run.plimsoll";

/// All that is stored of each trial.
pub(crate) fn trials(folder: &Folder) -> Vec<String> {
    let read = || {
        let db =
            Connection::open_with_flags(folder.path(RECORD), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut rows = db.prepare("SELECT * FROM trial ORDER BY id")?;
        let columns = rows.column_count();
        rows.query_map([], |row| {
            let cells = (0..columns).map(|i| row.get_ref(i).map(|cell| format!("{cell:?}")));
            cells.collect::<Result<String, _>>()
        })?
        .collect::<Result<Vec<String>, rusqlite::Error>>()
    };
    // While it is being made there is none.
    read().unwrap_or_default()
}

/// How many of these are not there any more as they were.
pub(crate) fn lost(before: &[String], folder: &Folder) -> usize {
    let now = trials(folder);
    before.iter().filter(|trial| !now.contains(trial)).count()
}

pub(crate) fn tried(fault: &Fault) -> Row {
    let nginx = Nginx::start();
    let folder = Folder::new();
    std::fs::create_dir(folder.path("run")).unwrap();
    let url = nginx.url();
    let words = format!("{SWEEP} {} {url}", LOUD.join(" ")).words();
    let command = (fault.started)(&folder, folder.command(words));
    let child = spawn(command);
    let mut scene = Scene {
        nginx,
        folder,
        child,
    };
    wait("trials", || {
        trials(&scene.folder).len() >= fault.after || scene.child.try_wait().unwrap().is_some()
    });
    let before = trials(&scene.folder);
    (fault.give)(&mut scene);
    let (status, stderr) = ended(&mut scene.child);
    let mut lost_trials = lost(&before, &scene.folder);
    (fault.mend)(&mut scene);
    let (completes, then) = resumed(&scene.folder, status);
    lost_trials = lost_trials.max(lost(&before, &scene.folder));
    println!("tried: {}", fault.name);
    Row {
        fault: fault.name,
        given: match fault.after {
            0 => "at the start".to_owned(),
            n => format!("after {n} of 9 trials"),
        },
        did: described(status, &stderr, &scene),
        lost: lost_trials,
        completes,
        then,
    }
}

/// As from a terminal: what ignores signals here is not passed on.
pub(crate) fn spawn(command: Command) -> Child {
    unignoring("HUP,QUIT,TERM,INT", &command)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// How it ended and what it said. A run that hangs is a finding, too.
pub(crate) fn ended(child: &mut Child) -> (ExitStatus, String) {
    let mut stderr = child.stderr.take().unwrap();
    let reader = std::thread::spawn(move || std::io::read_to_string(&mut stderr).unwrap());
    let end = Instant::now() + LONG;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > end {
            child.kill().unwrap();
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    (status, reader.join().unwrap())
}

/// A run that did not end by itself is resumed.
pub(crate) fn resumed(folder: &Folder, status: ExitStatus) -> (bool, &'static str) {
    let is_complete = || {
        let json = folder.run(["report", RECORD, "--format", "json"]);
        json.code == Some(0) && json.json()["record"]["ended"] == "complete"
    };
    if trials(folder).is_empty() {
        return (true, "nothing was recorded");
    }
    if status.success() {
        return (is_complete(), "complete");
    }
    let resumed = folder.run(["sweep", "--plain", "--resume", RECORD]);
    let completes = resumed.code == Some(0) && is_complete();
    if !completes {
        println!("{resumed:#?}");
    }
    (completes, "resumed to its end")
}

fn described(status: ExitStatus, stderr: &str, scene: &Scene) -> String {
    let said = stderr.lines();
    let said = said.filter_map(|line| line.strip_prefix("plimsoll: "));
    let url = scene.nginx.url();
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let said = said.map(|line| line.replace(&url, "URL").replace(address, "ADDRESS"));
    let said: Vec<String> = said.collect();
    let code = match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    };
    match said.is_empty() {
        true => code,
        false => format!("{code}: {}", said.join("; ").replace('|', "\\|")),
    }
}
