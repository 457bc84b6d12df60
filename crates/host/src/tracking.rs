//! Sampling of the service's processes and of this process.

use crate::account::{CountFrom, ProcessAccount, ProcessSample, Role, RoleTimes};
use crate::error::HostError;
use crate::process::{Pid, ProcessStat, Tid, descend, processes};
use crate::process_tree::{Counted, ProcessTree};
use crate::root::Root;
use crate::task::{TaskFiles, TaskTimes, ThreadReader};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use plimsoll_model::CpuTime;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeSet;
use std::time::Duration;

#[derive(Debug)]
struct ProcessReader {
    /// When it was found.
    stat: ProcessStat,
    threads: ThreadReader,
}

impl ProcessReader {
    fn new(stat: &ProcessStat) -> ProcessReader {
        ProcessReader {
            stat: *stat,
            threads: ThreadReader::new(stat.pid),
        }
    }

    /// `None` if the process has ended.
    fn read(&mut self, files: &mut TaskFiles) -> Result<Option<ProcessSample>, HostError> {
        let stat = match ProcessStat::read(&files.root, self.stat.pid)? {
            Some(stat) if stat.started == self.stat.started => stat,
            _ => return Ok(None),
        };
        let threads = self.threads.read(files, stat.threads)?;
        Ok(Some(ProcessSample { stat, threads }))
    }
}

/// The processes of a service and their descendants.
#[derive(Debug)]
pub(crate) struct ServiceProcesses {
    /// Parents before children, as [`ProcessTree`] requires.
    members: Vec<ProcessReader>,
    /// Processes known not to belong to the service.
    unrelated: BTreeSet<Pid>,
    /// Members whose parent is not a member: their final CPU time is in no
    /// counter that is read here.
    roots: BTreeSet<Pid>,
    root_ended: bool,
    tree: ProcessTree,
}

impl ServiceProcesses {
    /// Counts these processes and their descendants from now on.
    pub(crate) fn open(files: &mut TaskFiles, pids: &[Pid]) -> Result<ServiceProcesses, HostError> {
        let mut heads = Vec::new();
        for pid in pids.iter().collect::<BTreeSet<_>>() {
            let stat = ProcessStat::read(&files.root, *pid)?;
            heads.push(stat.ok_or(HostError::NoProcess { pid: *pid })?);
        }
        // A parent starts before its children.
        heads.sort_by_key(|stat| stat.started);
        ServiceProcesses::watch(files, &heads, Counted::All)
    }

    /// Counts the descendants of this process from now on.
    pub(crate) fn children(files: &mut TaskFiles) -> Result<ServiceProcesses, HostError> {
        let own = own_stat(&files.root)?;
        let counted = Counted::AllBut(own.pid);
        ServiceProcesses::watch(files, &[own], counted)
    }

    fn watch(
        files: &mut TaskFiles,
        heads: &[ProcessStat],
        counted: Counted,
    ) -> Result<ServiceProcesses, HostError> {
        let (source, tick) = (files.source, files.root.tick());
        // A service may have started this process: what it does is not the service's.
        let own = own_stat(&files.root).ok().map(|own| own.pid);
        let own = own.filter(|own| !heads.iter().any(|head| head.pid == *own));
        let mut service = ServiceProcesses {
            members: heads.iter().map(ProcessReader::new).collect(),
            unrelated: own.into_iter().collect(),
            roots: BTreeSet::new(),
            root_ended: false,
            tree: ProcessTree::open(&[], counted, source, tick),
        };
        service.add_descendants(&files.root)?;
        let members = &service.members;
        let roots = members.iter().filter(|m| !service.is_member(m.stat.parent));
        service.roots = roots.map(|m| m.stat.pid).collect();
        let samples = service.sample(files)?;
        service.tree = ProcessTree::open(&samples, counted, source, tick);
        Ok(service)
    }

    /// CPU time since the account was opened.
    ///
    /// # Errors
    /// From the moment on that a member without a member parent has ended: its
    /// final CPU time is unknown, and so are the processes that replace it.
    pub(crate) fn read(&mut self, files: &mut TaskFiles) -> Result<TaskTimes, HostError> {
        self.add_descendants(&files.root)?;
        let samples = self.sample(files)?;
        if self.root_ended {
            return Err(HostError::ServiceEnded);
        }
        self.tree.update(&samples);
        Ok(self.tree.times())
    }

    pub(crate) fn has_all(&mut self, root: &Root, pids: &[Pid]) -> Result<bool, HostError> {
        self.add_descendants(root)?;
        Ok(pids.iter().all(|pid| self.is_member(*pid)))
    }

    /// Whether its members without a member parent are among these, the heads of
    /// a service, and nothing else.
    pub(crate) fn is_of(&self, pids: &[Pid]) -> bool {
        self.roots.iter().all(|pid| pids.contains(pid))
    }

    /// Whether threads or children that ended between two readings have used CPU
    /// time.
    pub(crate) fn has_unseen(&self) -> bool {
        self.tree.has_unseen()
    }

    fn is_member(&self, pid: Pid) -> bool {
        self.members.iter().any(|member| member.stat.pid == pid)
    }

    /// Adds new descendants. Only processes not seen before are read, so this
    /// usually costs one listing of /proc.
    fn add_descendants(&mut self, root: &Root) -> Result<(), HostError> {
        let listed = processes(root)?;
        let mut known: BTreeSet<Pid> = self.members.iter().map(|m| m.stat.pid).collect();
        known.extend(&self.unrelated);
        let mut stats = Vec::new();
        for pid in listed.iter().filter(|pid| !known.contains(pid)) {
            match ProcessStat::read_if_shown(root, *pid)? {
                Some(stat) => stats.push(stat),
                None => {
                    self.unrelated.insert(*pid);
                }
            }
        }
        let listed: BTreeSet<Pid> = listed.into_iter().collect();
        self.unrelated.retain(|pid| listed.contains(pid));

        let members = self.members.iter().map(|m| m.stat.pid).collect();
        let mut others: Vec<(Pid, Pid)> = stats.iter().map(|s| (s.pid, s.parent)).collect();
        let members = descend(members, &mut others);
        for pid in &members[self.members.len()..] {
            let stat = stats.iter().find(|stat| stat.pid == *pid);
            self.members.extend(stat.map(ProcessReader::new));
        }
        self.unrelated.extend(others.iter().map(|(pid, _)| *pid));
        Ok(())
    }

    fn sample(&mut self, files: &mut TaskFiles) -> Result<Vec<ProcessSample>, HostError> {
        let mut samples = Vec::with_capacity(self.members.len());
        // In place, so that an error leaves the members for the next reading.
        let mut at = 0;
        while let Some(member) = self.members.get_mut(at) {
            match member.read(files)? {
                Some(mut sample) => {
                    if self.tree.counts_all_but(sample.stat.pid) {
                        sample.stat.reaped = sample.stat.reaped.max(reaped_by_this_process());
                    }
                    samples.push(sample);
                    at += 1;
                }
                None => {
                    let ended = self.members.remove(at);
                    self.root_ended |= self.roots.contains(&ended.stat.pid);
                    ended.threads.close(files);
                }
            }
        }
        Ok(samples)
    }
}

/// CPU time of children of this process that ended and were waited for, theirs included, to the
/// microsecond.
fn reaped_by_this_process() -> CpuTime {
    let Ok(used) = getrusage(UsageWho::RUSAGE_CHILDREN) else {
        return CpuTime::ZERO;
    };
    let time = |time: TimeVal| {
        let part = |n: i64, unit: fn(u64) -> Duration| unit(u64::try_from(n).unwrap_or(0));
        part(time.tv_sec(), Duration::from_secs) + part(time.tv_usec(), Duration::from_micros)
    };
    CpuTime(time(used.user_time()) + time(used.system_time()))
}

/// CPU time of all threads that this process ever had, to the nanosecond.
fn own_cpu_clock() -> CpuTime {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    CpuTime(Duration::try_from(time).unwrap_or_default())
}

/// /proc/self/stat has this process' PID in the namespace of the /proc that is
/// read.
fn own_stat(root: &Root) -> Result<ProcessStat, HostError> {
    root.parse("/proc/self/stat", |text| {
        ProcessStat::parse(text, root.tick())
    })
}

/// This process, with CPU time by thread role.
#[derive(Debug)]
pub(crate) struct OwnProcess {
    reader: ProcessReader,
    account: ProcessAccount,
    roles: ThreadRoles,
    /// The kernel's clock of this process when the account was opened; `None` in a fake tree.
    clock_at_open: Option<CpuTime>,
}

/// The threads of this process that serve and that generate load. All others
/// count as observer.
#[derive(Debug, Clone, Default)]
pub(crate) struct ThreadRoles {
    pub(crate) service: BTreeSet<Tid>,
    pub(crate) generator: BTreeSet<Tid>,
}

impl ThreadRoles {
    fn of(&self, tid: Tid) -> Role {
        if self.service.contains(&tid) {
            Role::Service
        } else if self.generator.contains(&tid) {
            Role::Generator
        } else {
            Role::Other
        }
    }
}

impl OwnProcess {
    /// Counts from now on. The named threads must already run.
    pub(crate) fn open(files: &mut TaskFiles, roles: ThreadRoles) -> Result<OwnProcess, HostError> {
        let stat = own_stat(&files.root)?;
        let mut reader = ProcessReader::new(&stat);
        let sample = reader.read(files)?;
        let sample = sample.ok_or(HostError::NoProcess { pid: stat.pid })?;
        let unknown = roles
            .service
            .union(&roles.generator)
            .find(|tid| !sample.threads.iter().any(|t| t.tid == **tid));
        if let Some(tid) = unknown {
            return Err(HostError::NoThread { tid: *tid });
        }
        let (source, tick) = (files.source, files.root.tick());
        let role_of = |tid| roles.of(tid);
        let account = ProcessAccount::open(&sample, CountFrom::FirstSample, source, tick, &role_of);
        Ok(OwnProcess {
            reader,
            account,
            roles,
            clock_at_open: files.root.is_machine().then(own_cpu_clock),
        })
    }

    pub(crate) fn read(&mut self, files: &mut TaskFiles) -> Result<RoleTimes, HostError> {
        let pid = self.reader.stat.pid;
        // Before the threads, so that they are never behind it.
        let clock = own_cpu_clock();
        let sample = self.reader.read(files)?;
        let sample = sample.ok_or(HostError::NoProcess { pid })?;
        self.account.update(&sample, &|tid| self.roles.of(tid));
        let mut parts = self.account.parts();
        if let Some(at_open) = self.clock_at_open {
            // What threads used that have ended; the account knows it in ticks.
            let unseen = clock.since(at_open).since(parts.sum().cpu);
            parts.other.cpu = parts.other.cpu + unseen;
        }
        Ok(parts)
    }
}

#[cfg(test)]
pub(crate) mod tests;
