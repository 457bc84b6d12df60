//! The mechanism that restricts a sideload while it runs, and the law that follows
//! from it.

use plimsoll_control::{Capabilities, ControlError, Group, Mechanism, Weight};
use plimsoll_law::{Headroom, Mode, ParameterError, Parameters, Plimsoll, PlimsollState, State};
use plimsoll_model::Share;
use std::fmt;
use std::time::Duration;

/// The mechanism that restricts a running sideload. Each can freeze, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuMechanism {
    /// The lowest weight: it runs at once when no other task wants a CPU.
    Weight,
    /// Idle scheduling: it runs only when no other task wants a CPU.
    Idle,
    /// A quota of CPU time per 10 ms.
    Quota,
    /// Whole CPUs.
    CpuSet,
}

impl CpuMechanism {
    pub const ALL: [CpuMechanism; 4] = [
        CpuMechanism::Weight,
        CpuMechanism::Idle,
        CpuMechanism::Quota,
        CpuMechanism::CpuSet,
    ];

    pub fn required(self) -> Mechanism {
        match self {
            CpuMechanism::Weight => Mechanism::Weight,
            CpuMechanism::Idle => Mechanism::Idle,
            CpuMechanism::Quota => Mechanism::Quota,
            CpuMechanism::CpuSet => Mechanism::CpuSet,
        }
    }

    /// Sets what stays constant for the life of the group.
    ///
    /// # Errors
    /// If the group does not support it.
    pub fn set(self, group: &mut Group) -> Result<(), ControlError> {
        match self {
            CpuMechanism::Weight => group.set_weight(Weight::LEAST),
            CpuMechanism::Idle => group.set_idle(true),
            CpuMechanism::Quota | CpuMechanism::CpuSet => Ok(()),
        }
    }

    /// Whether the kernel preempts the sideload as soon as another task wants the CPU,
    /// so that the law only has to freeze and thaw.
    pub fn yields_by_itself(self) -> bool {
        matches!(self, CpuMechanism::Weight | CpuMechanism::Idle)
    }

    /// The default for a machine without measurements, and the reason. `capabilities`
    /// must cover weights.
    pub fn best_guess(capabilities: &Capabilities) -> (CpuMechanism, String) {
        match capabilities.reason(Mechanism::Weight) {
            None => (
                CpuMechanism::Weight,
                "a cgroup can have a weight here, and by that the kernel lets go at once".into(),
            ),
            Some(reason) => (
                CpuMechanism::Idle,
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
        if self == CpuMechanism::CpuSet {
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

impl fmt::Display for CpuMechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CpuMechanism::Weight => "weight",
            CpuMechanism::Idle => "idle",
            CpuMechanism::Quota => "quota",
            CpuMechanism::CpuSet => "cpuset",
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

    fn decided(mechanism: CpuMechanism, others_ms: u64, sideload_ms: u64) -> Action {
        let law = mechanism.law(Headroom::default(), 2).unwrap();
        let start = CpuMechanism::start(&law);
        let sample = Sample {
            gives_way: mechanism.yields_by_itself(),
            ..second(others_ms, sideload_ms)
        };
        Law::Plimsoll(law).decide(&start, &sample).action
    }

    #[test]
    fn a_preemptible_sideload_may_fill_the_machine() {
        for mechanism in [CpuMechanism::Weight, CpuMechanism::Idle] {
            assert_ne!(decided(mechanism, 200, 1800), Action::Frozen, "{mechanism}");
            assert_eq!(decided(mechanism, 1700, 300), Action::Frozen, "{mechanism}");
        }
        for mechanism in [CpuMechanism::Quota, CpuMechanism::CpuSet] {
            assert_eq!(decided(mechanism, 200, 1800), Action::Frozen, "{mechanism}");
        }
    }

    #[test]
    fn whole_cpus_need_one_cpu_beside_the_headroom() {
        let headroom = "60".parse().unwrap();
        assert!(CpuMechanism::CpuSet.law(headroom, 2).is_err());
        assert!(CpuMechanism::CpuSet.law(headroom, 8).is_ok());
        assert!(CpuMechanism::CpuSet.law(Headroom::default(), 1).is_err());
        assert!(CpuMechanism::Quota.law(headroom, 1).is_ok());
    }
}
