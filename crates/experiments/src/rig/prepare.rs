//! From flags to a plan, and the files that are read and written before the run.

use super::args::RigArgs;
use super::experiment::RigSite;
use super::graphs::Planned;
use super::outcome::Part;
use super::plan::{GraphPlan, RigPlan};
use super::runner::probe;
use crate::experiment::Machine;
use plimsoll_engine::RunError;
use plimsoll_graph::{JobGraph, Shape, dot::Dot, svg};
use plimsoll_host::available_memory;
use plimsoll_model::{Bytes, human_duration};
use plimsoll_schedulers::{Choice, Kernel, fingerprint};
use rustix::fs::{Mode, OFlags, open};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

const US: Duration = Duration::from_micros(1);
const MS: Duration = Duration::from_millis(1);

/// The text of a graph is part of the plan, and so of the record.
const MOST_DOT_BYTES: u64 = 1 << 20;

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
    let (passes, window, search_budget) = match args.quick {
        true => (3, 500 * MS, Duration::from_secs(20)),
        false => (4, 1000 * MS, Duration::from_secs(25)),
    };
    let passes = args.passes.unwrap_or(passes);
    let window = args.duration.unwrap_or(window);
    let grains = Grains::of(args)?;
    let mut run = args.run.plan(passes, window, 0, &machine.root)?;
    run.budget = BUDGET;
    let asked = args.graph.as_deref();
    let schedulers = schedulers(&args.scheduler);
    Ok(RigPlan {
        parts,
        library_sha1: libraries(&schedulers)?,
        schedulers,
        kernel: args.kernel.clone(),
        peak_grains: grains.peak,
        grains: grains.grain,
        dependencies: vec![0, 3],
        graph_grain: grains.graph,
        graph: graph(asked.unwrap_or("load-bursts"))?,
        steady_graph: graph(asked.unwrap_or("tries"))?,
        search_budget,
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

/// The plug-ins among these with what they contain.
fn libraries(schedulers: &[String]) -> Result<BTreeMap<String, String>, RunError> {
    let paths = schedulers.iter().filter(|name| name.contains('/'));
    let of = |path: &String| Ok((path.clone(), sha1_of(path)?));
    paths.map(of).collect()
}

fn sha1_of(path: &str) -> Result<String, RunError> {
    fingerprint(Path::new(path)).map_err(|error| {
        RunError::Usage(format!(
            "--scheduler: cannot open {path}: {error}; give the path of a shared library"
        ))
    })
}

/// # Errors
/// A plug-in is no longer what it was when the run was begun.
pub(super) fn refuse_changed_libraries(plan: &RigPlan) -> Result<(), RunError> {
    for (path, begun_with) in &plan.library_sha1 {
        if sha1_of(path)? != *begun_with {
            return Err(RunError::Usage(format!(
                "--scheduler: {path} has changed since the run was begun, and its trials would be of two schedulers; restore it, or start a new run"
            )));
        }
    }
    Ok(())
}

/// A name as it is, or the text of a file.
fn graph(name: &str) -> Result<GraphPlan, RunError> {
    let is_file = [".dot", ".gv"].iter().any(|ending| name.ends_with(ending));
    let dot = is_file.then(|| text_of(name)).transpose()?;
    Ok(GraphPlan {
        name: name.to_owned(),
        dot,
    })
}

fn text_of(file: &str) -> Result<String, RunError> {
    let why = |why: String| RunError::Usage(format!("--graph {file}: {why}"));
    let unopened = |e: io::Error| why(format!("{e}; give a file in DOT"));
    // Opening a pipe otherwise waits for its writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = open(file, flags, Mode::empty()).map_err(|errno| unopened(errno.into()))?;
    let opened = File::from(opened);
    if !opened.metadata().map_err(unopened)?.is_file() {
        return Err(why(
            "it is no regular file; give a file in DOT, or the name of a graph".to_owned(),
        ));
    }
    let mut text = String::new();
    let read = opened.take(MOST_DOT_BYTES + 1).read_to_string(&mut text);
    read.map_err(|e| why(format!("{e}; give a text file in DOT")))?;
    match text.len() as u64 <= MOST_DOT_BYTES {
        true => Ok(text),
        false => Err(why(
            "it is larger than 1 MiB, the most that a record keeps of a graph; give rules or a shape by name".to_owned(),
        )),
    }
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
    for (part, graph) in [
        (Part::Break, &plan.graph),
        (Part::Steady, &plan.steady_graph),
    ] {
        if plan.has(part) {
            let size = GraphSize::of(graph);
            size.refuse_too_large(&graph.name, available_memory(&machine.root))?;
            let began = Instant::now();
            Planned::of(graph, plan).map_err(|e| RunError::Usage(e.to_string()))?;
            notes.extend(size.note(&graph.name, began.elapsed()));
        }
    }
    Ok(notes)
}

/// The size of a graph that is built by rules, before it is built.
struct GraphSize {
    jobs: u64,
    bytes: u64,
}

impl GraphSize {
    /// What a trial takes at most, by its peak resident memory: 347 MB for 1,000,000 jobs
    /// without edges on a schedule (`rig break --graph isolated:nodes=1000000`). An edge
    /// is twice in the graph and once in what a plug-in gets.
    const BYTES_PER_JOB: u64 = 350;
    const BYTES_PER_EDGE: u64 = 20;

    /// Graphs of more jobs are worth a note.
    const LARGE: u64 = 500_000;

    fn of(graph: &GraphPlan) -> GraphSize {
        let shape = graph.name.parse::<Shape>().ok();
        // The size of a file is bounded.
        let (jobs, edges) = match shape.filter(|_| graph.dot.is_none()) {
            Some(shape) => (shape.nodes(), shape.edges_at_most()),
            None => (0, 0),
        };
        let bytes = jobs.saturating_mul(Self::BYTES_PER_JOB);
        GraphSize {
            jobs,
            bytes: bytes.saturating_add(edges.saturating_mul(Self::BYTES_PER_EDGE)),
        }
    }

    fn refuse_too_large(&self, name: &str, free: Option<Bytes>) -> Result<(), RunError> {
        match free {
            Some(free) if self.bytes > free.0 => Err(RunError::Usage(format!(
                "--graph {name}: a trial of {} jobs needs about {} of memory, and {free} are free; take fewer nodes",
                self.jobs,
                Bytes(self.bytes)
            ))),
            _ => Ok(()),
        }
    }

    fn note(&self, name: &str, built_in: Duration) -> Option<String> {
        (self.jobs > Self::LARGE).then(|| {
            format!(
                "{name} has {} jobs: each trial takes about {} of memory, and {} to build the graph before it starts",
                self.jobs,
                Bytes(self.bytes),
                human_duration(built_in)
            )
        })
    }
}

/// Writes the graph of the plan to a new file.
///
/// # Errors
/// Its ending is neither that of DOT nor of SVG, it exists, or cannot be written.
pub(super) fn save_graph(plan: &RigPlan, path: &Path) -> Result<(), RunError> {
    let why = |why: String| RunError::Usage(format!("--save-graph {}: {why}", path.display()));
    let graph = match plan.has(Part::Break) || !plan.has(Part::Steady) {
        true => &plan.graph,
        false => &plan.steady_graph,
    };
    let planned = Planned::of(graph, plan).map_err(|e| RunError::Usage(e.to_string()))?;
    let graph: &JobGraph = planned.graph();
    let text = match path.extension().and_then(|ending| ending.to_str()) {
        Some("dot" | "gv") => Dot(graph).to_string(),
        Some("svg") => svg::picture(graph).map_err(|e| why(e.to_string()))?,
        _ => {
            return Err(why(
                "a graph is written as DOT or SVG; end the name in .dot or .svg".to_owned(),
            ));
        }
    };
    let mut file = new_file("--save-graph", path)?;
    file.write_all(text.as_bytes())
        .map_err(|e| why(e.to_string()))
}

/// A file that was not there.
///
/// # Errors
/// It was, or cannot be made.
pub(super) fn new_file(flag: &str, path: &Path) -> Result<File, RunError> {
    File::create_new(path).map_err(|e| {
        let path = path.display();
        RunError::Usage(format!(
            "{flag} {path}: {e}; give a new file in a folder of yours"
        ))
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, mkfifoat};

    #[test]
    fn a_graph_is_read_from_a_regular_file_only() {
        let dir = tempfile::tempdir().unwrap();
        let [pipe, folder, file] = ["a.dot", "b.dot", "c.dot"].map(|name| dir.path().join(name));
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(&file, "digraph {}").unwrap();
        let read = |path: &Path| graph(path.to_str().unwrap());
        for path in [&pipe, &folder] {
            // A pipe without a writer is refused, not waited for.
            let error = read(path).unwrap_err();
            assert!(matches!(error, RunError::Usage(_)), "{error}");
            assert!(error.to_string().contains("no regular file"), "{error}");
        }
        let plan = read(&file).unwrap();
        assert_eq!(plan.dot.as_deref(), Some("digraph {}"));
    }

    #[test]
    fn a_graph_that_does_not_fit_is_refused_with_what_it_needs() {
        let of = |name: &str| {
            GraphSize::of(&GraphPlan {
                name: name.to_owned(),
                dot: None,
            })
        };
        let size = of("isolated:nodes=10000000");
        assert_eq!((size.jobs, size.bytes), (10_000_000, 3_500_000_000));
        let refused = size.refuse_too_large("isolated", Some(Bytes(1 << 30)));
        assert_eq!(
            refused.unwrap_err().to_string(),
            "--graph isolated: a trial of 10000000 jobs needs about 3.3 GiB of memory, and 1.0 GiB are free; take fewer nodes"
        );
        assert!(size.refuse_too_large("x", Some(Bytes(4 << 30))).is_ok());
        assert!(size.refuse_too_large("x", None).is_ok());
        assert!(size.note("x", Duration::from_secs(9)).is_some());
        assert_eq!(of("load-bursts").note("x", Duration::ZERO), None);
    }
}
