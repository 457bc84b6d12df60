//! What the hash service carries, measured once per machine and kept.

use crate::LabError;
use crate::sensors::LabSensors;
use crate::service::MOST_RPS;
use plimsoll_host::{Root, provenance};
use plimsoll_load::hash::HashLoad;
use plimsoll_load::{LiveRate, Offer, Running, Shape};
use plimsoll_model::{Arrivals, CpuSet, HashService, Rate, Share, sort_by_number};
use plimsoll_record::state_file;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// Before the first round: clock, caches and the memory of the service settle.
const WARM_UP: Duration = Duration::from_secs(1);
const ROUND: Duration = Duration::from_secs(2);
const ROUNDS: usize = 5;
/// How often a stop is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// The rate of a calibration, in requests that the CPUs would carry at the calibrated cost: more
/// than they carry even if a request costs a quarter of that.
const OVERLOAD: f64 = 4.0;
/// The largest share of the CPUs that others may use in a calibration: as in a trial.
const MOST_OTHERS: f64 = 0.05;
/// Under four times what the CPUs carry, less of them is in use only where something limits it.
const LEAST_BUSY: f64 = 0.9;
/// The largest mean block, in bytes: no calibration finds one that takes seconds to hash.
const MOST_BLOCK: u64 = 1 << 32;
/// Ratings that are kept: those of the last services that were run.
const MOST_KEPT: usize = 16;

/// The rate at which the hash service is saturated on some CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rating {
    pub service: HashService,
    #[serde(rename = "cpus_list")]
    pub cpus: CpuSet,
    /// The median of the rounds.
    #[serde(rename = "rated_rps")]
    pub rated: Rate,
    /// The lowest and the highest round.
    #[serde(rename = "lowest_rps")]
    pub lowest: Rate,
    #[serde(rename = "highest_rps")]
    pub highest: Rate,
    pub found_unix_s: u64,
    /// The share of the CPUs that other processes used or a hypervisor took; `None` if unknown.
    pub others: Option<Share>,
    /// The share of the CPUs that was not idle; `None` if unknown.
    #[serde(default)]
    pub busy: Option<Share>,
    kernel: Option<String>,
    cpu_model: Option<String>,
}

impl Rating {
    /// Why it is too low, as the beginning of a sentence; `None` if it is not.
    pub fn too_low(&self) -> Option<String> {
        let others = self.others.filter(|others| others.get() > MOST_OTHERS);
        let busy = self.busy.filter(|busy| busy.get() < LEAST_BUSY);
        match (others, busy) {
            (Some(others), _) => Some(format!("other processes used {others} of these CPUs")),
            (None, Some(busy)) => Some(format!(
                "something such as a CPU quota kept the service to {busy} of these CPUs"
            )),
            (None, None) => None,
        }
    }

    /// Whether it was measured, and not assumed.
    pub fn is_measured(&self) -> bool {
        self.found_unix_s > 0
    }

    /// A rating that was not measured.
    pub fn assumed(service: HashService, cpus: &CpuSet, rated: Rate) -> Rating {
        Rating {
            service,
            cpus: cpus.clone(),
            rated,
            lowest: rated,
            highest: rated,
            found_unix_s: 0,
            others: None,
            busy: None,
            kernel: None,
            cpu_model: None,
        }
    }

    /// Offers more than the service carries for 11 s, and takes the median of five rounds of 2 s.
    /// `is_stopped` is asked 20 times a second.
    ///
    /// # Errors
    /// The load cannot be started, nothing is answered, or it was stopped.
    pub fn measure(
        service: &HashService,
        cpus: &CpuSet,
        root: &Root,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Rating, LabError> {
        let load = HashLoad::new(service, cpus)?;
        let alone = 1.0 / service.request_cpu.0.as_secs_f64();
        let overload = Rate::per_second(alone * cpus.len() as f64 * OVERLOAD);
        let rate = Arc::new(LiveRate::new(overload.unwrap_or(Rate::ZERO)));
        let mut running = load.start_live(&rate, &offer(Arrivals::Poisson, 1))?;
        wait(WARM_UP, is_stopped)?;
        let mut sensors = LabSensors::new(root, cpus, &running.threads().service)?;
        running.tick();
        let mut rounds = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            rounds.push(round(running.as_mut(), is_stopped)?);
        }
        sort_by_number(&mut rounds, |one| one.get());
        let middle = rounds.get(ROUNDS / 2).copied().unwrap_or(Rate::ZERO);
        if middle.get() <= 0.0 {
            return Err(LabError::NothingAnswered(ROUND));
        }
        let here = provenance(root, env!("CARGO_PKG_VERSION"));
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let spent = sensors.read()?;
        Ok(Rating {
            lowest: rounds.first().copied().unwrap_or(middle),
            highest: rounds.last().copied().unwrap_or(middle),
            found_unix_s: since.map_or(0, |since| since.as_secs()),
            others: spent.others,
            busy: spent.busy,
            kernel: here.kernel,
            cpu_model: here.cpu_model,
            ..Rating::assumed(service.clone(), cpus, middle)
        })
    }

    /// Whether it is of such a service, whatever its blocks were calibrated to, on these CPUs of
    /// this machine.
    fn is_of(&self, asked: &HashService, cpus: &CpuSet, root: &Root) -> bool {
        let here = provenance(root, env!("CARGO_PKG_VERSION"));
        let same = HashService {
            mean_block: self.service.mean_block,
            ..asked.clone()
        };
        let is_sound = (0.01..=MOST_RPS).contains(&self.rated.get())
            && (1..=MOST_BLOCK).contains(&self.service.mean_block.0);
        is_sound
            && self.service == same
            && self.cpus == *cpus
            && self.kernel.is_some()
            && self.kernel == here.kernel
            && self.cpu_model == here.cpu_model
    }
}

/// The ratings that are kept, in `plimsoll/ratings.json` of the state directory.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Kept {
    ratings: Vec<Rating>,
}

impl Kept {
    /// The name of the file.
    pub const FILE: &'static str = "ratings.json";

    /// # Errors
    /// The file cannot be read, as a part of a sentence.
    pub fn read(file: &Path) -> Result<Kept, String> {
        Ok(state_file::read(file)?.unwrap_or_default())
    }

    /// The rating of a service like this one on these CPUs of this machine.
    pub fn find(&self, asked: &HashService, cpus: &CpuSet, root: &Root) -> Option<&Rating> {
        let mut ratings = self.ratings.iter();
        ratings.find(|rating| rating.is_of(asked, cpus, root))
    }

    /// Keeps a rating in place of an older one of the same.
    ///
    /// # Errors
    /// The file cannot be written, as a part of a sentence.
    pub fn keep(mut self, rating: &Rating, root: &Root, file: &Path) -> Result<(), String> {
        let is_same = |old: &Rating| old.is_of(&rating.service, &rating.cpus, root);
        self.ratings.retain(|old| !is_same(old));
        self.ratings.insert(0, rating.clone());
        self.ratings.truncate(MOST_KEPT);
        state_file::write(&self, file)
    }
}

/// An offer whose rate is a live one.
pub(crate) fn offer(arrivals: Arrivals, seed: u64) -> Offer {
    Offer {
        rate: Rate::ZERO,
        arrivals,
        seed,
        drain: Duration::ZERO,
        shape: Shape::Constant,
        connections: None,
    }
}

fn round(running: &mut dyn Running, is_stopped: &dyn Fn() -> bool) -> Result<Rate, LabError> {
    let began = Instant::now();
    wait(ROUND, is_stopped)?;
    let completed = running.tick().completed;
    Ok(Rate::of(completed, began.elapsed()))
}

fn wait(length: Duration, is_stopped: &dyn Fn() -> bool) -> Result<(), LabError> {
    let until = Instant::now() + length;
    while Instant::now() < until {
        if is_stopped() {
            return Err(LabError::Stopped);
        }
        std::thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{Bytes, CpuTime};

    fn service(mean_block: u64) -> HashService {
        HashService {
            mean_block: Bytes(mean_block),
            deviation_share: 0.25,
            request_cpu: CpuTime(Duration::from_millis(1)),
            waiting: None,
            memory: None,
            files: None,
        }
    }

    fn measured(service: HashService, cpus: &CpuSet, rate: f64) -> Rating {
        let here = provenance(&Root::machine(), "");
        Rating {
            kernel: here.kernel,
            cpu_model: here.cpu_model,
            ..Rating::assumed(service, cpus, Rate::per_second(rate).unwrap())
        }
    }

    #[test]
    fn rating_is_found_for_the_same_service_and_cpus_alone() {
        let (dir, root) = (tempfile::tempdir().unwrap(), Root::machine());
        let file = dir.path().join(Kept::FILE);
        let (both, one): (CpuSet, CpuSet) = ("0-1".parse().unwrap(), "0".parse().unwrap());
        let kept = Kept::read(&file).unwrap();
        kept.keep(&measured(service(1000), &both, 1900.0), &root, &file)
            .unwrap();
        let kept = Kept::read(&file).unwrap();
        let found = kept.find(&service(7), &both, &root).unwrap();
        assert_eq!(
            (found.service.mean_block.0, found.rated.get()),
            (1000, 1900.0)
        );
        assert!(kept.find(&service(7), &one, &root).is_none());
        let spins = HashService {
            waiting: Some("spin".to_owned()),
            ..service(7)
        };
        assert!(kept.find(&spins, &both, &root).is_none());
        kept.keep(&measured(service(1001), &both, 2000.0), &root, &file)
            .unwrap();
        let kept = Kept::read(&file).unwrap();
        assert_eq!(
            kept.ratings.len(),
            1,
            "a new one takes the place of the old"
        );
        assert_eq!(
            kept.find(&service(7), &both, &root).unwrap().rated.get(),
            2000.0
        );
    }

    #[test]
    fn rating_of_another_kernel_is_not_used() {
        let (root, cpus) = (Root::machine(), "0".parse().unwrap());
        let old = Rating {
            kernel: Some("2.6.32".to_owned()),
            ..measured(service(1000), &cpus, 10.0)
        };
        assert!(!old.is_of(&service(1), &cpus, &root));
    }

    #[test]
    fn calibration_that_is_stopped_says_so() {
        let cpus = plimsoll_host::own_allowed_cpus(&Root::machine()).unwrap();
        let stopped = Rating::measure(&service(1000), &cpus, &Root::machine(), &|| true);
        assert!(matches!(stopped, Err(LabError::Stopped)));
    }
}
