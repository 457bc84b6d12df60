//! `plimsoll sweep --resume`: the recorded plan on the recorded machine, or
//! the reason why not.

use crate::args::{HeaderArgs, SweepArgs, YieldArgs};
use crate::failure::Failure;
use crate::headers;
use crate::output::note;
use plimsoll_experiment::sweep::Place;
use plimsoll_host::Root;
use plimsoll_model::{Goal, HttpService, Job, LoadLevel, Mismatch, Plan, RunEnd, Workload};
use plimsoll_record::Record;
use std::fmt::Display;
use std::path::Path;

/// Opens a record to go on with, if the plan and the machine are the same.
pub(crate) fn open(
    path: &Path,
    args: &SweepArgs,
    root: &Root,
) -> Result<(Record, Place, Plan), Failure> {
    let record = open_unfinished(path, "sweep")?;
    let shown = path.display();
    let differences = differences(args, record.plan());
    if !differences.is_empty() {
        return Err(Failure::Mistake(format!(
            "{shown} was recorded with another plan: {}; leave these flags out to go on with it, or start a new run",
            differences.join("; ")
        )));
    }
    ready(record, &args.header, root)
}

/// The same for a record of `plimsoll yield`, whose plan no flag changes.
pub(crate) fn open_yield(
    path: &Path,
    args: &YieldArgs,
    root: &Root,
) -> Result<(Record, Place, Plan), Failure> {
    let record = open_unfinished(path, "yield")?;
    ready(record, &args.header, root)
}

/// The run on this machine, with the headers that were given again.
fn ready(
    record: Record,
    given: &HeaderArgs,
    root: &Root,
) -> Result<(Record, Place, Plan), Failure> {
    refuse_other_machine(&record, root)?;
    let shown = record.path().display();
    let plan = headers::supply(record.plan(), given.parsed()?)
        .map_err(|refused| Failure::Mistake(refused.sentence(&shown.to_string())))?;
    for command in commands(&plan) {
        note(&format!("note: resuming runs {command}"));
    }
    let place = Place::of(&plan.workload, root)?;
    Ok((record, place, plan))
}

/// The commands of a recorded plan, quoted so that nothing in them is hidden by a terminal.
fn commands(plan: &Plan) -> Vec<String> {
    let copies = match &plan.workload {
        Workload::Copies(copies) => Some(format!("copies of the command {:?}", copies.command)),
        Workload::Hash(_) | Workload::Http(_) | Workload::Imported(_) => None,
    };
    let restart = plan.restart.as_ref();
    let restart = restart.map(|command| format!("the --restart command {command:?}"));
    let job = match plan.sideload.as_ref().map(|side| &side.job) {
        Some(Job::Command(command)) => Some(format!("the --job command {command:?}")),
        Some(Job::Burn) | None => None,
    };
    [copies, restart, job].into_iter().flatten().collect()
}

/// Opens a record of a run that `command` made and that is not done.
fn open_unfinished(path: &Path, command: &str) -> Result<Record, Failure> {
    let record = Record::open(path)?;
    refuse_what_is_done(&record)?;
    let made_by = match record.plan().sideload {
        Some(_) => "yield",
        None => "sweep",
    };
    if made_by != command {
        let shown = path.display();
        return Err(Failure::Mistake(format!(
            "{shown} is a record of plimsoll {made_by}; go on with plimsoll {made_by} --resume {shown}"
        )));
    }
    drop(record);
    Ok(Record::open_for_resume(path)?)
}

fn refuse_other_machine(record: &Record, root: &Root) -> Result<(), Failure> {
    let shown = record.path().display();
    let here = plimsoll_host::provenance(root, env!("CARGO_PKG_VERSION"));
    let (moved, changed): (Vec<Mismatch>, Vec<Mismatch>) = here
        .differences(record.provenance())
        .into_iter()
        .partition(|found| found.respect.bars_resuming());
    if !moved.is_empty() {
        return Err(Failure::Mistake(format!(
            "{shown} was recorded on another machine, or on this one with other settings (here against there: {}); its trials cannot be added to: set it back, or start a new run",
            joined(&moved)
        )));
    }
    if !changed.is_empty() {
        note(&format!(
            "note: since {shown} was begun this has changed (here against there: {}); look whether the trials before and after differ",
            joined(&changed)
        ));
    }
    Ok(())
}

/// Refuses a record that no trial is missing from, before anything is asked of
/// the machine.
fn refuse_what_is_done(record: &Record) -> Result<(), Failure> {
    let shown = record.path().display();
    if matches!(record.plan().workload, Workload::Imported(_)) {
        return Err(Failure::Mistake(format!(
            "{shown} is an imported table and no run, so there is nothing to go on with; import the table again with the rows that are missing, into another file, or start a run"
        )));
    }
    match record.end() {
        Some(RunEnd::Complete) => Err(Failure::Mistake(format!(
            "the run in {shown} is finished, all of its plan was measured; see it with plimsoll report {shown}, or start a new run, for narrower intervals with {}",
            match record.plan().sideload {
                Some(_) => "more --passes",
                None => "--precision 2%",
            }
        ))),
        Some(RunEnd::Interrupted | RunEnd::Failed(_)) | None => Ok(()),
    }
}

/// What was asked for now and differs from the plan, flag by flag. Flags that
/// were not given are taken from the plan.
fn differences(args: &SweepArgs, plan: &Plan) -> Vec<String> {
    let mut found = Differences::default();
    let recorded_url = match &plan.workload {
        Workload::Http(http) => Some(http.url.clone()),
        Workload::Hash(_) | Workload::Copies(_) | Workload::Imported(_) => None,
    };
    let recorded_command = match &plan.workload {
        Workload::Copies(copies) => copies.command.join(" "),
        Workload::Hash(_) | Workload::Http(_) | Workload::Imported(_) => String::new(),
    };
    found.compare("the URL", args.url.as_ref(), recorded_url.as_ref());
    if args.copies {
        let given = args.command.join(" ");
        found.compare("the command", Some(&given), Some(&recorded_command));
    }
    if !args.goals.is_empty() {
        let given = list::<Goal>(&args.goals);
        found.compare("--goal", Some(&given), Some(&list(&plan.goals)));
    }
    if let Some(levels) = &args.levels {
        let given = list::<LoadLevel>(levels);
        found.compare("--levels", Some(&given), Some(&list(&plan.levels)));
    }
    found.compare("--trials", args.trials.as_ref(), Some(&plan.passes));
    found.compare("--seed", args.seed.as_ref(), Some(&plan.seed));
    found.compare(
        "--rated",
        args.rated.as_ref(),
        plan.calibration.rated.as_ref(),
    );
    found.compare(
        "--duration",
        args.duration.map(plimsoll_model::human_duration).as_ref(),
        Some(&plimsoll_model::human_duration(plan.window)),
    );
    if let Workload::Http(http) = &plan.workload {
        found.http(args, http);
    }
    found.0
}

fn joined(mismatches: &[Mismatch]) -> String {
    let parts: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
    parts.join("; ")
}

fn list<T: Display>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    items.join(", ")
}

#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn compare<T: Display>(&mut self, what: &str, given: Option<&T>, recorded: Option<&T>) {
        let Some(given) = given.map(ToString::to_string) else {
            return;
        };
        let recorded = recorded.map_or("not given".to_owned(), ToString::to_string);
        if given != recorded {
            self.0.push(format!("{what} is {given} and was {recorded}"));
        }
    }

    fn http(&mut self, args: &SweepArgs, recorded: &HttpService) {
        let http = &args.http;
        self.compare("--method", http.method.as_ref(), Some(&recorded.method));
        self.compare(
            "--connections",
            http.connections.as_ref(),
            Some(&recorded.connections),
        );
        let shown = plimsoll_model::human_duration;
        let timeout = args.timeout.map(shown);
        self.compare(
            "--timeout",
            timeout.as_ref(),
            Some(&shown(recorded.timeout)),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Copies;
    use std::time::Duration;

    #[test]
    fn the_commands_of_a_record_are_shown_with_all_their_characters() {
        let command = ["sh", "-c", "make\u{1b}[2K; \u{202e}true"].map(str::to_owned);
        let mut plan = Plan::blank(Workload::Copies(Copies {
            command: command.to_vec(),
            timeout: Duration::from_secs(1),
        }));
        plan.restart = Some("systemctl restart x".to_owned());
        let copies = r#"copies of the command ["sh", "-c", "make\u{1b}[2K; \u{202e}true"]"#;
        let restart = r#"the --restart command "systemctl restart x""#;
        assert_eq!(commands(&plan), [copies, restart]);
    }
}
