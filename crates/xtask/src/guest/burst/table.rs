//! The table, in Markdown. Pure.

use super::Row;
use super::service::Service;
use plimsoll_report::{estimate, estimate_us, time_us};

const HEAD: [&str; 9] = [
    "service",
    "host: in bursts, % of a core",
    "host: idle burn, % of a core",
    "guest: idle in bursts, %",
    "guest: idle in breaks, %",
    "burn per request, us",
    "first request after a break",
    "steady state",
    "start to first answer",
];

/// CPU use by both views, latency, and the time of a boot. A guest's idle time is of all its CPUs.
pub(super) fn table(rows: &[(Service, Row)]) -> String {
    let mut cells = vec![HEAD.map(str::to_owned).to_vec()];
    for (service, row) in rows {
        if let Row::Measured(measured) = row {
            let (found, view) = (&measured.found, measured.view.as_ref());
            let idle = |pct: Option<f64>| pct.map_or("-".to_owned(), |idle| format!("{idle:.1}"));
            cells.push(vec![
                service.words().to_owned(),
                estimate(found.in_bursts_pct, 1),
                estimate(found.idle_burn_pct, 2),
                idle(view.and_then(|view| view.idle_in_bursts_pct)),
                idle(view.and_then(|view| view.idle_pct)),
                estimate(found.burn_us_per_request, 0),
                estimate_us(found.first_us),
                estimate_us(found.steady_us),
                time_us(measured.first_answer.as_secs_f64() * 1e6),
            ]);
        }
    }
    let mut out = aligned(&cells);
    for (service, row) in rows {
        if let Some(remark) = remark(row) {
            out += &format!("\n{}: {remark}", service.words());
        }
    }
    out
}

/// What is to be known beside the figures.
fn remark(row: &Row) -> Option<String> {
    match row {
        Row::LeftOut(why) => Some(format!("left out, because {why}.")),
        Row::Measured(measured) => {
            let found = &measured.found;
            (found.invalid_trials > 0).then(|| {
                format!(
                    "{} invalid trials, {} valid cycles.",
                    found.invalid_trials, found.cycles
                )
            })
        }
    }
}

fn aligned(cells: &[Vec<String>]) -> String {
    let width = |at: usize| {
        let all = cells.iter().filter_map(|row| row.get(at));
        all.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    let line = |row: &[String]| {
        let padded = row.iter().zip(&widths);
        let padded: Vec<String> = padded.map(|(cell, w)| format!("{cell:w$}")).collect();
        format!("| {} |\n", padded.join(" | "))
    };
    let rule: Vec<String> = widths.iter().map(|w| "-".repeat(*w)).collect();
    let mut out = String::new();
    for (at, row) in cells.iter().enumerate() {
        out += &line(row);
        if at == 0 {
            out += &line(&rule);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::Measured;
    use super::super::measure::Found;
    use super::super::view::GuestView;
    use super::*;
    use plimsoll_model::Estimate;
    use std::time::Duration;

    #[test]
    fn both_views_stand_in_a_row_and_what_is_left_out_is_said() {
        let found = Found {
            idle_burn_pct: Some(Estimate::within(190.0, 188.0, 192.0)),
            invalid_trials: 1,
            cycles: 6,
            ..Found::default()
        };
        let view = GuestView {
            idle_pct: Some(98.21),
            ..GuestView::default()
        };
        let row = Row::Measured(Box::new(Measured {
            found,
            view: Some(view),
            first_answer: Duration::from_millis(3456),
        }));
        let left_out = Row::LeftOut("it has no driver".to_owned());
        let text = table(&[(Service::Poll, row), (Service::Haltpoll, left_out)]);
        let line = text.lines().nth(2).unwrap();
        assert!(line.contains("| 190"), "{line}");
        assert!(
            line.contains("| 98.2 ") && line.contains("| 3.46s"),
            "{line}"
        );
        assert!(text.contains("1 invalid trials, 6 valid cycles."), "{text}");
        assert!(
            text.ends_with("haltpoll: left out, because it has no driver."),
            "{text}"
        );
    }
}
