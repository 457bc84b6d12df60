//! Pressure stall information (PSI), from `some avg10=… total=MICROSECONDS`
//! (Documentation/accounting/psi.rst).

use crate::both;
use crate::error::{HostError, Malformed, number};
use crate::root::Root;
use plimsoll_model::Pressure;
use std::time::Duration;

/// Time since boot in which at least one task waited for a CPU, memory or a
/// disk. `None` if the kernel does not count it: before 4.20, built without
/// PSI, or not booted with a required `psi=1`.
pub fn pressure(root: &Root) -> Result<Option<Pressure>, HostError> {
    let pressure = Pressure {
        cpu_some: some_total(root, "/proc/pressure/cpu")?,
        memory_some: some_total(root, "/proc/pressure/memory")?,
        io_some: some_total(root, "/proc/pressure/io")?,
    };
    Ok(Some(pressure).filter(|p| *p != Pressure::default()))
}

pub(crate) fn since(now: Pressure, earlier: Pressure) -> Pressure {
    let added = |now, then| both(now, then, Duration::saturating_sub);
    Pressure {
        cpu_some: added(now.cpu_some, earlier.cpu_some),
        memory_some: added(now.memory_some, earlier.memory_some),
        io_some: added(now.io_some, earlier.io_some),
    }
}

/// The total of a file's `some` line; `None` if the file does not exist.
pub(crate) fn some_total(root: &Root, path: &str) -> Result<Option<Duration>, HostError> {
    root.parse_optional(path, parse)
}

fn parse(text: &str) -> Result<Duration, Malformed> {
    const EXPECTED: &str = "a line 'some … total=MICROSECONDS'";
    let line = text.lines().find(|line| line.starts_with("some "));
    let total = line.and_then(|line| {
        line.split_ascii_whitespace()
            .find_map(|word| word.strip_prefix("total="))
    });
    let total = total.ok_or_else(|| Malformed::new(EXPECTED, text))?;
    Ok(Duration::from_micros(number(total, EXPECTED)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    const CPU: &str = "some avg10=0.36 avg60=0.54 avg300=0.85 total=26451270\n";

    #[test]
    fn totals_are_microseconds_of_the_some_line() {
        let tree = FakeTree::new().file("proc/pressure/cpu", CPU).file(
            "proc/pressure/io",
            "some avg10=0.00 total=7\nfull avg10=0.00 total=5\n",
        );
        let p = pressure(tree.root()).unwrap().unwrap();
        assert_eq!(p.cpu_some, Some(Duration::from_micros(26_451_270)));
        assert_eq!(p.io_some, Some(Duration::from_micros(7)));
        assert_eq!(p.memory_some, None);
    }

    #[test]
    fn missing_psi_is_none_not_zero() {
        assert_eq!(pressure(FakeTree::new().root()).unwrap(), None);
    }

    #[test]
    fn unknown_in_one_reading_is_unknown_in_the_difference() {
        let p = |us| Pressure {
            cpu_some: us,
            ..Pressure::default()
        };
        let ms = |n| Some(Duration::from_millis(n));
        assert_eq!(since(p(ms(5)), p(ms(2))).cpu_some, ms(3));
        assert_eq!(since(p(ms(5)), p(None)).cpu_some, None);
        assert_eq!(since(p(ms(2)), p(ms(5))).cpu_some, ms(0));
    }
}
