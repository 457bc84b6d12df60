//! From values to places, and where an axis has its ticks.

/// How values lie along an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Law {
    /// Equal steps are equal differences.
    Linear,
    /// Equal steps are equal quotients.
    Log,
    /// Equal steps are equal differences on both sides of zero, and equal
    /// quotients beyond.
    Bent(Bend),
}

/// Where an axis goes over from equal differences to equal quotients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bend {
    /// At this value, on both sides of zero.
    knee: f64,
    /// How long a factor of e is beyond it, in parts of the way from zero to
    /// there.
    factor: f64,
}

impl Bend {
    /// Where a value stands, in parts of the way from zero to the knee.
    fn place(&self, value: f64) -> f64 {
        let times = value.abs() / self.knee;
        let far = match times <= 1.0 {
            true => times,
            false => 1.0 + self.factor * times.ln(),
        };
        far.copysign(value)
    }

    /// The value that stands there.
    fn value(&self, place: f64) -> f64 {
        let far = place.abs();
        let times = match far <= 1.0 {
            true => far,
            false => ((far - 1.0) / self.factor).exp(),
        };
        (times * self.knee).copysign(place)
    }
}

/// A stretch of values on a stretch of pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    law: Law,
    values: (f64, f64),
    pixels: (f64, f64),
}

impl Scale {
    /// Values from 0 to at least `most`, ending on a tick.
    pub(super) fn from_zero(most: f64, pixels: (f64, f64), ticks: usize) -> Scale {
        let most = if most.is_finite() && most > 0.0 {
            most
        } else {
            1.0
        };
        let step = step(most, ticks);
        let end = (most / step - 1e-9).ceil() * step;
        Scale {
            law: Law::Linear,
            values: (0.0, end),
            pixels,
        }
    }

    /// Exactly these values in equal steps.
    pub(super) fn linear(values: (f64, f64), pixels: (f64, f64)) -> Scale {
        let law = Law::Linear;
        Scale {
            law,
            values,
            pixels,
        }
    }

    /// Values above 0 in equal quotients, with a little room at both ends.
    pub(super) fn log(least: f64, most: f64, pixels: (f64, f64)) -> Scale {
        let usable = |x: f64| x.is_finite() && x > 0.0;
        let (least, most) = match (usable(least), usable(most)) {
            (true, true) if least <= most => (least, most),
            (_, true) => (most / 10.0, most),
            _ => (1.0, 10.0),
        };
        // Less than a factor of two would make noise look like a mountain.
        let (least, most) = if most / least < 2.0 {
            let middle = (least * most).sqrt();
            (middle / 1.5, middle * 1.5)
        } else {
            (least, most)
        };
        let room = (most / least).powf(0.04);
        Scale {
            law: Law::Log,
            values: (least / room, most * room),
            pixels,
        }
    }

    /// Values of either sign, of which those up to about `matters` matter most:
    /// in equal steps as long as all are of that size, else in equal quotients
    /// beyond it, which then take at most half of the room.
    pub(super) fn around_zero(least: f64, most: f64, matters: f64, pixels: (f64, f64)) -> Scale {
        let usable = |x: f64| if x.is_finite() { x } else { 0.0 };
        let knee = step(usable(matters).max(1e-6), 1);
        let (least, most) = (usable(least).min(-knee), usable(most).max(knee));
        if most.max(-least) <= 3.0 * knee {
            let room = 0.04 * (most - least);
            return Scale::linear((least - room, most + room), pixels);
        }
        let beyond = (most / knee).ln() + (-least / knee).ln();
        let bend = Bend {
            knee,
            factor: (2.0 / beyond).min(1.0),
        };
        let (low, high) = (bend.place(least), bend.place(most));
        let room = 0.04 * (high - low);
        Scale {
            law: Law::Bent(bend),
            values: (bend.value(low - room), bend.value(high + room)),
            pixels,
        }
    }

    /// Up to where on both sides of zero equal steps are equal differences, if
    /// that is not everywhere.
    pub(super) fn knee(&self) -> Option<f64> {
        match self.law {
            Law::Bent(bend) => Some(bend.knee),
            Law::Linear | Law::Log => None,
        }
    }

    /// Where a value stands; beyond the ends at the ends.
    pub(super) fn at(&self, value: f64) -> f64 {
        let part = |value: f64| match self.law {
            Law::Linear => (value - self.values.0) / (self.values.1 - self.values.0),
            Law::Log => (value / self.values.0).ln() / (self.values.1 / self.values.0).ln(),
            Law::Bent(bend) => {
                let (low, high) = (bend.place(self.values.0), bend.place(self.values.1));
                (bend.place(value) - low) / (high - low)
            }
        };
        let part = if value > 0.0 || self.law != Law::Log {
            part(value)
        } else {
            0.0
        };
        let (from, to) = self.pixels;
        from + part.clamp(0.0, 1.0) * (to - from)
    }

    /// Whether a value lies within.
    pub(super) fn holds(&self, value: f64) -> bool {
        (self.values.0..=self.values.1).contains(&value)
    }

    /// The largest value.
    pub(super) fn most(&self) -> f64 {
        self.values.1
    }

    /// Round values within, about as many as are asked for.
    pub(super) fn ticks(&self, about: usize) -> Vec<f64> {
        match self.law {
            Law::Linear => linear_ticks(self.values, about),
            Law::Log => log_ticks(self.values, about),
            Law::Bent(bend) => bent_ticks(self.values, bend.knee, about),
        }
    }
}

/// The step of 1, 2 or 5 times a power of ten that parts `span` into at most
/// so many.
fn step(span: f64, parts: usize) -> f64 {
    let least = span / parts.max(1) as f64;
    let power = 10f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|s| s * power);
    let fits = |s: &f64| *s >= least * (1.0 - 1e-9);
    steps.into_iter().find(fits).unwrap_or(10.0 * power)
}

fn linear_ticks((from, to): (f64, f64), about: usize) -> Vec<f64> {
    let step = step(to - from, about);
    let first = (from / step - 1e-9).ceil();
    let last = (to / step + 1e-9).floor();
    let count = (last - first).clamp(0.0, 100.0) as u32;
    // Multiplied and not added up, so that 0.3 is not 0.30000000000000004.
    let tick = |i: u32| {
        let value = (first + f64::from(i)) * step;
        let digits = 10f64.powf(step.log10().floor() - 1.0);
        (value / digits).round() * digits
    };
    (0..=count).map(tick).collect()
}

/// 1, 2 and 5 times powers of ten; only the powers where there are many; only
/// each so-manieth of them where there are very many.
fn log_ticks((from, to): (f64, f64), about: usize) -> Vec<f64> {
    let (low, high) = (from.log10().floor() as i32, to.log10().ceil() as i32);
    let within = |tick: &f64| *tick >= from * (1.0 - 1e-9) && *tick <= to * (1.0 + 1e-9);
    let with = |factors: &[f64], every: i32| -> Vec<f64> {
        let powers = (low..=high).filter(|power| power.rem_euclid(every) == 0);
        let ticks = powers.flat_map(|p| factors.iter().map(move |f| f * 10f64.powi(p)));
        ticks.filter(within).collect()
    };
    let choices: [(&[f64], i32); 6] = [
        (&[1.0, 2.0, 5.0], 1),
        (&[1.0, 3.0], 1),
        (&[1.0], 1),
        (&[1.0], 2),
        (&[1.0], 3),
        (&[1.0], 4),
    ];
    let all = choices.map(|(factors, every)| with(factors, every));
    let most = about + about / 2;
    let fits = all
        .iter()
        .find(|ticks| ticks.len() <= most && ticks.len() > 1);
    match fits.or(all.first()) {
        Some(ticks) if ticks.len() > 2 || to / from > 10.0 => ticks.clone(),
        // Over less than a decade equal steps look almost equal.
        _ => linear_ticks((from, to), about.max(6)),
    }
}

/// Zero, the knees and the middles between; beyond them 1, 2 and 5 times powers
/// of ten, or the powers alone where those are many.
fn bent_ticks((from, to): (f64, f64), knee: f64, about: usize) -> Vec<f64> {
    let powers = knee.log10().floor() as i32..=to.max(-from).log10().ceil() as i32;
    let beyond = |end: f64, factors: &[f64]| -> Vec<f64> {
        let all = powers
            .clone()
            .flat_map(|power| factors.iter().map(move |f| f * 10f64.powi(power)));
        all.filter(|tick| *tick > knee * 1.01 && *tick <= end)
            .collect()
    };
    let fine = [1.0, 2.0, 5.0];
    let count = beyond(to, &fine).len() + beyond(-from, &fine).len();
    let factors = if count > about { &fine[..1] } else { &fine[..] };
    let below = beyond(-from, factors).into_iter().rev().map(|tick| -tick);
    let within = [-knee, -knee / 2.0, 0.0, knee / 2.0, knee];
    let within = within.into_iter().filter(|tick| (from..=to).contains(tick));
    below.chain(within).chain(beyond(to, factors)).collect()
}

#[cfg(test)]
mod tests;
