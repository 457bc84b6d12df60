//! The sweep as an experiment.

use super::args::SweepArgs;
use super::{Effort, Request, SweepPlanner, stages};
use crate::args::workload;
use crate::experiment::{Experiment, HelpPage, LoadLine, Machine, Prepared, ReportOf, Stage};
use crate::headers;
use plimsoll_engine::{Planner, RunError, Runner, Site};
use plimsoll_model::{
    Findings, Goal, HttpService, LatencyLimit, LoadLevel, Picture, Plan, Requirement, RunPlan,
    ServiceAt, Setting, Trial, Workload, human_duration,
};
use plimsoll_report::Document;
use std::fmt::Display;

/// How much load does this machine carry?
#[derive(Debug)]
pub struct Sweep;

impl Experiment for Sweep {
    const NAME: &'static str = "sweep";
    const ABOUT: &'static str = "Load a service from idle to saturation: what does it carry?";
    const HELP: HelpPage = super::args::HELP;

    type Args = SweepArgs;
    type Plan = Plan;
    type Setting = Setting;
    type Outcome = ();
    type Findings = Findings;
    type Picture = Picture;
    type Site = Site;

    fn prepare(args: &SweepArgs, machine: &Machine) -> Result<Prepared<Plan, Site>, RunError> {
        let root = &machine.root;
        let allowed = args.run.allowed_cpus(root)?;
        let mut workload = workload(args.url.as_deref(), &args.server, &args.header, &allowed)?;
        if let (Workload::Http(http), Some(url)) = (&mut workload, &args.node_metrics) {
            http.service = ServiceAt::NodeMetrics(url.clone());
        }
        let site = Site::of(&workload, root)?;
        let request = Request {
            effort: match args.quick {
                true => Effort::Quick,
                false => Effort::Full,
            },
            goals: args.goals(),
            arrivals: args.arrivals.into(),
            levels: args.levels.clone(),
            trials: args.trials,
            window: args.duration,
            precision: args.precision,
            restart: args.restart.clone(),
            rated: args.rated,
            cpus: site.cpus(
                root,
                args.run.cpus.as_ref(),
                args.server.service_cpus.as_ref(),
            ),
            tolerance: args.run.tolerance(),
            interrupts: site.interrupts(root),
            seed: args.run.seed(),
            workload,
        };
        Ok(Prepared::new(request.plan(), site))
    }

    fn reopen(
        args: &SweepArgs,
        plan: Plan,
        machine: &Machine,
    ) -> Result<Prepared<Plan, Site>, RunError> {
        let differences = differences(args, &plan);
        if !differences.is_empty() {
            return Err(RunError::Usage(format!(
                "the run was recorded with another plan: {}; leave these flags out to resume it, or start a new run",
                differences.join("; ")
            )));
        }
        let plan = headers::supply(&plan, &args.header)?;
        let site = Site::of(&plan.workload, &machine.root)?;
        Ok(Prepared::new(plan, site))
    }

    fn run(plan: &Plan) -> &RunPlan {
        &plan.run
    }

    fn workload(plan: &Plan) -> String {
        plan.workload.to_string()
    }

    fn recorded(args: &SweepArgs, plan: &Plan, command_line: Vec<String>) -> (Plan, Vec<String>) {
        headers::recorded(plan, command_line, &args.header, &args.server)
    }

    fn shown(plan: &Plan) -> Plan {
        plimsoll_report::hide_secrets(plan)
    }

    fn flags_to_resume(plan: &Plan) -> String {
        headers::flags_to_resume(plan)
    }

    fn commands(plan: &Plan) -> Vec<String> {
        let restart = plan.restart.iter();
        restart
            .map(|command| format!("the --restart command {command:?}"))
            .collect()
    }

    fn requirements(plan: &Plan, site: &Site, machine: &Machine) -> Vec<Requirement> {
        site.requirements(&machine.root, &plan.run.cpus)
    }

    fn planner(plan: &Plan) -> impl Planner<Setting = Setting, Outcome = ()> {
        SweepPlanner(plan)
    }

    fn runner<'a>(
        plan: &'a Plan,
        site: &Site,
        machine: &'a Machine,
    ) -> Result<Box<dyn Runner<Setting, ()> + 'a>, RunError> {
        Ok(Box::new(site.runner(plan, &machine.root)?))
    }

    fn stages(plan: &Plan) -> Vec<Stage> {
        stages::of(plan)
    }

    fn limit_us(plan: &Plan) -> Option<(f64, String)> {
        plan.goals.iter().find_map(|goal| match goal {
            Goal::Latency {
                limit: LatencyLimit::Absolute(limit),
                ..
            } => Some((limit.as_secs_f64() * 1e6, goal.to_string())),
            _ => None,
        })
    }

    fn findings(plan: &Plan, trials: &[Trial]) -> Findings {
        plimsoll_study::findings(plan, trials)
    }

    fn picture(plan: &Plan, trials: &[Trial]) -> Picture {
        plimsoll_study::picture::picture(plan, trials)
    }

    fn document<'a>(report: &'a ReportOf<'a, Sweep>, picture: &'a Picture) -> Document<'a> {
        plimsoll_report::sweep::document(report, Some(picture))
    }

    fn with_goals(plan: &Plan, goals: &[Goal]) -> Option<Plan> {
        Some(Plan {
            goals: goals.to_vec(),
            ..plan.clone()
        })
    }

    fn load_line(plan: Plan, trials: Vec<Trial>) -> Option<LoadLine> {
        let findings = plimsoll_study::findings(&plan, &trials);
        Some(LoadLine {
            plan,
            trials,
            findings,
        })
    }
}

/// The flags that ask for something else than the plan has. Flags that are not
/// given are taken from the plan.
fn differences(args: &SweepArgs, plan: &Plan) -> Vec<String> {
    let mut found = Differences::default();
    let recorded_url = match &plan.workload {
        Workload::Http(http) => Some(http.url.clone()),
        Workload::Hash(_) | Workload::Imported(_) => None,
    };
    found.compare("the URL", args.url.as_ref(), recorded_url.as_ref());
    if !args.goals.is_empty() {
        let given = list::<Goal>(&args.goals());
        found.compare("--goal", Some(&given), Some(&list(&plan.goals)));
    }
    if let Some(levels) = &args.levels {
        let given = list::<LoadLevel>(levels);
        found.compare("--levels", Some(&given), Some(&list(&plan.levels)));
    }
    let run = &plan.run;
    found.compare("--trials", args.trials.as_ref(), Some(&run.passes));
    found.compare("--seed", args.run.seed.as_ref(), Some(&run.seed));
    let rated = plan.calibration.rated.as_ref();
    found.compare("--rated", args.rated.as_ref(), rated);
    let duration = args.duration.map(human_duration);
    let recorded = human_duration(run.window);
    found.compare("--duration", duration.as_ref(), Some(&recorded));
    if let Workload::Http(http) = &plan.workload {
        found.http(args, http);
    }
    found.0
}

fn list<T: Display>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    items.join(", ")
}

#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn compare<T: Display>(&mut self, what: &str, given: Option<&T>, recorded: Option<&T>) {
        let Some(given) = given.map(ToString::to_string) else {
            return;
        };
        let recorded = recorded.map_or("not given".to_owned(), ToString::to_string);
        if given != recorded {
            self.0.push(format!("{what} is {given} and was {recorded}"));
        }
    }

    fn http(&mut self, args: &SweepArgs, recorded: &HttpService) {
        let server = &args.server;
        self.compare("--method", server.method.as_ref(), Some(&recorded.method));
        let connections = server.connections.as_ref();
        self.compare("--connections", connections, Some(&recorded.connections));
        let timeout = server.timeout.map(human_duration);
        let was = human_duration(recorded.timeout);
        self.compare("--timeout", timeout.as_ref(), Some(&was));
    }
}
