//! The tables of a rig. Pure.

use super::findings::{AccountFinding, PeakFinding, RigFindings};
use plimsoll_model::Estimate;
use plimsoll_report::{Column, Document, Table};

pub(super) fn add(out: &mut Document<'_>, found: &RigFindings) {
    let rows = &found.peak;
    let ratio = |of: fn(&PeakFinding) -> Option<Estimate>| rows.iter().map(of);
    out.table(
        Table::of(vec![
            Column::new("scheduler", "", 0, rows.iter().map(|r| r.scheduler.clone())),
            Column::new(
                "grain",
                "us",
                0,
                rows.iter().map(|r| r.grain_us.to_string()),
            ),
            Column::estimates_of("concurrency", "", (0, 3), ratio(|r| r.average_concurrency)),
            Column::estimates_of("gradient", "", (1, 3), ratio(|r| r.gradient_ratio)),
            Column::estimates_of("start-up", "us", (2, 1), ratio(|r| r.startup_us)),
            Column::estimates_of("efficiency", "", (3, 3), ratio(|r| r.efficiency_ratio)),
            Column::estimates_of("inflation", "", (4, 3), ratio(|r| r.job_inflation_ratio)),
            Column::new("trials", "", 5, rows.iter().map(|r| r.trials.to_string())),
        ])
        .on_page("peaks"),
    );
    let rows = &found.grain;
    let dependencies = rows.iter().map(|r| r.dependencies.to_string());
    out.table(
        Table::of(vec![
            Column::new("scheduler", "", 0, rows.iter().map(|r| r.scheduler.clone())),
            Column::new("dependencies", "", 0, dependencies),
            Column::times_us("METG(50 %)", 0, rows.iter().map(|r| r.metg50_us)),
            Column::times_us("METG(95 %)", 1, rows.iter().map(|r| r.metg95_us)),
            Column::estimates_of(
                "floor",
                "ns",
                (2, 0),
                rows.iter().map(|r| r.floor_ns_per_job),
            ),
            Column::new("trials", "", 3, rows.iter().map(|r| r.trials.to_string())),
        ])
        .on_page("grains"),
    );
    let rows = &found.breaking;
    let shares = rows.iter().map(|r| r.share_of_feasible_bound);
    out.table(
        Table::of(vec![
            Column::new("scheduler", "", 0, rows.iter().map(|r| r.scheduler.clone())),
            Column::new(
                "approached",
                "",
                0,
                rows.iter().map(|r| r.direction.to_string()),
            ),
            Column::estimates_of("stress", "", (0, 3), rows.iter().map(|r| r.stress)),
            Column::estimates_of("of the bound", "", (1, 3), shares),
            Column::new("runs", "", 2, rows.iter().map(|r| r.runs.to_string())),
            Column::new(
                "took",
                "s",
                3,
                rows.iter().map(|r| format!("{:.1}", r.took_s)),
            ),
        ])
        .on_page("breaking"),
    );
    other_tables(out, found);
}

fn other_tables(out: &mut Document<'_>, found: &RigFindings) {
    let rows = &found.steady;
    out.table(
        Table::of(vec![
            Column::new("scheduler", "", 0, rows.iter().map(|r| r.scheduler.clone())),
            Column::estimates_of(
                "concurrency",
                "",
                (0, 3),
                rows.iter().map(|r| r.average_concurrency),
            ),
            Column::estimates_of("drift", "", (0, 3), rows.iter().map(|r| r.drift_ratio)),
            Column::new(
                "memory grew",
                "KiB",
                1,
                rows.iter().map(|r| match r.memory_growth_bytes {
                    Some(bytes) => (bytes / 1024).to_string(),
                    None => "-".to_owned(),
                }),
            ),
            Column::estimates_of(
                "idle CPU",
                "CPUs",
                (0, 5),
                found.idle.iter().map(|r| r.cpu_ratio),
            ),
        ])
        .on_page("steady"),
    );
    let rows = &found.accounting;
    let share = |of: fn(&AccountFinding) -> f64| {
        rows.iter()
            .map(move |row| format!("{:.1}", 100.0 * of(row)))
    };
    out.table(
        Table::of(vec![
            Column::new("scheduler", "", 0, rows.iter().map(|r| r.scheduler.clone())),
            Column::new("part", "", 0, rows.iter().map(|r| r.part.name().to_owned())),
            Column::new("work", "%", 0, share(|r| r.work_share)),
            Column::new("dispatch", "%", 0, share(|r| r.dispatch_share)),
            Column::new("steal", "%", 0, share(|r| r.steal_share)),
            Column::new("spin", "%", 0, share(|r| r.spin_share)),
            Column::new("parked", "%", 0, share(|r| r.parked_share)),
            Column::new("unexplained", "%", 0, share(|r| r.unexplained_share)),
        ])
        .on_page("accounts"),
    );
    let rules = found
        .graphs
        .iter()
        .flat_map(|g| g.rules.iter().map(move |r| (&g.name, r)));
    let rules: Vec<_> = rules.collect();
    out.table(
        Table::of(vec![
            Column::new(
                "graph",
                "",
                0,
                rules.iter().map(|(name, _)| (*name).clone()),
            ),
            Column::new("rule", "", 0, rules.iter().map(|(_, r)| r.rule.clone())),
            Column::new(
                "configured",
                "%",
                0,
                rules
                    .iter()
                    .map(|(_, r)| format!("{:.1}", 100.0 * r.configured_share)),
            ),
            Column::new(
                "realised",
                "%",
                0,
                rules
                    .iter()
                    .map(|(_, r)| format!("{:.1}", 100.0 * r.realised_share)),
            ),
            Column::new(
                "draws",
                "",
                1,
                rules.iter().map(|(_, r)| r.draws.to_string()),
            ),
        ])
        .on_page("rules"),
    );
}
