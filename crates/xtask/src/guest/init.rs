//! The guest's init process: a script for busybox.

use crate::guest::console::MARK;
use crate::guest::suites::Built;
use std::time::Duration;

/// Mount points of the script, and folders of its programs.
pub(crate) const FOLDERS: [&str; 6] = ["/bin", "/dev", "/proc", "/run", "/sys", "/tmp"];

/// How much longer than its time limit an unattended guest lives.
const GRACE: Duration = Duration::from_secs(10);

/// The script that runs the tests among `built`; its status is that of the last failed test
/// program, or 0.
pub(crate) fn script(built: &[Built], filter: &[String], time_limit: Duration) -> String {
    let filter = filter.iter().map(|word| format!(" {}", quoted(word)));
    let filter: String = filter.collect();
    let run = |test: &Built| {
        let folder = quoted(&test.folder.to_string_lossy());
        let program = quoted(&test.program.to_string_lossy());
        // Without --color=never tests take the console for a terminal.
        format!(
            "echo; echo {program}\n\
             cd {folder} && {program} --test-threads=1 --include-ignored --color=never{filter} \
             || status=$?\n"
        )
    };
    let tests = built.iter().filter(|built| built.is_test);
    let runs: String = tests.map(run).collect();
    of(&runs, time_limit)
}

/// The script that runs `commands`. It reports on the console when they begin, and at the end
/// `$status`, which they may set.
pub(crate) fn of(commands: &str, time_limit: Duration) -> String {
    let lifetime = (time_limit + GRACE).as_secs();
    // /run and /tmp are already in memory; a mount would hide a checkout below
    // them. A command that fails before the tests ends the script, which causes
    // a kernel panic after the command's own message. The guest does not power
    // off after its status, because the last characters would be lost; the
    // reader turns it off.
    format!(
        "#!/bin/busybox sh\n\
         set -e\n\
         export PATH=/bin HOME=/tmp\n\
         /bin/busybox --install -s /bin\n\
         mount -t proc proc /proc\n\
         mount -t sysfs sysfs /sys\n\
         mount -t devtmpfs devtmpfs /dev\n\
         mkdir /dev/shm /dev/pts\n\
         mount -t tmpfs tmpfs /dev/shm\n\
         mount -t devpts devpts /dev/pts\n\
         chmod 1777 /tmp\n\
         mount -t cgroup2 -o nsdelegate,memory_recursiveprot cgroup2 /sys/fs/cgroup\n\
         echo '+cpu +cpuset +io +memory +pids' >/sys/fs/cgroup/cgroup.subtree_control\n\
         ip link set lo up\n\
         hostname guest\n\
         (sleep {lifetime}; reboot -f) &\n\
         dmesg -n 4\n\
         status=0\n\
         echo '{MARK} begin'\n\
         {commands}\
         echo; echo \"{MARK} exit $status\"\n\
         wait\n"
    )
}

/// Quotes a word for the shell.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::console::{ScriptMessage, script_message};

    fn sample(filter: &[&str]) -> String {
        let built = [
            Built::of("/t/deps/a-1", "/s/a", true),
            Built::of("/t/deps/b-2", "/s/b", true),
            Built::of("/t/b", "/s/b", false),
        ];
        let filter: Vec<String> = filter.iter().map(|s| (*s).to_owned()).collect();
        script(&built, &filter, Duration::from_secs(20))
    }

    #[test]
    fn each_program_is_started_in_its_folder_with_the_filter() {
        let script = sample(&["cgroup", "it's"]);
        for program in ["cd '/s/a' && '/t/deps/a-1'", "cd '/s/b' && '/t/deps/b-2'"] {
            let line = script.lines().find(|l| l.starts_with(program)).unwrap();
            assert!(
                line.contains("--test-threads=1 --include-ignored"),
                "{line}"
            );
            assert!(
                line.ends_with(r" 'cgroup' 'it'\''s' || status=$?"),
                "{line}"
            );
        }
        assert!(!script.contains("'/t/b'"), "{script}");
    }

    #[test]
    fn nothing_is_mounted_over_a_checkout() {
        let script = sample(&[]);
        let mounts = script.lines().filter(|line| line.starts_with("mount "));
        let folders = mounts.filter_map(|line| line.split(' ').next_back());
        let folders: Vec<&str> = folders.collect();
        assert!(folders.contains(&"/proc"), "{folders:?}");
        for folder in folders {
            let mut own = ["/proc", "/sys", "/dev"].iter();
            assert!(own.any(|kernels| folder.starts_with(kernels)), "{folder}");
        }
    }

    #[test]
    fn unattended_guest_ends_after_its_time_limit() {
        assert!(sample(&[]).contains("\n(sleep 30; reboot -f) &\n"));
    }

    #[test]
    fn script_is_valid_shell_and_its_messages_parse() {
        let file = std::env::temp_dir().join(format!("plimsoll-init-{}", std::process::id()));
        std::fs::write(&file, sample(&["it's"])).unwrap();
        let mut shell = std::process::Command::new("sh");
        let ended = shell.arg("-n").arg(&file).output();
        std::fs::remove_file(&file).unwrap();
        let ended = ended.unwrap();
        assert!(ended.status.success(), "{ended:?}");

        let message = |text: &str| script_message(&format!("{MARK} {text}"));
        assert_eq!(message("begin"), Some(ScriptMessage::Begin));
        assert_eq!(message("exit 101"), Some(ScriptMessage::Exit(101)));
        assert!(sample(&[]).contains(&format!("echo '{MARK} begin'")));
        assert!(sample(&[]).contains(&format!("echo \"{MARK} exit $status\"")));
    }
}
