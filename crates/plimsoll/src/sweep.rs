//! `plimsoll sweep`: from the flags to the findings.

use crate::args::SweepArgs;
use crate::failure::Failure;
use crate::finish::finish;
use crate::output::Output;
use crate::record_file::Maker;
use crate::stop::Stop;
use crate::{leftovers, live, meant, needs, progress, record_file, report, resume};
use plimsoll_control::Journals;
use plimsoll_experiment::sweep::{self, Place};
use plimsoll_experiment::{Ended, Watch, conduct};
use plimsoll_host::Root;
use plimsoll_model::Trial;
use plimsoll_record::Record;
use std::time::SystemTime;

pub(crate) fn run(args: SweepArgs, output: &Output) -> Result<(), Failure> {
    let root = Root::machine();
    let stop = Stop::on_signals()?;
    let journals = Journals::usual();
    leftovers::give_back_if_possible(&journals, &root);
    let (mut record, place) = match &args.resume {
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
        &place,
        &journals,
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
fn begin(args: &SweepArgs, root: &Root) -> Result<(Record, Place), Failure> {
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
    let record = Record::create(&path, &plan, &provenance, &command_line, &requirements)?;
    Ok((record, place))
}

/// Runs the trials of the record's plan that are not in it yet.
fn measure(
    place: &Place,
    journals: &Journals,
    root: &Root,
    record: &mut Record,
    trials: &mut Vec<Trial>,
    watch: &mut dyn Watch,
    stop: &Stop,
) -> Result<Ended, Failure> {
    let plan = &record.plan().clone();
    let journal = || {
        let journal = journals.open(root)?;
        stop.before_exit(journal.at_once());
        Ok(journal)
    };
    let mut runner = place.runner(plan, root, &journal)?;
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
