//! The tables of a rig. Pure.

use super::findings::{
    AccountFinding, BreakFinding, GrainFinding, GraphFinding, IdleFinding, PeakFinding,
    RigFindings, SteadyFinding,
};
use super::waiting;
use plimsoll_report::{Column, Document, Table};

pub(super) fn add(out: &mut Document<'_>, found: &RigFindings) {
    let mut add = |id, columns, (heading, legend): Explained| {
        out.table(Table::of(columns).explained(heading, legend).on_page(id));
    };
    add("peaks-table", peaks(&found.peak), PEAKS);
    add("grains", grains(&found.grain), GRAINS);
    add("breaking-table", breaking(&found.breaking), BREAKING);
    add("steady", steady(&found.steady, &found.idle), STEADY);
    add("accounts", accounts(&found.accounting), ACCOUNTS);
    add("rules", rules(&found.graphs), RULES);
    let (heading, legend) = WAITING;
    let table = Table::of(waiting::table(&found.waiting)).explained(heading, legend);
    out.table(table.on_page("waiting-table").wide());
}

/// A heading, and what columns stand for.
type Explained = (&'static str, &'static [(&'static str, &'static str)]);

const PEAKS: Explained = (
    "Load peaks",
    &[
        ("grain", "length of a job"),
        (
            "concurrency",
            "busy workers on average, in peaks of 100 jobs or more",
        ),
        (
            "gradient",
            "run time that one more job adds; 1 is its work divided by the workers",
        ),
        ("start-up", "run time of a peak without jobs, by the line"),
        (
            "efficiency",
            "share of the workers' time that is work, in peaks of 100 jobs or more",
        ),
        (
            "inflation",
            "time of a job relative to the same work in plain threads",
        ),
    ],
);

const GRAINS: Explained = (
    "Shortest jobs",
    &[
        ("dependencies", "jobs that each job waits for"),
        (
            "METG(50 %)",
            "shortest jobs of which 50 % of the workers' time is work",
        ),
        ("METG(95 %)", "the same for 95 %"),
        ("floor", "time of a worker for an empty job"),
    ],
);

const BREAKING: Explained = (
    "Breaking point",
    &[
        (
            "stress",
            "how tight the schedule is when half of the runs miss a deadline; 1 is a list schedule of jobs that cost nothing between them",
        ),
        (
            "of the bound",
            "the same relative to the tightest schedule that any scheduler can keep",
        ),
    ],
);

const STEADY: Explained = (
    "Steady load, and no load",
    &[
        ("concurrency", "busy workers on average"),
        (
            "drift",
            "run time in the second half of a trial relative to the first",
        ),
        ("memory grew", "growth of this process in a trial, at most"),
        (
            "idle CPU",
            "CPU time of the process while the scheduler has nothing to do",
        ),
    ],
);

const ACCOUNTS: Explained = (
    "Time of the workers",
    &[
        ("dispatch", "between jobs"),
        ("steal", "looking for jobs of other workers"),
        ("spin", "waiting without sleep"),
        ("parked", "asleep"),
    ],
);

const WAITING: Explained = (
    "Waiting",
    &[
        ("mean", "from one wake-up to the next, on average"),
        (
            "p99",
            "from the call that wakes to the job's first instruction",
        ),
        ("burn", "CPU time of the workers, in percent of a core"),
        ("front", "no other policy is both faster (p99) and cheaper"),
        ("slept", "wake-ups that found the workers asleep"),
        ("ratio", "cost relative to knowing each gap before"),
    ],
);

const RULES: Explained = (
    "Rules of the graph",
    &[
        (
            "configured",
            "share of the draws that the rule is to apply to",
        ),
        ("realised", "share that it applied to"),
    ],
);

fn peaks(rows: &[PeakFinding]) -> Vec<Column> {
    let concurrency = rows.iter().map(|r| r.average_concurrency);
    let inflation = rows.iter().map(|r| r.job_inflation_ratio);
    vec![
        Column::words("scheduler", "", 0, rows, |r| r.scheduler.clone()),
        Column::words("grain", "us", 0, rows, |r| r.grain_us.to_string()),
        Column::estimates_of("concurrency", "", (0, 3), concurrency),
        Column::estimates_of(
            "gradient",
            "",
            (1, 3),
            rows.iter().map(|r| r.gradient_ratio),
        ),
        Column::estimates_of("start-up", "us", (2, 1), rows.iter().map(|r| r.startup_us)),
        Column::estimates_of(
            "efficiency",
            "",
            (3, 3),
            rows.iter().map(|r| r.efficiency_ratio),
        ),
        Column::estimates_of("inflation", "", (4, 3), inflation),
        Column::words("trials", "", 5, rows, |r| r.trials.to_string()),
    ]
}

fn grains(rows: &[GrainFinding]) -> Vec<Column> {
    vec![
        Column::words("scheduler", "", 0, rows, |r| r.scheduler.clone()),
        Column::words("dependencies", "", 0, rows, |r| r.dependencies.to_string()),
        Column::estimates_of("METG(50 %)", "us", (0, 2), rows.iter().map(|r| r.metg50_us)),
        Column::estimates_of("METG(95 %)", "us", (1, 1), rows.iter().map(|r| r.metg95_us)),
        Column::estimates_of(
            "floor",
            "ns",
            (2, 0),
            rows.iter().map(|r| r.floor_ns_per_job),
        ),
        Column::words("trials", "", 3, rows, |r| r.trials.to_string()),
    ]
}

fn breaking(rows: &[BreakFinding]) -> Vec<Column> {
    let shares = rows.iter().map(|r| r.share_of_feasible_bound);
    vec![
        Column::words("scheduler", "", 0, rows, |r| r.scheduler.clone()),
        Column::words("approached", "", 0, rows, |r| r.direction.to_string()),
        Column::estimates_of("stress", "", (0, 3), rows.iter().map(|r| r.stress)),
        Column::estimates_of("of the bound", "", (1, 3), shares),
        Column::words("runs", "", 2, rows, |r| r.runs.to_string()),
        Column::words("took", "s", 3, rows, |r| format!("{:.1}", r.took_s)),
    ]
}

fn steady(rows: &[SteadyFinding], idle: &[IdleFinding]) -> Vec<Column> {
    let concurrency = rows.iter().map(|r| r.average_concurrency);
    let grew = |row: &SteadyFinding| match row.memory_growth_bytes {
        Some(bytes) => (bytes / 1024).to_string(),
        None => "-".to_owned(),
    };
    vec![
        Column::words("scheduler", "", 0, rows, |r| r.scheduler.clone()),
        Column::estimates_of("concurrency", "", (0, 3), concurrency),
        Column::estimates_of("drift", "", (0, 3), rows.iter().map(|r| r.drift_ratio)),
        Column::words("memory grew", "KiB", 1, rows, grew),
        Column::estimates_of("idle CPU", "CPUs", (0, 5), idle.iter().map(|r| r.cpu_ratio)),
    ]
}

fn accounts(rows: &[AccountFinding]) -> Vec<Column> {
    let share = |name, of: fn(&AccountFinding) -> f64| {
        Column::words(name, "%", 0, rows, |row| format!("{:.1}", 100.0 * of(row)))
    };
    vec![
        Column::words("scheduler", "", 0, rows, |r| r.scheduler.clone()),
        Column::words("part", "", 0, rows, |r| r.part.name().to_owned()),
        share("work", |r| r.work_share),
        share("dispatch", |r| r.dispatch_share),
        share("steal", |r| r.steal_share),
        share("spin", |r| r.spin_share),
        share("parked", |r| r.parked_share),
        share("unexplained", |r| r.unexplained_share),
    ]
}

fn rules(graphs: &[GraphFinding]) -> Vec<Column> {
    let rows = graphs
        .iter()
        .flat_map(|g| g.rules.iter().map(move |r| (&g.name, r)));
    let rows: Vec<_> = rows.collect();
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    vec![
        Column::words("graph", "", 0, &rows, |(name, _)| (*name).clone()),
        Column::words("rule", "", 0, &rows, |(_, r)| r.rule.clone()),
        Column::words("configured", "%", 0, &rows, |(_, r)| {
            percent(r.configured_share)
        }),
        Column::words("realised", "%", 0, &rows, |(_, r)| {
            percent(r.realised_share)
        }),
        Column::words("draws", "", 1, &rows, |(_, r)| r.draws.to_string()),
    ]
}
