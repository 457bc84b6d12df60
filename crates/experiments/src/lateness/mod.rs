//! `plimsoll lateness`: how late does a sleeping thread wake? The example of
//! docs/adding-an-experiment.md.

mod document;
mod study;

use crate::args::RunArgs;
use crate::args::value::{positive_duration, window};
use crate::experiment::{Experiment, HelpPage, Machine, Prepared, ReportOf};
use plimsoll_engine::visits::VisitPlanner;
use plimsoll_engine::{
    Observer, Planner, RunError, Runner, ServiceTarget, TrialSensors, measure, this_thread,
};
use plimsoll_model::{RunPlan, Trial, TrialSetting, TrialSpec, human_duration};
use plimsoll_report::Document;
use plimsoll_report::chart::LiveCharts;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
pub use study::LatenessFindings;

/// `plimsoll lateness`
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  plimsoll lateness --sleeps 100us,1ms,10ms")]
pub struct LatenessArgs {
    /// The lengths of the sleeps, up to 1s.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "50us,200us,1ms,5ms", value_parser = positive_duration)]
    sleeps: Vec<Duration>,
    /// How often each length is visited, every second time in the reverse order.
    #[arg(long, value_name = "N", default_value = "6", value_parser = clap::value_parser!(u32).range(1..=1000))]
    passes: u32,
    /// How long each trial measures; p99 takes 299 wake-ups.
    #[arg(short = 'z', long, value_name = "TIME", default_value = "2s", value_parser = window)]
    duration: Duration,
    #[command(flatten)]
    run: RunArgs,
}

/// The plan of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LatenessPlan {
    /// The lengths of the sleeps, ascending.
    #[serde(rename = "sleeps_ns", with = "plimsoll_model::NsList")]
    sleeps: Vec<Duration>,
    #[serde(flatten)]
    run: RunPlan,
}

/// What a trial is made at: the length of its sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sleep(#[serde(with = "plimsoll_model::Ns")] Duration);

impl TrialSetting for Sleep {}

/// A trial; its latency is the lateness of each wake-up.
type SleepTrial = Trial<Sleep, ()>;
type PreparedPlan = Prepared<LatenessPlan, ()>;

/// Flags that decide the plan.
const FLAGS: &[&str] = &["sleeps", "passes", "duration", "seed", "cpus"];

/// The experiment.
#[derive(Debug)]
pub struct WakeUps;

impl Experiment for WakeUps {
    const NAME: &'static str = "lateness";
    const ABOUT: &'static str = "Let a thread sleep: how late does it wake?";
    const HELP: HelpPage = HelpPage {
        headings: &[("Measurement", FLAGS)],
        short: &[("sleeps", "The lengths of the sleeps")],
        fixed: &[FLAGS],
    };
    const LIVE: LiveCharts = LiveCharts {
        times_title: "Lateness (log scale) by sleep, us",
        cpu_title: "CPU use (%) by sleep, us",
        ..LiveCharts::LATENCY
    };
    type Args = LatenessArgs;
    type Plan = LatenessPlan;
    type Setting = Sleep;
    type Outcome = ();
    type Findings = LatenessFindings;
    type Picture = ();
    type Site = ();

    fn prepare(args: &LatenessArgs, machine: &Machine) -> Result<PreparedPlan, RunError> {
        let mut sleeps = args.sleeps.clone();
        sleeps.sort_unstable();
        sleeps.dedup();
        if sleeps.iter().any(|length| *length > Duration::from_secs(1)) {
            let why = "--sleeps has a length above 1s, which Ctrl-C would wait for";
            return Err(RunError::Usage(why.to_owned()));
        }
        let (passes, window) = (args.passes, args.duration);
        let run = args.run.plan(passes, window, sleeps.len(), &machine.root)?;
        Ok(Prepared::new(LatenessPlan { sleeps, run }, ()))
    }

    fn reopen(_: &Self::Args, plan: LatenessPlan, _: &Machine) -> Result<PreparedPlan, RunError> {
        Ok(Prepared::new(plan, ()))
    }

    fn run(plan: &LatenessPlan) -> &RunPlan {
        &plan.run
    }

    fn workload(_: &LatenessPlan) -> String {
        "a thread that sleeps".to_owned()
    }

    fn planner(plan: &LatenessPlan) -> impl Planner<Setting = Sleep, Outcome = ()> {
        let settings = plan.sleeps.iter().copied().map(Sleep).collect();
        let words = |sleep: &Sleep| format!("sleeps of {}", human_duration(sleep.0));
        VisitPlanner::of(&plan.run, settings, words, |s| {
            Some(s.0.as_secs_f64() * 1e6)
        })
    }

    fn runner<'a>(
        plan: &'a LatenessPlan,
        (): &(),
        machine: &'a Machine,
    ) -> Result<Box<dyn Runner<Sleep, ()> + 'a>, RunError> {
        let (root, cpus) = (machine.root.clone(), plan.run.cpus.service.clone());
        let sensors = TrialSensors::new(root, cpus, ServiceTarget::OwnThreads);
        Ok(Box::new(Sleeper { plan, sensors }))
    }

    fn findings(plan: &LatenessPlan, trials: &[SleepTrial]) -> LatenessFindings {
        study::findings(plan, trials)
    }

    fn picture(_: &LatenessPlan, _: &[SleepTrial]) {}

    fn document<'a>(report: &'a ReportOf<'a, WakeUps>, (): &'a ()) -> Document<'a> {
        document::document(report)
    }
}

struct Sleeper<'a> {
    plan: &'a LatenessPlan,
    sensors: TrialSensors,
}

impl Runner<Sleep, ()> for Sleeper<'_> {
    fn run(
        &mut self,
        spec: &TrialSpec<Sleep>,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Option<SleepTrial>, RunError> {
        let (bounds, Sleep(length)) = (&self.plan.run.bounds, spec.setting);
        let sensors = (&self.sensors, &[this_thread()][..]);
        measure(bounds, sensors, spec, observer, |trial: &mut SleepTrial| {
            let ends = Instant::now() + spec.window;
            while Instant::now() < ends && !stop.load(Ordering::Relaxed) {
                let began = Instant::now();
                std::thread::sleep(length);
                trial.work.count(began.elapsed().saturating_sub(length));
            }
            Ok(!stop.load(Ordering::Relaxed))
        })
    }
}
