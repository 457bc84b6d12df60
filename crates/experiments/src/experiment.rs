//! The trait of an experiment: what the session, the record and the reports need
//! from it.

use plimsoll_control::{ControlError, Gate, Journal, Journals};
use plimsoll_engine::{Planner, RunError, Runner};
use plimsoll_host::Root;
use plimsoll_model::{
    CheckedPlan, Condition, CountedJob, FigureName, Findings, Goal, ImplausiblePlan, Judgement,
    NamedFigure, Phase, Plan, Requirement, RunPlan, ServiceWarmUp, Trial, TrialSetting, counted,
    human_minutes,
};
use plimsoll_report::chart::LiveCharts;
use plimsoll_report::{Document, Report};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

/// The machine of a run, and the means to change it.
pub struct Machine {
    /// Where /proc, /sys and cgroups are read.
    pub root: Root,
    /// Where changes are recorded until they are undone.
    pub journals: Journals,
    journal: OnceLock<Journal>,
    opened: Box<dyn Fn(&Journal)>,
    is_stopped: Box<dyn Fn() -> bool>,
    load_line: fn(&Path) -> Result<LoadLine, RunError>,
    /// This program as other processes.
    pub helpers: Helpers,
}

/// This program as helper processes.
#[derive(Debug, Clone)]
pub struct Helpers {
    /// The gate that becomes a command once it is restricted.
    pub gate: Gate,
    /// The program and its arguments that become a job on so many threads. It counts on its standard
    /// output ([`plimsoll_load::job`]) and ends when its standard input does.
    pub worker: fn(&CountedJob, usize) -> Vec<OsString>,
    /// The program and its arguments that become the process of a scheduler under test
    /// ([`crate::rig::serve_scheduler`]).
    pub scheduler: Vec<OsString>,
}

impl Machine {
    /// A machine that starts programs this way. `opened` is called with the journal
    /// when a run first changes something.
    pub fn new(
        root: Root,
        journals: Journals,
        helpers: Helpers,
        opened: impl Fn(&Journal) + 'static,
    ) -> Machine {
        Machine {
            root,
            journals,
            journal: OnceLock::new(),
            opened: Box::new(opened),
            is_stopped: Box::new(|| false),
            load_line: |_| Err(RunError::Usage("no records are read here".to_owned())),
            helpers,
        }
    }

    /// With what says that the user has stopped the run.
    #[must_use]
    pub fn stopped_by(self, is_stopped: impl Fn() -> bool + 'static) -> Machine {
        Machine {
            is_stopped: Box::new(is_stopped),
            ..self
        }
    }

    /// With what reads the load line of a record, of any experiment that has one.
    #[must_use]
    pub fn with_records(self, load_line: fn(&Path) -> Result<LoadLine, RunError>) -> Machine {
        Machine { load_line, ..self }
    }

    /// The load line of a record.
    ///
    /// # Errors
    /// It cannot be read, or has none.
    pub fn load_line(&self, record: &Path) -> Result<LoadLine, RunError> {
        (self.load_line)(record)
    }

    /// For what waits before the first trial.
    ///
    /// # Errors
    /// [`RunError::Interrupted`] if the user has stopped the run.
    pub fn check_not_stopped(&self) -> Result<(), RunError> {
        match (self.is_stopped)() {
            true => Err(RunError::Interrupted),
            false => Ok(()),
        }
    }

    /// The journal of this run, opened on first use: a run that changes nothing needs
    /// none.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn journal(&self) -> Result<&Journal, ControlError> {
        if let Some(journal) = self.journal.get() {
            return Ok(journal);
        }
        let journal = self.journals.open(&self.root)?;
        (self.opened)(&journal);
        Ok(self.journal.get_or_init(|| journal))
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine")
            .field("root", &self.root)
            .field("journals", &self.journals)
            .finish_non_exhaustive()
    }
}

/// A plan and its site.
#[derive(Debug)]
pub struct Prepared<P, S> {
    pub plan: P,
    /// Where it runs, such as the service that was found.
    pub site: S,
    /// Messages for the user, one sentence each.
    pub notes: Vec<String>,
}

impl<P, S> Prepared<P, S> {
    /// A plan and its site, without remarks.
    pub fn new(plan: P, site: S) -> Prepared<P, S> {
        Prepared {
            plan,
            site,
            notes: Vec::new(),
        }
    }
}

pub type TrialOf<E> = Trial<<E as Experiment>::Setting, <E as Experiment>::Outcome>;

/// The input of an experiment's document, except the picture.
pub type ReportOf<'a, E> = Report<'a, <E as Experiment>::Plan, <E as Experiment>::Findings>;

/// The load line: CPU use and latency of a service or machine by load.
#[derive(Debug)]
pub struct LoadLine {
    pub plan: Plan,
    pub trials: Vec<Trial>,
    /// The findings.
    pub findings: Findings,
}

/// A part of a run that the plan announces, for the live view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// The phase of its trials.
    pub phase: Phase,
    /// Its content and duration, in one line.
    pub words: String,
}

impl Stage {
    pub(crate) fn new(phase: Phase, words: impl Into<String>) -> Stage {
        Stage {
            phase,
            words: words.into(),
        }
    }

    /// The idle machine, if the run measures it.
    pub(crate) fn idle(run: &RunPlan) -> Option<Stage> {
        let words = format!("the machine without load, for {}", human_minutes(run.idle));
        (!run.idle.is_zero()).then(|| Stage::new(Phase::Idle, words))
    }

    /// The load before anything is measured, if the run has it.
    pub(crate) fn warm_up(plan: &Plan) -> Option<Stage> {
        let warm_up = plan.service_warm_up?;
        let long = match warm_up {
            ServiceWarmUp::Time(time) => human_minutes(time),
            ServiceWarmUp::Requests(requests) => counted(requests, "request", "requests"),
        };
        let words = format!("the service warms up, for {long}");
        Some(Stage::new(Phase::WarmUp, words))
    }

    /// The visits.
    pub(crate) fn visits(words: impl Into<String>) -> Stage {
        Stage::new(Phase::Level { level: None }, words)
    }
}

/// The position of an experiment's flags in its help.
#[derive(Debug, Clone, Copy)]
pub struct HelpPage {
    /// Headings in order, and the ids of the flags under them.
    pub headings: &'static [(&'static str, &'static [&'static str])],
    /// The flags that the short help (`-h`) shows.
    pub short: &'static [(&'static str, &'static str)],
    /// Flags that cannot be given with `--resume`.
    pub fixed: &'static [&'static [&'static str]],
}

/// An experiment: a question, a varied factor, and a measurement.
///
/// The session does the rest: begin or resume, run, record, observe, conclude,
/// show, exit code.
pub trait Experiment: Sized + 'static {
    /// Its name: the command, and the tag in the record.
    const NAME: &'static str;
    /// What the command does, in a line.
    const ABOUT: &'static str;
    /// How its help is laid out.
    const HELP: HelpPage;
    /// The quantities of the charts of the live view.
    const LIVE: LiveCharts = LiveCharts::LATENCY;

    /// Its flags.
    type Args: clap::Args;
    /// Conditions that it answers, as examples; empty for none.
    const CONDITIONS: &'static str = "";
    /// The names of its [`Experiment::figures`].
    const FIGURES: &'static [FigureName] = &[];

    /// The plan.
    type Plan: Clone + Serialize + DeserializeOwned + JsonSchema;
    /// The setting of a trial.
    type Setting: TrialSetting + Serialize + DeserializeOwned;
    /// What a trial measures besides the common quantities.
    type Outcome: Default + Serialize + DeserializeOwned;
    /// The findings.
    type Findings: Serialize + JsonSchema;
    /// The data of charts besides the findings.
    type Picture;
    /// Where it runs.
    type Site;

    /// Makes the requested plan.
    ///
    /// # Errors
    /// A usage error, or the machine or the service cannot be read.
    fn prepare(
        args: &Self::Args,
        machine: &Machine,
    ) -> Result<Prepared<Self::Plan, Self::Site>, RunError>;

    /// Prepares a recorded plan to be resumed on this machine.
    ///
    /// # Errors
    /// `args` request another plan, or as for [`Experiment::prepare`].
    fn reopen(
        args: &Self::Args,
        plan: Self::Plan,
        machine: &Machine,
    ) -> Result<Prepared<Self::Plan, Self::Site>, RunError>;

    /// The common part of the plan.
    fn run(plan: &Self::Plan) -> &RunPlan;

    /// Whether a plan from a record is one that a run could have made.
    ///
    /// # Errors
    /// The first value that no run has.
    fn check(plan: &Self::Plan) -> Result<(), ImplausiblePlan> {
        Self::run(plan).check()
    }

    /// The subject under test, in a few words.
    fn workload(plan: &Self::Plan) -> String;

    /// Whether the record keeps what output hides.
    fn keeps_secrets(_args: &Self::Args) -> bool {
        false
    }

    /// The plan as it is shown and, as a rule, recorded: with secrets hidden.
    fn shown(plan: &Self::Plan) -> Self::Plan {
        plan.clone()
    }

    /// Flags that a resumed run needs besides the record, each after a space: what may
    /// be secret is not recorded.
    fn flags_to_resume(_plan: &Self::Plan) -> String {
        String::new()
    }

    /// The commands that a run of the plan executes, quoted.
    fn commands(_plan: &Self::Plan) -> Vec<String> {
        Vec::new()
    }

    /// The requirements of the plan, and whether the machine meets them. A trial ended just now, whose window began
    /// `since`; zero without one.
    fn requirements(
        _plan: &Self::Plan,
        _site: &Self::Site,
        _machine: &Machine,
        _since: Duration,
    ) -> Vec<Requirement> {
        Vec::new()
    }

    /// The planner.
    fn planner(plan: &Self::Plan)
    -> impl Planner<Setting = Self::Setting, Outcome = Self::Outcome>;

    /// The runner.
    ///
    /// # Errors
    /// The load cannot be offered, or the machine cannot be changed as needed.
    fn runner<'a>(
        plan: &'a Self::Plan,
        site: &Self::Site,
        machine: &'a Machine,
    ) -> Result<Box<dyn Runner<Self::Setting, Self::Outcome> + 'a>, RunError>;

    /// The parts that a run of the plan has, in order.
    fn stages(plan: &Self::Plan) -> Vec<Stage> {
        let passes = Self::run(plan).passes;
        let words = format!("every setting {passes} times, in shuffled order");
        vec![Stage::visits(words)]
    }

    /// The limit that the live view draws, in microseconds, and its name.
    fn limit_us(_plan: &Self::Plan) -> Option<(f64, String)> {
        None
    }

    /// The findings of the trials so far: a pure function.
    fn findings(plan: &Self::Plan, trials: &[TrialOf<Self>]) -> Self::Findings;

    /// What a complete run was asked and does not answer, in a sentence; its exit status is 1 then.
    fn unanswered(_findings: &Self::Findings) -> Option<String> {
        None
    }

    /// Figures that conditions may be about.
    fn figures(_findings: &Self::Findings) -> Vec<NamedFigure> {
        Vec::new()
    }

    /// What the trials say about a condition; `None` where the experiment does not answer it, which
    /// is so for any trials.
    fn judge(
        plan: &Self::Plan,
        trials: &[TrialOf<Self>],
        condition: &Condition,
    ) -> Option<Judgement> {
        let Condition::Figure(limit) = condition else {
            return None;
        };
        Self::FIGURES.contains(&limit.name).then(|| {
            let found = Self::figures(&Self::findings(plan, trials));
            plimsoll_study::judge::figures(&found, limit)
        })
    }

    /// The data of charts that the findings lack: a pure function.
    fn picture(plan: &Self::Plan, trials: &[TrialOf<Self>]) -> Self::Picture;

    /// The findings as blocks, without what the frame adds.
    fn document<'a>(report: &'a ReportOf<'a, Self>, picture: &'a Self::Picture) -> Document<'a>;

    /// The plan with other goals; `None` for an experiment without goals.
    fn with_goals(_plan: &Self::Plan, _goals: &[Goal]) -> Option<Self::Plan> {
        None
    }

    /// The load line for a comparison or an instance plan; `None` for an experiment
    /// without one.
    fn load_line(_plan: Self::Plan, _trials: Vec<TrialOf<Self>>) -> Option<LoadLine> {
        None
    }

    /// Stores results of a complete run for later commands; returns a message for the
    /// user.
    fn conclude(_report: &ReportOf<'_, Self>) -> Option<String> {
        None
    }
}
