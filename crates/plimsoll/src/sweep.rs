//! `plimsoll sweep`: from the flags to the findings.

use crate::args::SweepArgs;
use crate::failure::Failure;
use crate::finish::finish;
use crate::output::Output;
use crate::record_file::Maker;
use crate::stop::Stop;
use crate::{headers, live, meant, needs, progress, record_file, report, resume};
use plimsoll_experiment::sweep::{self, Place};
use plimsoll_experiment::{Ended, Watch, conduct};
use plimsoll_host::Root;
use plimsoll_model::{Plan, Trial};
use plimsoll_record::Record;
use std::time::SystemTime;

pub(crate) fn run(args: SweepArgs, output: &Output) -> Result<(), Failure> {
    let root = Root::machine();
    let stop = Stop::on_signals()?;
    let (mut record, place, plan) = match &args.resume {
        Some(path) => resume::open(path, &args, &root)?,
        None => begin(&args, &root)?,
    };
    let mut trials: Vec<Trial> = record.trials()?.collect::<Result<_, _>>()?;
    let view = |record: &Record, trials: &[Trial]| {
        let path = record.path().display().to_string();
        let live = || live::watch(record.plan(), path, trials, output, &stop);
        let live = (!args.plain).then(live).flatten();
        live.unwrap_or_else(progress::lines)
    };
    let mut watch = view(&record, &trials);
    let ended = measure(
        &plan,
        &place,
        &root,
        &mut record,
        &mut trials,
        watch.as_mut(),
        &stop,
    );
    // The findings are told on the terminal that was given back.
    drop(watch);
    finish("sweep", &mut record, &trials, ended, |record| {
        report::show(record, args.format, !args.no_html, output)
    })
}

/// A new run: where it runs, its plan, its record.
fn begin(args: &SweepArgs, root: &Root) -> Result<(Record, Place, Plan), Failure> {
    let path = match &args.output {
        Some(path) => {
            record_file::check(path, Maker::Sweep)?;
            path.clone()
        }
        None => meant::default_output("sweep", SystemTime::now()),
    };
    let (plan, place) = meant::plan(args, root)?;
    let mut requirements = place.requirements(root, &plan.cpus);
    needs::check(&requirements)?;
    requirements.extend(plimsoll_host::requirements(root));
    let provenance = plimsoll_host::provenance(root, env!("CARGO_PKG_VERSION"));
    let command_line: Vec<String> = std::env::args().collect();
    let (kept, command_line) = headers::recorded(&plan, command_line, &args.header, &args.http);
    let record = Record::create(&path, &kept, &provenance, &command_line, &requirements)?;
    Ok((record, place, plan))
}

/// Runs the trials of the plan that are not in the record yet.
fn measure(
    plan: &Plan,
    place: &Place,
    root: &Root,
    record: &mut Record,
    trials: &mut Vec<Trial>,
    watch: &mut dyn Watch,
    stop: &Stop,
) -> Result<Ended, Failure> {
    let mut runner = place.runner(plan, root)?;
    conduct(
        |trials| (sweep::next(plan, trials), sweep::progress(plan, trials)),
        trials,
        runner.as_mut(),
        // While a run goes on no other file can be asked for.
        |trial| (record.append(trial)).map_err(|error| Failure::Run(error.to_string())),
        watch,
        stop.flag(),
    )
}
