//! How far CPU use is from telling the truth about work.

use crate::levels::Level;
use plimsoll_model::{Headroom, NoHeadroom, RatedRate};

/// Half of the CPU use there is, in percent.
const HALF: f64 = 50.0;

/// How far from [`HALF`] the middle level may be, in points.
const MIDDLE_REACH: f64 = 15.0;

/// H = Xmax / (X50 / 0.5): work at full load against what CPU use at about
/// half promised. 1 when work is proportional to CPU use.
///
/// As in the Graviton headroom study, X50 / 0.5 is taken from the measured
/// level nearest to 50 % CPU use, as X / u. Where the trials do not tell, the
/// first reason in the order of [`NoHeadroom`] is given.
pub fn headroom(levels: &[Level], rated: Option<&RatedRate>) -> Headroom {
    known(levels, rated).unwrap_or_else(|why| Headroom::Unknown { why })
}

fn known(levels: &[Level], rated: Option<&RatedRate>) -> Result<Headroom, NoHeadroom> {
    if levels.is_empty() {
        return Err(NoHeadroom::NoLevel);
    }
    if levels.iter().all(|level| level.row.trials == 0) {
        return Err(NoHeadroom::NoValidTrial);
    }
    let rows = levels.iter().map(|level| &level.row);
    let points: Vec<(f64, f64)> = rows
        .filter_map(|row| row.achieved_rps.zip(row.cpu_pct))
        .collect();
    if points.is_empty() {
        return Err(NoHeadroom::CpuUnreadable);
    }
    // Asked before how far CPU use went: a load that never was enough leaves
    // CPU use low, and says nothing about what else could be at its end.
    if !rated.is_some_and(|rated| rated.limited_by_service) {
        return Err(NoHeadroom::NotSaturated);
    }
    if points.iter().all(|(_, cpu_pct)| *cpu_pct <= HALF) {
        return Err(NoHeadroom::CpuNeverBeyondHalf);
    }
    // What carries nothing promises nothing to hold the highest rate against.
    let carrying = || {
        let carries = |(rate, _): &(f64, f64)| *rate > 0.0 && rate.is_finite();
        points.iter().copied().filter(carries)
    };
    let (rate, cpu_pct) = carrying()
        .filter(|(_, cpu_pct)| (cpu_pct - HALF).abs() <= MIDDLE_REACH)
        .min_by(|a, b| (a.1 - HALF).abs().total_cmp(&(b.1 - HALF).abs()))
        .ok_or(NoHeadroom::NoLevelNearHalf)?;
    let promised_rps = rate / (cpu_pct / 100.0);
    let most_rps = carrying().map(|(rate, _)| rate).fold(rate, f64::max);
    Ok(Headroom::Known {
        index: most_rps / promised_rps,
        promised_rps,
        most_rps,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::levels::levels;
    use crate::testing::{plan, trial_at};
    use plimsoll_model::{Trial, Verdict};

    /// Load in percent, answers per second, and CPU use as a share.
    type Point = (f64, u64, f64);

    fn trials(given: &[Point]) -> Vec<Trial> {
        given
            .iter()
            .map(|&(load, rate, cpu)| trial_at(load, rate, cpu, 1000.0))
            .collect()
    }

    fn concluded(trials: &[Trial], limited_by_service: bool) -> Headroom {
        let rated = RatedRate {
            rate_rps: 1000.0,
            limited_by_service,
        };
        headroom(&levels(&plan(), trials, None), Some(&rated))
    }

    fn why_not(trials: &[Trial], limited_by_service: bool) -> NoHeadroom {
        match concluded(trials, limited_by_service) {
            Headroom::Unknown { why } => why,
            known @ Headroom::Known { .. } => panic!("{known:?}"),
        }
    }

    #[test]
    fn the_published_tables_give_the_published_index() {
        // Rows nearest to 50 % and the last rows of the Netty tables.
        let graviton3 = [(40.0, 296_473, 0.46), (100.0, 736_860, 0.99)];
        let intel_smt = [(58.0, 345_138, 0.50), (100.0, 591_411, 0.94)];
        for (given, expected, within, most) in [
            (graviton3, 1.14, 0.005, 736_860.0),
            (intel_smt, 0.857, 0.0005, 591_411.0),
        ] {
            let found = concluded(&trials(&given), true);
            let Headroom::Known {
                index,
                promised_rps,
                most_rps,
            } = found
            else {
                panic!("{found:?}");
            };
            assert!((index - expected).abs() < within, "{index}");
            assert!((most_rps - most).abs() < 1e-6, "{most_rps}");
            assert!((most_rps / promised_rps - index).abs() < 1e-12);
        }
    }

    #[test]
    fn why_there_is_no_index_is_told() {
        use NoHeadroom::{CpuNeverBeyondHalf, NoLevelNearHalf, NotSaturated};
        let cases: [(&[Point], bool, NoHeadroom); 5] = [
            (&[(50.0, 500, 0.5), (100.0, 1000, 0.9)], false, NotSaturated),
            (
                &[(50.0, 500, 0.4), (100.0, 1000, 0.47)],
                true,
                CpuNeverBeyondHalf,
            ),
            (
                &[(10.0, 100, 0.1), (100.0, 1000, 0.9)],
                true,
                NoLevelNearHalf,
            ),
            (
                &[(10.0, 100, 0.34), (100.0, 1000, 0.66)],
                true,
                NoLevelNearHalf,
            ),
            // All its requests failed.
            (&[(50.0, 0, 0.5), (100.0, 1000, 0.9)], true, NoLevelNearHalf),
        ];
        for (given, limited_by_service, why) in cases {
            assert_eq!(
                why_not(&trials(given), limited_by_service),
                why,
                "{given:?}"
            );
        }
        assert_eq!(why_not(&[], true), NoHeadroom::NoLevel);
    }

    #[test]
    fn a_load_that_was_never_enough_is_not_taken_for_a_limit_of_the_service() {
        let light = trials(&[(50.0, 500, 0.05), (100.0, 1000, 0.1)]);
        assert_eq!(why_not(&light, false), NoHeadroom::NotSaturated);
        let unrated = headroom(&levels(&plan(), &light, None), None);
        let why = NoHeadroom::NotSaturated;
        assert_eq!(unrated, Headroom::Unknown { why });
    }

    #[test]
    fn levels_that_tell_nothing_are_told_apart_from_cpu_use_that_is_not_told() {
        let mut blind = trials(&[(50.0, 500, 0.5), (100.0, 1000, 0.9)]);
        for trial in &mut blind {
            trial.machine.service_cpu = None;
        }
        assert_eq!(why_not(&blind, true), NoHeadroom::CpuUnreadable);
        for trial in &mut blind {
            trial.verdict = Verdict::Invalid(vec![]);
        }
        assert_eq!(why_not(&blind, true), NoHeadroom::NoValidTrial);
    }

    #[test]
    fn one_level_without_cpu_use_does_not_hide_the_others() {
        let mut some = trials(&[(50.0, 500, 0.5), (80.0, 2000, 0.8), (100.0, 1000, 0.9)]);
        some[1].machine.service_cpu = None;
        let expected = Headroom::Known {
            index: 1.0,
            promised_rps: 1000.0,
            most_rps: 1000.0,
        };
        assert_eq!(concluded(&some, true), expected);
    }
}
