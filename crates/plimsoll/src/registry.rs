//! The experiments, one line each, behind one object-safe trait.

#[cfg(test)]
mod tests;

use crate::failure::Failure;
use crate::output::Output;
use crate::session;
use crate::session::{Conclusion, FrameArgs, run};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use plimsoll_experiments::{Experiment, HelpPage, LoadLine};
use plimsoll_model::Goal;
use plimsoll_record::Record;
use plimsoll_report::{Format, Look};
use std::marker::PhantomData;

/// The experiments in the order of the help.
pub(crate) const EXPERIMENTS: &[&dyn Entry] = &[
    &Registered::<plimsoll_experiments::sweep::Sweep>::NEW,
    &Registered::<plimsoll_experiments::yields::Yield>::NEW,
    &Registered::<plimsoll_experiments::copies::CopiesOfCommand>::NEW,
    &Registered::<plimsoll_experiments::lateness::WakeUps>::NEW,
];

/// An experiment without its types.
pub(crate) trait Entry: Sync {
    /// The command, and the tag in a record.
    fn name(&self) -> &'static str;
    /// Its flags, in no order.
    fn command(&self) -> Command;
    /// How its help is laid out.
    fn help(&self) -> HelpPage;
    fn run(&self, matches: &ArgMatches, output: &Output) -> Result<(), Failure>;
    /// What a record of it says, in a format. `goals` replace those of the run.
    fn report(
        &self,
        record: &Record,
        goals: &[Goal],
        format: Format,
        look: Look,
    ) -> Result<String, Failure>;
    /// The load line of a record of it; `None` if it has none.
    fn load_line(&self, record: &Record, goals: &[Goal]) -> Result<Option<LoadLine>, Failure>;
    /// The schema of its JSON output.
    #[cfg(test)]
    fn schema(&self, generator: &mut schemars::SchemaGenerator) -> schemars::Schema;
}

/// The experiment of a record.
///
/// # Errors
/// This version does not have it.
pub(crate) fn of(record: &Record) -> Result<&'static dyn Entry, Failure> {
    let name = record.experiment();
    let found = EXPERIMENTS.iter().find(|entry| entry.name() == name);
    found.copied().ok_or_else(|| {
        Failure::Mistake(format!(
            "{} is a record of the experiment '{name}', which this version of Plimsoll does not have; update Plimsoll",
            record.path().display()
        ))
    })
}

/// An experiment as an [`Entry`].
struct Registered<E>(PhantomData<fn() -> E>);

impl<E> Registered<E> {
    const NEW: Registered<E> = Registered(PhantomData);
}

impl<E: Experiment> Entry for Registered<E> {
    fn name(&self) -> &'static str {
        E::NAME
    }

    fn command(&self) -> Command {
        let command = FrameArgs::augment_args(E::Args::augment_args(Command::new(E::NAME)));
        command.about(E::ABOUT).long_about(None)
    }

    fn help(&self) -> HelpPage {
        E::HELP
    }

    fn run(&self, matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
        let frame = FrameArgs::from_arg_matches(matches).unwrap_or_else(|e| e.exit());
        let args = E::Args::from_arg_matches(matches).unwrap_or_else(|e| e.exit());
        run::<E>(&frame, &args, output)
    }

    fn report(
        &self,
        record: &Record,
        goals: &[Goal],
        format: Format,
        look: Look,
    ) -> Result<String, Failure> {
        Conclusion::<E>::of(record, goals)?.written(format, look)
    }

    fn load_line(&self, record: &Record, goals: &[Goal]) -> Result<Option<LoadLine>, Failure> {
        let plan = session::plan::<E>(record, goals)?;
        Ok(E::load_line(plan, session::trials::<E>(record)?))
    }

    #[cfg(test)]
    fn schema(&self, generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        type Json<'a, E> =
            plimsoll_report::RunBody<'a, <E as Experiment>::Plan, <E as Experiment>::Findings>;
        <plimsoll_report::Envelope<'_, Json<'_, E>> as schemars::JsonSchema>::json_schema(generator)
    }
}
