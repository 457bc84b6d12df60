//! How far CPU use is from telling the truth about work.

use crate::levels::Level;
use plimsoll_model::RatedRate;

/// How far from 50 % CPU use the middle level may be, in points.
const MIDDLE_REACH: f64 = 15.0;

/// H = Xmax / (X50 / 0.5): work at full load against what CPU use at about
/// half promised. 1 when work is proportional to CPU use.
///
/// As in the Graviton headroom study, X50 / 0.5 is taken from the measured
/// level nearest to 50 % CPU use, as X / u. `None` when no level is within 15
/// points of it, when CPU use never got beyond 50 % (something else than these
/// CPUs is at its end), or when the service was not driven to its end, so that
/// Xmax is not the machine's.
pub fn index(levels: &[Level], rated: Option<&RatedRate>) -> Option<f64> {
    if !rated?.limited_by_service {
        return None;
    }
    let rows = levels.iter().map(|l| &l.row);
    let points: Vec<(f64, f64)> = rows
        .filter_map(|row| row.achieved_rps.zip(row.cpu_pct))
        .collect();
    points.iter().find(|(_, cpu)| *cpu > 50.0)?;
    let (rate, cpu_pct) = points
        .iter()
        .copied()
        .filter(|(_, cpu)| (cpu - 50.0).abs() <= MIDDLE_REACH)
        .min_by(|a, b| (a.1 - 50.0).abs().total_cmp(&(b.1 - 50.0).abs()))?;
    let most = points.iter().map(|(rate, _)| *rate).fold(0.0, f64::max);
    Some(most / (rate / (cpu_pct / 100.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::levels::levels;
    use crate::testing::{plan, trial_at};

    fn of(given: &[(f64, u64, f64)], limited_by_service: bool) -> Option<f64> {
        let trials: Vec<_> = given
            .iter()
            .map(|&(load, rate, cpu)| trial_at(load, rate, cpu, 1000.0))
            .collect();
        let rated = RatedRate {
            rate_rps: 1000.0,
            limited_by_service,
        };
        index(&levels(&plan(), &trials, None), Some(&rated))
    }

    #[test]
    fn the_published_tables_give_the_published_index() {
        // Rows nearest to 50 % and the last rows of the Netty tables.
        let graviton3 = of(&[(40.0, 296_473, 0.46), (100.0, 736_860, 0.99)], true);
        assert!((graviton3.unwrap() - 1.14).abs() < 0.005, "{graviton3:?}");
        let intel_smt = of(&[(58.0, 345_138, 0.50), (100.0, 591_411, 0.94)], true);
        assert!((intel_smt.unwrap() - 0.857).abs() < 0.0005, "{intel_smt:?}");
    }

    #[test]
    fn no_index_from_a_middle_that_is_not_there_or_a_top_that_is_not_the_services() {
        assert_eq!(of(&[(10.0, 100, 0.1), (100.0, 1000, 0.9)], true), None);
        assert_eq!(of(&[(50.0, 500, 0.5), (100.0, 1000, 0.9)], false), None);
        assert_eq!(of(&[(50.0, 500, 0.4), (100.0, 1000, 0.47)], true), None);
    }
}
