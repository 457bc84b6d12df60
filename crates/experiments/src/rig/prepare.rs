//! From flags to a plan, and whether it can be carried out.

use super::args::{RigArgs, without_effect};
use super::files::{RigSite, graph, libraries};
use super::graphs::Planned;
use super::outcome::Part;
use super::plan::RigPlan;
use super::runner::probe;
use super::size::GraphSize;
use crate::experiment::Machine;
use plimsoll_engine::RunError;
use plimsoll_host::available_memory;
use plimsoll_schedulers::{Choice, Kernel};
use std::time::{Duration, Instant};

const US: Duration = Duration::from_micros(1);
const MS: Duration = Duration::from_millis(1);

/// What may be spent on the trials of a run before invalid ones are not repeated: a
/// comparison of all schedulers in 15 minutes.
const BUDGET: Duration = Duration::from_secs(600);

/// What is asked for.
///
/// # Errors
/// A file that is no graph, or CPUs that this process may not use.
pub(super) fn plan(args: &RigArgs, machine: &Machine) -> Result<RigPlan, RunError> {
    let mut parts = args.parts.clone();
    if parts.is_empty() {
        parts = vec![Part::Peak, Part::Grain, Part::Break];
    }
    parts.sort_unstable();
    parts.dedup();
    if let Some(why) = without_effect(args, &parts) {
        return Err(RunError::Usage(why));
    }
    let (passes, window, search_budget) = match args.quick {
        true => (3, 500 * MS, Duration::from_secs(20)),
        false => (4, 1000 * MS, Duration::from_secs(25)),
    };
    let passes = args.passes.unwrap_or(passes);
    let window = args.duration.unwrap_or(window);
    let grains = Grains::of(args)?;
    let mut run = args.run.plan(passes, window, 0, &machine.root)?;
    run.budget = BUDGET;
    let wait = match parts.contains(&Part::Wait) {
        true => Some(args.wait.plan(args.quick)?),
        false => None,
    };
    if wait.is_some() && run.cpus.service.len() < 2 {
        let why = "wait needs 2 CPUs: one wakes the workers of the others; give two with --cpus";
        return Err(RunError::Usage(why.to_owned()));
    }
    let asked = args.graph.as_deref();
    let plain = || vec!["plimsoll".to_owned()];
    let schedulers = schedulers(&args.scheduler.clone().unwrap_or_else(plain));
    Ok(RigPlan {
        parts,
        library_sha1: libraries(&schedulers)?,
        schedulers,
        kernel: args.kernel.clone().unwrap_or_else(|| "compute".to_owned()),
        peak_grains: grains.peak,
        grains: grains.grain,
        dependencies: vec![0, 3],
        graph_grain: grains.graph,
        graph: graph(asked.unwrap_or("load-bursts"))?,
        steady_graph: graph(asked.unwrap_or("tries"))?,
        search_budget,
        wait,
        run,
    })
}

/// The asked for schedulers, each once; `all` stands for those that have a name.
fn schedulers(asked: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let all = || Choice::ALL.iter().map(ToString::to_string).collect();
    for name in asked {
        let more: Vec<String> = match name.as_str() {
            "all" => all(),
            name => vec![name.to_owned()],
        };
        for name in more {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// Refuses what the runner could not run. Returns what is to be said of the rest.
///
/// # Errors
/// A scheduler, kernel or graph that does not exist, or a graph that is too large.
pub(super) fn check(plan: &RigPlan, machine: &Machine) -> Result<Vec<String>, RunError> {
    let usage =
        |flag: &str, error: &dyn std::error::Error| RunError::Usage(format!("{flag}: {error}"));
    let mut notes = Vec::new();
    for name in &plan.schedulers {
        let choice = name.parse::<Choice>();
        let choice = choice.map_err(|e| usage("--scheduler", &e))?;
        if matches!(choice, Choice::Library(_)) {
            // Before a record is made: only loading it shows whether it is a plug-in.
            probe(plan, name, &machine.helpers.scheduler)?;
        }
    }
    let kernel = plan.kernel.parse::<Kernel>();
    kernel.map_err(|e| usage("--kernel", &e))?;
    // A trace and --save-graph have a graph without these parts, too.
    let is_steady = plan.has(Part::Steady);
    for (is_used, graph) in [
        (plan.has(Part::Break) || !is_steady, &plan.graph),
        (is_steady, &plan.steady_graph),
    ] {
        if is_used {
            let size = GraphSize::of(graph);
            size.refuse_too_large(&graph.name, available_memory(&machine.root))?;
            let began = Instant::now();
            Planned::of(graph, plan).map_err(|e| RunError::Usage(e.to_string()))?;
            notes.extend(size.note(&graph.name, began.elapsed()));
        }
    }
    Ok(notes)
}

pub(super) fn site(args: &RigArgs) -> RigSite {
    RigSite {
        trace: args.trace.clone(),
    }
}

/// The lengths of jobs by part.
struct Grains {
    peak: Vec<Duration>,
    grain: Vec<Duration>,
    graph: Duration,
}

impl Grains {
    fn of(args: &RigArgs) -> Result<Grains, RunError> {
        let Some(asked) = &args.grain else {
            let peak = match args.quick {
                true => vec![20 * US, 200 * US],
                false => vec![20 * US, 200 * US, 500 * US, 2 * MS, 8 * MS],
            };
            let doubled = (0..12).map(|n| Duration::from_nanos(50 << n));
            return Ok(Grains {
                peak,
                grain: std::iter::once(Duration::ZERO).chain(doubled).collect(),
                graph: 500 * US,
            });
        };
        let mut grains = asked.clone();
        grains.sort_unstable();
        grains.dedup();
        let longest = grains.last().copied().unwrap_or_default();
        if longest.is_zero() {
            let why = "--grain 0 is an empty job, which has no schedule and no ideal run time; add a length, such as 0,20us";
            return Err(RunError::Usage(why.to_owned()));
        }
        let peak = grains.iter().copied().filter(|g| !g.is_zero()).collect();
        Ok(Grains {
            peak,
            grain: grains,
            graph: longest,
        })
    }
}
