//! `plimsoll sweep`: from the flags to the findings.

use crate::args::{Format, SweepArgs};
use crate::failure::Failure;
use crate::output::{Output, note};
use crate::{meant, progress, record_file, remark, report, resume};
use plimsoll_experiment::sweep::{self, Place};
use plimsoll_experiment::{Ended, conduct};
use plimsoll_host::Root;
use plimsoll_model::{Outcome, Requirement, RunEnd, Trial};
use plimsoll_record::Record;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

pub(crate) fn run(args: SweepArgs, output: &Output) -> Result<(), Failure> {
    let root = Root::machine();
    let stop = stop_flag()?;
    let (mut record, place) = match &args.resume {
        Some(path) => resume::open(path, &args, &root)?,
        None => begin(&args, &root)?,
    };
    let plan = record.plan().clone();
    let mut trials: Vec<Trial> = record.trials()?.collect::<Result<_, _>>()?;
    let ended = measure(&place, &root, &mut record, &mut trials, &args, &stop);
    let (end, failure) = match ended {
        Ok(Ended::Complete) => (RunEnd::Complete, None),
        Ok(Ended::Interrupted) => (
            RunEnd::Interrupted,
            Some(Failure::Interrupted("the run was stopped".to_owned())),
        ),
        Err(failure) => {
            let sentence = failure.sentence().unwrap_or_default().to_owned();
            (RunEnd::Failed(sentence), Some(failure))
        }
    };
    // On a full disk this fails for the reason that the run failed.
    let marked = record.mark_finished(&end);
    let path = record.path().display().to_string();
    let Some(failure) = failure else {
        marked?;
        report::show(&record, &[], args.format, output)?;
        if args.format != Format::Text {
            note(&format!("Record: {path}"));
        }
        if let Some(warning) = remark::rated_too_high(plan.calibration.rated, &trials) {
            note(&warning);
        }
        return Ok(());
    };
    let was_stopped = matches!(failure, Failure::Interrupted(_));
    if was_stopped && !trials.is_empty() {
        report::show(&record, &[], args.format, output)?;
    }
    Err(failure.with(&remark::how_to_go_on(&trials, was_stopped, &path)))
}

/// A flag that Ctrl-C and SIGTERM raise. A second Ctrl-C ends at once.
pub(crate) fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let failed = |e| Failure::Run(format!("signals cannot be handled: {e}"));
    let interrupted = i32::from(Failure::INTERRUPTED);
    // The first signal finds the flag down and raises it; the second exits.
    signal_hook::flag::register_conditional_shutdown(SIGINT, interrupted, Arc::clone(&stop))
        .map_err(failed)?;
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(failed)?;
    }
    Ok(stop)
}

/// A new run: where it runs, its plan, its record.
fn begin(args: &SweepArgs, root: &Root) -> Result<(Record, Place), Failure> {
    let path = match &args.output {
        Some(path) => {
            record_file::check(path)?;
            path.clone()
        }
        None => meant::default_output(SystemTime::now()),
    };
    let (plan, place) = meant::plan(args, root)?;
    let mut requirements = place.requirements(root, &plan.cpus);
    check(&requirements)?;
    requirements.extend(plimsoll_host::requirements(root));
    let provenance = plimsoll_host::provenance(root, env!("CARGO_PKG_VERSION"));
    let command_line: Vec<String> = std::env::args().collect();
    let record = Record::create(&path, &plan, &provenance, &command_line, &requirements)?;
    Ok((record, place))
}

/// Says what is missed; fails if the run cannot start.
fn check(requirements: &[Requirement]) -> Result<(), Failure> {
    let mut fatal = Vec::new();
    for requirement in requirements {
        match &requirement.outcome {
            Outcome::Met { found } => note(&format!("found: {found}")),
            Outcome::Missed { lost, remedy } => note(&format!("note: {lost}; {remedy}")),
            Outcome::Failed { why, remedy } => fatal.push(format!("{why}; {remedy}")),
        }
    }
    if fatal.is_empty() {
        Ok(())
    } else {
        Err(Failure::Mistake(fatal.join("\n")))
    }
}

/// Runs the trials of the record's plan that are not in it yet.
fn measure(
    place: &Place,
    root: &Root,
    record: &mut Record,
    trials: &mut Vec<Trial>,
    args: &SweepArgs,
    stop: &AtomicBool,
) -> Result<Ended, Failure> {
    let plan = &record.plan().clone();
    let mut runner = place.runner(plan, root)?;
    let on_terminal = std::io::stderr().is_terminal() && !args.plain;
    let mut watch = progress::watch(on_terminal);
    conduct(
        |trials| (sweep::next(plan, trials), sweep::progress(plan, trials)),
        trials,
        runner.as_mut(),
        |trial| record.append(trial).map_err(Failure::from),
        watch.as_mut(),
        stop,
    )
}
