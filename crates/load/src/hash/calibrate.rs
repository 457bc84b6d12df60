//! Finds the block size that costs a given CPU time on this machine.

use super::blocks::{Blocks, Data};
use crate::LoadError;
use plimsoll_model::{Bytes, CpuId, CpuTime, HashService};
use plimsoll_pool::pin_this_thread;
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// Standard deviation of block sizes, as a fraction of their mean.
pub const DEVIATION_SHARE: f64 = 0.25;

/// The allowed cost of a request. Below, claiming and counting (about 2 us)
/// would dominate; above, a trial would have too few requests.
const TARGETS: std::ops::RangeInclusive<Duration> =
    Duration::from_micros(20)..=Duration::from_secs(1);

/// CPU time per round, and number of rounds: 0.2 s in total.
const ROUND: Duration = Duration::from_millis(10);
const ROUNDS: usize = 20;

/// Upper limit for a CPU on which others leave little time.
const MAX_DURATION: Duration = Duration::from_millis(400);

/// The hash service whose requests cost `target` of CPU time on `cpu`, on
/// average.
///
/// The cost per byte is the median over 20 rounds of 10 ms, measured by the CPU
/// time of a thread pinned to `cpu`; this takes about 0.2 s and at most half a
/// second. A round hashes blocks of the same size distribution as the service.
/// The median is accurate to about 1 % on a quiet CPU. It excludes the CPU
/// frequency and SMT contention under later load, and the few microseconds for
/// waking up and counting. The result therefore only sets the scale of a
/// request; each trial measures the actual cost.
///
/// # Errors
/// [`LoadError::Mistake`] if `target` is not within 20 us to 1 s;
/// [`LoadError::System`] if `cpu` is not available.
pub fn calibrate(target: CpuTime, cpu: CpuId) -> Result<HashService, LoadError> {
    if !TARGETS.contains(&target.0) {
        return LoadError::mistake(format!(
            "a request of the hash service cannot cost {:?} of CPU time; give 20us to 1s",
            target.0
        ));
    }
    // In its own thread, because the caller could not undo the pinning.
    let measure = std::thread::Builder::new()
        .name(format!("calibrate-{cpu}"))
        .spawn(move || -> Result<f64, LoadError> {
            pin_this_thread(cpu)?;
            Ok(ns_per_byte(&Data::prepare(), target))
        });
    let measured = measure.map_err(|error| {
        let way_out = "raise `ulimit -u` or pids.max of the cgroup";
        LoadError::system("cannot start a thread for the calibration", error, way_out)
    })?;
    let ns_per_byte = measured
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    Ok(service(target, ns_per_byte))
}

fn service(request_cpu: CpuTime, ns_per_byte: f64) -> HashService {
    let bytes = request_cpu.0.as_nanos() as f64 / ns_per_byte;
    HashService {
        // `as` saturates; no block is smaller than a byte.
        mean_block: Bytes((bytes.round() as u64).max(1)),
        deviation_share: DEVIATION_SHARE,
        request_cpu,
        waiting: None,
        memory: None,
        files: None,
    }
}

/// The median cost per byte for blocks that cost about `target`.
fn ns_per_byte(data: &Data, target: CpuTime) -> f64 {
    let began = Instant::now();
    // A block must not take longer than its round.
    let at_most = CpuTime(target.0.min(ROUND));
    // Initial guess, in ns per byte.
    let mut cost = 1.0;
    let mut costs = Vec::with_capacity(ROUNDS);
    // The first two rounds find the block size and warm up the CPU.
    for round in 0..ROUNDS + 2 {
        let Ok(blocks) = Blocks::new(&service(at_most, cost), round as u64) else {
            break;
        };
        let measured = one_round(data, blocks);
        if round < 2 {
            cost = measured;
        } else {
            costs.push(measured);
        }
        if began.elapsed() > MAX_DURATION && !costs.is_empty() {
            break;
        }
    }
    median(&mut costs).unwrap_or(cost)
}

/// Hashes blocks for [`ROUND`] of CPU time and returns nanoseconds per byte.
fn one_round(data: &Data, blocks: Blocks) -> f64 {
    let began = thread_cpu();
    let mut bytes = 0;
    for index in 0.. {
        let block = blocks.of_request(index);
        std::hint::black_box(data.digest(block));
        bytes += block.length();
        let used = thread_cpu().saturating_sub(began);
        if used >= ROUND {
            return used.as_nanos() as f64 / bytes as f64;
        }
    }
    f64::INFINITY
}

fn thread_cpu() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32)
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_pool::allowed_cpus;

    fn cpu_time(us: u64) -> CpuTime {
        CpuTime(Duration::from_micros(us))
    }

    #[test]
    fn outlier_round_does_not_change_the_median() {
        assert_eq!(median(&mut [0.5, 0.5, 80.0]), Some(0.5));
        assert_eq!(median(&mut [1.0, 2.0, 3.0, 100.0]), Some(2.5));
        assert_eq!(median(&mut []), None);
    }

    #[test]
    fn block_size_matches_the_target_cost() {
        let made = service(cpu_time(1000), 0.5);
        assert_eq!(made.mean_block, Bytes(2_000_000));
        assert_eq!(made.request_cpu, cpu_time(1000));
        assert_eq!(service(cpu_time(0), 0.5).mean_block, Bytes(1));
    }

    #[test]
    fn calibration_finds_a_block_of_plausible_size() {
        let cpu = allowed_cpus().unwrap().iter().next().unwrap();
        let made = calibrate(cpu_time(1000), cpu).unwrap();
        // 10 MB/s to 100 GB/s: any CPU, in any build profile, under any noise.
        assert!(
            (10_000..100_000_000).contains(&made.mean_block.0),
            "{made:?}"
        );
        assert!(Blocks::new(&made, 0).is_ok());
    }

    #[test]
    fn invalid_targets_are_refused() {
        for us in [0, 19, 1_000_001] {
            let refused = calibrate(cpu_time(us), 0);
            assert!(matches!(refused, Err(LoadError::Mistake(_))), "{us}");
        }
        let nowhere = calibrate(cpu_time(1000), 8000);
        assert!(matches!(nowhere, Err(LoadError::System { .. })));
    }
}
