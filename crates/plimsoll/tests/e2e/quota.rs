//! nginx in a cgroup with a quota of half a CPU.

use crate::common::{Folder, short};
use crate::is_root;
use crate::nginx::Nginx;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A cgroup of its own, which is removed when it is dropped: after the processes in
/// it have ended.
struct HalfACpu {
    /// In each hierarchy that limits or counts CPU time.
    folders: Vec<PathBuf>,
    name: String,
}

impl HalfACpu {
    /// `None` where this host lets nobody limit CPU time.
    fn make(test: &str) -> Option<HalfACpu> {
        let name = format!("plimsoll-{test}-{}", std::process::id());
        let is_v1 = Path::new("/sys/fs/cgroup/cpu/cpu.shares").exists();
        let (mounts, limits): (&[&str], &[(&str, &str)]) = match is_v1 {
            true => (
                &["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpuacct"],
                &[
                    ("cpu.cfs_period_us", "100000"),
                    ("cpu.cfs_quota_us", "50000"),
                ],
            ),
            false => (&["/sys/fs/cgroup"], &[("cpu.max", "50000 100000")]),
        };
        let mut group = HalfACpu {
            folders: Vec::new(),
            name,
        };
        for mount in mounts {
            let folder = Path::new(mount).join(&group.name);
            // Both are often one hierarchy under two names.
            if !folder.exists() {
                fs::create_dir(&folder).ok()?;
                group.folders.push(folder);
            }
        }
        let first = group.folders.first()?;
        let limited = limits
            .iter()
            .try_for_each(|(file, limit)| fs::write(first.join(file), limit));
        limited.ok().map(|()| group)
    }

    fn hold(&self, nginx: &Nginx) {
        for pid in nginx.pids() {
            for folder in &self.folders {
                fs::write(folder.join("cgroup.procs"), pid.to_string()).unwrap();
            }
        }
    }
}

impl Drop for HalfACpu {
    fn drop(&mut self) {
        // What was killed leaves its group when its new parent has waited for it.
        let began = Instant::now();
        for folder in &self.folders {
            while fs::remove_dir(folder).is_err() && began.elapsed() < Duration::from_secs(10) {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// CPU use of every level is its own CPU time over half a CPU.
fn is_of_half_a_cpu(json: &Value) {
    let capacity = &json["plan"]["cpus"]["capacity"];
    assert_eq!(*capacity, json!({"millicores": 500, "limited_by": "quota"}));
    let levels = json["findings"]["levels"].as_array().unwrap();
    let valid = levels.iter().filter(|level| level["trials"] != 0);
    for level in valid.clone() {
        let us = number(&level["cpu_us_per_request"]) * number(&level["achieved_rps"]);
        let pct = 100.0 * us / 1e6 / 0.5;
        let stated = number(&level["cpu_pct"]);
        // No share is above 1, though a group may save up a little of its quota.
        let same = (stated - pct).abs() < 0.02 * pct || (stated == 100.0 && pct > 100.0);
        assert!(same, "{stated} % and {pct} %: {level}");
    }
    assert!(valid.count() > 0, "{json}");
    for row in json["findings"]["thresholds"].as_array().unwrap() {
        let own = &row["own_millicores"]["value"];
        assert!(own.is_null() || number(own) <= 500.0, "{row}");
    }
}

#[test]
fn cpu_use_of_a_service_under_a_quota_is_of_its_quota() {
    if !is_root("a service under a quota") {
        return;
    }
    let Some(group) = HalfACpu::make("quota") else {
        println!("a service under a quota was left out: no cgroup of this host limits CPU time");
        return;
    };
    let nginx = Nginx::start();
    group.hold(&nginx);
    let folder = Folder::new();
    let flags = "--levels 30,100 --rated 2000 --cpus 1 --goal p99<5s";
    let run = |more: &str| folder.run(short(&format!("{flags} {more} {}", nginx.url())));
    is_of_half_a_cpu(&run("-o found.plimsoll --format json").json());
    let named = format!("--service-cgroup {} --format json", group.name);
    is_of_half_a_cpu(&run(&named).json());
    let text = folder.run("report found.plimsoll").text();
    assert!(
        text.contains("0.5 CPUs by the quota of its cgroup"),
        "{text}"
    );
}
