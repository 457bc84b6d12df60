//! The mechanism that restricts a sideload while it runs, and the law that follows
//! from it.

use plimsoll_control::{Capabilities, ControlError, Group, Mechanism, Weight};
use plimsoll_law::{Headroom, Mode, ParameterError, Parameters, Plimsoll, PlimsollState, State};
use plimsoll_model::Share;
use std::fmt;
use std::time::Duration;

/// The mechanism that restricts a running sideload. Each can freeze, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// The lowest weight: it runs at once when no other task wants a CPU.
    Weight,
    /// Idle scheduling: it runs only when no other task wants a CPU.
    Idle,
    /// A quota of CPU time per 10 ms.
    Quota,
    /// Whole CPUs.
    CpuSet,
}

impl Hold {
    pub const ALL: [Hold; 4] = [Hold::Weight, Hold::Idle, Hold::Quota, Hold::CpuSet];

    pub fn mechanism(self) -> Mechanism {
        match self {
            Hold::Weight => Mechanism::Weight,
            Hold::Idle => Mechanism::Idle,
            Hold::Quota => Mechanism::Quota,
            Hold::CpuSet => Mechanism::CpuSet,
        }
    }

    /// Sets what stays constant for the life of the group.
    ///
    /// # Errors
    /// If the group does not support it.
    pub fn set(self, group: &mut Group) -> Result<(), ControlError> {
        match self {
            Hold::Weight => group.set_weight(Weight::LEAST),
            Hold::Idle => group.set_idle(true),
            Hold::Quota | Hold::CpuSet => Ok(()),
        }
    }

    /// Whether the kernel preempts the sideload as soon as another task wants the CPU,
    /// so that the law only has to freeze and thaw.
    pub fn yields_by_itself(self) -> bool {
        matches!(self, Hold::Weight | Hold::Idle)
    }

    /// The default for a machine without measurements, and the reason. `capabilities`
    /// must cover weights.
    pub fn best_guess(capabilities: &Capabilities) -> (Hold, String) {
        match capabilities.reason(Mechanism::Weight) {
            None => (
                Hold::Weight,
                "a cgroup can have a weight here, and by that the kernel lets go at once".into(),
            ),
            Some(reason) => (
                Hold::Idle,
                format!("a cgroup cannot have a weight here ({reason})"),
            ),
        }
    }

    /// The default interval between decisions. Where the kernel preempts the sideload,
    /// 1 s suffices and costs least. A share must follow the service faster; below 0.5
    /// s a clock tick of 10 ms exceeds the law's band on two CPUs.
    pub fn period(self) -> Duration {
        match self.yields_by_itself() {
            true => Duration::from_secs(1),
            false => Duration::from_millis(500),
        }
    }

    /// The law for a machine of this many CPUs. With whole CPUs the minimum is one, so
    /// below that share it freezes.
    ///
    /// # Errors
    /// If headroom and minimum share leave no room.
    pub fn law(self, headroom: Headroom, cpus: u32) -> Result<Plimsoll, ParameterError> {
        let mut parameters = Parameters::default();
        if self == Hold::CpuSet {
            let one = Share::new(1.0 / f64::from(cpus.max(1))).unwrap_or(Share::ONE);
            if one > parameters.floor {
                parameters.floor = one;
            }
        }
        Plimsoll::with(headroom, parameters)
    }

    /// The law's state before its first sample: the sideload already runs with its
    /// minimum, so that a short command does not wait for an idle second.
    pub(crate) fn start(law: &Plimsoll) -> State {
        State::Plimsoll(PlimsollState {
            mode: Mode::Running {
                share: law.parameters().floor,
                ran_for: Duration::ZERO,
            },
            ..PlimsollState::default()
        })
    }
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Hold::Weight => "weight",
            Hold::Idle => "idle",
            Hold::Quota => "quota",
            Hold::CpuSet => "cpuset",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_law::{Action, Law, Sample};
    use plimsoll_model::{CpuTime, CpuUse};

    fn second(others_ms: u64, sideload_ms: u64) -> Sample {
        let cpu = |ms| CpuTime(Duration::from_millis(ms));
        Sample {
            period: Duration::from_secs(1),
            cpus: 2,
            machine: Some(CpuUse {
                user: cpu(others_ms + sideload_ms),
                idle: cpu(2000 - others_ms - sideload_ms),
                ..CpuUse::default()
            }),
            sideload: Some(cpu(sideload_ms)),
            ..Sample::default()
        }
    }

    fn decided(hold: Hold, others_ms: u64, sideload_ms: u64) -> Action {
        let law = hold.law(Headroom::default(), 2).unwrap();
        let start = Hold::start(&law);
        let sample = Sample {
            gives_way: hold.yields_by_itself(),
            ..second(others_ms, sideload_ms)
        };
        Law::Plimsoll(law).decide(&start, &sample).action
    }

    #[test]
    fn a_preemptible_sideload_may_fill_the_machine() {
        for hold in [Hold::Weight, Hold::Idle] {
            assert_ne!(decided(hold, 200, 1800), Action::Frozen, "{hold}");
            assert_eq!(decided(hold, 1700, 300), Action::Frozen, "{hold}");
        }
        for hold in [Hold::Quota, Hold::CpuSet] {
            assert_eq!(decided(hold, 200, 1800), Action::Frozen, "{hold}");
        }
    }

    #[test]
    fn whole_cpus_need_one_cpu_beside_the_headroom() {
        let headroom = "60".parse().unwrap();
        assert!(Hold::CpuSet.law(headroom, 2).is_err());
        assert!(Hold::CpuSet.law(headroom, 8).is_ok());
        assert!(Hold::CpuSet.law(Headroom::default(), 1).is_err());
        assert!(Hold::Quota.law(headroom, 1).is_ok());
    }
}
