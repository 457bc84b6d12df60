//! The job beside the service, as a child that `plimsoll side` runs.

use super::state::{Care, JobWork};
use super::task::Task;
use crate::helper;
use plimsoll_control::{CgroupLayout, Mechanism};
use plimsoll_engine::room::memory_beside;
use plimsoll_experiments::args::counted_job;
use plimsoll_host::{CpuMeter, Root, ServiceSource};
use plimsoll_load::job::Counts;
use plimsoll_model::{CountedJob, Share};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::process::{Command, Stdio};
use std::time::Instant;

#[derive(Debug)]
pub(super) struct RunningJob {
    pub(super) task: Task,
    work: Work,
    /// When its work was read last, and how much it was.
    last: (Instant, f64),
}

#[derive(Debug)]
enum Work {
    Counted(Counts),
    Metered(Option<CpuMeter>),
}

impl RunningJob {
    /// Starts `line` (the name of a counted job, or a command) on a machine with so many CPUs.
    ///
    /// # Errors
    /// The job cannot be started, as a part of a sentence.
    pub(super) fn start(
        line: &str,
        (care, headroom_pct): (Care, f64),
        cpus: usize,
        root: &Root,
    ) -> Result<RunningJob, String> {
        let mut words: Vec<OsString> = vec!["side".into()];
        match care {
            Care::Sideload => words.push(format!("--headroom={headroom_pct}%").into()),
            Care::Sysload => words.push("--as=sysload".into()),
        }
        let job = counted_job(line)?;
        if let (Some(CountedJob::Memory { .. }), Care::Sideload) = (&job, care) {
            words.extend(memory_limit(root, headroom_pct));
        }
        words.push("--".into());
        match &job {
            Some(job) => words.extend(helper::worker(job, cpus)),
            None => words.extend(["/bin/sh".into(), "-c".into(), line.into()]),
        }
        let command = helper::bound(words);
        let started = match job {
            Some(_) => counted(command, cpus),
            None => metered(command, root).map_err(|error| error.to_string()),
        };
        let (task, work) = started?;
        Ok(RunningJob {
            task,
            work,
            last: (Instant::now(), 0.0),
        })
    }

    /// Its work since it was read last.
    pub(super) fn work(&mut self) -> Option<JobWork> {
        let now = Instant::now();
        let amount = match &mut self.work {
            Work::Counted(counts) => counts.bytes().ok()? as f64,
            Work::Metered(meter) => meter.as_mut()?.read().ok()?.0.as_secs_f64(),
        };
        let (since, before) = std::mem::replace(&mut self.last, (now, amount));
        let seconds = now.saturating_duration_since(since).as_secs_f64();
        // Processes that end take their CPU time with them.
        let rate = ((amount - before) / seconds.max(1e-3)).max(0.0);
        Some(match self.work {
            Work::Counted(_) => JobWork::Done(rate / f64::from(1 << 20)),
            Work::Metered(_) => JobWork::CpuTime(rate * 100.0),
        })
    }
}

/// The flag of `plimsoll side` that leaves the headroom free of the job's memory, too; none where
/// nothing limits memory.
fn memory_limit(root: &Root, headroom_pct: f64) -> Option<OsString> {
    let layout = CgroupLayout::find(root).ok()?;
    let can = |mechanism| {
        layout
            .capabilities(&BTreeSet::from([mechanism]))
            .can(mechanism)
    };
    let most = memory_beside(root, Share::new(headroom_pct / 100.0)?);
    let flag = match (can(Mechanism::MemoryHigh), can(Mechanism::MemoryMax)) {
        (true, _) => "--memory",
        (false, true) => "--memory-max",
        (false, false) => return None,
    };
    Some(format!("{flag}={}MiB", most.0 >> 20).into())
}

/// It works until its standard input ends, which it does with this process, and counts in the file
/// that is its standard output.
fn counted(mut command: Command, cpus: usize) -> Result<(Task, Work), String> {
    let counts = Counts::new(cpus).map_err(|error| error.to_string())?;
    let file = counts.file().map_err(|error| error.to_string())?;
    command.stdin(Stdio::piped()).stdout(file);
    let task = Task::start(command, false).map_err(|error| error.to_string())?;
    Ok((task, Work::Counted(counts)))
}

fn metered(mut command: Command, root: &Root) -> io::Result<(Task, Work)> {
    command.stdin(Stdio::null());
    let task = Task::start(command, true)?;
    let source = ServiceSource::Processes(vec![task.id()]);
    let meter = CpuMeter::open(root, &source).ok().flatten();
    Ok((task, Work::Metered(meter)))
}
