//! `plimsoll side` on a kernel with cgroup v2 alone, where nothing else runs: what
//! is really set, and that it holds. The real binary.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what helps tests may fail them too; clippy sees only #[test]"
)]

mod common;

use common::server::{self, Server};
use common::side_folder::{Running, SideFolder, groups, lives};
use common::wait;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const WORK: &str = "while :; do :; done";

/// A command that works, under a guard that the server answers for.
fn guarded(place: &SideFolder, server: &Server, flags: &str) -> Running {
    let guard = format!("--guard 'prometheus {} up<1'", server.url());
    let script = format!("echo $$; {WORK}");
    place.running(format!("--log log {guard} {flags}"), &script)
}

/// The one group that the command runs in.
fn folder(running: &Running) -> PathBuf {
    let found = groups(&running.line);
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().unwrap()
}

fn setting(folder: &Path, file: &str) -> String {
    let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
    text.trim().to_owned()
}

fn is_frozen(folder: &Path) -> bool {
    setting(folder, "cgroup.events").contains("frozen 1")
}

fn used_us(folder: &Path) -> u64 {
    let text = setting(folder, "cpu.stat");
    let line = text.lines().find_map(|l| l.strip_prefix("usage_usec "));
    line.unwrap().parse().unwrap()
}

fn ended(running: Running) {
    let (pid, folder) = (running.line.clone(), folder(&running));
    running.signal("-TERM");
    running.end().says(143, &[]);
    assert!(!lives(&pid) && !folder.exists());
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn each_mechanism_is_set_as_its_help_says() {
    let place = SideFolder::new();
    for (mechanism, file, wanted) in [
        ("weight", "cpu.weight", "1"),
        ("idle", "cpu.idle", "1"),
        // The least share, 5 % of two CPUs, in 10 ms.
        ("quota", "cpu.max", "1000 10000"),
        ("cpuset", "cpuset.cpus", "1"),
    ] {
        let running = place.running(["--mechanism", mechanism], "echo $$; exec sleep 1000");
        assert_eq!(setting(&folder(&running), file), wanted, "{mechanism}");
        ended(running);
    }
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn a_quota_grows_and_the_kernel_keeps_it() {
    let place = SideFolder::new();
    let flags = "--mechanism quota --period 500ms";
    let running = place.running(flags, &format!("echo $$; {WORK}"));
    let folder = folder(&running);
    wait("more than the least", || {
        let quota = setting(&folder, "cpu.max");
        quota
            .split(' ')
            .next()
            .is_some_and(|us| us.parse::<u32>().is_ok_and(|us| us > 1000))
    });
    wait("the quota to be felt", || {
        !setting(&folder, "cpu.stat").contains("nr_throttled 0")
    });
    ended(running);
}

/// Touches four times what it may have, in one piece.
const GREEDY: &str = "exec dd if=/dev/zero of=/dev/null bs=64M count=1";
const MIB_16: u64 = 16 << 20;

fn memory_event(folder: &Path, name: &str) -> u64 {
    let text = setting(folder, "memory.events");
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    let (_, count) = lines.find(|(key, _)| *key == name).unwrap();
    count.parse().unwrap()
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn a_command_over_its_memory_is_slowed_down_and_lives() {
    let place = SideFolder::new();
    let script = format!("echo $$; {GREEDY}");
    let running = place.running("--memory 16M", &script);
    let group = folder(&running);
    assert_eq!(setting(&group, "memory.high"), MIB_16.to_string());
    assert_eq!(setting(&group, "memory.max"), "max");
    wait("the limit to be felt", || memory_event(&group, "high") > 0);
    let current = || setting(&group, "memory.current").parse::<u64>().unwrap();
    wait("all that it gets at once", || current() > MIB_16);
    // Without swap nothing can be taken from it, so it is made to wait for more.
    let then = memory_event(&group, "high");
    wait("it to ask for more", || memory_event(&group, "high") > then);
    assert!(current() < MIB_16 * 2, "{}", current());
    assert_eq!(memory_event(&group, "oom_kill"), 0);
    assert!(lives(&running.line));
    running.signal("-TERM");
    let ended = running.end();
    ended.says(143, &["slowed down at its 16.0 MiB of memory"]);
    assert!(!group.exists());
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn a_command_over_its_memory_max_is_killed_with_a_message() {
    let place = SideFolder::new();
    let script = format!("echo $$; {GREEDY}");
    let running = place.running("--memory-max 16M", &script);
    let killed = "the kernel killed 1 process of it for want of memory";
    running.end().says(137, &[killed, "16.0 MiB"]);
    let flags = "--memory 8M --memory-max 16M";
    let running = place.running(flags, "echo $$; exec sleep 1000");
    let group = folder(&running);
    assert_eq!(setting(&group, "memory.max"), MIB_16.to_string());
    assert_eq!(setting(&group, "memory.high"), (MIB_16 / 2).to_string());
    ended(running);
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn a_guard_over_its_limit_freezes_the_command_and_says_so() {
    let place = SideFolder::new();
    let server = Server::start(server::ZERO);
    let running = guarded(&place, &server, "--mechanism idle --period 200ms");
    let folder = folder(&running);
    place.wait_for_log("log", "\"state\":\"fine\"");
    server.answers(server::SEVEN);
    wait("a freeze", || is_frozen(&folder));
    running.wait_until_it_says("has stood still for");
    assert!(running.stderr().contains("up is 7, over its limit of 1"));
    let stood = used_us(&folder);
    server.answers(server::ZERO);
    running.wait_until_it_says("the command goes on after standing still for");
    wait("it to work again", || used_us(&folder) > stood);
    ended(running);
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn a_frozen_group_of_a_killed_run_stays_until_it_is_repaired() {
    let place = SideFolder::new();
    let server = Server::start(server::SEVEN);
    let mut running = guarded(&place, &server, "--mechanism weight --period 500ms");
    let (pid, folder) = (running.line.clone(), folder(&running));
    wait("a freeze", || is_frozen(&folder));
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    // A frozen group outlives its owner, and nothing in it can end by itself.
    place.side("-- true").says(0, &["frozen", "repair --thaw"]);
    assert!(lives(&pid) && is_frozen(&folder));
    let repaired = place.folder.run("repair --kill");
    assert!(
        repaired.text().contains("killed what ran in it"),
        "{repaired:?}"
    );
    assert!(!lives(&pid) && !folder.exists());
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn orphans_are_in_the_group_and_end_with_it() {
    let place = SideFolder::new();
    let script = "echo $$; setsid sh -c 'trap \"\" TERM; sleep 1000 & echo $! >away; wait' & \
                  exec sleep 1000";
    let running = place.running("", script);
    let file = place.folder.path("away");
    wait("the orphan", || {
        fs::read_to_string(&file).is_ok_and(|t| t.ends_with('\n'))
    });
    let away = fs::read_to_string(&file).unwrap();
    assert_eq!(groups(away.trim()), [folder(&running)]);
    ended(running);
    assert!(!lives(away.trim()));
}

/// A service in a cgroup of its own, which does nothing until it is told to.
struct Service(PathBuf, Vec<Child>);

impl Service {
    fn new(name: &str) -> Service {
        let folder = Path::new("/sys/fs/cgroup").join(name);
        fs::create_dir(&folder).unwrap();
        Service(folder, Vec::new())
    }

    /// It wants more CPUs than there are.
    fn work(&mut self) {
        let script = format!("echo $$ >{}/cgroup.procs; {WORK}", self.0.display());
        for _ in 0..3 {
            let mut command = Command::new("sh");
            let command = command.args(["-c", &script]).stdin(Stdio::null());
            self.1.push(command.spawn().unwrap());
        }
    }

    fn end(&mut self) {
        for mut child in self.1.drain(..) {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.end();
        wait("the group to be free", || fs::remove_dir(&self.0).is_ok());
    }
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn the_pressure_of_a_cgroup_stops_it_and_its_end_lets_it_go_on() {
    let place = SideFolder::new();
    let mut service = Service::new("busy-service");
    let guard = "psi<30% cgroup busy-service";
    let flags = ["--guard", guard, "--period", "500ms", "--log", "log"];
    let running = place.running(flags, "echo $$; while :; do sleep 0.1; done");
    let folder = folder(&running);
    service.work();
    place.wait_for_log("log", "\"state\":\"over\"");
    wait("a freeze", || is_frozen(&folder));
    service.end();
    wait("it to go on", || {
        setting(&folder, "cgroup.events").contains("frozen 0")
    });
    drop(service);
    // The group that was watched is gone now.
    place.wait_for_log("log", "no cgroup 'busy-service'");
    running.wait_until_it_says("so the command stands still until it can be");
    ended(running);
}

const SECOND: &str = "/sys/devices/system/cpu/cpu1/online";

/// The second CPU is on again in the end.
struct Off;

impl Off {
    fn now() -> Off {
        fs::write(SECOND, "0").unwrap();
        Off
    }
}

impl Drop for Off {
    fn drop(&mut self) {
        fs::write(SECOND, "1").unwrap();
    }
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn a_cpu_that_goes_off_and_comes_back_is_followed() {
    let place = SideFolder::new();
    for (mechanism, log) in [("cpuset", "of-cpuset"), ("quota", "of-quota")] {
        let flags = ["--mechanism", mechanism, "--period", "200ms", "--log", log];
        let running = place.running(flags, &format!("echo $$; {WORK}"));
        let folder = folder(&running);
        place.wait_for_log(log, "\"cpus\":2");
        let off = Off::now();
        place.wait_for_log(log, "\"cpus\":1");
        let path = place.folder.path(log);
        let seen = || fs::read_to_string(&path).unwrap().lines().count();
        let then = seen();
        // Decisions go on, and what is set is what one CPU allows.
        wait("decisions with one CPU", || seen() > then + 5);
        if mechanism == "cpuset" {
            wait("no CPU that is off", || {
                is_frozen(&folder) || setting(&folder, "cpuset.cpus") == "0"
            });
        }
        drop(off);
        let then = seen();
        wait("both CPUs again", || {
            let text = fs::read_to_string(&path).unwrap();
            text.lines().skip(then).any(|l| l.contains("\"cpus\":2"))
        });
        let stderr = running.stderr();
        assert!(!stderr.contains("cannot be"), "{stderr}");
        ended(running);
    }
}

#[test]
#[ignore = "needs the guest: cargo xtask guest"]
fn a_cpu_that_is_off_from_the_start_is_not_given() {
    let place = SideFolder::new();
    let off = Off::now();
    let flags = "--mechanism quota";
    let running = place.running(flags, "echo $$; exec sleep 1000");
    // 5 % of one CPU is 1 ms in 20.
    assert_eq!(setting(&folder(&running), "cpu.max"), "1000 20000");
    ended(running);
    // Of one CPU no whole one can be given beside a headroom.
    place
        .side("--mechanism cpuset -- true")
        .says(2, &["choose a smaller headroom"]);
    drop(off);
}
