//! A timed run in the Trace Event Format, which Perfetto and Chrome display.
//!
//! Workers are threads of one process, jobs are complete events (`ph: "X"`), and each
//! dependency is a flow (`s` to `f`) from the end of the predecessor to the start of
//! the job. Flows bind to the slice that encloses their time: a flow starts at the
//! last nanosecond of its job. Times are in microseconds with three decimals, as the
//! format wants them.
//!
//! Format: "Trace Event Format", Google, 2016, sections "Complete Events" and "Flow
//! Events". Pure: the caller opens the file.

use crate::job_run::JobTime;
use plimsoll_graph::JobGraph;
use plimsoll_plugin::{WorkerEvent, WorkerEventKind};
use std::fmt::{Display, Formatter};
use std::io::{self, Write};

/// A run to write down.
#[derive(Debug, Clone, Copy)]
pub struct Trace<'a> {
    /// Of the scheduler; the name of the process.
    pub scheduler: &'a str,
    pub graph: &'a JobGraph,
    pub times: &'a [JobTime],
    pub events: &'a [WorkerEvent],
}

/// Writes traces of one or several runs, one process each, in the order of the runs.
///
/// # Errors
/// Those of the writer.
pub fn write_trace(out: &mut impl Write, runs: &[Trace<'_>]) -> io::Result<()> {
    out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut events = Events {
        out,
        is_first: true,
    };
    for (process, run) in (1..).zip(runs) {
        events.write_run(process, run)?;
    }
    out.write_all(b"\n]}\n")
}

/// The list of events, with its commas.
struct Events<'a, W> {
    out: &'a mut W,
    is_first: bool,
}

impl<W: Write> Events<'_, W> {
    fn write_run(&mut self, process: u32, run: &Trace<'_>) -> io::Result<()> {
        self.name(process, 0, "process_name", run.scheduler)?;
        let of_jobs = run.times.iter().map(|time| time.worker);
        let mut workers: Vec<usize> = of_jobs.chain(run.events.iter().map(|e| e.worker)).collect();
        workers.sort_unstable();
        workers.dedup();
        for worker in workers {
            self.name(process, worker, "thread_name", &format!("worker {worker}"))?;
        }
        let mut time_of = vec![None; run.graph.count() as usize];
        for time in run.times {
            time_of[time.job as usize] = Some(time);
            self.job(process, run.graph, time)?;
        }
        for event in run.events {
            self.worker_event(process, event)?;
        }
        // Numbered through all runs: the format knows no flows of one process.
        let mut flow = 0_u64;
        for time in run.times {
            for &predecessor in run.graph.predecessors(time.job) {
                flow += 1;
                if let Some(before) = time_of[predecessor as usize] {
                    let id = u64::from(process) << 32 | flow;
                    self.flow(process, id, before, time)?;
                }
            }
        }
        Ok(())
    }

    fn name(&mut self, process: u32, thread: usize, what: &str, name: &str) -> io::Result<()> {
        let name = Quoted(name);
        self.event(format_args!(
            r#"{{"ph":"M","pid":{process},"tid":{thread},"name":"{what}","args":{{"name":{name}}}}}"#
        ))
    }

    fn job(&mut self, process: u32, graph: &JobGraph, time: &JobTime) -> io::Result<()> {
        let JobTime {
            job,
            worker,
            start_ns,
            end_ns,
        } = *time;
        let (ts, dur) = (Micros(start_ns), Micros(end_ns - start_ns));
        let (weight, level) = (graph.weight(job), graph.level(job));
        self.event(format_args!(
            r#"{{"ph":"X","pid":{process},"tid":{worker},"ts":{ts},"dur":{dur},"cat":"job","name":"job {job}","args":{{"job":{job},"weight":{weight},"level":{level}}}}}"#
        ))
    }

    fn worker_event(&mut self, process: u32, event: &WorkerEvent) -> io::Result<()> {
        let WorkerEvent {
            worker,
            kind,
            start_ns,
            end_ns,
        } = *event;
        let (ts, dur) = (Micros(start_ns), Micros(end_ns.saturating_sub(start_ns)));
        let name = match kind {
            WorkerEventKind::Steal => "steal",
            WorkerEventKind::Park => "park",
        };
        self.event(format_args!(
            r#"{{"ph":"X","pid":{process},"tid":{worker},"ts":{ts},"dur":{dur},"cat":"scheduler","name":"{name}"}}"#
        ))
    }

    fn flow(&mut self, process: u32, id: u64, from: &JobTime, to: &JobTime) -> io::Result<()> {
        let last = Micros(from.end_ns.saturating_sub(1).max(from.start_ns));
        let (first, from, to) = (Micros(to.start_ns), from.worker, to.worker);
        self.event(format_args!(
            r#"{{"ph":"s","pid":{process},"tid":{from},"ts":{last},"id":{id},"cat":"dependency","name":"dependency"}}"#
        ))?;
        self.event(format_args!(
            r#"{{"ph":"f","bp":"e","pid":{process},"tid":{to},"ts":{first},"id":{id},"cat":"dependency","name":"dependency"}}"#
        ))
    }

    fn event(&mut self, event: std::fmt::Arguments<'_>) -> io::Result<()> {
        let separator = if self.is_first { "\n" } else { ",\n" };
        self.is_first = false;
        write!(self.out, "{separator}{event}")
    }
}

/// Nanoseconds as microseconds, exactly.
struct Micros(u64);

impl Display for Micros {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// A string of JSON.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if u32::from(c) < 0x20 => write!(f, "\\u{:04x}", u32::from(c))?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}

#[cfg(test)]
mod tests;
