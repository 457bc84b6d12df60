//! One run of any experiment: begin or resume, measure, record, observe,
//! conclude, show.

mod args;
mod begin;
mod conclusion;
mod finish;
pub(crate) mod require;
mod requirements;

pub(crate) use args::FrameArgs;
pub(crate) use conclusion::{Conclusion, plan, rendered, trials};
pub(crate) use finish::show;

use crate::disturbed::{self, EarlyEnd};
use crate::failure::Failure;
use crate::load_record::LoadRecord;
use crate::metrics::MetricsServer;
use crate::note::note;
use crate::output::Output;
use crate::stop::Stop;
use crate::{helper, leftovers, live, progress, record_file};
use begin::Begun;
use plimsoll_control::{Journal, Journals};
use plimsoll_engine::{Observer, Outcome, RunError, conduct};
use plimsoll_experiments::{Experiment, LoadLine, Machine, TrialOf};
use plimsoll_host::Root;
use std::path::Path;

/// Runs an experiment as it was asked for.
pub(crate) fn run<E: Experiment>(
    frame: &FrameArgs,
    args: &E::Args,
    output: &Output,
) -> Result<(), Failure> {
    require::check_format(frame.format, &frame.require)?;
    let stop = Stop::on_signals_of_a_run()?;
    let machine = machine(&stop);
    // Before there is a record: another address can be asked for.
    let metrics = frame.metrics.map(MetricsServer::listen).transpose()?;
    if let Some(server) = &metrics {
        note(&format!("metrics: http://{}/metrics", server.addr()));
    }
    leftovers::restore_if_possible(&machine.journals, &machine.root);
    let mut begun = match &frame.resume {
        Some(path) => begin::resume::<E>(path, frame, args, &machine)?,
        None => begin::new::<E>(frame, args, &machine, output)?,
    };
    stop.begun();
    let mut trials: Vec<TrialOf<E>> = trials::<E>(&begun.record)?;
    let live = || live::observe::<E>(&begun.plan, begun.record.path(), &trials, output, &stop);
    let live = (!frame.plain).then(live).flatten();
    let mut observer = live.unwrap_or_else(progress::lines);
    if let Some(server) = metrics {
        observer = Box::new(server.observing(E::NAME, observer));
    }
    let ended = measure(&mut begun, &machine, &mut trials, observer.as_mut(), &stop);
    // The findings are printed on the terminal that was given back.
    drop(observer);
    finish::finish(&mut begun, &trials, ended, frame, output)
}

/// Runs the trials of the plan that are not recorded yet.
fn measure<E: Experiment>(
    begun: &mut Begun<E>,
    machine: &Machine,
    trials: &mut Vec<TrialOf<E>>,
    observer: &mut dyn Observer,
    stop: &Stop,
) -> Result<Outcome, Failure> {
    let Begun { record, plan, site } = begun;
    let mut runner = E::runner(plan, site, machine)?;
    let mut early_end = EarlyEnd::default();
    for trial in trials.iter() {
        early_end.add(trial, || None);
    }
    let ended = conduct(
        &E::planner(plan),
        trials,
        runner.as_mut(),
        // No other file can be asked for while a run goes on: no usage error.
        |trial| {
            (record.append(trial)).map_err(|error| Failure::Run(error.to_string()))?;
            let since = trial.took.saturating_sub(trial.warm_up);
            requirements::add_missed::<E>(record, (plan, site, machine), since)?;
            match early_end.add(trial, disturbed::busiest) {
                Some(why) => Err(Failure::Run(why)),
                None => Ok(()),
            }
        },
        observer,
        stop.flag(),
    )?;
    if ended == Outcome::Complete {
        requirements::add_missed_at_end::<E>(record, (plan, site, machine))?;
    }
    Ok(ended)
}

fn machine(stop: &Stop) -> Machine {
    let (flag, exit) = (stop.clone(), stop.clone());
    // A second signal ends at once, but first all that the run has started.
    let opened = move |journal: &Journal| exit.before_exit(journal.at_once());
    Machine::new(Root::machine(), Journals::usual(), helper::all(), opened)
        .stopped_by(move || flag.is_raised())
        .with_records(load_line)
}

fn load_line(record: &Path) -> Result<LoadLine, RunError> {
    let read = LoadRecord::open(record, &[], &mut record_file::memory_budget());
    let LoadRecord {
        plan,
        trials,
        findings,
        ..
    } = read.map_err(|why| {
        let words = why.sentence().unwrap_or_default().to_owned();
        RunError::Usage(words)
    })?;
    Ok(LoadLine {
        plan,
        trials,
        findings,
    })
}
