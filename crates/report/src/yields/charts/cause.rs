//! Where the extra latency comes from: CPU time and waiting for a CPU.

use super::{Arms, alone, known, listed, rows, within_row};
use crate::chart::{At, Axis, Bar, Chart, Facets, Mark, MarkKind, Panel, Scale, Tone, Unit};
use crate::number::time_us;
use crate::sentence::words_of;
use crate::yields::table::cause_name;
use plimsoll_model::ArmFinding;

struct Part {
    tone: Tone,
    name: &'static str,
    of: fn(&ArmFinding) -> Option<f64>,
}

const PARTS: [Part; 2] = [
    Part {
        tone: Tone::CpuTime,
        name: "CPU time",
        of: |arm| arm.cpu_us_per_request,
    },
    Part {
        tone: Tone::Wait,
        name: "wait for a CPU",
        of: |arm| arm.run_delay_us_per_request,
    },
];

pub(super) fn chart(view: Arms<'_>) -> Option<Chart> {
    let arms = known(view, |arm| PARTS.iter().find_map(|part| (part.of)(arm)));
    arms.first().filter(|_| view.compares())?;
    let is_known = |part: &&Part| arms.iter().any(|(_, arm)| (part.of)(arm).is_some());
    let parts = PARTS.iter().filter(is_known);
    let hint = "Both are of the service's own threads, per request. What reaches beyond the dotted \
                line is more than with the service alone: more waiting is lost to the job's turns on \
                the CPUs, more CPU time to shared caches, memory, cores or clock.";
    let description =
        "CPU time of the service and its wait for a CPU, both per request, a bar per arm.";
    Some(Chart {
        description: description.to_owned(),
        panels: parts.map(|part| panel(view, part, &arms)).collect(),
        facets: Facets {
            abreast: 2,
            abreast_narrow: 2,
            shares_y: true,
            shares_x: false,
        },
        details: view.details(detail),
        table: view.columns(&["arm", "waits", "CPU time", "cause"]),
        rows_are_picks: true,
        ..Chart::of(Panel::default(), "cause", title(view), hint)
    })
}

fn title(view: Arms<'_>) -> String {
    let [cpu, wait] = &PARTS;
    let waits = view.of_interest(wait.of);
    if !waits.is_empty() {
        return format!("A request waits for a CPU for {}", listed(&waits, time_us));
    }
    let times = view.of_interest(cpu.of);
    format!("A request takes CPU time of {}", listed(&times, time_us))
}

fn detail(arm: &ArmFinding) -> Option<String> {
    let one = |part: &Part| Some(format!("{} {}", part.name, time_us((part.of)(arm)?)));
    let parts: Vec<String> = PARTS.iter().filter_map(one).collect();
    let cause = words_of(arm.cause, |cause| {
        format!("; more latency comes from: {}", cause_name(cause))
    });
    let known = !parts.is_empty();
    known.then(|| format!("per request {}{cause}", parts.join(", ")))
}

fn panel(view: Arms<'_>, part: &Part, arms: &[(usize, &ArmFinding)]) -> Panel {
    let values = arms.iter().filter_map(|(_, arm)| (part.of)(arm));
    let bar = |(row, (place, arm)): (usize, &(usize, &ArmFinding))| {
        let us = (part.of)(arm)?;
        Some(Bar {
            x: (0.0, us),
            y: within_row(row),
            tone: part.tone,
            value: time_us(us),
            pick: Some(*place),
            ..Bar::default()
        })
    };
    let alone = alone(arms).and_then(part.of);
    let alone = alone.map(|us| Mark::new(MarkKind::Guide, At::X(us)));
    let x = Axis::new("per request", Scale::up_to(values), Unit::Time);
    let bars = arms.iter().enumerate().filter_map(bar).collect();
    Panel {
        title: part.name.to_owned(),
        marks: alone.into_iter().collect(),
        ..Panel::of_rows(x, rows(view, arms), bars)
    }
}
