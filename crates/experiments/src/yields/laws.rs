//! The arms by law: the rule of each. [`holding`] runs them in a thread.
//!
//! The loop is that of `plimsoll side` ([`plimsoll_side::Control`]); this module
//! has the mechanism of each law. The sideloader of resctl-demo gives its slice the
//! lowest weight and a quota in periods of 10 ms (`cpu_throttle_period` of its
//! configuration). Koordinator's suppression sets a quota in periods of 100 ms on
//! the best-effort tier, which Kubernetes gives the lowest `cpu.shares`. Ours uses
//! the default mechanism of `plimsoll side`, and starts with the job. The other two
//! are daemons that have observed the service before a job starts: they begin with
//! that state. Only their CPU decisions are compared: neither resctl-demo's guards
//! of memory and disk pressure nor Koordinator's of memory are used.

mod holding;

pub(super) use holding::{Holding, not_held};

use super::FLOOR;
use plimsoll_control::{AtEnd, CgroupLayout, ControlError, Group, Journal, Mechanism, Weight};
use plimsoll_host::Root;
use plimsoll_law::{Action, Headroom, Koordinator, Law, ResctlDemo, Sample, State};
use plimsoll_model::{Arm, CpuSet, CpuTime, CpuUse, JobHeld, Share};
use plimsoll_side::{Control, CpuMechanism, Rule, SideloadOptions};
use std::collections::BTreeSet;
use std::time::Duration;

/// The interval between decisions of the two daemons.
const PERIOD: Duration = Duration::from_secs(1);

/// How long they have observed the service: longer than resctl-demo's longest
/// window, the mechanism of its initial overload, and its decay.
const WATCHED: u32 = 60;

/// The limits of a job under a law.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wish<'a> {
    pub(super) arm: Arm,
    /// The headroom.
    pub(super) headroom: Share,
    /// The share that the service alone leaves idle beyond it.
    pub(super) allowed: Share,
    pub(super) cpus: &'a CpuSet,
    /// Whether the service is in this process.
    pub(super) serves_here: bool,
}

/// Makes a group for a job under a law, before anything runs in it.
pub(super) fn group(
    arm: Arm,
    layout: &CgroupLayout,
    journal: &Journal,
) -> Result<Group, ControlError> {
    let mechanism = match arm {
        Arm::Plimsoll => {
            CpuMechanism::best_guess(&layout.capabilities(&needs(CpuMechanism::Weight))).0
        }
        _ => CpuMechanism::Quota,
    };
    let mut group = Group::make(layout, &needs(mechanism), journal, AtEnd::Kill)?;
    mechanism.set(&mut group)?;
    if mechanism == CpuMechanism::Quota && group.capabilities().by_group(Mechanism::Weight) {
        group.set_weight(Weight::LEAST)?;
    }
    Ok(group)
}

fn needs(mechanism: CpuMechanism) -> BTreeSet<Mechanism> {
    let mut needs = BTreeSet::from([Mechanism::CpuSet, Mechanism::Freeze, Mechanism::Kill]);
    needs.insert(mechanism.required());
    if mechanism == CpuMechanism::Quota {
        needs.insert(Mechanism::Weight);
    }
    needs
}

/// Starts the law on a [`group`] of its arm; the error is a sentence without its
/// full stop.
pub(super) fn control(wish: &Wish<'_>, root: &Root, group: &mut Group) -> Result<Control, String> {
    let capabilities = group.capabilities();
    let mechanism = match wish.arm {
        Arm::Plimsoll if capabilities.by_group(Mechanism::Weight) => CpuMechanism::Weight,
        Arm::Plimsoll => CpuMechanism::Idle,
        _ => match capabilities.reason(Mechanism::Quota) {
            Some(because) => return Err(because.to_owned()),
            None => CpuMechanism::Quota,
        },
    };
    let usage = group.usage().map_err(|e| e.to_string())?;
    if usage.cpu.is_none() {
        return Err("the CPU time of a group is not counted here".to_owned());
    }
    let rule = rule(wish, mechanism)?;
    Control::new(rule, root, wish.cpus, group).map_err(|e| e.to_string())
}

/// The rule of a law.
fn rule(wish: &Wish<'_>, mechanism: CpuMechanism) -> Result<Rule, String> {
    let headroom = Headroom::try_from(wish.headroom).map_err(|e| e.to_string())?;
    let cpus = wish.cpus.len() as u32;
    let (law, quota_period) = match wish.arm {
        Arm::Resctl => (
            Law::ResctlDemo(ResctlDemo::new(headroom)),
            Duration::from_millis(10),
        ),
        Arm::Koordinator => (
            Law::Koordinator(Koordinator::new(headroom)),
            Duration::from_millis(100),
        ),
        _ => {
            let options = SideloadOptions {
                headroom,
                ..SideloadOptions::default()
            };
            let rule = Rule::plimsoll(mechanism, &options, cpus).map_err(|e| e.to_string())?;
            return Ok(Rule {
                serves_here: wish.serves_here,
                ..rule
            });
        }
    };
    let (state, first) = watched(&law, wish, cpus);
    Ok(Rule {
        law,
        state,
        first,
        period: PERIOD,
        mechanism,
        quota_period,
        guards: None,
        serves_here: wish.serves_here,
    })
}

/// Whether a law left a job less than any other arm does.
pub(super) fn starves(held: &JobHeld) -> bool {
    let runs = held.frozen.map(|frozen| 1.0 - frozen.get());
    let left = held.allowed.map(Share::get).or(runs);
    left.is_some_and(|left| left < FLOOR)
}

/// The state of a law, and its first action, after it has observed the service
/// alone for a while: with the CPU use of the trial before the passes, and no job.
fn watched(law: &Law, wish: &Wish<'_>, cpus: u32) -> (State, Action) {
    let idle = (wish.allowed.get() + wish.headroom.get()).min(1.0);
    let whole = PERIOD * cpus;
    let idle = CpuTime(whole.mul_f64(idle));
    let sample = |second: u32| Sample {
        at: PERIOD * second,
        period: PERIOD,
        cpus,
        machine: Some(CpuUse {
            user: CpuTime(whole).since(idle),
            idle,
            ..CpuUse::default()
        }),
        sideload: Some(CpuTime::ZERO),
        gives_way: false,
        guards: Vec::new(),
    };
    let seen = (1..=WATCHED).map(sample);
    seen.fold((law.start(), Action::Frozen), |(state, _), sample| {
        let decision = law.decide(&state, &sample);
        (decision.state, decision.action)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(x: f64) -> Share {
        Share::new(x).unwrap()
    }

    fn wish<'a>(arm: Arm, allowed: f64, headroom: f64, cpus: &'a CpuSet) -> Wish<'a> {
        Wish {
            arm,
            headroom: share(headroom),
            allowed: share(allowed),
            cpus,
            serves_here: true,
        }
    }

    #[test]
    fn the_daemons_begin_with_what_the_service_leaves_and_have_their_own_quota_periods() {
        let cpus = "0-1".parse().unwrap();
        for (arm, quota_ms) in [(Arm::Resctl, 10), (Arm::Koordinator, 100)] {
            let rule = rule(&wish(arm, 0.3, 0.2, &cpus), CpuMechanism::Quota).unwrap();
            let share = rule.first.share().get();
            assert!((share - 0.3).abs() < 1e-6, "{arm}: {share}");
            assert_eq!((rule.mechanism, rule.period), (CpuMechanism::Quota, PERIOD));
            assert_eq!(rule.quota_period, Duration::from_millis(quota_ms), "{arm}");
            assert_eq!(rule.guards, None);
        }
    }

    #[test]
    fn with_nothing_idle_each_law_begins_with_its_own_minimum() {
        let cpus = "0-1".parse().unwrap();
        let first = |arm| {
            rule(&wish(arm, 0.05, 0.2, &cpus), CpuMechanism::Quota)
                .unwrap()
                .first
        };
        assert_eq!(
            first(Arm::Resctl),
            Action::Frozen,
            "less than 10 % to spare"
        );
        let few = first(Arm::Koordinator).share().get();
        assert!((few - 0.05).abs() < 1e-6, "{few}");
    }

    #[test]
    fn our_rule_is_that_of_side() {
        let cpus = "0-3".parse().unwrap();
        let rule = rule(&wish(Arm::Plimsoll, 0.3, 0.2, &cpus), CpuMechanism::Weight).unwrap();
        let side = Rule::plimsoll(CpuMechanism::Weight, &SideloadOptions::default(), 4).unwrap();
        assert_eq!((rule.law, rule.first), (side.law, side.first));
        assert_eq!((rule.state, rule.period), (side.state, side.period));
        assert!(rule.serves_here, "so that the guard sees the service");
        assert_eq!(rule.guards, Some(Vec::new()), "the usual one");
    }

    #[test]
    fn a_job_is_starved_only_by_a_law_that_gives_it_almost_nothing() {
        let held = |allowed: Option<f64>, frozen: Option<f64>| JobHeld {
            allowed: allowed.map(share),
            frozen: frozen.map(share),
            throttled: None,
        };
        assert!(starves(&held(Some(0.0), Some(1.0))));
        assert!(starves(&held(Some(0.03), Some(0.0))));
        // By a weight nothing is capped while it runs.
        assert!(starves(&held(None, Some(0.98))));
        assert!(!starves(&held(None, Some(0.5))));
        assert!(!starves(&held(Some(0.1), Some(0.8))));
        assert!(!starves(&held(None, None)), "no law");
    }

    #[test]
    fn a_headroom_outside_the_range_of_a_law_is_refused() {
        let cpus = "0-1".parse().unwrap();
        let why = rule(
            &wish(Arm::Koordinator, 0.3, 0.0, &cpus),
            CpuMechanism::Quota,
        )
        .unwrap_err();
        assert!(why.contains("1 to 90 percent"), "{why}");
    }
}
