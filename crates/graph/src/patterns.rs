//! The dependence patterns of Task Bench (Slaughter et al., "Task Bench: A
//! Parameterized Benchmark for Evaluating Parallel Runtime Performance", SC 2020).
//!
//! A pattern is `steps` rows of `width` points. Point `p` of a row needs points of the
//! row before it only:
//!
//! | pattern | needs | edges for width w, steps s |
//! |---|---|---|
//! | trivial | nothing | 0 |
//! | stencil | p-1, p, p+1 | (3w - 2)(s - 1), w > 1 |
//! | sweep | p-1, p | (2w - 1)(s - 1) |
//! | fft | p-d, p, p+d; d = 1, 2, 4, .. below w, in turn | sum of w + 2(w - d) |
//! | tree | p/2; row r has min(w, 2^r) points | points - 1 |
//! | all-to-all | all | w^2 (s - 1) |
//! | nearest | the `radix` points around p, on a ring | min(radix, w) w (s - 1) |
//! | spread | `radix` points w/radix apart, which move on by one each row, on a ring | the same |
//! | random | p, and each other of nearest's with probability `fraction` | about (1 + fraction (radix - 1)) w (s - 1) |
//!
//! Two differ from Task Bench's: nearest and random go round at the borders, so that
//! every point needs as many.

use crate::streams::Stream;
use std::fmt;

/// How the points of a row depend on those of the row before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dependence {
    Trivial,
    Stencil,
    Fft,
    Tree,
    Sweep,
    AllToAll,
    Nearest,
    Random,
    Spread,
}

impl Dependence {
    pub const ALL: [Dependence; 9] = [
        Dependence::Trivial,
        Dependence::Stencil,
        Dependence::Fft,
        Dependence::Tree,
        Dependence::Sweep,
        Dependence::AllToAll,
        Dependence::Nearest,
        Dependence::Random,
        Dependence::Spread,
    ];

    /// Its name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Dependence::Trivial => "trivial",
            Dependence::Stencil => "stencil",
            Dependence::Fft => "fft",
            Dependence::Tree => "tree",
            Dependence::Sweep => "sweep",
            Dependence::AllToAll => "all-to-all",
            Dependence::Nearest => "nearest",
            Dependence::Random => "random",
            Dependence::Spread => "spread",
        }
    }

    pub(crate) fn has_radix(self) -> bool {
        use Dependence::{Nearest, Random, Spread};
        matches!(self, Nearest | Random | Spread)
    }
}

/// A pattern with its size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pattern {
    pub dependence: Dependence,
    /// Points in a row, at least 1.
    pub width: u32,
    /// Rows, at least 1.
    pub steps: u32,
    /// Of nearest, spread and random: points needed, at least 1. At most the width counts.
    pub radix: u32,
    /// Of random: how probable a point of the radix is, 0..=1.
    pub fraction: f64,
    /// Of random.
    pub random_seed: u64,
}

impl Pattern {
    pub const RADIX: u32 = 3;
    pub const FRACTION: f64 = 0.25;

    /// With the usual radix and fraction.
    pub fn new(dependence: Dependence, width: u32, steps: u32) -> Pattern {
        Pattern {
            dependence,
            width,
            steps,
            radix: Pattern::RADIX,
            fraction: Pattern::FRACTION,
            random_seed: 0,
        }
    }

    /// The points of a row.
    fn points(&self, row: u32) -> u32 {
        match self.dependence {
            Dependence::Tree => 1u32
                .checked_shl(row)
                .map_or(self.width, |full| full.min(self.width)),
            _ => self.width,
        }
    }

    /// The points of all rows.
    pub(crate) fn nodes(&self) -> u64 {
        let (width, steps) = (u64::from(self.width), u64::from(self.steps));
        // The rows of a tree that are narrower than the others.
        let narrow = (0..self.steps.min(32)).map(|row| width - u64::from(self.points(row)));
        width * steps - narrow.sum::<u64>()
    }

    /// The edges, or at most so many for a random pattern.
    pub(crate) fn edges(&self) -> u64 {
        let (width, gaps) = (
            u64::from(self.width),
            u64::from(self.steps).saturating_sub(1),
        );
        let ring = |radix: u32| u64::from(radix.min(self.width)) * width;
        match self.dependence {
            Dependence::Trivial => 0,
            Dependence::Stencil if width == 1 => gaps,
            Dependence::Stencil => (3 * width).saturating_sub(2).saturating_mul(gaps),
            Dependence::Sweep => (2 * width).saturating_sub(1).saturating_mul(gaps),
            Dependence::Fft => {
                let distances = u64::from(self.distances());
                let of = |row: u64| match self.distances() {
                    0 => width,
                    _ => (3 * width).saturating_sub(2 << (row % distances)),
                };
                let whole: u64 = (0..distances.max(1)).map(of).sum();
                let (rounds, rest) = (gaps / distances.max(1), gaps % distances.max(1));
                rounds.saturating_mul(whole) + (0..rest).map(of).sum::<u64>()
            }
            Dependence::Tree => self.nodes().saturating_sub(1),
            Dependence::AllToAll => (width * width).saturating_mul(gaps),
            Dependence::Nearest | Dependence::Random | Dependence::Spread => {
                ring(self.radix).saturating_mul(gaps)
            }
        }
    }

    /// How many distances the butterflies of a fft have: the powers of two below the
    /// width.
    fn distances(&self) -> u32 {
        u64::from(self.width).next_power_of_two().trailing_zeros()
    }

    /// All edges, ascending within a row.
    pub(crate) fn all_edges(&self) -> Vec<(u32, u32)> {
        let mut edges = Vec::with_capacity(self.edges() as usize);
        let mut above = 0;
        for row in 1..self.steps {
            let first = above + self.points(row - 1);
            for point in 0..self.points(row) {
                let before = edges.len();
                self.needs(row, point, |needed| {
                    edges.push((above + needed, first + point))
                });
                edges[before..].sort_unstable();
            }
            above = first;
        }
        edges
    }

    /// Calls `need` with each point of the row before that a point needs.
    fn needs(&self, row: u32, point: u32, mut need: impl FnMut(u32)) {
        let width = self.width;
        let around = |distance: u32, need: &mut dyn FnMut(u32)| {
            need(point);
            point.checked_sub(distance).into_iter().for_each(&mut *need);
            let above = u64::from(point) + u64::from(distance);
            if above < u64::from(width) {
                need(above as u32);
            }
        };
        match self.dependence {
            Dependence::Trivial => {}
            Dependence::Stencil => around(1, &mut need),
            Dependence::Fft => match self.distances() {
                0 => need(point),
                distances => around(1 << ((row - 1) % distances), &mut need),
            },
            Dependence::Tree => need(point / 2),
            Dependence::Sweep => {
                point.checked_sub(1).into_iter().for_each(&mut need);
                need(point);
            }
            Dependence::AllToAll => (0..width).for_each(need),
            Dependence::Nearest => self.ring(point).for_each(need),
            Dependence::Random => {
                let stream = Stream::new(self.random_seed, u64::from(row));
                let place = |other: u32| u64::from(point) * u64::from(width) + u64::from(other);
                let chosen =
                    |other: &u32| *other == point || stream.unit(place(*other), 0) < self.fraction;
                self.ring(point).filter(chosen).for_each(need);
            }
            Dependence::Spread => {
                let radix = self.radix.min(width);
                let apart = |i: u32| u64::from(i) * u64::from(width) / u64::from(radix);
                let from = u64::from(point) + u64::from(row - 1);
                (0..radix).for_each(|i| need(((from + apart(i)) % u64::from(width)) as u32));
            }
        }
    }

    /// The `radix` points around one, which are all when the row has no more.
    fn ring(&self, point: u32) -> impl Iterator<Item = u32> + use<> {
        let (width, radix) = (u64::from(self.width), u64::from(self.radix.min(self.width)));
        let first = u64::from(point) + width - radix / 2;
        (0..radix).map(move |i| ((first + i) % width) as u32)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, Pattern { width, steps, .. }) = (self.dependence.name(), self);
        write!(f, "{name}:width={width},steps={steps}")?;
        if self.dependence.has_radix() {
            write!(f, ",radix={}", self.radix)?;
        }
        if self.dependence == Dependence::Random {
            write!(
                f,
                ",fraction={},random-seed={}",
                self.fraction, self.random_seed
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
