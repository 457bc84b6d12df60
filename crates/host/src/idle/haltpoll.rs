//! How long a guest polls before it halts: the parameters of the governor haltpoll
//! (Documentation/virt/guest-halt-polling.rst).

use crate::error::{HostError, number};
use crate::root::Root;
use std::time::Duration;

/// The parameters that decide whether a guest polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HaltPoll {
    /// The longest that a CPU polls before it halts; zero: it halts at once.
    pub most: Duration,
    /// The first polling time after a short halt; `None` if not shown.
    pub start: Option<Duration>,
    /// Whether a long halt shortens it; `None` if not shown.
    pub may_shrink: Option<bool>,
}

/// The file with the longest polling time, in nanoseconds. All CPUs share it.
pub const HALT_POLL_NS: &str = "/sys/module/haltpoll/parameters/guest_halt_poll_ns";

/// `None` if the governor is not in this kernel. It may be there and not be in use.
///
/// # Errors
/// If a file cannot be read, or holds something else.
pub fn halt_poll(root: &Root) -> Result<Option<HaltPoll>, HostError> {
    let ns = |file: &str| {
        root.parse_optional(file, |text| {
            number(text, "a number of nanoseconds").map(Duration::from_nanos)
        })
    };
    let Some(most) = ns(HALT_POLL_NS)? else {
        return Ok(None);
    };
    let may_shrink = root.line(format!("{PARAMETERS}/guest_halt_poll_allow_shrink"));
    Ok(Some(HaltPoll {
        most,
        start: ns(&format!("{PARAMETERS}/guest_halt_poll_grow_start"))?,
        may_shrink: may_shrink.map(|flag| flag == "Y"),
    }))
}

const PARAMETERS: &str = "/sys/module/haltpoll/parameters";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    #[test]
    fn parameters_of_haltpoll_are_read_if_there() {
        assert_eq!(halt_poll(FakeTree::new().root()).unwrap(), None);
        let tree = FakeTree::new().file(HALT_POLL_NS, "200000\n");
        let most = Duration::from_micros(200);
        let bare = HaltPoll {
            most,
            start: None,
            may_shrink: None,
        };
        assert_eq!(halt_poll(tree.root()).unwrap(), Some(bare));
        tree.write(
            &format!("{PARAMETERS}/guest_halt_poll_grow_start"),
            "50000\n",
        );
        tree.write(&format!("{PARAMETERS}/guest_halt_poll_allow_shrink"), "Y\n");
        let all = HaltPoll {
            most,
            start: Some(Duration::from_micros(50)),
            may_shrink: Some(true),
        };
        assert_eq!(halt_poll(tree.root()).unwrap(), Some(all));
    }
}
