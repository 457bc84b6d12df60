//! The flags of `plimsoll compare`.

use clap::{Args, ValueEnum};
use plimsoll_model::Goal;
use std::path::PathBuf;

const COMPARE_HELP: &str = "\
Each record is held against the first. A difference is called better or worse only where its \
95 % interval lies on one side; else it cannot be told. Records of different workloads or goals \
are refused. A record is called by the name of its machine (of its table, if it is imported), or \
by its file where two have the same.

Examples:
  plimsoll compare old.plimsoll new.plimsoll
  plimsoll compare web1.plimsoll web2.plimsoll --price web1=0.34 --price web2=0.29 --goal 'p99<10ms'";

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

    /// How to print the comparison.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: CompareFormat,
}

/// What a machine costs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Price {
    /// Its name.
    pub(crate) name: String,
    /// Per hour; any number that can be written.
    pub(crate) per_hour: f64,
}

/// How a comparison is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    /// Tables and sentences.
    Text,
    /// JSON, as docs/schema/compare.schema.json describes.
    Json,
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
