//! By which mechanism a sideload is held while it runs, and what follows from
//! that for the law.

use plimsoll_control::{Capabilities, ControlError, Group, Mechanism, Weight};
use plimsoll_law::{Headroom, Mode, ParameterError, Parameters, Plimsoll, PlimsollState, State};
use plimsoll_model::Share;
use std::fmt;
use std::time::Duration;

/// The mechanism that holds a sideload while it runs. Freezing comes on top of
/// each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// The least weight: it runs at once when nobody else wants a CPU.
    Weight,
    /// Idle scheduling: it runs only when nobody else wants a CPU.
    Idle,
    /// So much CPU time in every 10 ms.
    Quota,
    /// Whole CPUs.
    CpuSet,
}

impl Hold {
    /// All of them.
    pub const ALL: [Hold; 4] = [Hold::Weight, Hold::Idle, Hold::Quota, Hold::CpuSet];

    /// What it needs of the machine.
    pub fn mechanism(self) -> Mechanism {
        match self {
            Hold::Weight => Mechanism::Weight,
            Hold::Idle => Mechanism::Idle,
            Hold::Quota => Mechanism::Quota,
            Hold::CpuSet => Mechanism::CpuSet,
        }
    }

    /// Sets what holds for as long as the group is there.
    ///
    /// # Errors
    /// When the group cannot be set so.
    pub fn set(self, group: &mut Group) -> Result<(), ControlError> {
        match self {
            Hold::Weight => group.set_weight(Weight::LEAST),
            Hold::Idle => group.set_idle(true),
            Hold::Quota | Hold::CpuSet => Ok(()),
        }
    }

    /// Whether the kernel takes the CPU from the sideload as soon as somebody else
    /// wants it, so that the law need only freeze and thaw.
    pub fn yields_by_itself(self) -> bool {
        matches!(self, Hold::Weight | Hold::Idle)
    }

    /// The best guess for a machine, and why: nothing has been measured here.
    /// `capabilities` must have been asked for weights.
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

    /// How often to decide if nobody says. Where the kernel lets go by itself,
    /// once a second is soon enough, and costs least. A share must follow the
    /// service sooner; below half a second a clock tick of 10 ms is more of two
    /// CPUs' time than the law's band can bear.
    pub fn period(self) -> Duration {
        match self.yields_by_itself() {
            true => Duration::from_secs(1),
            false => Duration::from_millis(500),
        }
    }

    /// The law for a machine of so many CPUs. Of whole CPUs none is less than
    /// one, so below that share it freezes.
    ///
    /// # Errors
    /// When headroom and the least share leave no room.
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

    /// What the law is told to remember before its first sample: that the
    /// sideload already runs, with the least that it may have. A command that
    /// takes a moment is not to wait for a calm second.
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
            at: Duration::ZERO,
            period: Duration::from_secs(1),
            cpus: 2,
            machine: Some(CpuUse {
                user: cpu(others_ms + sideload_ms),
                idle: cpu(2000 - others_ms - sideload_ms),
                ..CpuUse::default()
            }),
            sideload: Some(cpu(sideload_ms)),
            gives_way: false,
            guards: Vec::new(),
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
    fn a_sideload_that_yields_by_itself_may_fill_the_machine() {
        for hold in [Hold::Weight, Hold::Idle] {
            assert_ne!(decided(hold, 200, 1800), Action::Frozen, "{hold}");
            assert_eq!(decided(hold, 1700, 300), Action::Frozen, "{hold}");
        }
        for hold in [Hold::Quota, Hold::CpuSet] {
            assert_eq!(decided(hold, 200, 1800), Action::Frozen, "{hold}");
        }
    }

    #[test]
    fn whole_cpus_need_room_for_one() {
        let headroom = "60".parse().unwrap();
        assert!(Hold::CpuSet.law(headroom, 2).is_err());
        assert!(Hold::CpuSet.law(headroom, 8).is_ok());
        assert!(Hold::CpuSet.law(Headroom::default(), 1).is_err());
        assert!(Hold::Quota.law(headroom, 1).is_ok());
    }
}
