//! `--prove`: wake-ups with the gate and without it, in short alternating windows.

use plimsoll_host::Root;
use plimsoll_model::{CpuId, Estimate, Histogram};
use plimsoll_side::gate::{Gating, Probe, ProbePlan};
use plimsoll_side::{Notice, SideError};
use plimsoll_study::wake::{Draws, Figure};
use std::time::{Duration, Instant};

const PASSES: usize = 8;
/// 400 wake-ups a window: p99 takes 299.
const PLAN: ProbePlan = ProbePlan {
    gap: Duration::from_millis(2),
    window: Duration::from_millis(800),
};
/// From a switch of the arm to the first wake-up.
const SETTLE: Duration = Duration::from_millis(50);

/// Progress of the windows.
#[derive(Debug)]
pub(super) struct Prove {
    /// Each pass holds the windows with the gate and without, where done.
    passes: Vec<[Option<Histogram>; 2]>,
    /// The window in progress; even ones begin a pass.
    window: usize,
    cpu: Option<CpuId>,
    state: State,
}

#[derive(Debug)]
enum State {
    Settling(Instant),
    Measuring(Probe),
    Done,
}

/// Of a window: whether the gate is off. Every other pass runs in reverse.
fn is_off(window: usize) -> bool {
    matches!(window % 4, 1 | 2)
}

impl Prove {
    pub(super) fn new() -> Prove {
        Prove {
            passes: vec![[None, None]; PASSES],
            window: 0,
            cpu: None,
            state: State::Settling(Instant::now() + SETTLE),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Does what is due.
    pub(super) fn step(
        &mut self,
        gating: &mut Gating,
        root: &Root,
        notify: &mut dyn FnMut(Notice),
    ) -> Result<(), SideError> {
        match &self.state {
            State::Done => Ok(()),
            State::Settling(until) if Instant::now() < *until => Ok(()),
            State::Settling(_) => {
                // With no task yet, there is no CPU to wake.
                self.cpu = gating.held().iter().next().or(self.cpu);
                let Some(cpu) = self.cpu else {
                    return Ok(());
                };
                let online = plimsoll_host::online_cpus(root)?;
                match Probe::start(PLAN, cpu, gating.held(), &online)? {
                    Some(probe) => self.state = State::Measuring(probe),
                    None => {
                        let why = "--prove needs a second CPU to wake the first; none is measured";
                        notify(Notice::Warning(why.to_owned()));
                        self.state = State::Done;
                    }
                }
                Ok(())
            }
            State::Measuring(probe) if !probe.is_done() => Ok(()),
            State::Measuring(_) => {
                let next = match self.window + 1 == 2 * PASSES {
                    true => State::Done,
                    false => State::Settling(Instant::now() + SETTLE),
                };
                if let State::Measuring(probe) = std::mem::replace(&mut self.state, next) {
                    let arm = usize::from(is_off(self.window));
                    self.passes[self.window / 2][arm] = probe.finish()?;
                }
                self.window += 1;
                gating.suspend(!self.is_done() && is_off(self.window), notify)
            }
        }
    }

    /// What was found, a sentence a line.
    pub(super) fn findings(&self) -> Vec<String> {
        let whole: Vec<&[Option<Histogram>; 2]> = self
            .passes
            .iter()
            .filter(|pass| pass.iter().all(Option::is_some))
            .collect();
        let arm = |arm: usize| -> Vec<Option<&Histogram>> {
            whole.iter().map(|pass| pass[arm].as_ref()).collect()
        };
        let draws = Draws::of(whole.len(), 1);
        let mut lines = Vec::new();
        for (name, q) in [("p50", 0.5), ("p99", 0.99)] {
            // Of geometric means: one slow window must not decide.
            let log = |which| Figure::log_quantile_us(&arm(which), q, &draws);
            let (Some(gate), Some(as_is)) = (log(0), log(1)) else {
                continue;
            };
            let us = |log: &Figure| Figure::from(&[log], |v| v[0].exp());
            let ratio = Figure::from(&[&gate, &as_is], |v| (v[0] - v[1]).exp());
            let (Some(with), Some(without)) = (us(&gate), us(&as_is)) else {
                continue;
            };
            lines.push(format!(
                "{name} of a wake-up: {} with the gate, {} without{}",
                text(&with.positive_estimate()),
                text(&without.positive_estimate()),
                ratio.and_then(ratio_text).unwrap_or_default()
            ));
        }
        match (lines.is_empty(), self.cpu) {
            (true, _) => {
                lines.push("--prove: it ended before a window did; nothing is shown".into())
            }
            (false, Some(cpu)) => lines.push(format!(
                "geometric means of {} passes of a futex wake-up each {} on CPU {cpu}, with 95 % intervals",
                whole.len(),
                plimsoll_model::human_duration(PLAN.gap)
            )),
            _ => {}
        }
        lines
    }
}

/// A ratio, and that it is inconclusive if its interval holds 1.
fn ratio_text(ratio: Figure) -> Option<String> {
    let ratio = ratio.positive_estimate();
    let (value, (low, high)) = (ratio.value, ratio.interval()?);
    let verdict = match ratio.holds(1.0) {
        true => ", inconclusive",
        false => "",
    };
    Some(format!(
        "; {value:.2} ({low:.2} to {high:.2}) times{verdict}"
    ))
}

fn text(us: &Estimate) -> String {
    match us.interval() {
        Some((low, high)) => format!("{:.1} us ({low:.1} to {high:.1})", us.value),
        None => format!("{:.1} us", us.value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_alternate_and_mirror() {
        let off: Vec<bool> = (0..8).map(is_off).collect();
        assert_eq!(off, [false, true, true, false, false, true, true, false]);
    }

    #[test]
    fn differences_come_from_whole_passes() {
        let window = |us: u64| {
            let mut latency = Histogram::new();
            (0..400).for_each(|_| latency.record(Duration::from_micros(us)));
            Some(latency)
        };
        let mut prove = Prove::new();
        assert_eq!(prove.findings().len(), 1);
        for (i, pass) in prove.passes.iter_mut().take(4).enumerate() {
            *pass = [window(10 + i as u64), window(30 + i as u64)];
        }
        prove.passes[4] = [window(999), None];
        prove.cpu = Some(1);
        let lines = prove.findings();
        // Of the geometric means 11.4 and 31.5.
        assert!(lines[0].contains("; 0.36 ("), "{lines:?}");
        assert!(lines[2].contains("4 passes"), "{lines:?}");
    }
}
