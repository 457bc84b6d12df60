//! What the guest's kernel says of its CPU use: the log of the appliance's program. Pure.

/// A view from inside.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct GuestView {
    /// The driver of cpuidle; "none" where there is none.
    pub(super) driver: String,
    /// Idle time in breaks, in percent of all CPUs.
    pub(super) idle_pct: Option<f64>,
    /// Idle time in bursts, in percent of all CPUs.
    pub(super) idle_in_bursts_pct: Option<f64>,
    /// Seconds of breaks.
    pub(super) seconds: usize,
}

struct Second {
    all: u64,
    idle: u64,
    segments: u64,
}

/// Reads the log: `driver NAME`, `governor NAME`, then `MS ALL IDLE SEGMENTS` per second.
pub(super) fn read(log: &str) -> GuestView {
    let driver = log.lines().find_map(|line| line.strip_prefix("driver "));
    let seconds: Vec<Second> = log.lines().filter_map(second).collect();
    let between: Vec<Second> = seconds.windows(2).filter_map(difference).collect();
    // A second beside one with requests may hold some of a burst.
    let is_quiet = |at: usize| between.get(at).is_none_or(|second| second.segments == 0);
    let is_break = |at: usize| is_quiet(at.wrapping_sub(1)) && is_quiet(at) && is_quiet(at + 1);
    let is_burst = |at: usize| {
        let busy = |at: usize| between.get(at).is_some_and(|second| second.segments > 0);
        busy(at.wrapping_sub(1)) && busy(at) && busy(at + 1)
    };
    let of = |wanted: &dyn Fn(usize) -> bool| -> Vec<&Second> {
        let numbered = between.iter().enumerate();
        numbered
            .filter(|(at, _)| wanted(*at))
            .map(|(_, s)| s)
            .collect()
    };
    let breaks = of(&is_break);
    GuestView {
        driver: driver.unwrap_or("none").to_owned(),
        idle_pct: idle_pct(&breaks),
        idle_in_bursts_pct: idle_pct(&of(&is_burst)),
        seconds: breaks.len(),
    }
}

fn second(line: &str) -> Option<Second> {
    let mut numbers = line.split(' ').map(|word| word.parse().ok());
    let mut next = || numbers.next().flatten();
    let _at_ms = next()?;
    Some(Second {
        all: next()?,
        idle: next()?,
        segments: next()?,
    })
}

fn difference(pair: &[Second]) -> Option<Second> {
    let [before, after] = pair else { return None };
    Some(Second {
        all: after.all.checked_sub(before.all)?,
        // The kernel's count of idle time may go back by a tick.
        idle: after.idle.saturating_sub(before.idle),
        segments: after.segments.checked_sub(before.segments)?,
    })
}

fn idle_pct(seconds: &[&Second]) -> Option<f64> {
    let all: u64 = seconds.iter().map(|second| second.all).sum();
    let idle: u64 = seconds.iter().map(|second| second.idle).sum();
    (all > 0).then(|| (100.0 * idle as f64 / all as f64).min(100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breaks_are_the_seconds_without_a_segment_and_none_beside_them() {
        let log = "driver haltpoll\ngovernor menu\n\
                   0 100 50 0\n1000 300 240 0\n2000 500 440 0\n3000 700 500 9\n4000 900 600 20\n\
                   5000 1100 700 30\n6000 1300 880 30\n7000 1500 1078 30\n";
        let view = read(log);
        assert_eq!(view.driver, "haltpoll");
        // The first and the last second: those next to the burst are left out.
        assert_eq!(view.seconds, 2);
        assert_eq!(view.idle_pct, Some(97.0));
        assert_eq!(view.idle_in_bursts_pct, Some(50.0));
    }

    #[test]
    fn an_empty_log_says_nothing() {
        let view = read("driver none\ngovernor menu\n5 100 50 0\n");
        assert_eq!((view.idle_pct, view.seconds), (None, 0));
    }
}
