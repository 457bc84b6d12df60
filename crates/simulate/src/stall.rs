//! The time base of a service with periodic stalls.

use crate::random::SeededRng;

/// A clock that stops during stalls.
#[derive(Debug)]
pub(crate) struct StallClock {
    every: f64,
    length: f64,
    /// Position in the cycle at the beginning of the trial; a cycle starts with
    /// a stall.
    phase: f64,
    /// Working time of the first cycle before the trial.
    shown: f64,
}

impl StallClock {
    pub(crate) fn new(every: f64, length: f64, rng: &mut SeededRng) -> StallClock {
        let phase = rng.unit() * every;
        StallClock {
            every,
            length,
            phase,
            shown: (phase - length).max(0.0),
        }
    }

    /// Working time at time `at`.
    pub(crate) fn working(&self, at: f64) -> f64 {
        let at = at + self.phase;
        let cycles = (at / self.every).floor();
        let worked = (at - cycles * self.every - self.length).max(0.0);
        cycles * (self.every - self.length) + worked - self.shown
    }

    /// The time at which the working time is `working`; infinity if the service
    /// always stalls.
    pub(crate) fn real(&self, working: f64) -> f64 {
        let working = working + self.shown;
        let per_cycle = self.every - self.length;
        if per_cycle <= 0.0 {
            return f64::INFINITY;
        }
        let cycles = (working / per_cycle).floor();
        let worked = working - cycles * per_cycle;
        cycles * self.every + self.length + worked - self.phase
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_does_not_progress_during_a_stall() {
        let (every, length) = (5.0, 0.2);
        for seed in 0..20 {
            let clock = StallClock::new(every, length, &mut SeededRng::seeded(seed));
            assert!(clock.working(0.0).abs() < 1e-9);
            for n in 1..2000 {
                let shown = f64::from(n) * 0.0137;
                let at = clock.real(shown);
                assert!((clock.working(at) - shown).abs() < 1e-9);
                let in_cycle = (at + clock.phase) % every;
                assert!(in_cycle >= length - 1e-9, "{at} is within a stall");
            }
        }
    }

    #[test]
    fn arrival_during_a_stall_is_served_after_it() {
        let clock = StallClock::new(5.0, 0.2, &mut SeededRng::seeded(1));
        let begins = 5.0 - clock.phase;
        let served = clock.real(clock.working(begins + 0.05) + 0.01);
        assert!((served - (begins + 0.21)).abs() < 1e-9, "{served}");
    }

    #[test]
    fn permanent_stall_never_completes() {
        let clock = StallClock::new(1.0, 1.0, &mut SeededRng::seeded(1));
        assert_eq!(clock.real(0.1), f64::INFINITY);
    }
}
