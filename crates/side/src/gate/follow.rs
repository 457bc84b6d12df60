//! Which tasks are followed, and when to look for new ones.

use crate::error::SideError;
use plimsoll_host::{Cgroups, Family, HostError, Pid, Root, processes_named, processes_of_unit};
use std::fmt;
use std::time::{Duration, Instant};

/// The tasks to follow. New ones of the same kind are found while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Follow {
    /// A process and its descendants.
    Process(Pid),
    /// A command that this program started, and its descendants.
    Command(Pid),
    /// A cgroup and those below it.
    Cgroup(String),
    /// A unit of systemd.
    Unit(String),
    /// All processes of a name.
    Name(String),
}

impl fmt::Display for Follow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Follow::Process(pid) => write!(f, "process {pid}"),
            Follow::Command(_) => f.write_str("the command"),
            Follow::Cgroup(name) => write!(f, "the cgroup '{name}'"),
            Follow::Unit(name) => write!(f, "the unit '{name}'"),
            Follow::Name(name) => write!(f, "processes named '{name}'"),
        }
    }
}

#[derive(Debug)]
pub(super) struct Follower {
    follow: Follow,
    family: Option<Family>,
    due: Option<Instant>,
}

impl Follower {
    /// # Errors
    /// If /proc cannot be read.
    pub(super) fn new(follow: Follow, root: &Root) -> Result<Follower, HostError> {
        let family = match &follow {
            Follow::Process(pid) => Some(Family::of(*pid)),
            Follow::Command(pid) => Some(Family::of_command(root, *pid)?),
            _ => None,
        };
        Ok(Follower {
            follow,
            family,
            due: None,
        })
    }

    /// Whether to look for new tasks now. For processes and cgroups that costs one listing;
    /// for units and names each process is read.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let every = match &self.follow {
            Follow::Process(_) | Follow::Command(_) | Follow::Cgroup(_) => {
                Duration::from_millis(200)
            }
            Follow::Unit(_) | Follow::Name(_) => Duration::from_secs(1),
        };
        let is_due = self.due.is_none_or(|due| now >= due);
        if is_due {
            self.due = Some(now + every);
        }
        is_due
    }

    /// Looks earlier, because there are new ones, but not twice in `period`.
    pub(super) fn hurry(&mut self, now: Instant, period: Duration) {
        self.due = self.due.map(|due| due.min(now + period));
    }

    /// Looks with the next round.
    pub(super) fn soon(&mut self, now: Instant) {
        self.due = Some(now);
    }

    /// The processes to follow now; none if they are gone.
    pub(super) fn pids(&mut self, root: &Root) -> Result<Vec<Pid>, HostError> {
        if let Some(family) = &mut self.family {
            let mut pids = family.update(root)?.to_vec();
            if let Follow::Command(_) = self.follow {
                pids.retain(|pid| *pid != std::process::id());
            }
            return Ok(pids);
        }
        match &self.follow {
            Follow::Cgroup(name) => {
                match Cgroups::find(root).and_then(|all| all.processes(root, name)) {
                    Err(HostError::NoCgroup { .. }) if self.due.is_some() => Ok(Vec::new()),
                    found => found,
                }
            }
            Follow::Unit(name) => processes_of_unit(root, name),
            Follow::Name(name) => processes_named(root, name),
            Follow::Process(_) | Follow::Command(_) => Ok(Vec::new()),
        }
    }

    /// Whether nothing remains to be done once all tasks have ended. The end of a command is
    /// noticed by its parent.
    pub(super) fn ends_without_tasks(&self) -> bool {
        !matches!(self.follow, Follow::Command(_))
    }

    pub(super) fn gone(&self) -> String {
        match &self.follow {
            Follow::Name(name) => format!("the last process named '{name}' has ended"),
            Follow::Process(pid) => format!("process {pid} and its descendants have ended"),
            follow => format!("{follow} has no processes any more"),
        }
    }

    /// The error of a start with nobody to follow.
    pub(super) fn nobody(&self) -> SideError {
        let (reason, way_out) = match &self.follow {
            Follow::Process(pid) | Follow::Command(pid) => (
                format!("there is no process {pid}"),
                "choose one that `ps` lists",
            ),
            Follow::Cgroup(name) => (
                format!("the cgroup '{name}' has no processes"),
                "start what runs in it first, or give -- CMD",
            ),
            Follow::Unit(name) => (
                format!("the unit '{name}' has no processes"),
                "start it first, and see `systemctl status`",
            ),
            Follow::Name(name) => (
                format!("no process is named '{name}'"),
                "choose one that `ps -e` lists, or --pid",
            ),
        };
        SideError::NotHere {
            what: "a task to follow".to_owned(),
            reason,
            way_out,
        }
    }
}
