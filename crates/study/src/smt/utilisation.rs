//! Utilisation that is linear in work.

/// How busy the cores of a machine with two threads each were.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BusyTime {
    /// Share of time in which only one thread of a core was busy.
    one_thread_share: f64,
    /// Share of time in which both were.
    two_threads_share: f64,
}

impl BusyTime {
    /// From what IBM z reports: `u_core`, the share of time in which at least
    /// one thread of a core was busy (0 to 1), and `u_thread`, the busy time
    /// of both threads of a core together (0 to 2). `None` for what cannot be:
    /// `u_core <= u_thread <= 2 u_core` is not held.
    pub(crate) fn of_core_and_threads(u_core: f64, u_thread: f64) -> Option<BusyTime> {
        // A sampled u_core may be off by a rounding.
        const SLACK: f64 = 1e-9;
        let possible = (0.0..=1.0 + SLACK).contains(&u_core)
            && u_thread >= u_core - SLACK
            && u_thread <= 2.0 * u_core + SLACK;
        possible.then(|| BusyTime {
            one_thread_share: (2.0 * u_core - u_thread).max(0.0),
            two_threads_share: (u_thread - u_core).max(0.0),
        })
    }

    /// If threads are spread over idle cores before they share one, as Linux
    /// tries to do: from CPU use as Linux shows it, 0 to 1.
    pub(crate) fn spread(cpu_share: f64) -> Option<BusyTime> {
        BusyTime::of_core_and_threads((2.0 * cpu_share).min(1.0), 2.0 * cpu_share)
    }

    /// If both threads of a core are always busy together: from CPU use as
    /// Linux shows it, 0 to 1.
    pub(crate) fn packed(cpu_share: f64) -> Option<BusyTime> {
        BusyTime::of_core_and_threads(cpu_share, 2.0 * cpu_share)
    }

    /// The corrected utilisation u, 0 to 1: the share of the work that the
    /// machine does with all threads busy at the same clock.
    fn corrected(self, speedup: f64) -> f64 {
        self.one_thread_share / speedup + self.two_threads_share
    }
}

/// The clock while the work was done, and with all threads busy: both APERF
/// over MPERF, or both in Hz.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Clock {
    /// While the work was done.
    pub(crate) now: f64,
    /// With all threads busy.
    pub(crate) all_busy: f64,
}

impl Clock {
    fn factor(self) -> Option<f64> {
        let factor = self.now / self.all_busy;
        (factor.is_finite() && factor > 0.0).then_some(factor)
    }
}

/// The share of the work that the machine does with all threads busy: linear
/// in work, where CPU use is not.
///
/// `speedup` is that at equal clock where `clock` is given, else as it comes.
/// `None` for a speed-up outside 0.5 to 2 (two threads never do more than
/// twice the work of one, and if they do less than half, something else was
/// measured) and for clocks that are none.
pub(crate) fn work_share(busy: BusyTime, speedup: f64, clock: Option<Clock>) -> Option<f64> {
    let known = (0.5..=2.0).contains(&speedup);
    let factor = clock.map_or(Some(1.0), Clock::factor)?;
    known.then(|| busy.corrected(speedup) * factor)
}

/// Lowest and highest share of the work that can hide behind a CPU use of 0 to
/// 1, where the kernel does not tell how busy cores were: threads always
/// packed onto the same cores, and always spread.
pub(crate) fn work_share_range(
    cpu_share: f64,
    speedup: f64,
    clock: Option<Clock>,
) -> Option<(f64, f64)> {
    let packed = work_share(BusyTime::packed(cpu_share)?, speedup, clock)?;
    let spread = work_share(BusyTime::spread(cpu_share)?, speedup, clock)?;
    Some((packed.min(spread), packed.max(spread)))
}
