//! The sweep as an experiment.

use super::args::SweepArgs;
use super::defaults::adapt;
use super::{SweepPlanner, stages};
use crate::experiment::{Experiment, HelpPage, LoadLine, Machine, Prepared, ReportOf, Stage};
use crate::given_again::{self, GivenAgain};
use plimsoll_control::Scratch;
use plimsoll_engine::drain::undecidable;
use plimsoll_engine::{ExternalLoad, Planner, RunError, Runner, Site};
use plimsoll_host::Root;
use plimsoll_load::external::unknown_values;
use plimsoll_load::http::possible_connections;
use plimsoll_model::{
    CheckedPlan, Condition, Findings, Goal, ImplausiblePlan, Judgement, LatencyLimit, LoadCommand,
    LoadFormat, Picture, Plan, Requirement, RunPlan, ServiceAt, Setting, Trial, Workload,
    human_duration,
};
use plimsoll_report::Document;
use std::fmt::Display;
use std::time::Duration;

/// How much load does this machine carry?
#[derive(Debug)]
pub struct Sweep;

impl Experiment for Sweep {
    const NAME: &'static str = "sweep";
    const ABOUT: &'static str = "Load a service from idle to saturation: what does it carry?";
    const HELP: HelpPage = super::args::HELP;

    const CONDITIONS: &'static str = "'capacity>5000', 'p99<10ms at 2000' or 'no worse than FILE'";

    type Args = SweepArgs;
    type Plan = Plan;
    type Setting = Setting;
    type Outcome = ();
    type Findings = Findings;
    type Picture = Picture;
    type Site = Site;

    fn prepare(args: &SweepArgs, machine: &Machine) -> Result<Prepared<Plan, Site>, RunError> {
        let root = &machine.root;
        let workload = match &args.load_command {
            Some(command) => external_load(args, command, root)?,
            None => {
                let mut workload = args.load.workload(args.url.as_deref(), root)?;
                if let (Workload::Http(http), Some(url)) = (&mut workload, &args.node_metrics) {
                    http.service = ServiceAt::NodeMetrics(url.clone());
                }
                workload
            }
        };
        let site = Site::of(&workload, root)?;
        let cpus = args.load.cpus(&site, root);
        let threads = cpus.generator.len();
        let mut plan = super::plan(args, workload, cpus, site.interrupts(root));
        plan.first_answer_bytes = site.first_answer_bytes();
        if let Some(first_answer) = site.first_answer() {
            adapt(&mut plan, args, first_answer, possible_connections(threads));
        }
        if let Some(why) = undecidable(&plan) {
            return Err(RunError::Usage(why));
        }
        let notes = args
            .load_command
            .iter()
            .filter_map(|of| unplaced(of))
            .collect();
        Ok(Prepared { plan, site, notes })
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
        let (url, metrics) = (args.url.as_ref(), args.node_metrics.as_ref());
        let given = GivenAgain::of(url, metrics, &args.load.request)?;
        let (plan, notes) = given_again::supply(&plan, given)?;
        let site = Site::of(&plan.workload, &machine.root)?;
        Ok(Prepared { plan, site, notes })
    }

    fn run(plan: &Plan) -> &RunPlan {
        &plan.run
    }

    fn check(plan: &Plan) -> Result<(), ImplausiblePlan> {
        plan.check()
    }

    fn workload(plan: &Plan) -> String {
        plan.workload.to_string()
    }

    fn keeps_secrets(args: &SweepArgs) -> bool {
        args.load.server.keep_secrets
    }

    fn shown(plan: &Plan) -> Plan {
        plan.without_secrets()
    }

    fn flags_to_resume(plan: &Plan) -> String {
        given_again::flags_to_resume(plan)
    }

    fn commands(plan: &Plan) -> Vec<String> {
        let restart = plan.restart.iter();
        let restart = restart.map(|command| format!("the --restart command {command:?}"));
        let load = match &plan.workload {
            Workload::Command(load) => Some(format!("the --load-command {:?}", load.command)),
            _ => None,
        };
        restart.chain(load).collect()
    }

    fn requirements(
        plan: &Plan,
        site: &Site,
        machine: &Machine,
        since: Duration,
    ) -> Vec<Requirement> {
        site.requirements(&machine.root, &plan.run.cpus, since)
    }

    fn planner(plan: &Plan) -> impl Planner<Setting = Setting, Outcome = ()> {
        SweepPlanner(plan)
    }

    fn runner<'a>(
        plan: &'a Plan,
        site: &Site,
        machine: &'a Machine,
    ) -> Result<Box<dyn Runner<Setting, ()> + 'a>, RunError> {
        let root = &machine.root;
        let sensors = site.sensors(root, &plan.run.cpus);
        if let (Workload::Command(load), Some(sensors)) = (&plan.workload, sensors) {
            let scratch = Scratch::make(machine.journal()?, &std::env::temp_dir(), "load")?;
            let runner = ExternalLoad::new(plan, load, root, sensors, scratch);
            return Ok(Box::new(runner));
        }
        Ok(Box::new(site.runner(plan, root)?))
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

    fn judge(plan: &Plan, trials: &[Trial], condition: &Condition) -> Option<Judgement> {
        let (plan, above) = match *condition {
            Condition::Capacity { above } => (plan.clone(), above),
            Condition::Kept { goal, at } => (Self::with_goals(plan, &[goal])?, at?),
            Condition::Figure(_) => return None,
        };
        Some(plimsoll_study::judge::capacity(&plan, trials, above))
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

/// The service at the URL, loaded by `command`.
///
/// # Errors
/// The command or a flag of the service makes no sense.
fn external_load(args: &SweepArgs, command: &str, root: &Root) -> Result<Workload, RunError> {
    let server = &args.load.server;
    server.check_cpus(root)?;
    let service = match &args.node_metrics {
        Some(url) => ServiceAt::NodeMetrics(url.clone()),
        None => server.service_at(),
    };
    if let Some(program) = LoadFormat::closed_loop(command) {
        return Err(RunError::Usage(format!(
            "--load-command: {program} offers no rate here, as it sends a request when an answer has come; take one that does, such as wrk2 with -R, k6, fortio or memtier_benchmark (docs/load-commands.md)"
        )));
    }
    let format = LoadFormat::of_command(command).unwrap_or(LoadFormat::Json);
    let load = LoadCommand {
        url: args.url.clone().unwrap_or_default(),
        command: command.to_owned(),
        format: args.load_format.unwrap_or(format),
        service,
    };
    plimsoll_load::external::check(&load)?;
    Ok(Workload::Command(load))
}

/// A remark about names in braces that have no value.
fn unplaced(command: &str) -> Option<String> {
    let unknown = unknown_values(command);
    let stay = match unknown.len() {
        0 => return None,
        1 => "stays as it is",
        _ => "stay as they are",
    };
    Some(format!(
        "--load-command: {} {stay}; values are {{rate}}, {{duration}}, {{seed}}, {{url}} and {{out}}",
        unknown.join(", ")
    ))
}

/// A flag, its value as it was given, and the one recorded.
type Flag = (&'static str, Option<String>, Option<String>);

/// The flags that ask for something else than the plan has. Flags that are not
/// given are taken from the plan.
fn differences(args: &SweepArgs, plan: &Plan) -> Vec<String> {
    let (run, server) = (&plan.run, &args.load.server);
    let of_server = match &plan.workload {
        Workload::Hash(_) | Workload::Command(_) | Workload::Imported(_) => Vec::new(),
        Workload::Http(http) => vec![
            ("--method", server.method.clone(), Some(http.method.clone())),
            (
                "--connections",
                shown(server.connections),
                shown(Some(http.connections).filter(|_| http.max_connections.is_none())),
            ),
            (
                "--max-connections",
                shown(args.max_connections),
                shown(http.max_connections),
            ),
            ("--timeout", time(server.timeout), time(Some(http.timeout))),
        ],
    };
    let goals = (!args.goals.is_empty()).then(|| list(&args.goals()));
    let levels = args.levels.as_deref().map(list);
    let flags = [
        ("--goal", goals, Some(list(&plan.goals))),
        ("--levels", levels, Some(list(&plan.levels))),
        ("--trials", shown(args.trials), shown(Some(run.passes))),
        ("--seed", shown(args.load.run.seed), shown(Some(run.seed))),
        ("--rated", shown(args.rated), shown(plan.calibration.rated)),
        ("--duration", time(args.duration), time(Some(run.window))),
        (
            "--confirm",
            time(args.confirm),
            time(plan.search.map(|search| search.confirm)),
        ),
    ];
    let difference = |(what, given, recorded): Flag| {
        let given = given.filter(|given| recorded.as_ref() != Some(given))?;
        let recorded = recorded.unwrap_or("not given".to_owned());
        Some(format!("{what} is {given} and was {recorded}"))
    };
    flags
        .into_iter()
        .chain(of_server)
        .filter_map(difference)
        .collect()
}

fn shown<T: Display>(given: Option<T>) -> Option<String> {
    given.map(|given| given.to_string())
}

fn time(given: Option<Duration>) -> Option<String> {
    given.map(human_duration)
}

fn list<T: Display>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    items.join(", ")
}
