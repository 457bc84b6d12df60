//! Axes: which values are on them, and how their ticks are written.

use super::scale::Scale;
use super::tone::Tone;
use crate::number;

#[derive(Debug, Clone, Default)]
pub struct Axis {
    /// What is on it, and in which unit.
    pub label: String,
    /// The same where there is little room; empty for none shorter.
    pub short_label: String,
    pub scale: Scale,
    pub unit: Unit,
    /// The only values that may have a tick; empty for any round ones.
    pub only: Vec<f64>,
    /// Categories in the place of values, from the top: row `n` is from `n` to
    /// `n + 1`.
    pub rows: Vec<Row>,
    pub row_style: RowStyle,
}

#[derive(Debug, Clone, Default)]
pub struct Row {
    pub name: String,
    pub tone: Tone,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RowStyle {
    #[default]
    Beside,
    Above,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unit {
    /// As it is: `0.5`, `2,000`.
    #[default]
    Number,
    /// A number of things: nothing stands between two.
    Count,
    /// Large numbers in thousands or millions: `20 k`.
    Rate,
    /// Microseconds: `2ms`.
    Time,
    /// Of either sign: `+50`.
    Signed,
    /// Seconds: `1:05`.
    Clock,
    /// A multiple: `2×`.
    Times,
    /// One in so many: `100` is `99 %`.
    OneIn,
}

impl Axis {
    pub fn new(label: &str, scale: Scale, unit: Unit) -> Axis {
        Axis {
            label: label.to_owned(),
            scale,
            unit,
            ..Axis::default()
        }
    }

    pub fn of_rows(rows: Vec<Row>) -> Axis {
        Axis {
            scale: Scale::linear(rows.len().max(1) as f64, 0.0),
            rows,
            ..Axis::default()
        }
    }

    pub(crate) fn offered(rates: impl IntoIterator<Item = f64>) -> Axis {
        let scale = Scale::up_to(rates);
        Axis {
            short_label: "offered load, requests/s".to_owned(),
            ..Axis::new("offered load, requests per second", scale, Unit::Rate)
        }
    }

    /// Latency on a logarithmic scale around all of these microseconds.
    pub(crate) fn latency(label: &str, us: impl IntoIterator<Item = f64>) -> Axis {
        Axis::new(label, Scale::log(us), Unit::Time)
    }

    /// About so many values with their names, in the order of the scale.
    pub(crate) fn ticks(&self, about: usize) -> Vec<(f64, String)> {
        let values = match self.unit {
            _ if !self.rows.is_empty() => Vec::new(),
            _ if !self.only.is_empty() => self.only.clone(),
            Unit::Clock => clock_ticks(self.scale.high(), about),
            _ => self.scale.ticks(about),
        };
        let on = values.into_iter().filter(|value| self.scale.holds(*value));
        on.map(|value| (value, self.show(value)))
            .filter(|(_, name)| !name.is_empty())
            .collect()
    }

    fn show(&self, value: f64) -> String {
        match self.unit {
            Unit::Count if value.fract() != 0.0 => String::new(),
            Unit::Number | Unit::Count => number::tick(value),
            Unit::Rate => rate(value, self.scale.high()),
            Unit::Time if value <= 0.0 => "0".to_owned(),
            Unit::Time => number::time_us(value),
            Unit::Signed if value > 0.0 => format!("+{}", number::tick(value)),
            Unit::Signed => number::tick(value),
            Unit::Clock => clock(value),
            Unit::Times => format!("{}×", number::trimmed(value)),
            Unit::OneIn => {
                let share = 100.0 * (1.0 - 1.0 / value);
                format!("{} %", number::trimmed(share))
            }
        }
    }
}

/// Rates up to `most`, all in one unit: `500`, `20 k`, `1.5 M`.
fn rate(value: f64, most: f64) -> String {
    let (size, unit) = match most {
        most if most >= 2e6 => (1e6, " M"),
        most if most >= 2e4 => (1e3, " k"),
        _ => (1.0, ""),
    };
    match value {
        0.0 => "0".to_owned(),
        value => number::tick(value / size) + unit,
    }
}

/// `1:05`
pub(crate) fn clock(seconds: f64) -> String {
    let seconds = seconds.round().max(0.0) as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// Round times in seconds for an axis as long as this.
fn clock_ticks(seconds: f64, about: usize) -> Vec<f64> {
    const STEPS: [u32; 16] = [
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200,
    ];
    let fits = |step: &&u32| seconds / f64::from(**step) <= about as f64;
    let step = f64::from(*STEPS.iter().find(fits).unwrap_or(&86_400));
    let count = (seconds / step).floor().clamp(0.0, 100.0) as u32;
    (0..=count).map(|i| f64::from(i) * step).collect()
}
