//! What the sliders of the lab are set to, and its file.

use super::pages::Flag;
use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The largest file, in bytes.
const LARGEST: u64 = 64 << 10;

/// A service and a job beside it. What a file leaves out is as usual.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Scenario {
    /// The service's load, in percent of what it carries.
    pub(crate) load_pct: f64,
    /// What the job leaves unused, in percent of the CPU time.
    pub(crate) headroom_pct: f64,
    /// How much latency may be paid, such as `p99+5%`.
    pub(crate) budget: String,
    /// `burn` (hashing), `memory`, `disk`, or a command.
    pub(crate) job: String,
}

impl Default for Scenario {
    fn default() -> Scenario {
        Scenario {
            load_pct: 60.0,
            headroom_pct: 20.0,
            budget: "p99+5%".to_owned(),
            job: "burn".to_owned(),
        }
    }
}

impl Scenario {
    /// # Errors
    /// The file cannot be read, or is not a scenario.
    pub(crate) fn read(file: &Path) -> Result<Scenario, Failure> {
        let shown = file.display();
        let mut text = String::new();
        let read = File::open(file).and_then(|open| open.take(LARGEST).read_to_string(&mut text));
        read.map_err(|e| {
            Failure::Mistake(format!(
                "{shown} cannot be read: {e}; give a letter of a page or a file of JSON"
            ))
        })?;
        serde_json::from_str(&text).map_err(|e| {
            Failure::Mistake(format!(
                "{shown} is not a scenario ({}, line {}); it looks like {}",
                match e.is_data() {
                    true => "a name or a value is wrong",
                    false => "it is not JSON",
                },
                e.line(),
                serde_json::to_string(&Scenario::default()).unwrap_or_default()
            ))
        })
    }

    /// A flag with its value in one word: a value may begin with a dash.
    pub(super) fn word(&self, flag: Flag) -> String {
        let (name, value) = match flag {
            Flag::Load => ("--load", format!("{}%", self.load_pct)),
            Flag::Headroom => ("--headroom", format!("{}%", self.headroom_pct)),
            Flag::Budget => ("--budget", self.budget.clone()),
            Flag::Job => ("--job", self.job.clone()),
        };
        format!("{name}={value}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_what_is_not_usual() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mine.json");
        std::fs::write(&file, "{\"load_pct\": 80, \"job\": \"make -j2\"}").unwrap();
        let read = Scenario::read(&file).unwrap();
        assert_eq!((read.load_pct, read.headroom_pct), (80.0, 20.0));
        assert_eq!(read.word(Flag::Job), "--job=make -j2");
        for wrong in ["", "7", "{\"load\": 1}", "{\"load_pct\": \"much\"}"] {
            std::fs::write(&file, wrong).unwrap();
            let refused = Scenario::read(&file).unwrap_err();
            assert!(
                refused.sentence().unwrap().contains("headroom_pct"),
                "{wrong}"
            );
        }
        assert!(Scenario::read(&dir.path().join("none")).is_err());
    }
}
