//! The experiments of [`plimsoll_experiments::each_experiment`], without their types.

#[cfg(test)]
mod tests;

use crate::failure::Failure;
use crate::output::Output;
use crate::session;
use crate::session::require::Required;
use crate::session::{Conclusion, FrameArgs, run};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use plimsoll_experiments::{Experiment, HelpPage, LoadLine};
use plimsoll_model::Goal;
use plimsoll_record::Record;
use plimsoll_report::chart::PlotFile;
use plimsoll_report::verdicts::Verdicts;
use plimsoll_report::{Format, Look};

/// The experiments in the order of the help.
pub(crate) const EXPERIMENTS: &[Entry] = &plimsoll_experiments::each_experiment!(entry);

type Judge = fn(&Record, &[Goal], &[Required]) -> Result<Verdicts, Failure>;
type Report = fn(&Record, &[Goal], Format, Look, &Output) -> Result<String, Failure>;

/// An experiment without its types.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// The command, and the tag in a record.
    pub(crate) name: &'static str,
    /// Its flags, in no order.
    pub(crate) command: fn() -> Command,
    pub(crate) help: HelpPage,
    pub(crate) run: fn(&ArgMatches, &Output) -> Result<(), Failure>,
    /// What a record of it says, in a format. Goals replace those of the run.
    pub(crate) report: Report,
    /// What a record of it says about what is required. Goals replace those of the run.
    pub(crate) judge: Judge,
    /// The charts of a record of it for gnuplot, with their data.
    pub(crate) plots: fn(&Record, &Output) -> Result<Vec<PlotFile>, Failure>,
    /// The load line of a record of it; `None` if it has none.
    pub(crate) load_line: fn(&Record, &[Goal]) -> Result<Option<LoadLine>, Failure>,
    #[cfg(test)]
    schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
}

const fn entry<E: Experiment>() -> Entry {
    Entry {
        name: E::NAME,
        command: || {
            let command = FrameArgs::augment_args(E::Args::augment_args(Command::new(E::NAME)));
            command.about(E::ABOUT).long_about(None)
        },
        help: E::HELP,
        run: |matches, output| {
            let frame = FrameArgs::from_arg_matches(matches).unwrap_or_else(|e| e.exit());
            let args = E::Args::from_arg_matches(matches).unwrap_or_else(|e| e.exit());
            run::<E>(&frame, &args, output)
        },
        report: |record, goals, format, look, output| {
            Conclusion::<E>::of(record, goals, output)?.written(format, look)
        },
        judge: session::require::of_record::<E>,
        plots: |record, output| Ok(Conclusion::<E>::of(record, &[], output)?.plots()),
        load_line: |record, goals| {
            let plan = session::plan::<E>(record, goals)?;
            Ok(E::load_line(plan, session::trials::<E>(record)?))
        },
        #[cfg(test)]
        schema: |generator| {
            type Json<'a, E> =
                plimsoll_report::RunBody<'a, <E as Experiment>::Plan, <E as Experiment>::Findings>;
            <plimsoll_report::Envelope<'_, Json<'_, E>> as schemars::JsonSchema>::json_schema(
                generator,
            )
        },
    }
}

/// The experiment of a record.
///
/// # Errors
/// This version does not have it.
pub(crate) fn of(record: &Record) -> Result<Entry, Failure> {
    let name = record.experiment();
    let found = EXPERIMENTS.iter().find(|entry| entry.name == name).copied();
    found.ok_or_else(|| {
        Failure::Mistake(format!(
            "{} is a record of the experiment '{name}', which this version of Plimsoll does not have; update Plimsoll",
            record.path().display()
        ))
    })
}
