//! Keeps single CPUs from sleeping deeply, so that what they run wakes up soon.
//!
//! [`choose_means`] says which means work here and why the others do not;
//! [`IdleControl::keep_awake`] applies one to a CPU until the [`KeptAwake`] is dropped.
//! Files are journalled before they are written. They are given back only if they still
//! hold what we wrote, and a value of another program that is as strict is left alone.
//!
//! ```no_run
//! use plimsoll_control::Journals;
//! use plimsoll_control::idle::{IdleControl, choose_means};
//! use plimsoll_host::{Root, idle::ResumeLatency};
//!
//! let root = Root::machine();
//! let journal = Journals::usual().open(&root)?;
//! let means = choose_means(&root, &"1".parse()?, ResumeLatency::PollOnly)?;
//! if let Some(works) = means.iter().find(|one| one.works()) {
//!     let control = IdleControl::new(&root, &journal, works.means);
//!     let awake = control.keep_awake(1, ResumeLatency::PollOnly)?;
//!     // Measure, then:
//!     drop(awake);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod held;
mod knob;
mod means;
mod spinner;
#[cfg(test)]
mod tests;

pub use means::{IdleMeans, MeansHere, choose_means};
pub use spinner::{SpinEnd, SpinLimits};

pub(crate) use held::{Held, left, release};
pub(crate) use knob::{Hands, Knob, Machine};

use crate::error::ControlError;
use crate::journal::Journal;
use held::InFile;
use plimsoll_host::Root;
use plimsoll_host::idle::{DMA_LATENCY, ResumeLatency, idle_states};
use plimsoll_model::CpuId;
use spinner::Spinner;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// Applies one means to CPUs. Clones share what is shared by all CPUs.
#[derive(Debug, Clone)]
pub struct IdleControl {
    root: Root,
    journal: Journal,
    hands: Arc<dyn Hands>,
    means: IdleMeans,
    spin_limits: SpinLimits,
    halt_poll: Duration,
    /// The polling time of all CPUs, while any of them is kept awake by it.
    shared: Arc<Mutex<Weak<Mutex<Held>>>>,
}

impl IdleControl {
    /// The default polling time of guests: the kernel's own default of `guest_halt_poll_ns`.
    pub const HALT_POLL: Duration = Duration::from_micros(200);

    pub fn new(root: &Root, journal: &Journal, means: IdleMeans) -> IdleControl {
        IdleControl {
            root: root.clone(),
            journal: journal.clone(),
            hands: Arc::new(Machine),
            means,
            spin_limits: SpinLimits::default(),
            halt_poll: Self::HALT_POLL,
            shared: Arc::default(),
        }
    }

    /// When a spinner stops by itself.
    pub fn with_spin_limits(mut self, limits: SpinLimits) -> IdleControl {
        self.spin_limits = limits;
        self
    }

    /// How long CPUs poll before they halt, for [`IdleMeans::HaltPoll`].
    pub fn with_halt_poll(mut self, most: Duration) -> IdleControl {
        self.halt_poll = most;
        self
    }

    pub fn means(&self) -> IdleMeans {
        self.means
    }

    /// Keeps a CPU within `limit` until the result is dropped. Keep one per CPU. A limit
    /// matters to the means by cpuidle alone: a spinner keeps the CPU from all sleep.
    ///
    /// # Errors
    /// [`ControlError::NoIdleFile`] if the CPU is offline or has no such file,
    /// [`ControlError::IdleDenied`] without permission, [`ControlError::Refused`] if the
    /// kernel does not take the value, [`ControlError::OutOfRange`] for no limit.
    pub fn keep_awake(&self, cpu: CpuId, limit: ResumeLatency) -> Result<KeptAwake, ControlError> {
        if limit == ResumeLatency::NoLimit {
            return Err(ControlError::OutOfRange {
                what: "no limit on the wake-up latency".to_owned(),
                range: "a latency, or n/a for a CPU that never sleeps",
            });
        }
        let hold = match self.means {
            IdleMeans::ResumeLatency => Hold::Files(vec![
                self.take(Knob::ResumeLatency { cpu }, limit.to_string())?,
            ]),
            IdleMeans::DisableStates => Hold::Files(self.disable_states(cpu, limit)?),
            IdleMeans::DmaLatency => Hold::Device {
                _open: self.hold_device(limit)?,
            },
            IdleMeans::HaltPoll => Hold::Shared(self.poll_before_halt()?),
            IdleMeans::Spinner => Hold::Spinner(Spinner::start(&self.root, cpu, self.spin_limits)?),
        };
        Ok(KeptAwake {
            control: self.clone(),
            cpu,
            limit,
            hold,
        })
    }

    fn take(&self, knob: Knob, ours: String) -> Result<Held, ControlError> {
        Held::take(knob, ours, &self.journal, &self.hands)
    }

    /// Switches off the states that take longer, but for state 0: the kernel needs one.
    fn disable_states(&self, cpu: CpuId, limit: ResumeLatency) -> Result<Vec<Held>, ControlError> {
        let longest = limit.longest().unwrap_or(Duration::MAX);
        let states = idle_states(&self.root, cpu)?;
        if states.is_empty() {
            let path = Knob::DisabledState { cpu, state: 0 }.path(&self.root);
            return Err(ControlError::NoIdleFile { path });
        }
        let deeper = states.iter().filter(|s| s.index > 0 && s.latency > longest);
        let knobs = deeper.map(|state| Knob::DisabledState {
            cpu,
            state: state.index,
        });
        knobs.map(|knob| self.take(knob, "1".to_owned())).collect()
    }

    /// The kernel drops the limit when the file is closed, however this process ends.
    fn hold_device(&self, limit: ResumeLatency) -> Result<File, ControlError> {
        let path = self.root.path(DMA_LATENCY);
        let longest = limit.longest().unwrap_or(Duration::MAX);
        let us = i32::try_from(longest.as_micros()).unwrap_or(i32::MAX);
        let write = || {
            let mut file = OpenOptions::new().write(true).open(&path)?;
            file.write_all(&us.to_ne_bytes())?;
            Ok(file)
        };
        write().map_err(|source| knob::explain(path.clone(), &us.to_string(), source))
    }

    fn poll_before_halt(&self) -> Result<Arc<Mutex<Held>>, ControlError> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = shared.upgrade() {
            return Ok(held);
        }
        let held = self.take(Knob::HaltPollNs, self.halt_poll.as_nanos().to_string())?;
        let held = Arc::new(Mutex::new(held));
        *shared = Arc::downgrade(&held);
        Ok(held)
    }
}

/// A CPU that is kept awake until this is dropped.
#[derive(Debug)]
pub struct KeptAwake {
    control: IdleControl,
    cpu: CpuId,
    limit: ResumeLatency,
    hold: Hold,
}

#[derive(Debug)]
enum Hold {
    Files(Vec<Held>),
    Shared(Arc<Mutex<Held>>),
    Device { _open: File },
    Spinner(Spinner),
}

/// Whether a CPU is still kept awake.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// As it was asked for.
    Kept,
    /// It was lost while the CPU was offline, or left to another program until now, and is
    /// applied again.
    Restored,
    /// The CPU is offline. It is kept awake again once it is back and this is asked.
    Offline,
    /// Another program keeps the CPU as strictly: a sentence that names the file and value.
    ByOther(String),
    /// Another program permits more than we asked for. Its value is left alone: a sentence
    /// that names it.
    Overruled(String),
    /// The spinner has stopped by itself.
    Stopped(SpinEnd),
}

impl KeptAwake {
    pub fn cpu(&self) -> CpuId {
        self.cpu
    }

    pub fn limit(&self) -> ResumeLatency {
        self.limit
    }

    pub fn means(&self) -> IdleMeans {
        self.control.means
    }

    /// CPU time that the spinner took; zero for all other means, whose polling the kernel
    /// counts as idle.
    pub fn spun(&self) -> Duration {
        match &self.hold {
            Hold::Spinner(spinner) => spinner.spun(),
            _ => Duration::ZERO,
        }
    }

    /// Looks whether the CPU is still kept awake, and renews what went with the CPU or is
    /// no longer kept by another program. It reads a few files.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub fn check(&mut self) -> Result<Standing, ControlError> {
        let is_online = self.is_online();
        let worst = match &mut self.hold {
            Hold::Files(files) if !is_online => {
                files.iter_mut().for_each(Held::went_offline);
                Standing::Offline
            }
            Hold::Files(files) => {
                let mut worst = Standing::Kept;
                for held in files {
                    let standing = standing(held)?;
                    if standing.rank() > worst.rank() {
                        worst = standing;
                    }
                }
                worst
            }
            Hold::Shared(held) => standing(&mut lock(held))?,
            Hold::Device { .. } => Standing::Kept,
            Hold::Spinner(spinner) => match spinner.end() {
                None => Standing::Kept,
                Some(SpinEnd::CpuGone) if !is_online => Standing::Offline,
                Some(SpinEnd::CpuGone) => {
                    let limits = self.control.spin_limits;
                    *spinner = Spinner::start(&self.control.root, self.cpu, limits)?;
                    Standing::Restored
                }
                Some(end) => Standing::Stopped(end),
            },
        };
        Ok(worst)
    }

    fn is_online(&self) -> bool {
        plimsoll_host::online_cpus(&self.control.root).is_ok_and(|online| online.contains(self.cpu))
    }

    /// Gives everything back, and says what was done and what was left alone.
    ///
    /// # Errors
    /// If a file cannot be read or written. It stays in the journal.
    pub fn give_back(mut self) -> Result<Vec<String>, ControlError> {
        let mut sentences = Vec::new();
        match &mut self.hold {
            Hold::Files(files) => {
                for held in files {
                    sentences.extend(held.give_back()?);
                }
            }
            Hold::Shared(held) if Arc::strong_count(held) == 1 => {
                sentences.extend(lock(held).give_back()?);
            }
            Hold::Shared(_) | Hold::Device { .. } | Hold::Spinner(_) => {}
        }
        Ok(sentences)
    }
}

impl Standing {
    /// Of several files the worst counts.
    fn rank(&self) -> u8 {
        match self {
            Standing::Kept => 0,
            Standing::ByOther(_) => 1,
            Standing::Restored => 2,
            Standing::Offline => 3,
            Standing::Overruled(_) => 4,
            Standing::Stopped(_) => 5,
        }
    }
}

fn standing(held: &mut Held) -> Result<Standing, ControlError> {
    Ok(match held.check()? {
        InFile::Ours => Standing::Kept,
        InFile::WrittenAgain => Standing::Restored,
        InFile::Absent => Standing::Offline,
        InFile::Stricter { found } => Standing::ByOther(held.by_whom(&found)?),
        InFile::Looser { found } => Standing::Overruled(held.by_whom(&found)?),
    })
}

fn lock(held: &Mutex<Held>) -> MutexGuard<'_, Held> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
