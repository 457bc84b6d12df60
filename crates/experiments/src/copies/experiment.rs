//! Copies as an experiment.

use super::args::CopiesArgs;
use super::plan;
use super::run::CopiesRunner;
use crate::experiment::{Experiment, HelpPage, Machine, Prepared, ReportOf, Stage};
use plimsoll_engine::{Planner, RunError, Runner};
use plimsoll_host::cores_of;
use plimsoll_load::copies::check;
use plimsoll_model::{
    CheckedPlan, Copies, CopiesFindings, CopiesOutcome, CopiesPlan, CopiesSetting, CopiesTrial,
    CopiesWorkload, ImplausiblePlan, RunPlan, TrialPicture, counted, for_count,
};
use plimsoll_report::Document;
use plimsoll_report::chart::LiveCharts;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(3600);

/// How do copies of a command slow each other down?
#[derive(Debug)]
pub struct CopiesOfCommand;

impl Experiment for CopiesOfCommand {
    const NAME: &'static str = "copies";
    const ABOUT: &'static str = "Run 1 to N copies of a command: how do they slow each other?";
    const HELP: HelpPage = super::args::HELP;

    const LIVE: LiveCharts = LiveCharts {
        times_title: "Time of a copy (log scale) by copies",
        cpu_title: "CPU use (%) by copies",
        times: &["mean", "slowest"],
        x_is_count: true,
    };

    type Args = CopiesArgs;
    type Plan = CopiesPlan;
    type Setting = CopiesSetting;
    type Outcome = CopiesOutcome;
    type Findings = CopiesFindings;
    type Picture = Vec<TrialPicture>;
    type Site = ();

    fn prepare(args: &CopiesArgs, machine: &Machine) -> Result<Prepared<CopiesPlan, ()>, RunError> {
        let root = &machine.root;
        let command = Copies {
            command: args.command.clone(),
            timeout: args.timeout.unwrap_or(TIMEOUT),
        };
        check(&command)?;
        let s = Duration::from_secs;
        let (passes, idle, budget) = match args.quick {
            true => (1, s(2), s(62)),
            false => (2, s(5), s(205)),
        };
        // A trial lasts as long as its copies do.
        let mut run = args
            .run
            .plan(args.trials.unwrap_or(passes), s(1), 0, root)?;
        let allowed = &run.cpus.service;
        let numbers = numbers(args.numbers.as_deref(), allowed.len())?;
        run.cpus.cores = cores_of(root, allowed);
        run.idle = idle;
        run.budget = budget;
        let plan = CopiesPlan {
            workload: CopiesWorkload::Copies(command),
            numbers,
            run,
        };
        Ok(Prepared::new(plan, ()))
    }

    fn reopen(
        args: &CopiesArgs,
        plan: CopiesPlan,
        _machine: &Machine,
    ) -> Result<Prepared<CopiesPlan, ()>, RunError> {
        let CopiesWorkload::Copies(copies) = &plan.workload else {
            let why = "an imported table cannot be resumed: nothing was run; start a run of copies";
            return Err(RunError::Usage(why.to_owned()));
        };
        if !args.command.is_empty() && args.command != copies.command {
            return Err(RunError::Usage(format!(
                "the run was recorded with another command: {:?}; leave the command out to resume it, or start a new run",
                copies.command
            )));
        }
        check(copies)?;
        Ok(Prepared::new(plan, ()))
    }

    fn run(plan: &CopiesPlan) -> &RunPlan {
        &plan.run
    }

    fn check(plan: &CopiesPlan) -> Result<(), ImplausiblePlan> {
        plan.check()
    }

    fn workload(plan: &CopiesPlan) -> String {
        plan.workload.to_string()
    }

    fn commands(plan: &CopiesPlan) -> Vec<String> {
        match &plan.workload {
            CopiesWorkload::Copies(copies) => {
                vec![format!("copies of the command {:?}", copies.command)]
            }
            CopiesWorkload::Imported(_) => Vec::new(),
        }
    }

    fn planner(
        plan: &CopiesPlan,
    ) -> impl Planner<Setting = CopiesSetting, Outcome = CopiesOutcome> {
        plan::planner(plan)
    }

    fn runner<'a>(
        plan: &'a CopiesPlan,
        (): &(),
        machine: &'a Machine,
    ) -> Result<Box<dyn Runner<CopiesSetting, CopiesOutcome> + 'a>, RunError> {
        match &plan.workload {
            CopiesWorkload::Copies(command) => {
                Ok(Box::new(CopiesRunner::new(plan, command, machine)?))
            }
            CopiesWorkload::Imported(_) => Err(RunError::Stuck(
                "an imported table has nothing to run; this is a defect of Plimsoll".to_owned(),
            )),
        }
    }

    fn stages(plan: &CopiesPlan) -> Vec<Stage> {
        let what = match plan.numbers.as_slice() {
            [] => "no copies".to_owned(),
            [one] => format!("{one} copies at once"),
            [first, .., last] => format!("{first} to {last} copies at once"),
        };
        let words = format!("{what}, each {} times, in shuffled order", plan.run.passes);
        let stages = [Stage::idle(&plan.run), Some(Stage::visits(words))];
        stages.into_iter().flatten().collect()
    }

    fn findings(plan: &CopiesPlan, trials: &[CopiesTrial]) -> CopiesFindings {
        plimsoll_study::copies::findings(plan, trials)
    }

    fn picture(plan: &CopiesPlan, trials: &[CopiesTrial]) -> Vec<TrialPicture> {
        plimsoll_study::picture::of_copies(plan, trials)
    }

    fn document<'a>(
        report: &'a ReportOf<'a, CopiesOfCommand>,
        picture: &'a Vec<TrialPicture>,
    ) -> Document<'a> {
        plimsoll_report::copies::document(report, Some(picture))
    }
}

/// Every number from 1 to one per CPU, or the given ones.
fn numbers(asked: Option<&[u32]>, cpus: usize) -> Result<Vec<u32>, RunError> {
    let most = u32::try_from(cpus).unwrap_or(u32::MAX);
    let Some(asked) = asked else {
        return Ok((1..=most).collect());
    };
    if let Some(number) = asked.iter().find(|n| **n > most) {
        return Err(RunError::Usage(format!(
            "--numbers: {number} copies are too many; there {} {}, and each copy has one of its own",
            for_count(cpus, "is", "are"),
            counted(cpus, "CPU", "CPUs")
        )));
    }
    let mut numbers = asked.to_vec();
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

#[cfg(test)]
mod experiment_tests {
    use super::*;

    #[test]
    fn numbers_of_copies_have_a_cpu_each() {
        assert_eq!(numbers(None, 3).unwrap(), [1, 2, 3]);
        assert_eq!(numbers(Some(&[4, 1, 4]), 4).unwrap(), [1, 4]);
        assert!(numbers(Some(&[5]), 4).is_err());
    }
}
