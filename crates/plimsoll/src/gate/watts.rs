//! `--budget 10W`: what an awake CPU costs is measured before the gate starts, and the budget
//! becomes a share of CPU time.

use super::latency::Resolved;
use crate::failure::Failure;
use plimsoll_control::idle::{IdleControl, IdleMeans, KeptAwake};
use plimsoll_control::{ControlError, Journals};
use plimsoll_host::idle::ResumeLatency;
use plimsoll_host::{Root, Sensors, ServiceSource, Subject, difference};
use plimsoll_model::{CpuSet, Energy, Share};
use plimsoll_side::{Signal, SignalSource};
use plimsoll_study::gate_power::{PowerBudget, PowerPass, allowed, watts_per_idle_cpu};
use std::time::Duration;

/// Every other one in reverse, so that a drift of the load cancels.
const PASSES: usize = 8;
/// Counters are updated each millisecond or so; a meter of the machine, once a second.
const WINDOW: Duration = Duration::from_millis(1200);

/// What is kept awake, and how.
pub(super) struct Holding<'a> {
    root: &'a Root,
    journals: &'a Journals,
    means: IdleMeans,
    limit: ResumeLatency,
    cpus: &'a CpuSet,
}

/// The share that `watts` allow, `None` for all; and a sentence with what was measured. It takes
/// 20 s.
pub(super) fn share(
    watts: f64,
    holding: &Holding<'_>,
    signals: &mut dyn SignalSource,
) -> Result<(Option<Share>, String), Failure> {
    let no = |why: &str| {
        Failure::Mistake(format!(
            "--budget {watts}W cannot be kept: {why}; give a share of CPU time, such as 5%"
        ))
    };
    let mut power =
        Power::open(holding)?.ok_or_else(|| no("this machine has no energy counter"))?;
    let passes = holding.passes(&mut power, signals)?;
    let cost = watts_per_idle_cpu(&passes);
    let n = holding.cpus.len();
    let measured = cost.and_then(|cost| Some((cost.value, cost.interval()?)));
    let measured = measured.map(|(value, (low, high))| {
        format!("an idle CPU that is kept awake costs {value:.2} W ({low:.2} to {high:.2})")
    });
    match (allowed(watts, cost, n), measured) {
        (PowerBudget::Share(share), Some(cost)) => Ok((
            Some(share),
            format!(
                "{cost}, so {watts} W are {:.1} % of all CPU time",
                share.pct()
            ),
        )),
        (PowerBudget::All, Some(cost)) => Ok((
            None,
            format!("{cost}: all {n} CPUs may be kept awake within {watts} W"),
        )),
        _ => Err(no("what an awake CPU costs could not be measured")),
    }
}

impl<'a> Holding<'a> {
    pub(super) fn of(
        root: &'a Root,
        journals: &'a Journals,
        resolved: &Resolved,
        cpus: &'a CpuSet,
    ) -> Holding<'a> {
        Holding {
            root,
            journals,
            means: resolved.means,
            limit: resolved.limit,
            cpus,
        }
    }

    fn passes(
        &self,
        power: &mut Power,
        signals: &mut dyn SignalSource,
    ) -> Result<Vec<PowerPass>, Failure> {
        let mut passes = Vec::new();
        for pass in 0..PASSES {
            let mut windows = [None, None];
            for held in [pass % 2 == 0, pass % 2 == 1] {
                let kept = if held { self.keep_all()? } else { Vec::new() };
                windows[usize::from(held)] = power.window(signals)?;
                for cpu in kept {
                    cpu.give_back().map_err(failed)?;
                }
            }
            if let [Some((free_w, idle_cpus)), Some((held_w, _))] = windows {
                passes.push(PowerPass {
                    held_w,
                    free_w,
                    idle_cpus,
                });
            }
        }
        Ok(passes)
    }

    fn keep_all(&self) -> Result<Vec<KeptAwake>, Failure> {
        let journal = self.journals.open(self.root).map_err(failed)?;
        let control = IdleControl::new(self.root, &journal, self.means);
        let each = self.cpus.iter();
        each.map(|cpu| control.keep_awake(cpu, self.limit).map_err(failed))
            .collect()
    }
}

fn failed(error: ControlError) -> Failure {
    Failure::Run(error.to_string())
}

/// The energy counter and the idle time of the machine.
struct Power {
    sensors: Sensors,
}

impl Power {
    /// `None` without a counter that can be read.
    fn open(holding: &Holding<'_>) -> Result<Option<Power>, Failure> {
        let here = Subject::Here {
            cpus: holding.cpus.clone(),
            generator: CpuSet::default(),
            service: ServiceSource::None,
        };
        let sensors = Sensors::new(holding.root, here, &[]);
        let mut sensors = sensors.map_err(|e| Failure::Run(e.to_string()))?;
        let now = sensors.read();
        let energy = difference(&now, &now).machine.energy;
        Ok(energy.map(|_| Power { sensors }))
    }

    /// Watts, and idle CPUs on average.
    fn window(&mut self, signals: &mut dyn SignalSource) -> Result<Option<(f64, f64)>, Failure> {
        let before = self.sensors.read();
        let received = signals.wait(WINDOW);
        if received.iter().any(|signal| *signal != Signal::Pause) {
            return Err(Failure::Interrupted(
                "stopped before the gate started; nothing is changed".to_owned(),
            ));
        }
        let used = difference(&before, &self.sensors.read()).machine;
        let seconds = used.window.as_secs_f64();
        let watts = used.energy.map(|Energy(joules)| joules / seconds);
        let idle = used.cpu.map(|cpu| cpu.idle.0 + cpu.iowait.0);
        let idle = idle.map(|idle| idle.as_secs_f64() / seconds);
        Ok(watts.zip(idle))
    }
}
