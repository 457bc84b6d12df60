//! Files of /proc and /sys, in a small tree of which the input replaces one.

use plimsoll_host::{
    Cgroups, CpuTimes, DelayScope, HostError, Listeners, ProcessStat, Root, RunDelays, Sensors,
    ServiceSource, Subject, allowed_cpus, cores_of, cpu_quota, difference, interrupt_time,
    listeners, online_cpus, own_allowed_cpus, own_cpu_quota, own_ignored_signals, pressure,
    process_name, provenance, requirements, service_cpus,
};
use std::fs;
use std::net::SocketAddr;
use tempfile::TempDir;

const PROCESS: &str = "1 (a b) S 0 1 1 0 -1 4194304 1 0 0 0 10 20 30 40 20 0 2 0 300 3133440 390 18446744073709551615\n";
const STATUS: &str =
    "Name:\ta b\nTgid:\t1\nPid:\t1\nPPid:\t0\nSigIgn:\t0000000000001000\nCpus_allowed_list:\t0-1\n";
const PSI: &str = "some avg10=0.00 avg60=0.00 avg300=0.00 total=12\n";
const GROUPS: &str = "5:cpu,cpuacct:/a\n0::/a\n";
const MOUNTS: &str = "30 23 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw\n\
    31 23 0:27 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n";
const SOCKETS: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
    0: 0100007F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4567 1\n";

/// The first byte of an input is the number of the file that the rest replaces; higher
/// ones have one kind of readers only look at it, which is faster.
const FILES: [(&str, &str); 37] = [
    (
        "/proc/stat",
        "cpu  1 2 3 4 5 6 7 8 9 0\ncpu0 1 2 3 4 5 6 7 8 9 0\ncpu1 0 0 0 0 0 0 0 0 0 0\nctxt 77\nbtime 1\n",
    ),
    ("/proc/meminfo", "MemTotal:       24000000 kB\n"),
    (
        "/proc/cpuinfo",
        "processor\t: 0\nmodel name\t: A CPU\nflags\t\t: fpu hypervisor constant_tsc\n\nprocessor\t: 1\n",
    ),
    ("/proc/pressure/cpu", PSI),
    ("/proc/pressure/memory", PSI),
    ("/proc/pressure/io", PSI),
    ("/proc/net/tcp", SOCKETS),
    ("/proc/net/tcp6", SOCKETS),
    (
        "/proc/net/fib_trie",
        "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 127.0.0.1\n        /32 host LOCAL\n",
    ),
    (
        "/proc/net/if_inet6",
        "00000000000000000000000000000001 01 80 10 80       lo\n",
    ),
    ("/proc/config.gz", ""),
    ("/proc/sys/kernel/osrelease", "6.1.0\n"),
    ("/proc/self/stat", PROCESS),
    ("/proc/self/status", STATUS),
    ("/proc/self/schedstat", "1000 2000 3\n"),
    (
        "/proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units     \nMax open files            1024                 4096                 files     \n",
    ),
    ("/proc/self/cgroup", GROUPS),
    ("/proc/self/mountinfo", MOUNTS),
    ("/proc/1/stat", PROCESS),
    ("/proc/1/status", STATUS),
    ("/proc/1/comm", "a b\n"),
    ("/proc/1/cgroup", GROUPS),
    ("/proc/1/task/1/stat", PROCESS),
    ("/proc/1/task/1/status", STATUS),
    ("/proc/1/task/1/schedstat", "1000 2000 3\n"),
    (
        "/sys/fs/cgroup/a/cpu.stat",
        "usage_usec 5\nnr_throttled 0\n",
    ),
    ("/sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
    ("/sys/fs/cgroup/a/cpu.pressure", PSI),
    ("/sys/fs/cgroup/a/cgroup.procs", "1\n"),
    ("/sys/fs/cgroup/cpu/a/cpuacct.usage", "5000\n"),
    ("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n"),
    ("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"),
    ("/sys/devices/system/cpu/online", "0-1\n"),
    (
        "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
        "0-1\n",
    ),
    (
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq",
        "2000000\n",
    ),
    (
        "/sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list",
        "0-1\n",
    ),
    ("/sys/class/powercap/intel-rapl:0/energy_uj", "77\n"),
];

struct Tree {
    root: Root,
    /// Removes it in the end.
    _folder: TempDir,
}

thread_local! {
    static TREE: Option<Tree> = tree();
}

fn tree() -> Option<Tree> {
    let folder = crate::folder()?;
    let root = Root::at(folder.path());
    for (path, text) in FILES {
        let path = root.path(path);
        fs::create_dir_all(path.parent()?).ok()?;
        fs::write(path, text).ok()?;
    }
    Some(Tree {
        root,
        _folder: folder,
    })
}

pub(crate) fn files(input: &[u8]) {
    let Some((file, bytes)) = input.split_first() else {
        return;
    };
    let (path, text) = FILES[usize::from(*file) % FILES.len()];
    TREE.with(|tree| {
        let Some(Tree { root, .. }) = tree else {
            return;
        };
        let path = root.path(path);
        if fs::write(&path, bytes).is_ok() {
            let only = usize::from(*file) / FILES.len();
            let wants = |kind| only == 0 || only == kind;
            if wants(1) {
                machine(root);
            }
            // Each of these ends at its first mistake.
            if wants(2) {
                let _ = processes(root);
            }
            if wants(3) {
                let _ = cgroups(root);
            }
            if wants(4) {
                let _ = sensors(root);
            }
        }
        let _ = fs::write(path, text);
    });
}

fn machine(root: &Root) {
    let _ = CpuTimes::read(root).map(|times| times.map(|t| t.since(&t)));
    let _ = pressure(root);
    let _ = online_cpus(root).map(|cpus| cores_of(root, &cpus));
    interrupt_time(root);
    provenance(root, "");
    requirements(root);
}

fn processes(root: &Root) -> Result<(), HostError> {
    let _ = own_allowed_cpus(root);
    let _ = own_ignored_signals(root);
    let _ = allowed_cpus(root, 1);
    let _ = service_cpus(root, &[1]);
    process_name(root, 1);
    let _ = ProcessStat::all(root).map(|all| all.iter().map(ProcessStat::cpu).count());
    for address in ["127.0.0.1:80", "[::1]:80"] {
        let address: Option<SocketAddr> = address.parse().ok();
        let Some(address) = address else { continue };
        if let Listeners::Found(pids) = listeners(root, address)? {
            let _ = service_cpus(root, &pids);
        }
    }
    if let Some(mut delays) = RunDelays::new(root, DelayScope::Others) {
        delays.read(&[])?;
        delays.read(&[])?;
    }
    Ok(())
}

fn cgroups(root: &Root) -> Result<(), HostError> {
    let _ = own_cpu_quota(root);
    let _ = cpu_quota(root, &[1]);
    let found = Cgroups::find(root)?;
    let _ = found.own(root);
    let _ = found.cpu_time(root, "a");
    let _ = found.cpu_pressure(root, "a");
    let _ = found.cpu_quota(root, "a");
    let _ = found.processes(root, "a");
    Ok(())
}

fn sensors(root: &Root) -> Result<(), HostError> {
    let service = [
        ServiceSource::Processes(vec![1]),
        ServiceSource::Cgroup("a".to_owned()),
    ];
    for service in service {
        let subject = Subject::Here {
            cpus: online_cpus(root)?,
            generator: [0].into_iter().collect(),
            service,
        };
        let mut sensors = Sensors::new(root, subject, &[])?;
        let earlier = sensors.read_edge();
        let later = sensors.read_edge();
        difference(&earlier, &later);
    }
    Ok(())
}
