//! The parts of a page of machines: each a chart of them all, with a title that
//! says what each comes to.

use super::charts::{self, Basis, Machine, latency_name};
use super::tables::{Scale, capacity_rows, figure};
use crate::capacity::leading;
use crate::chart::{Chart, Panel, Width};
use crate::document::Block;
use crate::html::{grid, on_demand, part, svg, table};
use crate::markup::{El, Html, beginning, el};
use crate::number::{self, Written};
use crate::table::{Column, ColumnsOf, known};
use plimsoll_model::safe;
use plimsoll_model::{
    CapacityStatus, Carried, ComparedCapacity, ComparedMachine, Comparison, FigureUnit, Goal,
    LevelFinding, Measure, WorkOf, WorkUnit,
};

pub(super) fn all<'a>(comparison: &Comparison, machines: &[Machine<'_>]) -> Vec<Block<'a>> {
    let charts = [
        latency(comparison, machines),
        cpu(machines),
        work(comparison, machines),
    ];
    let charts = charts.into_iter().flatten().map(Html::from);
    let all = std::iter::once(carried(comparison)).chain(charts);
    all.map(Block::Html).collect()
}

/// `web1 1.2, web2 not known`
fn listed(machines: &[Machine<'_>], of: impl Fn(&Machine<'_>) -> Option<String>) -> String {
    let one = |m: &Machine<'_>| {
        let value = of(m).unwrap_or_else(|| "not known".to_owned());
        format!("{} {value}", beginning(&m.name, 40))
    };
    machines.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn carried(comparison: &Comparison) -> Html {
    let goals = comparison.machines.first().map_or(&[][..], |m| &m.capacity);
    let one = |(i, ComparedCapacity { goal, .. }): (usize, &ComparedCapacity)| {
        let id = match i {
            0 => "capacities".to_owned(),
            i => format!("capacities-{}", i + 1),
        };
        let carries = |m| carries(comparison.work_unit, m, goal);
        let listed: Vec<String> = comparison.machines.iter().map(carries).collect();
        let title = format!("Within {goal}: {}", listed.join(", "));
        let chart = charts::capacities(comparison, goal, &id, title);
        part(&chart, None, svg(&chart)).with(on_demand(grid(&capacity_rows(comparison, goal))))
    };
    goals.iter().enumerate().map(one).collect()
}

/// `web1 12,300 requests/s`
fn carries(work_unit: WorkUnit, machine: &ComparedMachine, goal: &Goal) -> String {
    let name = beginning(&safe(&machine.name), 40);
    let carried = figure(machine, goal, Measure::Capacity).map(|f| f.carried);
    let Some(amount) = carried.and_then(|carried| carried.estimate()) else {
        return format!("{name} not known");
    };
    let at_least = match carried {
        Some(Carried::AtLeast(_)) => "at least ",
        _ => "",
    };
    let unit = Scale::of(FigureUnit::of(work_unit, Measure::Capacity), 0.0);
    let value = Written::rate(amount.map_rising(|x| x / unit.size)).value;
    format!("{name} {at_least}{value} {}", unit.name)
}

/// What rates can be shown per, where it is known of every machine: a name, and the axis.
fn bases(comparison: &Comparison, machines: &[Machine<'_>]) -> Vec<(&'static str, Basis)> {
    let all = [
        ("machine", "per machine", Measure::Capacity),
        ("cpu", "per CPU", Measure::PerCpu),
        ("price", "per price", Measure::PerPrice),
    ];
    let known = |measure| machines.iter().all(|m| m.factor(measure).is_some());
    let all = all.into_iter().filter(|(.., measure)| known(*measure));
    let basis = |(id, name, measure)| {
        let bytes = comparison.work_unit == WorkUnit::HashedBytes;
        let axis = match (measure, bytes) {
            (Measure::PerCpu, false) => "offered load, requests per second and CPU",
            (Measure::PerCpu, true) => "offered load, MB per second and CPU",
            (Measure::PerPrice, false) => "offered load, requests per unit of money",
            (Measure::PerPrice, true) => "offered load, GB per unit of money",
            (_, false) => "offered load, requests per second",
            (_, true) => "offered load, MB per second",
        };
        // The unit of a small figure: its name stands in the axis.
        let size = Scale::of(FigureUnit::of(comparison.work_unit, measure), 0.0).size;
        let basis = Basis {
            id,
            measure,
            size,
            axis,
        };
        (name, basis)
    };
    all.map(basis).collect()
}

fn latency(comparison: &Comparison, machines: &[Machine<'_>]) -> Option<El> {
    let has = |m: &Machine<'_>| m.findings.levels.iter().any(|l| l.latency_us.is_some());
    machines.iter().find(|m| has(m))?;
    let worst = |m: &Machine<'_>| {
        m.findings.levels.iter().rev().find_map(|l| {
            let p99 = number::time_us(l.latency_us.as_ref()?.p99);
            Some(format!(
                "{p99} at {} % load",
                number::trimmed_pct(l.load_pct)
            ))
        })
    };
    let (_, name) = latency_name(machines);
    let title = format!("{name} at the highest load: {}", listed(machines, worst));
    let bases = bases(comparison, machines);
    let choice = bases.iter().enumerate().map(|(i, (name, basis))| {
        let input = el("input").attr("type", "radio").attr("name", "basis");
        let input = input
            .attr("data-shows", basis.id)
            .flag_if("checked", i == 0);
        el("label").with(input).with(format!(" {name}"))
    });
    let choice = el("fieldset").class("choice").with_all(choice);
    let choice = (bases.len() > 1).then_some(choice);
    let drawings = bases.iter().enumerate().map(|(i, (_, basis))| {
        let class = if i == 0 { "basis on" } else { "basis" };
        let drawing = el("div").class(class).attr("data-basis", basis.id);
        drawing.with(svg(&charts::latency(machines, *basis, &title)))
    });
    let drawings: Html = drawings.collect();
    let hint = format!(
        "{name} against offered load, a line per machine. A ring: where one meets a goal on p99."
    );
    let chart = Chart {
        width: Width::Full,
        ..Chart::of(Panel::default(), "latency", title, hint)
    };
    let levels = table(&level_table(machines), false);
    Some(part(&chart, choice, drawings).with(on_demand(levels)))
}

fn level_table(machines: &[Machine<'_>]) -> Vec<Column> {
    let mut rows: Vec<(&str, &LevelFinding)> = Vec::new();
    for machine in machines {
        let levels = machine.findings.levels.iter();
        rows.extend(levels.map(|level| (machine.name.as_str(), level)));
    }
    let of = ColumnsOf(&rows);
    let p99 = |l: &LevelFinding| l.latency_us.as_ref().map(|s| s.p99 / 1e3);
    vec![
        of.column("machine", "", |(name, _)| beginning(name, 60)),
        of.column("load", "%", |(_, l)| number::trimmed_pct(l.load_pct)),
        of.column("offered", "/s", |(_, l)| number::rate(l.offered_rps)),
        of.column("achieved", "/s", |(_, l)| {
            known(l.achieved_rps, number::rate)
        }),
        of.column("CPU", "%", |(_, l)| known(l.cpu_pct, number::pct)),
        of.column(latency_name(machines).0, "ms", |(_, l)| {
            known(p99(l), number::short)
        }),
    ]
}

fn cpu(machines: &[Machine<'_>]) -> Option<El> {
    machines.iter().find(|m| !m.picture.curve.is_empty())?;
    let at_goal = |m: &Machine<'_>| {
        let cpu = leading(&m.findings.capacity)?.finding.cpu_pct?;
        Some(Written::pct(cpu).value + " %")
    };
    let of = |m: &Machine<'_>| leading(&m.findings.capacity).map(|l| l.finding.status);
    let is_open = |m: &Machine<'_>| of(m) == Some(CapacityStatus::NotReached);
    // A load line is where the goal is broken beyond.
    let place = match machines.iter().any(is_open) {
        true => "the highest rate that met the goal",
        false => "the load line",
    };
    let title = format!("CPU use at {place}: {}", listed(machines, at_goal));
    let chart = charts::cpu(machines, title);
    Some(part(&chart, None, svg(&chart)))
}

fn work(comparison: &Comparison, machines: &[Machine<'_>]) -> Option<El> {
    let unit = Scale::of(FigureUnit::of(comparison.work_unit, Measure::PerCpu), 0.0);
    let last = |m: &Machine<'_>| {
        let factor = m.factor(Measure::Capacity)?;
        m.picture.service_cpus?;
        let mut curve = m.picture.curve.iter().rev();
        let work = curve.find_map(|p| p.work_per_cpu_s)?;
        Some(number::short(work.value * factor / unit.size))
    };
    machines.iter().find_map(last)?;
    let (what, axis) = match comparison.work_unit {
        WorkUnit::Requests => ("Requests", "requests per CPU-second"),
        WorkUnit::HashedBytes => ("MB", "MB per CPU-second"),
    };
    let basis = Basis {
        id: "work",
        measure: Measure::Capacity,
        size: unit.size,
        axis,
    };
    let is_of_service = |m: &&Machine<'_>| m.picture.work_of == WorkOf::Service;
    let time = match machines.iter().filter(is_of_service).count() {
        0 => "that a CPU is busy",
        n if n == machines.len() => "of the service's own CPU time",
        _ => "of the service's own CPU time, or where that is not known that a CPU is busy",
    };
    let title = format!(
        "{what} per CPU-second at the highest load: {}",
        listed(machines, last)
    );
    let hint = format!(
        "Work per second {time}, against achieved load in percent of each machine's own rated rate."
    );
    let chart = charts::work(machines, basis, (title, &hint));
    Some(part(&chart, None, svg(&chart)))
}
