//! The beginning of a run: a new record, or one that is resumed.

use super::args::FrameArgs;
use super::conclusion::recorded;
use super::require;
use crate::failure::Failure;
use crate::note::note;
use crate::output::Output;
use crate::record_file::{self, Maker};
use plimsoll_experiments::{Experiment, Machine, Prepared};
use plimsoll_host::Root;
use plimsoll_model::{Mismatch, Outcome, Requirement, RunEnd, safe, utc_stamp};
use plimsoll_record::{NewRun, Record, check_folder};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

pub(super) struct Begun<E: Experiment> {
    pub(super) record: Record,
    /// The plan, with secrets that the record does not hold as a rule.
    pub(super) plan: E::Plan,
    pub(super) site: E::Site,
}

pub(super) fn new<E: Experiment>(
    frame: &FrameArgs,
    args: &E::Args,
    machine: &Machine,
    output: &Output,
) -> Result<Begun<E>, Failure> {
    let path = match &frame.output {
        Some(path) => {
            record_file::check(path, Maker::Run)?;
            path.clone()
        }
        None => {
            record_file::refuse_of_others(Path::new(DEFAULT_FOLDER))?;
            default_output(E::NAME, SystemTime::now())
        }
    };
    let Prepared { plan, site, notes } = E::prepare(args, machine)?;
    require::check::<E>(&plan, &frame.require)?;
    notes.iter().for_each(|text| note(&format!("note: {text}")));
    let mut requirements = E::requirements(&plan, &site, machine, Duration::ZERO);
    check(&requirements)?;
    requirements.extend(plimsoll_host::requirements(&machine.root));
    let provenance = plimsoll_host::provenance(&machine.root, env!("CARGO_PKG_VERSION"));
    let typed = std::env::args_os();
    let (recorded, command_line) = match E::keeps_secrets(args) {
        true => {
            let words = typed.map(|word| word.to_string_lossy().into_owned());
            (plan.clone(), words.collect())
        }
        false => (E::shown(&plan), output.shown_words(typed)),
    };
    let run = NewRun {
        experiment: E::NAME,
        workload: E::workload(&recorded),
        plan: &recorded,
        seed: E::run(&recorded).seed,
        provenance: &provenance,
        command_line: &command_line,
        folder: match E::commands(&plan).is_empty() {
            true => None,
            false => std::env::current_dir().ok(),
        },
        requirements: &requirements,
    };
    let record = Record::create(&path, &run)?;
    Ok(Begun { record, plan, site })
}

/// Prints the requirements that are met or missed.
///
/// # Errors
/// The run cannot start without one of them.
fn check(requirements: &[Requirement]) -> Result<(), Failure> {
    let mut fatal: Option<Failure> = None;
    for requirement in requirements {
        match &requirement.outcome {
            Outcome::Met { found } => note(&format!("found: {found}")),
            Outcome::Missed { lost, remedy } => note(&format!("note: {lost}; {remedy}")),
            Outcome::Failed { why, remedy } => {
                let sentence = format!("{why}; {remedy}");
                fatal = Some(match fatal {
                    Some(failure) => failure.with(sentence),
                    None => Failure::Mistake(sentence),
                });
            }
        }
    }
    fatal.map_or(Ok(()), Err)
}

const DEFAULT_FOLDER: &str = "plimsoll-runs";

/// `plimsoll-runs/<time>-<experiment>.plimsoll`, in UTC.
fn default_output(experiment: &str, now: SystemTime) -> PathBuf {
    let since = now.duration_since(SystemTime::UNIX_EPOCH);
    let time = utc_stamp(since.map_or(0, |d| d.as_secs()));
    Path::new(DEFAULT_FOLDER).join(format!("{time}-{experiment}.plimsoll"))
}

/// The run in a record, on the machine that it was begun on.
pub(super) fn resume<E: Experiment>(
    path: &Path,
    frame: &FrameArgs,
    args: &E::Args,
    machine: &Machine,
) -> Result<Begun<E>, Failure> {
    let (record, plan) = unfinished::<E>(path)?;
    require::check::<E>(&plan, &frame.require)?;
    refuse_other_machine(&record, &machine.root)?;
    let commands = E::commands(&plan);
    refuse_other_folder(&record, &commands)?;
    // Before anything of them runs: to open a plug-in runs what is in it.
    for command in commands {
        note(&format!("note: resuming runs {command}"));
    }
    let shown = path.display();
    let reopened = E::reopen(args, plan, machine).map_err(|e| Failure::from(e).about(&shown))?;
    let Prepared { plan, site, notes } = reopened;
    notes.iter().for_each(|text| note(&format!("note: {text}")));
    Ok(Begun { record, plan, site })
}

/// Opens a record of this experiment whose run is not complete.
///
/// It is opened once: a second time the path may lead to a file of another user.
fn unfinished<E: Experiment>(path: &Path) -> Result<(Record, E::Plan), Failure> {
    let record = Record::open_for_resume(path)?;
    let shown = path.display();
    let made_by = record.experiment();
    if made_by != E::NAME {
        return Err(Failure::Mistake(format!(
            "{shown} is a record of plimsoll {made_by}; resume it with plimsoll {made_by} --resume {shown}"
        )));
    }
    let plan = recorded::<E>(&record)?;
    if record.end() == Some(&RunEnd::Complete) {
        let workload = E::workload(&E::shown(&plan));
        return Err(Failure::Mistake(format!(
            "the run in {shown} is complete: all trials of {workload} are recorded; see it with plimsoll report {shown}, or start a new run"
        )));
    }
    Ok((record, plan))
}

/// Elsewhere a command such as `./job.sh` is another one, perhaps of another user.
fn refuse_other_folder(record: &Record, commands: &[String]) -> Result<(), Failure> {
    let (Some(folder), false) = (record.folder(), commands.is_empty()) else {
        return Ok(());
    };
    let shown = record.path().display();
    let here = std::env::current_dir().unwrap_or_default();
    if folder.to_string_lossy() != here.to_string_lossy() {
        return Err(Failure::Mistake(format!(
            "{shown} was begun in {}, where its commands are looked up, and this is {}; change to that folder, or start a new run",
            folder.display(),
            safe(&here.to_string_lossy())
        )));
    }
    // It has the same name, and may yet be another one.
    check_folder(&here).map_err(Failure::from)
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
            "{shown} was recorded on another machine, or on this one with other settings (here against there: {}); restore them, or start a new run",
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

fn joined(mismatches: &[Mismatch]) -> String {
    let parts: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
    parts.join("; ")
}
