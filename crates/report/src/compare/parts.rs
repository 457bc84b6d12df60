//! The parts of a page of machines: each a chart of them all, with a title that
//! says what each comes to.

use super::tables::{Scale, capacity_rows};
use crate::document::Block;
use crate::escape::safe;
use crate::html::{
    Basis, Machine, capacities, cpu_overlay, grid, latency_overlay, on_demand, part, svg,
    table as columns_table, work_overlay,
};
use crate::markup::{El, Html, beginning, el};
use crate::number::{self, Written};
use crate::sweep::capacity::leading;
use crate::table::{Column, known};
use plimsoll_model::{
    CapacityStatus, Carried, ComparedCapacity, ComparedMachine, Comparison, FigureUnit,
    LevelFinding, Measure, WorkOf, WorkUnit,
};

/// All charts that there is something to draw for.
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

/// What each carries within each goal.
fn carried(comparison: &Comparison) -> Html {
    let goals = comparison.machines.first().map_or(&[][..], |m| &m.capacity);
    let one = |(i, goal): (usize, &ComparedCapacity)| {
        let id = match i {
            0 => "capacities".to_owned(),
            i => format!("capacities-{}", i + 1),
        };
        let listed: Vec<String> = comparison
            .machines
            .iter()
            .map(|m| carries(comparison, m, goal))
            .collect();
        let title = format!("Within {}: {}", goal.goal, listed.join(", "));
        let drawings = svg(&capacities(comparison, &goal.goal, &id, &title));
        let hint = "A point per machine, with its 95 % interval.";
        part(&id, &title, hint, true, None, drawings)
            .with(on_demand(grid(&capacity_rows(comparison, goal))))
    };
    goals.iter().enumerate().map(one).collect()
}

/// `web1 12,300 requests/s`
fn carries(comparison: &Comparison, machine: &ComparedMachine, goal: &ComparedCapacity) -> String {
    let name = beginning(&safe(&machine.name), 40);
    let figure = machine
        .capacity
        .iter()
        .find(|c| c.goal == goal.goal)
        .and_then(|c| c.figures.iter().find(|f| f.measure == Measure::Capacity));
    let unit = Scale::of(FigureUnit::of(comparison.work_unit, Measure::Capacity), 0.0);
    let Some((carried, amount)) = figure.and_then(|f| Some((f.carried, f.carried.estimate()?)))
    else {
        return format!("{name} not known");
    };
    let at_least = match carried {
        Carried::AtLeast(_) => "at least ",
        _ => "",
    };
    let value = Written::rate(amount.map_rising(|x| x / unit.size)).value;
    format!("{name} {at_least}{value} {}", unit.name)
}

/// The bases that rates can be shown on: those known of every machine.
fn bases(
    comparison: &Comparison,
    machines: &[Machine<'_>],
) -> Vec<(&'static str, &'static str, Basis)> {
    let bytes = comparison.work_unit == WorkUnit::HashedBytes;
    let all = [
        (
            "machine",
            "per machine",
            Measure::Capacity,
            "offered load, requests per second",
            "offered load, MB per second",
        ),
        (
            "cpu",
            "per CPU",
            Measure::PerCpu,
            "offered load, requests per second and CPU",
            "offered load, MB per second and CPU",
        ),
        (
            "price",
            "per price",
            Measure::PerPrice,
            "offered load, requests per unit of money",
            "offered load, GB per unit of money",
        ),
    ];
    let of_all = |measure: Measure| {
        let has = |m: &Machine<'_>| m.factors.iter().any(|(of, _)| *of == measure);
        machines.iter().all(has)
    };
    let known = all
        .into_iter()
        .filter(|(_, _, measure, ..)| of_all(*measure));
    known
        .map(|(id, name, measure, requests, hashed)| {
            let axis = if bytes { hashed } else { requests };
            let chart = match measure {
                Measure::PerCpu => "latency-cpu",
                Measure::PerPrice => "latency-price",
                Measure::Capacity | Measure::PerWatt => "latency-machine",
            };
            let unit = FigureUnit::of(comparison.work_unit, measure);
            // The unit of a small figure: its name stands in the axis.
            let size = Scale::of(unit, 0.0).size;
            (
                id,
                name,
                Basis {
                    id: chart,
                    measure,
                    size,
                    axis,
                },
            )
        })
        .collect()
}

fn latency(comparison: &Comparison, machines: &[Machine<'_>]) -> Option<El> {
    let has = |m: &Machine<'_>| m.findings.levels.iter().any(|l| l.latency_us.is_some());
    machines.iter().find(|m| has(m))?;
    let listed: Vec<String> = machines
        .iter()
        .map(|m| {
            let name = beginning(&m.name, 40);
            let worst = m.findings.levels.iter().rev().find_map(|l| {
                let latency = l.latency_us.as_ref()?;
                Some(format!(
                    "{} at {} % load",
                    number::time_us(latency.p99),
                    number::trimmed_pct(l.load_pct)
                ))
            });
            format!("{name} {}", worst.unwrap_or_else(|| "not known".to_owned()))
        })
        .collect();
    let title = format!("p99 at the highest load: {}", listed.join(", "));
    let bases = bases(comparison, machines);
    let choice = bases.iter().enumerate().map(|(i, (id, name, _))| {
        let input = el("input")
            .attr("type", "radio")
            .attr("name", "basis")
            .attr("data-shows", id);
        let input = if i == 0 { input.flag("checked") } else { input };
        el("label").with(input).with(format!(" {name}"))
    });
    let choice = el("fieldset").class("choice").with_all(choice);
    let drawings = bases.iter().enumerate().map(|(i, (id, _, basis))| {
        let class = if i == 0 { "basis on" } else { "basis" };
        el("div")
            .class(class)
            .attr("data-basis", id)
            .with(svg(&latency_overlay(machines, *basis, &title)))
    });
    let hint =
        "p99 against offered load, a line per machine. A ring: where one meets a goal on p99.";
    let choice = (bases.len() > 1).then_some(choice);
    let drawings: Html = drawings.collect();
    Some(
        part("latency", &title, hint, true, choice, drawings)
            .with(on_demand(columns_table(&level_table(machines), false))),
    )
}

fn level_table(machines: &[Machine<'_>]) -> Vec<Column> {
    let rows = || {
        machines
            .iter()
            .flat_map(|m| m.findings.levels.iter().map(move |l| (m, l)))
    };
    let p99 = |l: &LevelFinding| known(l.latency_us.as_ref().map(|s| s.p99 / 1e3), number::short);
    vec![
        Column::new(
            "machine",
            "",
            0,
            rows().map(|(m, _)| beginning(&m.name, 60)),
        ),
        Column::new(
            "load",
            "%",
            0,
            rows().map(|(_, l)| number::trimmed_pct(l.load_pct)),
        ),
        Column::new(
            "offered",
            "/s",
            0,
            rows().map(|(_, l)| number::rate(l.offered_rps)),
        ),
        Column::new(
            "achieved",
            "/s",
            0,
            rows().map(|(_, l)| known(l.achieved_rps, number::rate)),
        ),
        Column::new(
            "CPU",
            "%",
            0,
            rows().map(|(_, l)| known(l.cpu_pct, number::pct)),
        ),
        Column::new("p99", "ms", 0, rows().map(|(_, l)| p99(l))),
    ]
}

fn cpu(machines: &[Machine<'_>]) -> Option<El> {
    machines.iter().find(|m| !m.picture.curve.is_empty())?;
    let listed: Vec<String> = machines
        .iter()
        .map(|m| {
            let cpu = leading(&m.findings.capacity).and_then(|l| l.finding.cpu_pct);
            let cpu = cpu.map_or_else(|| "not known".to_owned(), |c| Written::pct(c).value + " %");
            format!("{} {cpu}", beginning(&m.name, 40))
        })
        .collect();
    let of = |m: &Machine<'_>| leading(&m.findings.capacity).map(|l| l.finding.status);
    // A load line is where the goal is broken beyond.
    let place = match machines
        .iter()
        .any(|m| of(m) == Some(CapacityStatus::NotReached))
    {
        true => "the highest rate that met the goal",
        false => "the load line",
    };
    let title = format!("CPU use at {place}: {}", listed.join(", "));
    let hint = "CPU use against achieved load, in percent of each machine's own rated rate. The \
                dotted diagonal is CPU use linear in the load.";
    let drawings = svg(&cpu_overlay(machines, &title));
    Some(part("cpu", &title, hint, false, None, drawings))
}

fn work(comparison: &Comparison, machines: &[Machine<'_>]) -> Option<El> {
    let unit = Scale::of(FigureUnit::of(comparison.work_unit, Measure::PerCpu), 0.0);
    let last = |m: &Machine<'_>| {
        let factor = m.factors.iter().find(|(of, _)| *of == Measure::Capacity)?.1;
        m.picture.service_cpus?;
        let work = m
            .picture
            .curve
            .iter()
            .rev()
            .find_map(|p| p.work_per_cpu_s)?;
        Some(work.value * factor / unit.size)
    };
    machines.iter().find_map(last)?;
    let listed: Vec<String> = machines
        .iter()
        .map(|m| {
            let work = last(m).map_or_else(|| "not known".to_owned(), number::short);
            format!("{} {work}", beginning(&m.name, 40))
        })
        .collect();
    let (what, axis) = match comparison.work_unit {
        WorkUnit::Requests => ("Requests", "requests per CPU-second"),
        WorkUnit::HashedBytes => ("MB", "MB per CPU-second"),
    };
    let title = format!(
        "{what} per CPU-second at the highest load: {}",
        listed.join(", ")
    );
    let basis = Basis {
        id: "work",
        measure: Measure::Capacity,
        size: unit.size,
        axis,
    };
    let of_service = machines
        .iter()
        .filter(|m| m.picture.work_of == WorkOf::Service);
    let time = match of_service.count() {
        0 => "that a CPU is busy",
        n if n == machines.len() => "of the service's own CPU time",
        _ => "of the service's own CPU time, or where that is not known that a CPU is busy",
    };
    let hint = format!(
        "Work per second {time}, against achieved load in percent of each machine's own rated rate."
    );
    let drawings = svg(&work_overlay(machines, basis, &title));
    Some(part("work", &title, &hint, false, None, drawings))
}
