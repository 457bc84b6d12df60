//! The tables. Pure.

use super::findings::{
    PolicyFinding, ProgramFinding, SplitRow, StateFinding, WakeFindings, WakeupFinding,
};
use super::program::Program;
use plimsoll_model::{Arrivals, Estimate};
use plimsoll_report::{Column, Document, Ink, Role, Table};

pub(super) fn add(out: &mut Document<'_>, found: &WakeFindings) {
    if !found.programs.is_empty() {
        out.table(Table::of(programs(&found.programs)).on_page("programs"));
        return;
    }
    add_wakeups(out, found);
    out.table(Table::of(policies(&found.policies)).on_page("policies"));
    if !found.split.rows.is_empty() {
        out.table(Table::of(split(&found.split.rows)).on_page("split"));
    }
    if !found.states.is_empty() {
        out.table(Table::of(states(&found.states)).on_page("states"));
    }
}

/// What all wake-ups have in common is said once, and takes no width.
fn add_wakeups(out: &mut Document<'_>, found: &WakeFindings) {
    let columns = wakeups(&found.wakeups);
    out.spreadsheet(&columns);
    let is_kind = |column: &Column| ["wait", "waker", "arrivals"].contains(&column.name());
    let (common, shown): (Vec<Column>, Vec<Column>) = columns
        .into_iter()
        .partition(|column| is_kind(column) && column.in_common().is_some());
    out.table(Table::of(shown).on_page("wakeups"));
    let common: Vec<&str> = common.iter().filter_map(Column::in_common).collect();
    if !common.is_empty() {
        let text = format!("All wake-ups: {}.", common.join(", "));
        out.say(Role::Note, [Ink::Plain.says(text)]);
    }
}

fn wakeups(rows: &[WakeupFinding]) -> Vec<Column> {
    let times = |name, rank, of: fn(&WakeupFinding) -> Option<Estimate>| {
        Column::times_us(name, rank, rows.iter().map(of))
    };
    let asleep = |row: &WakeupFinding| match row.asleep_pct {
        Some(pct) => format!("{pct:.0}"),
        None => "-".to_owned(),
    };
    vec![
        Column::words("policy", "", 0, rows, |r| r.policy.to_string()),
        Column::words("wait", "", 0, rows, |r| r.wait.to_string()),
        Column::words("waker", "", 0, rows, |r| r.placement.to_string()),
        Column::words("gap", "us", 0, rows, |r| r.gap_us.to_string()),
        Column::words("arrivals", "", 0, rows, |r| match r.arrivals {
            Arrivals::Constant => "constant".to_owned(),
            Arrivals::Poisson => "Poisson".to_owned(),
        }),
        times("p50", 0, |r| r.latency_us.p50),
        times("p90", 3, |r| r.latency_us.p90),
        times("p99", 0, |r| r.latency_us.p99),
        times("p99.9", 2, |r| r.latency_us.p999),
        times("max", 4, |r| r.latency_us.max),
        Column::words("asleep", "%", 5, rows, asleep),
        Column::words("trials", "", 1, rows, |r| r.trials.to_string()),
    ]
}

fn policies(rows: &[PolicyFinding]) -> Vec<Column> {
    let of = |name, unit, rank, of: fn(&PolicyFinding) -> Option<Estimate>| {
        Column::estimates_of(name, unit, (rank, 1), rows.iter().map(of))
    };
    vec![
        Column::words("policy", "", 0, rows, |r| r.policy.to_string()),
        of("burn", "%", 0, |r| r.burn_pct),
        of("extra", "%", 1, |r| r.extra_burn_pct),
        of("power", "W", 2, |r| r.power_w),
        of("mean p99", "us", 0, |r| r.p99_us),
        of("highest", "us", 4, |r| r.highest_p99_us),
        Column::estimates_of("p99 ratio", "", (0, 2), rows.iter().map(|r| r.p99_ratio)),
        of("saved", "us", 1, |r| r.p99_saved_us),
        of("per burn", "us/%", 0, |r| r.p99_us_per_burn_pct),
        of("per watt", "us/W", 2, |r| r.p99_us_per_watt),
        of("clock lost", "%", 2, |r| r.clock_loss_pct),
        Column::words("trials", "", 5, rows, |r| r.trials.to_string()),
    ]
}

fn split(rows: &[SplitRow]) -> Vec<Column> {
    let part = |name, of: fn(&SplitRow) -> Option<Estimate>| {
        Column::estimates_of(name, "us", (0, 1), rows.iter().map(of))
    };
    vec![
        Column::words("policy", "", 0, rows, |r| r.policy.to_string()),
        Column::words("wait", "", 1, rows, |r| r.wait.to_string()),
        Column::words("waker", "", 2, rows, |r| r.placement.to_string()),
        Column::words("gap", "us", 0, rows, |r| r.gap_us.to_string()),
        part("idle exit", |r| r.idle_exit_us),
        part("activation", |r| r.activation_us),
        part("run queue", |r| r.run_queue_us),
        part("sum", |r| r.total_us),
        Column::words("idle", "%", 1, rows, |r| format!("{:.0}", r.idle_pct)),
    ]
}

fn programs(rows: &[ProgramFinding]) -> Vec<Column> {
    let figure = |(name, unit): (&'static str, &'static str)| {
        let of = |row: &ProgramFinding| {
            let mut own = row.figures.iter();
            own.find(|figure| figure.name == name)?.value
        };
        Column::estimates_of(name, unit, (0, 3), rows.iter().map(of))
    };
    let names: &[(&str, &str)] = match rows.first().map(|row| row.program) {
        Some(Program::Pgbench) => &[("average", "ms"), ("stddev", "ms")],
        _ => &[("p50", "us"), ("p90", "us"), ("p99", "us"), ("max", "us")],
    };
    let mut columns = vec![Column::words("policy", "", 0, rows, |r| {
        r.policy.to_string()
    })];
    columns.extend(names.iter().copied().map(figure));
    columns.extend([
        Column::estimates_of("burn", "%", (0, 1), rows.iter().map(|r| r.burn_pct)),
        Column::estimates_of("power", "W", (1, 1), rows.iter().map(|r| r.power_w)),
        Column::words("trials", "", 2, rows, |r| r.trials.to_string()),
    ]);
    columns
}

fn states(rows: &[StateFinding]) -> Vec<Column> {
    let measured = rows.iter().map(|r| r.measured_exit_us);
    vec![
        Column::words("idle state", "", 0, rows, |r| r.name.clone()),
        Column::words("advertised", "us", 0, rows, |r| {
            r.advertised_exit_us.to_string()
        }),
        Column::estimates_of("measured", "us", (0, 1), measured),
        Column::words("entered", "", 1, rows, |r| r.entered.to_string()),
    ]
}
