use std::io;
use std::path::{Path, PathBuf};

/// Why something about the machine could not be read. A counter that the kernel
/// does not provide is no error: it is `None`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    #[error("{} cannot be read: {source}{}", .path.display(), way_out(.source))]
    Unreadable { path: PathBuf, source: io::Error },
    /// The content of a file does not match its documentation.
    #[error("{} holds {garbled}; this kernel uses a format that this version does not support", .path.display())]
    Malformed { path: PathBuf, garbled: Malformed },
    #[error("there is no process {pid}; name one that runs on this machine")]
    NoProcess { pid: u32 },
    /// A root process of the service has ended: its last CPU time, and the
    /// processes that replace it, are unknown.
    #[error("a process of the service has ended; restart the service and name its processes again")]
    ServiceEnded,
    #[error("this process has no thread {tid}; read thread IDs after the threads have started")]
    NoThread { tid: u32 },
    /// An event of the kernel cannot be recorded.
    #[error("the kernel's event {name} cannot be recorded: {source}{}", way_out(.source))]
    NoTracepoint {
        name: &'static str,
        source: io::Error,
    },
    /// The buffer was full before it was read.
    #[error("{lost} of the kernel's events {name} were lost; record for a shorter time")]
    EventsLost { name: &'static str, lost: u64 },
    /// The cgroup does not exist or does not count CPU time.
    #[error(
        "there is no cgroup '{name}' that counts CPU time; use its path below the cgroup \
         mount, such as system.slice/nginx.service"
    )]
    NoCgroup { name: String },
}

fn way_out(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; run as root, or do without it",
        _ => "",
    }
}

/// Text that does not match its documented format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{found}' instead of {expected}")]
pub struct Malformed {
    expected: &'static str,
    found: String,
}

impl Malformed {
    /// Maximum length of the quoted text, in characters.
    const SHOWN: usize = 80;

    pub(crate) fn new(expected: &'static str, found: &str) -> Malformed {
        Malformed {
            expected,
            found: found.trim().chars().take(Self::SHOWN).collect(),
        }
    }

    pub(crate) fn at(self, path: &Path) -> HostError {
        HostError::Malformed {
            path: path.to_owned(),
            garbled: self,
        }
    }
}

pub(crate) fn number(text: &str, expected: &'static str) -> Result<u64, Malformed> {
    text.trim()
        .parse()
        .map_err(|_| Malformed::new(expected, text))
}

#[cfg(test)]
mod tests {
    use crate::cgroup::tests::{V2, mounted};
    use crate::cgroup::{Cgroups, own_limits};
    use crate::clock::ClockMeter;
    use crate::energy::EnergyMeter;
    use crate::fake_tree::FakeTree;
    use crate::frequency::frequency_hz;
    use crate::pressure::pressure;
    use crate::process::{ProcessStat, allowed_cpus, own_ignored_signals};
    use crate::run_delay::{DelayScope, RunDelays};
    use crate::socket::listeners;
    use crate::stat::CpuTimes;
    use crate::task::ThreadReader;

    type Reader = fn(&FakeTree) -> Option<super::HostError>;

    /// A file, contents that do not match its documentation, and its reader.
    const CASES: [(&str, &[&str], Reader); 13] = [
        ("dev/cpu/0/msr", &["short"], |tree| {
            ClockMeter::open(tree.root(), &"0".parse().unwrap(), &mut 1).err()
        }),
        (
            "proc/stat",
            &[
                "",
                "intr 5\n",
                "cpu \n",
                "cpux 1 2 3 4\n",
                "cpu  -1 2 3 4\n",
                "cpu  1 2 3\n",
                "cpu  1 2 three 4\n",
            ],
            |tree| CpuTimes::read(tree.root()).err(),
        ),
        (
            "proc/42/stat",
            &["", "42", "42 (a", "42 (a) S 1 2", "x (a) S"],
            |tree| ProcessStat::read(tree.root(), 42).err(),
        ),
        ("proc/42/status", &["", "Cpus_allowed_list:\tx\n"], |tree| {
            allowed_cpus(tree.root(), 42).err()
        }),
        (
            "proc/self/status",
            &["", "Name:\tx\n", "SigIgn:\tx\n"],
            |tree| own_ignored_signals(tree.root()).err(),
        ),
        (
            "proc/100/task/100/schedstat",
            &["1 2\n", "1 2 x\n", "\n"],
            |tree| ThreadReader::new(100).read(&mut tree.task_files(), 1).err(),
        ),
        ("proc/10/task/10/schedstat", &["many\n"], |tree| {
            let delays = RunDelays::new(tree.root(), DelayScope::Others);
            delays.unwrap().read(&[]).err()
        }),
        (
            "proc/pressure/memory",
            &["", "full total=1", "some avg10=1", "some total=x"],
            |tree| pressure(tree.root()).err(),
        ),
        (
            "proc/net/tcp",
            &[
                "sl\nx\n",
                "sl\n0: 0100007F:1F90 0:0 0A 0 0 0 0 0 inode\n",
                "sl\n0: 01:1F90 0 0A 0 0 0 0 0 7\n",
            ],
            |tree| listeners(tree.root(), "127.0.0.1:80".parse().unwrap()).err(),
        ),
        (
            "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq",
            &["fast\n"],
            |tree| frequency_hz(tree.root(), &"0-2".parse().unwrap()).err(),
        ),
        (
            "sys/class/powercap/intel-rapl:0/max_energy_range_uj",
            &["lots\n"],
            |tree| EnergyMeter::open(tree.root()).err(),
        ),
        ("sys/fs/cgroup/a/cpu.stat", &["usage_usec many\n"], |tree| {
            let found = Cgroups::find(tree.root()).unwrap();
            found.cpu_time(tree.root(), "a").err()
        }),
        ("sys/fs/cgroup/cpu.max", &["half 100000\n"], |tree| {
            own_limits(tree.root()).err()
        }),
    ];

    #[test]
    fn errors_name_the_file_and_quote_its_content() {
        for (file, contents, read) in CASES {
            for content in contents {
                let tree = mounted(V2).files(&[
                    ("proc/self/schedstat", "1 1 1\n"),
                    ("sys/class/powercap/intel-rapl:0/name", "package-0\n"),
                    (file, content),
                ]);
                let message = read(&tree).map(|error| error.to_string());
                let message = message.unwrap_or_else(|| panic!("{file}: {content:?} is accepted"));
                assert!(message.contains(file), "{content:?}: {message}");
            }
        }
        let tree = FakeTree::new().file("proc/stat", "cpu  1 2 three 4\n");
        let message = CpuTimes::read(tree.root()).unwrap_err().to_string();
        assert!(message.contains("three"), "{message}");
    }
}
