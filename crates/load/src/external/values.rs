//! The values that a command gets in place of names in braces.

use crate::LoadError;
use plimsoll_model::{LoadCommand, LoadFormat, Rate};
use std::time::Duration;

/// What the command of a trial gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadParameters {
    pub rate: Rate,
    /// In whole seconds.
    pub duration: Duration,
    pub seed: u64,
}

impl LoadParameters {
    /// The rate as commands get it: whole from 100/s up, because many take whole ones only, and
    /// else with two decimals.
    pub(super) fn rate(self) -> String {
        match self.rate.get() {
            rate if rate >= 100.0 => format!("{rate:.0}"),
            rate => format!("{rate:.2}"),
        }
    }

    /// The command with its numbers.
    pub(super) fn substitute_into(self, command: &str) -> String {
        let duration = self.duration.as_secs().to_string();
        let seed = (self.seed % (1 << 31)).to_string();
        let numbers = [
            ("{rate}", self.rate()),
            ("{duration}", duration),
            ("{seed}", seed),
        ];
        let placed = |line: String, (name, value): &(&str, String)| line.replace(name, value);
        numbers.iter().fold(command.to_owned(), placed)
    }
}

const VALUES: [&str; 5] = ["rate", "duration", "seed", "url", "out"];

/// What a command has in braces like a value, such as `{threads}`, and is none: it stays as it is. `${name}`
/// is a variable of sh.
pub fn unknown_values(command: &str) -> Vec<String> {
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
    };
    let mut found = Vec::new();
    for (at, _) in command.match_indices('{') {
        let (before, after) = (&command[..at], &command[at + 1..]);
        let Some((name, _)) = after.split_once('}') else {
            break;
        };
        if is_name(name) && !before.ends_with('$') && !VALUES.contains(&name) {
            found.push(format!("{{{name}}}"));
        }
    }
    found
}

/// Whether a command asks for what it needs.
///
/// # Errors
/// A [`LoadError::Mistake`] that says what it lacks.
pub fn check(load: &LoadCommand) -> Result<(), LoadError> {
    let lacks = |what: &str, why: &str| {
        LoadError::mistake(format!(
            "--load-command: '{}' has no {{{what}}}, {why}; see docs/load-commands.md",
            load.command
        ))
    };
    for (what, why) in [
        ("rate", "where it gets the requests per second of a trial"),
        ("duration", "where it gets how many seconds a trial lasts"),
    ] {
        if !load.command.contains(&format!("{{{what}}}")) {
            return lacks(what, why);
        }
    }
    let needs_file = matches!(
        load.format,
        LoadFormat::K6 | LoadFormat::Fortio | LoadFormat::Pgbench
    );
    if needs_file && !load.command.contains("{out}") {
        let flag = match load.format {
            LoadFormat::K6 => "as in --summary-export {out}",
            LoadFormat::Fortio => "as in -json {out}",
            _ => "as in --log --log-prefix={out}",
        };
        return lacks("out", flag);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_braces_that_have_no_value_are_found() {
        let all = "g -R {rate} {out} -t {threads} {url} ${path} {a,b} {} awk '{print $1}' {n_c} {";
        assert_eq!(unknown_values(all), ["{threads}", "{n_c}"]);
        assert_eq!(
            unknown_values("{{rate}} {{conns}} {Rate}"),
            ["{conns}", "{Rate}"]
        );
    }
}
