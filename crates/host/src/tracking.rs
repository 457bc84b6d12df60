//! Sampling of the service's processes and of this process.

use crate::account::{CountFrom, ProcessAccount, ProcessSample, Role, RoleTimes};
use crate::error::HostError;
use crate::process::{Pid, ProcessStat, Tid, descend, processes};
use crate::process_tree::{Counted, ProcessTree};
use crate::root::Root;
use crate::task::{Source, TaskTimes, ThreadReader};
use std::collections::BTreeSet;

#[derive(Debug)]
struct ProcessReader {
    pid: Pid,
    ppid: Pid,
    started: u64,
    threads: ThreadReader,
}

impl ProcessReader {
    fn new(stat: &ProcessStat, source: Source) -> ProcessReader {
        ProcessReader {
            pid: stat.pid,
            ppid: stat.ppid,
            started: stat.started,
            threads: ThreadReader::new(source, stat.pid),
        }
    }

    /// `None` if the process has ended.
    fn read(
        &mut self,
        root: &Root,
        allowance: &mut usize,
    ) -> Result<Option<ProcessSample>, HostError> {
        let stat = match ProcessStat::read(root, self.pid)? {
            Some(stat) if stat.started == self.started => stat,
            _ => return Ok(None),
        };
        let threads = self.threads.read(root, stat.threads, allowance)?;
        Ok(Some(ProcessSample { stat, threads }))
    }
}

/// The processes of a service and their descendants.
#[derive(Debug)]
pub(crate) struct ServiceProcesses {
    source: Source,
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
    pub(crate) fn open(
        root: &Root,
        pids: &[Pid],
        source: Source,
        allowance: &mut usize,
    ) -> Result<ServiceProcesses, HostError> {
        let mut heads = Vec::new();
        for pid in pids.iter().collect::<BTreeSet<_>>() {
            let stat = ProcessStat::read(root, *pid)?;
            heads.push(stat.ok_or(HostError::NoProcess { pid: *pid })?);
        }
        // A parent starts before its children.
        heads.sort_by_key(|stat| stat.started);
        ServiceProcesses::watch(root, &heads, Counted::All, source, allowance)
    }

    /// Counts the descendants of this process from now on.
    pub(crate) fn children(
        root: &Root,
        source: Source,
        allowance: &mut usize,
    ) -> Result<ServiceProcesses, HostError> {
        let own = own_stat(root)?;
        let counted = Counted::AllBut(own.pid);
        ServiceProcesses::watch(root, &[own], counted, source, allowance)
    }

    fn watch(
        root: &Root,
        heads: &[ProcessStat],
        counted: Counted,
        source: Source,
        allowance: &mut usize,
    ) -> Result<ServiceProcesses, HostError> {
        let tick = root.tick();
        let heads = heads.iter().map(|stat| ProcessReader::new(stat, source));
        let mut service = ServiceProcesses {
            source,
            members: heads.collect(),
            unrelated: BTreeSet::new(),
            roots: BTreeSet::new(),
            root_ended: false,
            tree: ProcessTree::open(&[], counted, source, tick),
        };
        service.add_descendants(root)?;
        let members = &service.members;
        let roots = members.iter().filter(|m| !service.is_member(m.ppid));
        service.roots = roots.map(|m| m.pid).collect();
        let samples = service.sample(root, allowance)?;
        service.tree = ProcessTree::open(&samples, counted, source, tick);
        Ok(service)
    }

    /// CPU time since the account was opened.
    ///
    /// # Errors
    /// From the moment on that a member without a member parent has ended: its
    /// final CPU time is unknown, and so are the processes that replace it.
    pub(crate) fn read(
        &mut self,
        root: &Root,
        allowance: &mut usize,
    ) -> Result<TaskTimes, HostError> {
        self.add_descendants(root)?;
        let samples = self.sample(root, allowance)?;
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

    fn is_member(&self, pid: Pid) -> bool {
        self.members.iter().any(|member| member.pid == pid)
    }

    /// Adds new descendants. Only processes not seen before are read, so this
    /// usually costs one listing of /proc.
    fn add_descendants(&mut self, root: &Root) -> Result<(), HostError> {
        let listed = processes(root)?;
        let mut known: BTreeSet<Pid> = self.members.iter().map(|m| m.pid).collect();
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

        let members = self.members.iter().map(|m| m.pid).collect();
        let mut others: Vec<(Pid, Pid)> = stats.iter().map(|s| (s.pid, s.ppid)).collect();
        for pid in descend(members, &mut others)
            .iter()
            .skip(self.members.len())
        {
            if let Some(stat) = stats.iter().find(|stat| stat.pid == *pid) {
                self.members.push(ProcessReader::new(stat, self.source));
            }
        }
        self.unrelated.extend(others.iter().map(|(pid, _)| *pid));
        Ok(())
    }

    fn sample(
        &mut self,
        root: &Root,
        allowance: &mut usize,
    ) -> Result<Vec<ProcessSample>, HostError> {
        let mut samples = Vec::with_capacity(self.members.len());
        // In place, so that an error leaves the members for the next reading.
        let mut at = 0;
        while let Some(member) = self.members.get_mut(at) {
            match member.read(root, allowance)? {
                Some(sample) => {
                    samples.push(sample);
                    at += 1;
                }
                None => {
                    let ended = self.members.remove(at);
                    self.root_ended |= self.roots.contains(&ended.pid);
                    ended.threads.close(allowance);
                }
            }
        }
        Ok(samples)
    }
}

/// /proc/self/stat has this process' PID in the namespace of the /proc that is
/// read.
fn own_stat(root: &Root) -> Result<ProcessStat, HostError> {
    const STAT: &str = "/proc/self/stat";
    ProcessStat::parse(&root.text(STAT)?, root.tick())
        .map_err(|malformed| malformed.at(&root.path(STAT)))
}

/// This process, with CPU time by thread role.
#[derive(Debug)]
pub(crate) struct OwnProcess {
    reader: ProcessReader,
    account: ProcessAccount,
    roles: ThreadRoles,
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
    pub(crate) fn open(
        root: &Root,
        roles: ThreadRoles,
        source: Source,
        allowance: &mut usize,
    ) -> Result<OwnProcess, HostError> {
        let stat = own_stat(root)?;
        let mut reader = ProcessReader::new(&stat, source);
        let sample = reader.read(root, allowance)?;
        let sample = sample.ok_or(HostError::NoProcess { pid: stat.pid })?;
        let unknown = roles
            .service
            .union(&roles.generator)
            .find(|tid| !sample.threads.iter().any(|t| t.tid == **tid));
        if let Some(tid) = unknown {
            return Err(HostError::NoThread { tid: *tid });
        }
        let tick = root.tick();
        let account = ProcessAccount::open(&sample, CountFrom::FirstSample, source, tick, &|tid| {
            roles.of(tid)
        });
        Ok(OwnProcess {
            reader,
            account,
            roles,
        })
    }

    pub(crate) fn read(
        &mut self,
        root: &Root,
        allowance: &mut usize,
    ) -> Result<RoleTimes, HostError> {
        let sample = self.reader.read(root, allowance)?;
        let sample = sample.ok_or(HostError::NoProcess {
            pid: self.reader.pid,
        })?;
        self.account.update(&sample, &|tid| self.roles.of(tid));
        Ok(self.account.parts())
    }
}

#[cfg(test)]
mod tests;
