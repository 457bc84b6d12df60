//! What the charts of runs have in common: their axes, lines and marks.

use super::{At, Axis, Line, Mark, Scale, Series};
use crate::capacity;
use crate::number;
use crate::table::Ink;
use plimsoll_model::CapacityFinding;

/// CPU use, from nothing to all.
pub(super) fn percent() -> Axis {
    Axis {
        label: "CPU use, %".to_owned(),
        scale: Scale::from_zero([100.0].into_iter()),
        show: number::tick,
    }
}

/// Load from nothing on, over all of `rates` and the load line.
pub(super) fn load(
    label: &str,
    rates: impl Iterator<Item = f64>,
    capacity: Option<&CapacityFinding>,
) -> Axis {
    let line = capacity.and_then(capacity::load_line).map(|line| line.0);
    Axis {
        label: label.to_owned(),
        scale: Scale::from_zero(rates.filter(|rate| rate.is_finite()).chain(line)),
        show: number::tick,
    }
}

/// The ship's mark: how deep it may be loaded.
pub(super) fn load_line(capacity: Option<&CapacityFinding>) -> Option<Mark> {
    let (at, rate) = capacity::load_line(capacity?)?;
    Some(Mark {
        name: format!("load line {rate}"),
        ink: Ink::Green,
        at: At::X(at),
    })
}

/// A line through points.
pub(super) fn solid(name: &str, ink: Ink, glyph: char, points: Vec<(f64, f64)>) -> Series {
    Series {
        name: name.to_owned(),
        ink,
        glyph,
        line: Line::Solid,
        points,
    }
}
