//! The thread that runs a law on a job, and the history of its limits.

use crate::yields::{SharedGroup, lock};
use plimsoll_engine::RunError;
use plimsoll_model::{Arm, JobHeld, Share};
use plimsoll_side::{Control, Notice};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The thread that runs a law on a job during a trial.
#[derive(Debug)]
pub(in crate::yields) struct Holding {
    arm: Arm,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    going: Mutex<Going>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Going {
    /// The trial is over.
    enough: bool,
    /// Why the job is no longer restricted; a sentence without its full stop.
    failed: Option<String>,
    /// The limits over time, in order.
    stretches: Vec<Stretch>,
}

/// The limit from a moment on.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stretch {
    from: Instant,
    /// The share of the job's CPUs that it may use, if capped.
    cap: Option<Share>,
    frozen: bool,
}

impl Stretch {
    fn now(control: &Control) -> Stretch {
        let (cap, frozen) = control.holds();
        Stretch {
            from: Instant::now(),
            cap,
            frozen,
        }
    }
}

impl Shared {
    fn going(&self) -> MutexGuard<'_, Going> {
        self.going.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `due`; `false` as soon as the trial is over.
    fn sleep_until(&self, due: Instant) -> bool {
        let mut going = self.going();
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if going.enough || left.is_zero() {
                return !going.enough;
            }
            let waited = self.changed.wait_timeout(going, left);
            going = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Holding {
    /// Starts `control` on the group.
    pub(in crate::yields) fn start(
        arm: Arm,
        control: Control,
        group: &SharedGroup,
    ) -> Result<Holding, RunError> {
        let shared: Arc<Shared> = Arc::default();
        shared.going().stretches.push(Stretch::now(&control));
        let (in_thread, group) = (Arc::clone(&shared), Arc::clone(group));
        let thread = std::thread::Builder::new()
            .name("law".to_owned())
            .spawn(move || hold(control, group, &in_thread));
        let thread = thread.map_err(|error| not_held(arm, &error.to_string()))?;
        Ok(Holding {
            arm,
            shared,
            thread: Some(thread),
        })
    }

    /// Whether the job is still restricted.
    pub(in crate::yields) fn check(&self) -> Result<(), RunError> {
        match &self.shared.going().failed {
            None => Ok(()),
            Some(why) => Err(not_held(self.arm, why)),
        }
    }

    /// The limits between two moments.
    pub(in crate::yields) fn between(&self, from: Instant, to: Instant) -> JobHeld {
        between(&self.shared.going().stretches, from, to)
    }
}

impl Drop for Holding {
    /// Ends the thread; the group keeps its settings.
    fn drop(&mut self) {
        self.shared.going().enough = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A sentence for a job that runs unrestricted.
pub(in crate::yields) fn not_held(arm: Arm, why: &str) -> RunError {
    RunError::Stuck(format!(
        "the job beside the service is not held by '{arm}': {why}; go on with --resume, or leave \
         this way of holding it out with --arms"
    ))
}

fn hold(mut control: Control, mut group: SharedGroup, shared: &Shared) {
    while shared.sleep_until(control.due()) {
        let mut failed = None;
        let round = control.round(&mut group, false, &mut |notice| {
            if let Notice::NotHeld(why) = notice {
                failed.get_or_insert(why);
            }
        });
        let failed = round.err().map(|error| error.to_string()).or(failed);
        let now = Stretch::now(&control);
        let mut going = shared.going();
        if let Some(why) = failed {
            going.failed = Some(why);
            drop(going);
            // The job must not run unrestricted next to the service.
            let _ = lock(&group).kill();
            return;
        }
        let last = going.stretches.last();
        if last.is_none_or(|last| (last.cap, last.frozen) != (now.cap, now.frozen)) {
            going.stretches.push(now);
        }
    }
}

/// The share of time that it was frozen, and the mean cap, if it was always capped.
fn between(stretches: &[Stretch], from: Instant, to: Instant) -> JobHeld {
    let (mut frozen, mut capped, mut always) = (Duration::ZERO, Duration::ZERO, true);
    for (nth, stretch) in stretches.iter().enumerate() {
        let next = stretches.get(nth + 1).map_or(to, |next| next.from.min(to));
        let lasted = next.saturating_duration_since(stretch.from.max(from));
        if lasted.is_zero() {
            continue;
        }
        if stretch.frozen {
            frozen += lasted;
        }
        match stretch.cap {
            Some(cap) => capped += lasted.mul_f64(cap.get()),
            None => always = false,
        }
    }
    let whole = to.saturating_duration_since(from);
    JobHeld {
        frozen: Share::of(frozen, whole),
        allowed: Share::of(capped, whole).filter(|_| always),
        throttled: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_control::{AtEnd, CgroupLayout, Gate, Group, Journals, Mechanism};
    use plimsoll_host::Root;
    use plimsoll_law::{Action, Headroom, Koordinator, Law};
    use plimsoll_side::{CpuMechanism, Rule};
    use std::collections::BTreeSet;
    use std::ffi::OsString;

    fn share(x: f64) -> Share {
        Share::new(x).unwrap()
    }

    /// A rule by quota that begins with a freeze, which any group can do.
    fn rule() -> Rule {
        let law = Law::Koordinator(Koordinator::new(Headroom::default()));
        Rule {
            state: law.start(),
            law,
            first: Action::Frozen,
            period: Duration::from_millis(10),
            mechanism: CpuMechanism::Quota,
            quota_period: Duration::from_millis(100),
            guards: None,
            serves_here: false,
        }
    }

    /// As this program has no way to be one: a shell that has no group to join.
    fn gate() -> Gate {
        let pass = "shift; kill -STOP $$; exec \"$@\"";
        Gate::new("/bin/sh", ["-c", pass, "sh"].map(OsString::from))
    }

    #[test]
    fn a_job_that_its_law_cannot_restrict_is_killed_and_fails_the_trial() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::machine();
        let journals = Journals::at(folder.path().join("plimsoll"));
        let journal = journals.open(&root).unwrap();
        let layout = CgroupLayout::find(&root).unwrap().without_cgroups();
        let needs = BTreeSet::from([Mechanism::Freeze, Mechanism::Kill]);
        let mut group = Group::make(&layout, &needs, &journal, AtEnd::Kill).unwrap();
        let mut job = group
            .start(&gate(), "sleep".as_ref(), &["1000"], |_| {})
            .unwrap();
        let cpus = "0".parse().unwrap();
        let control = Control::new(rule(), &root, &cpus, &mut group).unwrap();
        let group = Arc::new(Mutex::new(group));
        let holding = Holding::start(Arm::Koordinator, control, &group).unwrap();
        // Ended by nobody but the law, which can set no quota without a cgroup.
        assert!(!job.wait().unwrap().success());
        let said = holding.check().unwrap_err().to_string();
        assert!(said.contains("is not held by 'koordinator': "), "{said}");
        assert!(said.contains("a CPU quota"), "{said}");
        drop(holding);
        Arc::into_inner(group)
            .unwrap()
            .into_inner()
            .unwrap()
            .give_back()
            .unwrap();
    }

    #[test]
    fn limits_are_averaged_over_the_window() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let stretch = |ms, cap: Option<f64>, frozen| Stretch {
            from: at(ms),
            cap: cap.map(share),
            frozen,
        };
        let all = [
            stretch(0, Some(0.9), false),
            stretch(1_500, Some(0.0), true),
            stretch(2_000, Some(0.4), false),
            stretch(9_000, Some(0.0), true),
        ];
        // Half a second of 90 %, half a second of nothing, a second of 40 %.
        let held = between(&all, at(1_000), at(3_000));
        assert!((held.frozen.unwrap().get() - 0.25).abs() < 1e-9);
        assert!((held.allowed.unwrap().get() - 0.425).abs() < 1e-9);
        let all = [stretch(0, None, false), stretch(500, Some(0.0), true)];
        let held = between(&all, at(0), at(1_000));
        assert_eq!((held.frozen, held.allowed), (Some(share(0.5)), None));
    }
}
