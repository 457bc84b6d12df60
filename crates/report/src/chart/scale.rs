//! From values to places along an axis, and which of them are round.

#[derive(Debug, Clone, Copy, PartialEq)]
enum Law {
    /// Equal steps are equal differences.
    Linear,
    /// Equal steps are equal ratios.
    Log,
    /// Linear on both sides of zero, logarithmic beyond.
    Split(Split),
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Split {
    /// At this value, on both sides of zero.
    at: f64,
    /// How long a factor of e is beyond it, in parts of the way from zero to
    /// there.
    factor: f64,
}

impl Split {
    /// Where a value stands, in parts of the way from zero to the split.
    fn place(&self, value: f64) -> f64 {
        let times = value.abs() / self.at;
        let far = match times <= 1.0 {
            true => times,
            false => 1.0 + self.factor * times.ln(),
        };
        far.copysign(value)
    }

    fn value(&self, place: f64) -> f64 {
        let far = place.abs();
        let times = match far <= 1.0 {
            true => far,
            false => ((far - 1.0) / self.factor).exp(),
        };
        (times * self.at).copysign(place)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    law: Law,
    from: f64,
    to: f64,
}

impl Default for Scale {
    fn default() -> Scale {
        Scale::linear(0.0, 1.0)
    }
}

impl Scale {
    /// Exactly these values in equal steps; `from` may be the larger.
    pub fn linear(from: f64, to: f64) -> Scale {
        let law = Law::Linear;
        Scale { law, from, to }
    }

    /// From 0 to a little beyond the largest value.
    pub fn up_to(values: impl IntoIterator<Item = f64>) -> Scale {
        Scale::linear(0.0, 1.04 * largest(values))
    }

    /// From 0 to at least the largest value, ending on one of about so many
    /// ticks.
    pub fn from_zero(values: impl IntoIterator<Item = f64>, ticks: usize) -> Scale {
        let most = largest(values);
        let step = step(most, ticks);
        Scale::linear(0.0, (most / step - 1e-9).ceil() * step)
    }

    /// All values above 0 in equal ratios, with a little room at both ends.
    pub fn log(values: impl IntoIterator<Item = f64>) -> Scale {
        let usable = values.into_iter().filter(|x| x.is_finite() && *x > 0.0);
        let (least, most) = usable.fold((f64::INFINITY, 0.0), |(least, most), x| {
            (x.min(least), x.max(most))
        });
        let (least, most) = match least <= most {
            true => (least, most),
            false => (1.0, 10.0),
        };
        // Less than a factor of two would make noise look like a mountain.
        let (least, most) = match most / least < 2.0 {
            true => ((least * most).sqrt() / 1.5, (least * most).sqrt() * 1.5),
            false => (least, most),
        };
        let room = (most / least).powf(0.04);
        let law = Law::Log;
        let (from, to) = (least / room, most * room);
        Scale { law, from, to }
    }

    /// Values of either sign, of which those up to about `matters` matter most:
    /// linear as long as all are of that size, else logarithmic beyond it,
    /// which then takes at most half of the room.
    pub fn around_zero(least: f64, most: f64, matters: f64) -> Scale {
        let usable = |x: f64| if x.is_finite() { x } else { 0.0 };
        let at = step(usable(matters).max(1e-6), 1);
        let (least, most) = (usable(least).min(-at), usable(most).max(at));
        if most.max(-least) <= 3.0 * at {
            let room = 0.04 * (most - least);
            return Scale::linear(least - room, most + room);
        }
        let beyond = (most / at).ln() + (-least / at).ln();
        let split = Split {
            at,
            factor: (2.0 / beyond).min(1.0),
        };
        let (low, high) = (split.place(least), split.place(most));
        let room = 0.04 * (high - low);
        Scale {
            law: Law::Split(split),
            from: split.value(low - room),
            to: split.value(high + room),
        }
    }

    /// Up to where on both sides of zero the scale is linear, if it is not
    /// everywhere.
    pub fn split(&self) -> Option<f64> {
        match self.law {
            Law::Split(split) => Some(split.at),
            Law::Linear | Law::Log => None,
        }
    }

    pub fn is_log(&self) -> bool {
        self.law == Law::Log
    }

    fn unclamped(&self, value: f64) -> f64 {
        match self.law {
            Law::Linear => (value - self.from) / (self.to - self.from),
            Law::Log if value > 0.0 => (value / self.from).ln() / (self.to / self.from).ln(),
            Law::Log => f64::NEG_INFINITY,
            Law::Split(split) => {
                let (low, high) = (split.place(self.from), split.place(self.to));
                (split.place(value) - low) / (high - low)
            }
        }
    }

    /// Where a value is, from 0 to 1; beyond the ends at the ends.
    pub fn share(&self, value: f64) -> f64 {
        self.unclamped(value).clamp(0.0, 1.0)
    }

    /// Where a value is, from 0 to 1; `None` outside of the axis.
    pub fn place(&self, value: f64) -> Option<f64> {
        self.holds(value).then(|| self.share(value))
    }

    /// Whether a value lies within. A hair beyond an end is a rounding error
    /// and not another value.
    pub fn holds(&self, value: f64) -> bool {
        (-1e-9..=1.0 + 1e-9).contains(&self.unclamped(value))
    }

    pub fn span(&self) -> f64 {
        (self.to - self.from).abs()
    }

    pub fn high(&self) -> f64 {
        self.from.max(self.to)
    }

    pub fn ticks(&self, about: usize) -> Vec<f64> {
        let ends = (self.from, self.to);
        match self.law {
            Law::Linear => linear_ticks(ends, about),
            Law::Log => log_ticks(ends, about),
            Law::Split(split) => split_ticks(ends, split.at, about),
        }
    }
}

/// The largest of values above 0; 1 where there is none.
fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    let usable = values.into_iter().filter(|x| x.is_finite());
    match usable.fold(0.0, f64::max) {
        most if most > 0.0 => most,
        _ => 1.0,
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
/// every second to fourth of them where there are very many.
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

/// Zero, both ends of the linear part and the middles between; beyond them 1, 2
/// and 5 times powers of ten, or the powers alone where those are many.
fn split_ticks((from, to): (f64, f64), split: f64, about: usize) -> Vec<f64> {
    let powers = split.log10().floor() as i32..=to.max(-from).log10().ceil() as i32;
    let beyond = |end: f64, factors: &[f64]| -> Vec<f64> {
        let all = powers
            .clone()
            .flat_map(|power| factors.iter().map(move |f| f * 10f64.powi(power)));
        all.filter(|tick| *tick > split * 1.01 && *tick <= end)
            .collect()
    };
    let fine = [1.0, 2.0, 5.0];
    let count = beyond(to, &fine).len() + beyond(-from, &fine).len();
    let factors = if count > about { &fine[..1] } else { &fine[..] };
    let below = beyond(-from, factors).into_iter().rev().map(|tick| -tick);
    let within = [-split, -split / 2.0, 0.0, split / 2.0, split];
    let within = within.into_iter().filter(|tick| (from..=to).contains(tick));
    below.chain(within).chain(beyond(to, factors)).collect()
}

#[cfg(test)]
mod tests;
