//! What the times of the jobs say about a run: how many workers were busy, and when.
//!
//! Pure. A worker is *busy* from the start of a job to its end. Where several jobs
//! overlap on one worker, as with a thread per job, it is busy once. That breaks no
//! contract: each job ran once and in order. But then the time of a job holds that of
//! others, so such jobs are counted.

use crate::job_run::JobTime;
use plimsoll_graph::JobGraph;
use std::time::Duration;

/// How busy the workers were between the first start of a job and the last end.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// First start of a job, in nanoseconds since the start of the run.
    pub first_start_ns: u64,
    /// Until each worker had started a job; `None` if one never did.
    pub all_started_ns: Option<u64>,
    /// Last end of a job.
    pub last_end_ns: u64,
    /// Jobs that began on a worker while another job ran there.
    pub overlapping: u32,
    /// Busy time of all workers together.
    pub busy_ns: u64,
    /// While all workers were busy.
    pub all_busy_ns: u64,
    /// While fewer than two were busy, which is where a second could not help: the run
    /// was *impeded*. With one worker, while none was.
    pub impeded_ns: u64,
    /// The number of busy workers from each change on; 0 at the end.
    pub steps: Vec<Step>,
}

/// How many workers are busy from a time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub at_ns: u64,
    pub busy: u32,
}

impl Timeline {
    /// Of a run on so many workers; `None` if no job has ended.
    pub fn of(times: &[JobTime], workers: usize) -> Option<Timeline> {
        let steps = steps(times);
        let (first, last) = (steps.first()?, steps.last()?);
        let mut timeline = Timeline {
            first_start_ns: first.at_ns,
            all_started_ns: all_started_ns(times, workers),
            last_end_ns: last.at_ns,
            overlapping: overlapping(times),
            busy_ns: 0,
            all_busy_ns: 0,
            impeded_ns: 0,
            steps: Vec::new(),
        };
        for pair in steps.windows(2) {
            let (busy, lasted) = (pair[0].busy as usize, pair[1].at_ns - pair[0].at_ns);
            timeline.busy_ns += busy as u64 * lasted;
            if busy >= workers {
                timeline.all_busy_ns += lasted;
            }
            if busy < workers.min(2) {
                timeline.impeded_ns += lasted;
            }
        }
        timeline.steps = steps;
        Some(timeline)
    }

    /// From the first start to the last end.
    pub fn covered_ns(&self) -> u64 {
        self.last_end_ns - self.first_start_ns
    }

    /// How many workers were busy on average; `None` if the jobs took no time.
    pub fn average_concurrency(&self) -> Option<f64> {
        let covered = self.covered_ns();
        (covered > 0).then(|| self.busy_ns as f64 / covered as f64)
    }

    /// The average number of busy workers in each of so many equal parts of the time
    /// from the start of the run to the last end: a curve of a fixed size.
    pub fn concurrency_in_parts(&self, parts: usize) -> Vec<f64> {
        let Some(last_part) = parts.checked_sub(1) else {
            return Vec::new();
        };
        let width = self.last_end_ns as f64 / parts as f64;
        let mut busy_ns = vec![0.0; parts];
        for pair in self.steps.windows(2).filter(|pair| pair[0].busy > 0) {
            let (from, to) = (pair[0].at_ns as f64, pair[1].at_ns as f64);
            // Rounding may put the last end just beyond the last part.
            let [first, last] = [from, to].map(|at| ((at / width) as usize).min(last_part));
            for (part, busy_ns) in (first..=last).zip(&mut busy_ns[first..=last]) {
                let (begin, end) = (part as f64 * width, (part + 1) as f64 * width);
                let inside = (to.min(end) - from.max(begin)).max(0.0);
                *busy_ns += inside * f64::from(pair[0].busy);
            }
        }
        busy_ns.into_iter().map(|ns| ns / width).collect()
    }
}

/// When the last of the workers started its first job.
fn all_started_ns(times: &[JobTime], workers: usize) -> Option<u64> {
    let mut first: Vec<Option<u64>> = vec![None; workers];
    for time in times {
        let first = first.get_mut(time.worker)?;
        *first = Some(first.map_or(time.start_ns, |ns| ns.min(time.start_ns)));
    }
    let all: Option<Vec<u64>> = first.into_iter().collect();
    all?.into_iter().max()
}

/// How many jobs began on a worker before an earlier one had ended there.
fn overlapping(times: &[JobTime]) -> u32 {
    let mut by_start: Vec<&JobTime> = times.iter().collect();
    by_start.sort_unstable_by_key(|time| (time.worker, time.start_ns, time.end_ns));
    let mut count = 0;
    for on_worker in by_start.chunk_by(|a, b| a.worker == b.worker) {
        let mut ended_ns = 0;
        for time in on_worker {
            count += u32::from(time.start_ns < ended_ns);
            ended_ns = ended_ns.max(time.end_ns);
        }
    }
    count
}

/// The changes of the number of busy workers, one entry a time.
fn steps(times: &[JobTime]) -> Vec<Step> {
    let both = |time: &JobTime| {
        [
            (time.start_ns, false, time.worker),
            (time.end_ns, true, time.worker),
        ]
    };
    let mut events: Vec<(u64, bool, usize)> = times.iter().flat_map(both).collect();
    // Starts first: a worker that goes from one job to the next stays busy.
    events.sort_unstable();
    let workers = times.iter().map(|time| time.worker + 1).max().unwrap_or(0);
    let mut jobs_on = vec![0_u32; workers];
    let mut busy = 0;
    let mut steps: Vec<Step> = Vec::new();
    for (at_ns, is_end, worker) in events {
        let on_it = &mut jobs_on[worker];
        match is_end {
            false => *on_it += 1,
            true => *on_it -= 1,
        }
        match (is_end, *on_it) {
            (false, 1) => busy += 1,
            (true, 0) => busy -= 1,
            _ => continue,
        }
        match steps.last_mut() {
            Some(last) if last.at_ns == at_ns => last.busy = busy,
            _ => steps.push(Step { at_ns, busy }),
        }
    }
    steps.dedup_by_key(|step| step.busy);
    steps
}

/// How much longer each job took than its weight times the calibrated grain, as a
/// ratio. Jobs without work are left out.
pub fn inflations(times: &[JobTime], graph: &JobGraph, grain: Duration) -> Vec<f64> {
    let grain_ns = grain.as_nanos() as f64;
    let of = |time: &JobTime| {
        let expected_ns = f64::from(graph.weight(time.job)) * grain_ns;
        let took_ns = (time.end_ns - time.start_ns) as f64;
        (expected_ns > 0.0).then(|| took_ns / expected_ns)
    };
    times.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(job: u32, worker: usize, start_ns: u64, end_ns: u64) -> JobTime {
        JobTime {
            job,
            worker,
            start_ns,
            end_ns,
        }
    }

    /// Worker 0: 100 to 300 and 300 to 400; worker 1: 200 to 500.
    fn two_workers() -> [JobTime; 3] {
        [
            job(0, 0, 100, 300),
            job(1, 0, 300, 400),
            job(2, 1, 200, 500),
        ]
    }

    #[test]
    fn shares_of_a_known_run() {
        let found = Timeline::of(&two_workers(), 2).unwrap();
        assert_eq!((found.first_start_ns, found.last_end_ns), (100, 500));
        assert_eq!((found.all_started_ns, found.overlapping), (Some(200), 0));
        assert_eq!(found.busy_ns, 600);
        assert_eq!(found.all_busy_ns, 200);
        assert_eq!(found.impeded_ns, 200);
        assert_eq!(found.average_concurrency(), Some(1.5));
        let steps: Vec<(u64, u32)> = found.steps.iter().map(|s| (s.at_ns, s.busy)).collect();
        assert_eq!(steps, [(100, 1), (200, 2), (400, 1), (500, 0)]);
    }

    #[test]
    fn more_workers_than_were_used_were_never_all_busy() {
        let found = Timeline::of(&two_workers(), 4).unwrap();
        assert_eq!((found.all_busy_ns, found.impeded_ns), (0, 200));
        assert_eq!(found.all_started_ns, None);
    }

    #[test]
    fn one_worker_is_impeded_only_while_it_has_nothing() {
        let found = Timeline::of(&[job(0, 0, 0, 10), job(1, 0, 25, 30)], 1).unwrap();
        assert_eq!((found.all_busy_ns, found.impeded_ns), (15, 15));
        assert_eq!(found.average_concurrency(), Some(0.5));
    }

    #[test]
    fn jobs_that_overlap_on_a_worker_count_once() {
        let found = Timeline::of(&[job(0, 0, 0, 30), job(1, 0, 10, 20), job(2, 0, 20, 40)], 2);
        let found = found.unwrap();
        assert_eq!((found.busy_ns, found.covered_ns()), (40, 40));
        assert_eq!(found.overlapping, 2);
    }

    #[test]
    fn without_time_there_is_no_average() {
        assert_eq!(Timeline::of(&[], 2), None);
        let at_once = Timeline::of(&[job(0, 0, 5, 5)], 1);
        assert_eq!(at_once.and_then(|found| found.average_concurrency()), None);
    }

    #[test]
    fn the_curve_has_the_area_of_the_run() {
        let found = Timeline::of(&two_workers(), 2).unwrap();
        assert_eq!(found.concurrency_in_parts(5), [0.0, 1.0, 2.0, 2.0, 1.0]);
        for parts in [1, 3, 7, 1000] {
            let width = 500.0 / parts as f64;
            let area: f64 = found
                .concurrency_in_parts(parts)
                .iter()
                .map(|c| c * width)
                .sum();
            assert!((area - 600.0).abs() < 1e-6, "{parts}: {area}");
        }
        assert_eq!(found.concurrency_in_parts(0), [0.0; 0]);
    }

    #[test]
    fn inflation_is_against_weight_times_grain() {
        let graph = JobGraph::new(&[1, 0, 3], &[]).unwrap();
        let found = inflations(&two_workers(), &graph, Duration::from_nanos(100));
        assert_eq!(found, [2.0, 1.0]);
    }
}
