//! The flags of `plimsoll compare`.

use super::CompareFormat;
use clap::Args;
use plimsoll_model::Goal;
use std::path::PathBuf;

const COMPARE_HELP: &str = "\
Each record is held against the first. A difference is called better or worse
only where its 95 % interval lies on one side; else it is inconclusive. Records
of different workloads or goals are refused, and those of copies, which have no
capacity. With several goals the table of CPU use by headroom is of the one that
allows the least. A record is called by the name of its machine (of
its table, if it is imported), or by its file where two have the same.

Worked example: web1 carries 1,000/s (950 to 1,050) and web2 1,200/s (1,150 to
1,250). 1.2 times as much (1.12 to 1.29) lies above 1 as a whole: better. At
--price web1=0.30 --price web2=0.40 it is 0.9 times (0.84 to 0.97) as much for
the same money: worse.

Examples:
  plimsoll compare old.plimsoll new.plimsoll
  plimsoll compare web1.plimsoll web2.plimsoll --goal 'p99<10ms' \\
      --price web1=0.34 --price web2=0.29";

/// `plimsoll compare`
#[derive(Debug, Args)]
#[command(after_help = COMPARE_HELP)]
pub(crate) struct CompareArgs {
    /// The records, two or more.
    #[arg(required = true, value_name = "RECORD")]
    pub(crate) files: Vec<PathBuf>,

    /// What a machine costs per hour, such as web1=0.34; all in one currency. Repeatable.
    #[arg(long = "price", value_name = "NAME=PRICE", value_parser = price)]
    pub(crate) prices: Vec<Price>,

    /// Another promise to hold all trials against. Repeatable; replaces those of the runs.
    #[arg(long = "goal", value_name = "GOAL")]
    pub(crate) goals: Vec<Goal>,

    /// How to print the comparison (default: as the name after -o ends, else text).
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<CompareFormat>,

    /// Write it to this file, such as compare.html, instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// What a machine costs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Price {
    /// Its name.
    pub(crate) name: String,
    /// Per hour; any number that can be written.
    pub(crate) per_hour: f64,
}

fn price(text: &str) -> Result<Price, String> {
    // A name may hold a '=', a price does not.
    let parts = text.rsplit_once('=');
    let price = parts.and_then(|(name, price)| {
        Some(Price {
            name: name.trim().to_owned(),
            per_hour: price.trim().parse().ok()?,
        })
    });
    price
        .filter(|p| !p.name.is_empty())
        .ok_or_else(|| "give a machine's name and what it costs per hour, such as web1=0.34".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_what_parts_it_from_its_price() {
        let read = price("a=b = 0.5").unwrap();
        assert_eq!((read.name.as_str(), read.per_hour), ("a=b", 0.5));
        for bad in ["web1", "=0.5", "web1=", "web1=cheap", ""] {
            assert!(price(bad).unwrap_err().contains("web1=0.34"), "{bad}");
        }
    }
}
