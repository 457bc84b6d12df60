//! From which slot on latency is back, decided from counts alone.

/// Of each slot after a step, whether a pass was above the band; `None` where no
/// request came.
pub(super) type Above = Vec<Option<bool>>;

/// Below, not even all passes above the band are more than chance (1/2^5 is
/// more than 2.5 %).
pub(super) const FEWEST_PASSES: usize = 6;

/// A slot that is above in half of the passes is called late no more often.
pub(super) const CHANCE: f64 = 0.025;

/// Late slots that stand alone, of all that follow: what chance may make of
/// them.
const EXPECTED: f64 = 0.05;

/// This part of the slots must be left after the last late one.
const LEFT: f64 = 0.1;

/// When latency is back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Back {
    /// After so many slots.
    After(usize),
    /// Not in those that there are.
    Never,
    /// Inconclusive.
    Unknown,
}

/// When latency is back, of these passes.
pub(super) fn back(passes: &[&Above]) -> Back {
    let slots = passes.iter().map(|slots| slots.len()).max().unwrap_or(0);
    let late: Vec<Option<bool>> = (0..slots).map(|at| is_late(passes, at)).collect();
    let known = late.iter().flatten().count();
    if known * 2 <= slots {
        return Back::Unknown;
    }
    let late: Vec<bool> = late.iter().map(|late| *late == Some(true)).collect();
    let end = last(&late);
    let left = (slots as f64 * LEFT).max(1.0);
    match ((slots - end) as f64) < left {
        true => Back::Never,
        false => Back::After(end),
    }
}

/// `None` where too few passes have a request in this slot.
pub(super) fn is_late(passes: &[&Above], at: usize) -> Option<bool> {
    let known = || passes.iter().filter_map(|slots| *slots.get(at)?);
    let n = known().count();
    let above = known().filter(|above| *above).count();
    (n >= FEWEST_PASSES).then(|| tail(n, above) <= CHANCE)
}

/// How often at least `k` of `n` fair coins show heads.
pub(super) fn tail(n: usize, k: usize) -> f64 {
    let mut term = 0.5f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut below = 0.0;
    for heads in 0..k {
        below += term;
        term *= (n - heads) as f64 / (heads + 1) as f64;
    }
    1.0 - below
}

/// The number of slots up to the last late one that chance does not explain.
fn last(late: &[bool]) -> usize {
    let at = |slot: Option<usize>| slot.and_then(|s| late.get(s)).is_some_and(|late| *late);
    let counts = |slot: &usize| {
        let slot = *slot;
        let neighbour = at(slot.checked_sub(1)) || at(Some(slot + 1));
        at(Some(slot)) && (slot == 0 || neighbour)
    };
    let end = (0..late.len())
        .rev()
        .find(counts)
        .map_or(0, |slot| slot + 1);
    let alone = || (end..late.len()).filter(|slot| late[*slot]);
    let forgiven = (late.len() - end) as f64 * EXPECTED;
    match alone().next_back() {
        Some(last) if alone().count() as f64 > forgiven => last + 1,
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight equal passes of 40 slots, of which these are late.
    fn of(late: &[usize]) -> Back {
        let one: Above = (0..40).map(|slot| Some(late.contains(&slot))).collect();
        back(&[&one; 8])
    }

    #[test]
    fn it_is_back_after_the_last_late_slot() {
        assert_eq!(of(&[]), Back::After(0));
        assert_eq!(of(&[0]), Back::After(1));
        assert_eq!(of(&[0, 1, 2]), Back::After(3));
        assert_eq!(of(&[1, 2]), Back::After(3));
        assert_eq!(of(&[0, 20, 21]), Back::After(22));
    }

    #[test]
    fn a_late_slot_alone_is_forgiven_and_many_are_not() {
        assert_eq!(of(&[0, 20]), Back::After(1));
        assert_eq!(of(&[10, 20]), Back::After(0));
        assert_eq!(of(&[10, 20, 30]), Back::After(31));
        let every_other: Vec<usize> = (0..20).step_by(2).collect();
        assert_eq!(of(&every_other), Back::After(19));
    }

    #[test]
    fn latency_late_to_the_end_is_not_back() {
        let all: Vec<usize> = (0..40).collect();
        assert_eq!(of(&all), Back::Never);
        assert_eq!(of(&all[..36]), Back::After(36));
        assert_eq!(of(&all[..37]), Back::Never);
    }

    #[test]
    fn few_passes_and_slots_without_requests_are_inconclusive() {
        let one: Above = vec![Some(true); 40];
        assert_eq!(back(&[&one; 5]), Back::Unknown);
        assert_eq!(back(&[&one; 6]), Back::Never);
        assert_eq!(back(&[]), Back::Unknown);
        let mut half: Above = vec![Some(false); 40];
        half[..20].fill(None);
        assert_eq!(back(&[&half; 8]), Back::Unknown);
        half[0] = Some(false);
        assert_eq!(back(&[&half; 8]), Back::After(0));
    }

    #[test]
    fn the_sign_test_is_that_of_fair_coins() {
        // 1 of 64, and 1 + 8 of 256 and one more.
        assert!((tail(6, 6) - 1.0 / 64.0).abs() < 1e-12);
        assert!((tail(8, 7) - 9.0 / 256.0).abs() < 1e-12);
        assert!((tail(20, 0) - 1.0).abs() < 1e-12);
    }
}
