//! The three laws on a simulated load step, as the table in docs/journal.
//!
//! ```text
//! cargo run -p plimsoll-law --example load_step
//! ```
//!
//! Two CPUs. The service steps from 20 to 90 % after two minutes, in the middle
//! of a period, and back after a minute. The sideload always wants all CPU
//! time.

#![allow(clippy::print_stdout, reason = "an example prints what it found")]

#[path = "../tests/closed_loop/rig.rs"]
mod rig;

use plimsoll_law::{Action, Headroom, Koordinator, Law, Plimsoll, ResctlDemo, Sample};
use plimsoll_simulate::SharedSpec;
use rig::{Rig, Step};
use std::time::Duration;

/// The load step, in seconds from the start.
const UP: f64 = 120.0;
const DOWN: f64 = 180.0;

fn main() {
    let headroom = Headroom::default();
    let laws = [
        Law::Plimsoll(Plimsoll::new(headroom)),
        Law::ResctlDemo(ResctlDemo::new(headroom)),
        Law::Koordinator(Koordinator::new(headroom)),
    ];
    println!(
        "| law | period | weights | before | let go after | most backlog | backlog until \
         | used at 90 % | back after | sensor lost at the step |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (weights, sideload_weight) in [("100:1", 1.0), ("1:1", 100.0)] {
        for law in &laws {
            for period_ms in [100, 1000] {
                let spec = SharedSpec {
                    sideload_weight,
                    ..SharedSpec::default()
                };
                let period = Duration::from_millis(period_ms);
                row(law, spec, period, weights);
            }
        }
    }
}

fn row(law: &Law, spec: SharedSpec, period: Duration, weights: &str) {
    let shift = period.as_secs_f64() / 2.0;
    let load = |t: f64| {
        if (UP + shift..DOWN + shift).contains(&t) {
            0.9
        } else {
            0.2
        }
    };
    let unchanged = |_: &mut Sample| {};
    let mut rig = Rig::new(law.clone(), spec.clone(), period);
    rig.run(UP, load, unchanged);
    let before = rig.share();
    let high = rig.run(DOWN - UP, load, unchanged);
    let after = rig.run(120.0, load, unchanged);

    let let_go = high.iter().find(|s| s.action.share().get() <= 0.05);
    let max_backlog = high.iter().map(|s| s.seen.max_backlog).max();
    let owed_last = high.iter().rfind(|s| s.seen.backlog.0.as_millis() > 0);
    let used: f64 = high.iter().map(|s| s.seen.sideload.0.as_secs_f64()).sum();
    let back = after
        .iter()
        .find(|s| s.action.share().get() >= 0.9 * before);

    let mut blind = Rig::new(law.clone(), spec, period);
    blind.run(UP, load, unchanged);
    blind.run(30.0, load, |sample| sample.machine = None);
    let lost = match blind.action {
        Action::Frozen => "frozen".to_owned(),
        Action::Run { share } => format!("keeps {:.0} %", share.pct()),
    };

    let since = |from: f64, step: Option<&Step>| match step {
        Some(step) => format!("{:.2} s", step.at - from - shift),
        None => "-".to_owned(),
    };
    println!(
        "| {} | {:.1} s | {weights} | {:.0} % | {} | {:.0} ms | {} | {:.1} CPU s | {} | {lost} |",
        law.name(),
        period.as_secs_f64(),
        before * 100.0,
        since(UP, let_go),
        max_backlog.map_or(0.0, |t| t.0.as_secs_f64() * 1e3),
        since(UP, owed_last),
        used,
        since(DOWN, back),
    );
}
