//! The picture: CPU use of each service over a cycle. Pure.

use super::Row;
use super::measure::Found;
use super::service::Service;
use super::view::GuestView;
use plimsoll_report::chart::{
    Axis, Chart, Datum, Facets, Height, Panel, Scale, Series, Subtitle, Tone, Unit, Width,
};
use plimsoll_report::estimate;

/// CPUs of each guest.
const CPUS: f64 = 2.0;

pub(super) fn picture(rows: &[(Service, Row)]) -> Option<Chart> {
    let measured: Vec<(Service, &Found, Option<&GuestView>)> = rows
        .iter()
        .filter_map(|(service, row)| match row {
            Row::Measured(of) => Some((*service, &of.found, of.view.as_ref())),
            Row::LeftOut(_) => None,
        })
        .filter(|(_, found, _)| !found.line.is_empty())
        .collect();
    let points = || measured.iter().flat_map(|(_, found, _)| &found.line);
    let (end, most) = points().fold((0.0, 10.0), |(x, y), at| {
        (f64::max(x, at.0), f64::max(y, at.1))
    });
    let panels: Vec<Panel> = measured
        .iter()
        .map(|(service, found, view)| panel(*service, found, *view, (end, most)))
        .collect();
    let first = panels.first()?.clone();
    let mut chart = Chart::of(
        first,
        "guests",
        "What servers burn in a burst and in the break after it, and what a guest says of itself",
        "",
    );
    chart.panels = panels;
    chart.width = Width::Full;
    chart.facets = Facets {
        abreast: 2,
        abreast_narrow: 1,
        shares_x: true,
        shares_y: true,
    };
    Some(chart)
}

fn panel(
    service: Service,
    found: &Found,
    view: Option<&GuestView>,
    (end, most): (f64, f64),
) -> Panel {
    let x = Axis::new("time in a cycle, s", Scale::linear(0.0, end), Unit::Number);
    let y = Axis::new("CPU use, % of a core", Scale::up_to([most]), Unit::Number);
    let seen = found.line.iter().map(|(x, y)| Datum::at(*x, *y, None));
    let mut series = vec![line("host", Tone::Nth(0), seen.collect())];
    let idle = view.and_then(|view| view.idle_pct);
    let level = |(idle, from, to): (Option<f64>, f64, f64)| {
        let used = (100.0 - idle?) * CPUS;
        Some([from, to].map(|x| Datum::at(x, used, None)))
    };
    let in_bursts = view.and_then(|view| view.idle_in_bursts_pct);
    let phases = [(in_bursts, 0.0, found.burst_s), (idle, found.burst_s, end)];
    let said = phases.into_iter().filter_map(level).flatten();
    // A process has none, and all panels are as wide.
    series.push(line("guest", Tone::Nth(1), said.collect()));
    let says = idle.map(|idle| format!("; the guest says {idle:.1} % idle"));
    let short = idle.map(|idle| format!("; guest: {idle:.1} % idle"));
    let subtitle = |guest: Option<String>| {
        let burn = estimate(found.idle_burn_pct, 2);
        format!("idle: {burn} %{}", guest.unwrap_or_default())
    };
    Panel {
        title: service.words().to_owned(),
        subtitle: Subtitle {
            text: subtitle(says),
            short: subtitle(short),
            tone: Tone::Plain,
        },
        height: Height::Fixed(130.0),
        ..Panel::of(x, y, series)
    }
}

fn line(name: &str, tone: Tone, data: Vec<Datum>) -> Series {
    Series {
        marker: None,
        ..Series::line(name, tone, data)
    }
}
