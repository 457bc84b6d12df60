//! Mean clock of busy CPUs, from the counters APERF and MPERF.
//!
//! While a CPU is not halted, MPERF counts at the nominal clock and APERF at
//! the actual clock; both stop while it is halted. The ratio of their
//! increments over a window is the mean clock of the busy time relative to the
//! nominal clock.
//!
//! IA32_MPERF is model-specific register 0xE7 and IA32_APERF is 0xE8 (Intel 64
//! and IA-32 Architectures Software Developer's Manual, volume 3, "Hardware
//! Coordination Feedback"; AMD64 Architecture Programmer's Manual, volume 2,
//! "Effective Frequency"; the numbers are the same). /dev/cpu/N/msr returns the
//! register at the offset of its number as eight little-endian bytes (msr(4)).
//! It exists when the module msr is loaded, and only root may read it.
//!
//! This module reads these two registers and no others.

use crate::error::HostError;
use crate::root::{Root, means_absent};
use plimsoll_model::{CpuId, CpuSet};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

const MPERF: u64 = 0xe7;
const APERF: u64 = 0xe8;

/// Open register files of a set of CPUs.
#[derive(Debug)]
pub(crate) struct ClockMeter {
    cpus: Vec<(CpuId, PathBuf, File)>,
}

/// The counters of all CPUs at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ClockCounts(BTreeMap<CpuId, Counts>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counts {
    aperf: u64,
    mperf: u64,
}

impl ClockMeter {
    /// `None` if a CPU has no register file, `cpus` is empty or exceeds
    /// `allowance`, or a counter is zero: a hypervisor may return zeros for
    /// registers that it does not implement. Takes one file per CPU from
    /// `allowance`.
    ///
    /// # Errors
    /// If a file cannot be opened or read: only root may, and a hypervisor may
    /// refuse even root.
    pub(crate) fn open(
        root: &Root,
        cpus: &CpuSet,
        allowance: &mut usize,
    ) -> Result<Option<ClockMeter>, HostError> {
        if cpus.is_empty() || cpus.len() > *allowance {
            return Ok(None);
        }
        let mut opened = Vec::with_capacity(cpus.len());
        for cpu in cpus.iter() {
            let path = root.path(format!("/dev/cpu/{cpu}/msr"));
            match File::open(&path) {
                Ok(file) => opened.push((cpu, path, file)),
                Err(source) if means_absent(&source) => return Ok(None),
                Err(source) => return Err(HostError::Unreadable { path, source }),
            }
        }
        let meter = ClockMeter { cpus: opened };
        // An unimplemented register is refused on the first read.
        let counts = meter.read()?;
        let counted = |c: &Counts| c.aperf > 0 && c.mperf > 0;
        if !counts.0.values().all(counted) {
            return Ok(None);
        }
        *allowance -= cpus.len();
        Ok(Some(meter))
    }

    /// Both counters of each CPU, now.
    ///
    /// # Errors
    /// If a counter cannot be read, for instance of a CPU that went offline.
    pub(crate) fn read(&self) -> Result<ClockCounts, HostError> {
        let counts = self.cpus.iter().map(|(cpu, path, file)| {
            let read = |register| {
                counter(file, register).map_err(|source| HostError::Unreadable {
                    path: path.clone(),
                    source,
                })
            };
            // MPERF first: both advance between the two reads, by the same
            // short time at both ends of a window.
            let mperf = read(MPERF)?;
            let aperf = read(APERF)?;
            Ok((*cpu, Counts { aperf, mperf }))
        });
        counts.collect::<Result<_, _>>().map(ClockCounts)
    }
}

fn counter(file: &File, register: u64) -> io::Result<u64> {
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, register)?;
    Ok(u64::from_le_bytes(bytes))
}

impl ClockCounts {
    /// Mean clock since `earlier` relative to the nominal clock, over the busy
    /// time of all CPUs (weighted by MPERF). `None` if no CPU was busy, the
    /// readings are of different CPUs, or only one of the two counters
    /// advanced.
    pub(crate) fn ratio_since(&self, earlier: &ClockCounts) -> Option<f64> {
        let (mut actual, mut nominal) = (0u128, 0u128);
        if !self.0.keys().eq(earlier.0.keys()) {
            return None;
        }
        for (now, then) in self.0.values().zip(earlier.0.values()) {
            // The counters are 64 bits wide and wrap round.
            actual += u128::from(now.aperf.wrapping_sub(then.aperf));
            nominal += u128::from(now.mperf.wrapping_sub(then.mperf));
        }
        (actual > 0 && nominal > 0).then(|| actual as f64 / nominal as f64)
    }

    #[cfg(test)]
    pub(crate) fn alone(aperf: u64, mperf: u64) -> ClockCounts {
        ClockCounts([(0, Counts { aperf, mperf })].into())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    /// Writes a fake /dev/cpu/N/msr. The device takes the offset as a register
    /// number; in a regular file the eight bytes from 0xE7 (MPERF) and from
    /// 0xE8 (APERF) overlap in seven. So MPERF reads as `mperf << 56`, and
    /// APERF as `aperf << 56` plus a 256th of MPERF.
    pub(crate) fn write(tree: &FakeTree, cpu: CpuId, mperf: u8, aperf: u8) {
        let mut bytes = vec![0; 0xf0];
        bytes[0xee] = mperf;
        bytes[0xef] = aperf;
        tree.write_bytes(&format!("dev/cpu/{cpu}/msr"), &bytes);
    }

    fn meter(tree: &FakeTree, cpus: &str) -> Option<ClockMeter> {
        let cpus = cpus.parse().unwrap();
        ClockMeter::open(tree.root(), &cpus, &mut 8).unwrap()
    }

    #[test]
    fn clock_ratio_is_weighted_by_busy_time() {
        let tree = FakeTree::new();
        (0..3).for_each(|cpu| write(&tree, cpu, 10, 20));
        let meter = meter(&tree, "0-2").unwrap();
        let earlier = meter.read().unwrap();
        assert_eq!(meter.read().unwrap().ratio_since(&earlier), None, "no time");
        write(&tree, 0, 10 + 2, 20 + 3);
        write(&tree, 1, 10 + 6, 20 + 3);
        let ratio = meter.read().unwrap().ratio_since(&earlier).unwrap();
        assert!((ratio - (6.0 / 8.0 + 1.0 / 256.0)).abs() < 1e-12, "{ratio}");
    }

    #[test]
    fn counters_may_wrap_round() {
        let tree = FakeTree::new();
        write(&tree, 0, 250, 255);
        let meter = meter(&tree, "0").unwrap();
        let earlier = meter.read().unwrap();
        write(&tree, 0, 2, 7);
        let now = meter.read().unwrap();
        // MPERF wraps round after 256, and so does its part of APERF.
        let expected = (8.0 - 248.0 / 256.0) / 8.0;
        let ratio = now.ratio_since(&earlier).unwrap();
        assert!((ratio - expected).abs() < 1e-12, "{ratio}");
    }

    #[test]
    fn missing_file_zero_counter_or_small_allowance_gives_no_meter() {
        let tree = FakeTree::new();
        write(&tree, 0, 1, 1);
        write(&tree, 1, 0, 0);
        for (cpus, is_open) in [("0", true), ("0-1", false), ("0,2", false), ("", false)] {
            assert_eq!(meter(&tree, cpus).is_some(), is_open, "{cpus}");
        }
        let mut allowance = 1;
        for expected in [true, false] {
            let cpus = "0".parse().unwrap();
            let meter = ClockMeter::open(tree.root(), &cpus, &mut allowance);
            assert_eq!(meter.unwrap().is_some(), expected);
            assert_eq!(allowance, 0);
        }
    }

    #[test]
    fn other_cpus_or_a_stopped_counter_give_no_ratio() {
        let other = ClockCounts([(1, Counts { aperf: 9, mperf: 9 })].into());
        assert_eq!(other.ratio_since(&ClockCounts::alone(3, 3)), None);
        let one = ClockCounts::alone(3, 3);
        assert_eq!(ClockCounts::alone(3, 9).ratio_since(&one), None);
        assert_eq!(ClockCounts::alone(9, 3).ratio_since(&one), None);
    }
}
