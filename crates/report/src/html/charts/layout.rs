//! Where labels go, so that none stands on another.

/// A label that wants to stand at a place along one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Wish {
    /// Where its middle wants to be.
    pub(super) at: f64,
    /// How long it is.
    pub(super) size: f64,
    /// The higher, the earlier it is left out.
    pub(super) rank: u8,
}

/// A middle for each label, as near to its wish as the others let it, between
/// `from` and `to`; `None` for those that have no room. Labels keep their
/// order and a gap between them.
pub(super) fn apart(wishes: &[Wish], from: f64, to: f64, gap: f64) -> Vec<Option<f64>> {
    let mut kept: Vec<usize> = (0..wishes.len()).collect();
    kept.sort_by(|a, b| wishes[*a].at.total_cmp(&wishes[*b].at));
    let needed = |kept: &[usize]| {
        let sizes: f64 = kept.iter().map(|i| wishes[*i].size).sum();
        sizes + gap * kept.len().saturating_sub(1) as f64
    };
    while !kept.is_empty() && needed(&kept) > to - from {
        let worst = (0..kept.len()).max_by_key(|i| wishes[kept[*i]].rank);
        kept.remove(worst.unwrap_or(0));
    }
    let mut starts: Vec<f64> = kept
        .iter()
        .map(|i| wishes[*i].at - wishes[*i].size / 2.0)
        .collect();
    // Once up, so that none stands on the one before; then down from the end,
    // where there is no more room.
    let mut free = from;
    for (start, i) in starts.iter_mut().zip(&kept) {
        *start = start.max(free);
        free = *start + wishes[*i].size + gap;
    }
    let mut free = to;
    for (start, i) in starts.iter_mut().zip(&kept).rev() {
        *start = start.min(free - wishes[*i].size);
        free = *start - gap;
    }
    let mut out = vec![None; wishes.len()];
    for (start, i) in starts.iter().zip(&kept) {
        out[*i] = Some(start + wishes[*i].size / 2.0);
    }
    out
}

/// Which of labels that cannot move are shown: from the first on, each that
/// does not touch the one shown before.
pub(super) fn thinned(places: &[(f64, f64)], gap: f64) -> Vec<bool> {
    let mut free = f64::NEG_INFINITY;
    let show = |&(at, size): &(f64, f64)| {
        let fits = at - size / 2.0 >= free;
        if fits {
            free = at + size / 2.0 + gap;
        }
        fits
    };
    places.iter().map(show).collect()
}

/// About how wide a text is in this size. System fonts differ; most of their
/// characters are narrower than this.
pub(super) fn width_of(text: &str, font_px: f64) -> f64 {
    text.chars().count() as f64 * font_px * 0.58
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_label_with_room_stands_where_it_wants() {
        let wish = |at| Wish {
            at,
            size: 10.0,
            rank: 0,
        };
        let wishes = [wish(50.0), wish(20.0), wish(52.0)];
        assert_eq!(
            apart(&wishes, 0.0, 100.0, 2.0),
            [Some(50.0), Some(20.0), Some(62.0)]
        );
    }

    #[test]
    fn the_least_important_label_is_left_out_first() {
        let wish = |rank| Wish {
            at: 5.0,
            size: 10.0,
            rank,
        };
        let placed = apart(&[wish(0), wish(9), wish(1)], 0.0, 22.0, 0.0);
        assert_eq!(placed.iter().filter(|p| p.is_some()).count(), 2);
        assert_eq!(placed[1], None);
        assert_eq!(apart(&[wish(0)], 0.0, 5.0, 0.0), [None]);
    }

    proptest! {
        #[test]
        fn labels_never_overlap_and_never_leave_the_page(
            wishes in prop::collection::vec((-50.0..650.0f64, 1.0..90.0f64, 0..4u8), 0..30),
            gap in 0.0..8.0f64,
        ) {
            let wishes: Vec<Wish> = wishes
                .into_iter()
                .map(|(at, size, rank)| Wish { at, size, rank })
                .collect();
            let placed = apart(&wishes, 0.0, 600.0, gap);
            let mut stretches: Vec<(f64, f64)> = placed
                .iter()
                .zip(&wishes)
                .filter_map(|(at, w)| at.map(|at| (at - w.size / 2.0, at + w.size / 2.0)))
                .collect();
            stretches.sort_by(|a, b| a.0.total_cmp(&b.0));
            for stretch in &stretches {
                prop_assert!(stretch.0 >= -1e-6 && stretch.1 <= 600.0 + 1e-6, "{stretch:?}");
            }
            for pair in stretches.windows(2) {
                prop_assert!(pair[0].1 + gap <= pair[1].0 + 1e-6, "{pair:?}");
            }
            let all: f64 = wishes.iter().map(|w| w.size + gap).sum();
            let left_out = placed.iter().filter(|p| p.is_none()).count();
            prop_assert!(left_out == 0 || all > 600.0, "{left_out} of {}", wishes.len());
        }

        #[test]
        fn shown_ticks_never_overlap(
            mut places in prop::collection::vec((0.0..600.0f64, 1.0..90.0f64), 0..40),
        ) {
            places.sort_by(|a, b| a.0.total_cmp(&b.0));
            let shown = thinned(&places, 4.0);
            let kept: Vec<_> = places.iter().zip(shown).filter(|(_, s)| *s).map(|(p, _)| p).collect();
            for pair in kept.windows(2) {
                prop_assert!(pair[0].0 + pair[0].1 / 2.0 <= pair[1].0 - pair[1].1 / 2.0);
            }
            prop_assert!(places.is_empty() || !kept.is_empty());
        }
    }
}
