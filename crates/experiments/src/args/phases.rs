//! Rates that change over time, as they are written: `10s@100,20s@0,5s@400` and `100..5000`.

use plimsoll_model::{Rate, RatePhase, human_duration, parse_duration};
use std::fs::File;
use std::io::Read;
use std::time::Duration;

/// A phase may last so long.
const LONGEST: Duration = Duration::from_secs(3600);

pub(crate) fn phase(text: &str) -> Result<RatePhase, String> {
    let read = || {
        let (length, rate) = text.trim().split_once('@')?;
        let length = parse_duration(length)?;
        let rate = Rate::per_second(rate.parse().ok()?)?;
        let is_rate = rate == Rate::ZERO || (0.01..=1e6).contains(&rate.get());
        (is_rate && length <= LONGEST).then_some(RatePhase { length, rate })
    };
    read().ok_or_else(|| {
        "give each phase as TIME@RATE, up to 1h and 1000000 requests per second, such as \
         10s@100,20s@0 (rate 0 is a break)"
            .to_owned()
    })
}

/// The largest file of phases, in bytes.
const LARGEST: u64 = 1 << 20;

/// Phases one after another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Phases(pub(crate) Vec<RatePhase>);

/// Phases in a list, or after `@` the name of a file with one a line. Empty lines and those that
/// begin with `#` are left out.
pub(crate) fn phases(text: &str) -> Result<Phases, String> {
    let Some(file) = text.strip_prefix('@') else {
        return text
            .split(',')
            .map(phase)
            .collect::<Result<_, _>>()
            .map(Phases);
    };
    let mut lines = String::new();
    let read = File::open(file).and_then(|open| open.take(LARGEST).read_to_string(&mut lines));
    read.map_err(|error| format!("{file} cannot be read: {error}; give a file of phases"))?;
    let is_phase = |(_, line): &(usize, &str)| !line.is_empty() && !line.starts_with('#');
    let lines = lines.trim_start_matches('\u{feff}');
    let lines = lines.lines().map(str::trim).enumerate().filter(is_phase);
    let read = lines.map(|(at, line)| {
        let line = line.trim_end_matches(',');
        phase(line).map_err(|why| format!("{file}, line {}: {why}", at + 1))
    });
    read.collect::<Result<_, _>>().map(Phases)
}

/// The lowest and the highest rate of a ramp.
pub(crate) fn ramp(text: &str) -> Result<(Rate, Rate), String> {
    let read = || {
        let (from, to) = text.split_once("..")?;
        let rate = |text: &str| Rate::per_second(text.parse().ok()?);
        // "1...5" is no ramp to a half.
        let (from, to) = (rate(from)?, rate(to).filter(|_| !to.starts_with('.'))?);
        let most = f64::max(from.get(), to.get());
        (from != to && (0.01..=1e6).contains(&most)).then_some((from, to))
    };
    read().ok_or_else(|| {
        "give the first and the last rate, two numbers up to 1000000, such as 100..5000".to_owned()
    })
}

/// How the phases read: `10s@100,20s@0`.
pub(crate) fn written(pattern: &[RatePhase]) -> String {
    let phase = |p: &RatePhase| format!("{}@{}", human_duration(p.length), p.rate.get());
    pattern.iter().map(phase).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_read_from_a_list_or_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("day");
        std::fs::write(&file, "\u{feff}# morning\n10s@100\n\n 20s@0,\n").unwrap();
        let at = format!("@{}", file.display());
        assert_eq!(phases(&at), phases("10s@100,20s@0"));
        std::fs::write(&file, "10s@100\nmuch\n").unwrap();
        assert!(phases(&at).unwrap_err().contains("line 2: give each phase"));
        assert!(phases("@/none").unwrap_err().contains("cannot be read"));
        for bad in [
            "", "10s", "10@5", "10s@-1", "10s@NaN", "2h@1", "1s@1e9", "-1s@3",
        ] {
            assert!(phases(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_ramp_has_two_rates() {
        assert!(ramp("0..50").is_ok() && ramp("5000..100").is_ok());
        for bad in [
            "", "5", "..", "5..5", "1...5", "0..0", "-1..5", "1..NaN", "1..2..3", "0..1e9",
        ] {
            assert!(ramp(bad).is_err(), "{bad}");
        }
    }
}
