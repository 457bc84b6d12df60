//! Timer slack: how much later than asked a timer of a task may fire (prctl(2),
//! `PR_SET_TIMERSLACK`).

use crate::error::{HostError, number};
use crate::process::Pid;
use crate::root::Root;
use rustix::io::Errno;
use std::time::Duration;

/// The timer slack of a process' first thread, 50 us by default; `None` if the process
/// has ended, or this user may not see it (`CAP_SYS_NICE`).
///
/// # Errors
/// If the file holds something else.
pub fn timer_slack(root: &Root, pid: Pid) -> Result<Option<Duration>, HostError> {
    let read = root.parse_optional(format!("/proc/{pid}/timerslack_ns"), |text| {
        number(text, "a number of nanoseconds").map(Duration::from_nanos)
    });
    match read {
        Err(HostError::Unreadable { source, .. })
            if matches!(
                Errno::from_io_error(&source),
                Some(Errno::PERM | Errno::ACCESS)
            ) =>
        {
            Ok(None)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    #[test]
    fn slack_of_a_task_is_in_nanoseconds() {
        let tree = FakeTree::new().file("proc/42/timerslack_ns", "50000\n");
        let slack = timer_slack(tree.root(), 42).unwrap();
        assert_eq!(slack, Some(Duration::from_micros(50)));
        assert_eq!(timer_slack(tree.root(), 43).unwrap(), None);
    }
}
