//! Where labels go, so that none stands on another.

use plimsoll_model::sort_by_number;

/// Height of the characters of a chart, in its own pixels.
pub(super) const FONT: f64 = 12.0;

/// A label that wants to stand at a place along one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Wish {
    pub(super) at: f64,
    pub(super) size: f64,
    /// The higher, the earlier it is left out.
    pub(super) rank: u8,
}

/// A middle for each label, as near to its wish as the others let it, between
/// `from` and `to`; `None` for those that have no room. Labels keep their
/// order and a gap between them.
pub(super) fn apart(wishes: &[Wish], from: f64, to: f64, gap: f64) -> Vec<Option<f64>> {
    let mut kept: Vec<usize> = (0..wishes.len()).collect();
    sort_by_number(&mut kept, |one| wishes[*one].at);
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

/// Into which row each label goes, so that each row has room for its own:
/// neighbours stand in different rows, and so near to where they want to be.
/// One that is longer than a row has one for itself.
pub(super) fn rows(wishes: &[Wish], room: f64, gap: f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..wishes.len()).collect();
    sort_by_number(&mut order, |one| wishes[*one].at);
    let needed = |row: usize, of: usize| -> f64 {
        let row = order.iter().skip(row).step_by(of);
        row.map(|i| wishes[*i].size + gap).sum::<f64>() - gap
    };
    let enough = |of: &usize| (0..*of).all(|row| needed(row, *of) <= room);
    let count = (1..wishes.len()).find(enough).unwrap_or(wishes.len());
    let mut out = vec![0; wishes.len()];
    for (place, i) in order.iter().enumerate() {
        out[*i] = place % count.max(1);
    }
    out
}

/// A part of a drawing: a plot, or what something stands on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Area {
    /// Around a point, so far to each side and up and down.
    pub(super) fn around((x, y): (f64, f64), aside: f64, upward: f64) -> Area {
        Area {
            left: x - aside,
            right: x + aside,
            top: y - upward,
            bottom: y + upward,
        }
    }

    pub(super) fn of_text((left, y): (f64, f64), width: f64) -> Area {
        Area {
            left,
            right: left + width,
            top: y - 0.8 * FONT,
            bottom: y + 0.25 * FONT,
        }
    }

    pub(super) fn wider_by(self, pixels: f64) -> Area {
        Area {
            left: self.left - pixels,
            right: self.right + pixels,
            top: self.top - pixels,
            bottom: self.bottom + pixels,
        }
    }

    /// Left, right, top and bottom.
    pub(super) fn edges(&self) -> [f64; 4] {
        [self.left, self.right, self.top, self.bottom]
    }

    /// Whether it lies in a plot, so far from its left and right edge.
    pub(super) fn is_within(&self, plot: &Area, pixels: f64) -> bool {
        self.left >= plot.left + pixels
            && self.right <= plot.right - pixels
            && self.top >= plot.top
            && self.bottom <= plot.bottom
    }

    pub(super) fn nearest(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (
            x.clamp(self.left, self.right),
            y.clamp(self.top, self.bottom),
        )
    }

    pub(super) fn meets(&self, other: &Area) -> bool {
        let aside = self.left < other.right && other.left < self.right;
        aside && self.top < other.bottom && other.top < self.bottom
    }
}

/// The first of these areas that lies on nothing; where there is none, the
/// first that lies at least on nothing of what is `taken`.
pub(super) fn free(wishes: &[Area], taken: &[Area], better_free: &[Area]) -> Option<usize> {
    let clear = |area: &Area, of: &[Area]| !of.iter().any(|other| area.meets(other));
    let untaken = || wishes.iter().enumerate().filter(|(_, a)| clear(a, taken));
    let found = untaken()
        .find(|(_, area)| clear(area, better_free))
        .or_else(|| untaken().next());
    found.map(|(i, _)| i)
}

/// Places along lines that names had better leave free.
pub(super) fn along(points: &[(f64, f64)]) -> Vec<Area> {
    let spot = |at: (f64, f64)| Area::around(at, 3.0, 3.0);
    let between = points.windows(2).flat_map(|pair| {
        let (dx, dy) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        let steps = (dx.abs().max(dy.abs()) / 6.0).ceil().clamp(1.0, 200.0) as u32;
        let part = move |i: u32| f64::from(i) / f64::from(steps);
        (0..steps).map(move |i| (pair[0].0 + part(i) * dx, pair[0].1 + part(i) * dy))
    });
    between.chain(points.last().copied()).map(spot).collect()
}

/// How much wider bold letters are, at the most.
pub(super) const BOLD: f64 = 1.15;

/// About how wide a text is in this size: as in DejaVu Sans, the widest of the
/// fonts that systems show pages in.
pub(super) fn width_of(text: &str) -> f64 {
    text.chars().map(em_of).sum::<f64>() * FONT
}

fn em_of(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '\'' | '|' => 0.3,
        ' ' | '.' | ',' | ':' | ';' | '/' | '!' | 'f' | 't' | '-' | '(' | ')' | '[' | ']' => 0.4,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 1.0,
        '<' | '>' | '=' | '+' | '~' | '#' | '×' | '±' => 0.84,
        'a'..='z' | '0'..='9' => 0.64,
        'A'..='Z' => 0.79,
        c if c.is_ascii() => 0.64,
        // Letters of other scripts are up to a square.
        _ => 1.0,
    }
}

/// As much of a text as has room, with a sign that there was more.
pub(super) fn fitting(text: &str, room: f64) -> String {
    if width_of(text) <= room {
        return text.to_owned();
    }
    let mut used = width_of("…");
    let fits = |c: &char| {
        used += em_of(*c) * FONT;
        used <= room
    };
    text.chars().take_while(fits).chain(['…']).collect()
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
            sort_by_number(&mut stretches, |one| one.0);
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
        fn labels_in_rows_all_have_room(
            labels in prop::collection::vec((0.0..600.0f64, 1.0..240.0f64), 1..9),
        ) {
            let wishes: Vec<Wish> =
                labels.iter().map(|&(at, size)| Wish { at, size, rank: 0 }).collect();
            let row_of = rows(&wishes, 250.0, 8.0);
            for row in 0..wishes.len() {
                let of_row = wishes.iter().zip(&row_of).filter(|(_, r)| **r == row);
                let here: Vec<Wish> = of_row.map(|(w, _)| *w).collect();
                let placed = apart(&here, 0.0, 250.0, 8.0);
                prop_assert!(placed.iter().all(Option::is_some), "{here:?}");
            }
        }

        #[test]
        fn a_label_takes_no_place_that_is_taken(
            boxes in prop::collection::vec((0.0..300.0f64, 0.0..300.0f64), 2..30),
        ) {
            let areas: Vec<Area> =
                boxes.iter().map(|at| Area::around(*at, 40.0, 8.0)).collect();
            let (taken, wishes) = areas.split_at(areas.len() / 2);
            let clear = |a: &Area| !taken.iter().any(|t| t.meets(a));
            match free(wishes, taken, &[]) {
                Some(i) => prop_assert!(clear(&wishes[i])),
                None => prop_assert!(!wishes.iter().any(clear)),
            }
            // What should better be free gives way, but never what is taken.
            prop_assert_eq!(free(wishes, taken, wishes), free(wishes, taken, &[]));
        }

        #[test]
        fn a_name_that_was_cut_fits(text in "[ -~]{0,40}", room in 12.0..200.0f64) {
            let cut = fitting(&text, room);
            prop_assert!(width_of(&cut) <= room, "{cut}");
            prop_assert!(cut == text || cut.ends_with('…'));
        }

        #[test]
        fn shown_ticks_never_overlap(
            mut places in prop::collection::vec((0.0..600.0f64, 1.0..90.0f64), 0..40),
        ) {
            sort_by_number(&mut places, |one| one.0);
            let shown = thinned(&places, 4.0);
            let kept: Vec<_> = places.iter().zip(shown).filter(|(_, s)| *s).map(|(p, _)| p).collect();
            for pair in kept.windows(2) {
                prop_assert!(pair[0].0 + pair[0].1 / 2.0 <= pair[1].0 - pair[1].1 / 2.0);
            }
            prop_assert!(places.is_empty() || !kept.is_empty());
        }
    }
}
