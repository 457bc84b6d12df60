//! A command line as it is recorded and shown: written again from what was parsed, without
//! what may be secret.

use crate::shim;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use plimsoll_model::{HIDDEN, is_shown_header, shown_urls};
use std::ffi::{OsStr, OsString};

/// The words of a command; none if `command`, all that this version can parse, does not
/// know them: what of them is secret is unknown then.
pub(crate) fn without_secrets(
    words: impl Iterator<Item = OsString>,
    mut command: Command,
) -> Vec<String> {
    let words = shim::arguments(words);
    let Ok(matches) = command.try_get_matches_from_mut(&words) else {
        return Vec::new();
    };
    let Some((name, own)) = matches.subcommand() else {
        return Vec::new();
    };
    let (program, sub) = (words.first(), command.find_subcommand(name));
    let flags = sub.into_iter().flat_map(clap::Command::get_arguments);
    let mut flags: Vec<(usize, String)> = flags.flat_map(|flag| written(flag, own)).collect();
    // As they were typed.
    flags.sort_by_key(|(index, _)| *index);
    let flags = flags.into_iter().map(|(_, word)| word);
    let program = program.map(|program| program.to_string_lossy().into_owned());
    program
        .into_iter()
        .chain([name.to_owned()])
        .chain(flags)
        .collect()
}

/// The words of a flag as often as it was given, each with its place.
fn written(flag: &Arg, matches: &ArgMatches) -> Vec<(usize, String)> {
    let id = flag.get_id().as_str();
    if matches.value_source(id) != Some(ValueSource::CommandLine) {
        return Vec::new();
    }
    let mut indices = matches.indices_of(id).into_iter().flatten();
    let name = flag.get_long().map(|long| format!("--{long}"));
    if !flag.get_action().takes_values() {
        return indices.next().zip(name).into_iter().collect();
    }
    let occurrences = matches.get_raw_occurrences(id).into_iter().flatten();
    let words = occurrences.flat_map(|values| {
        let values: Vec<&OsStr> = values.collect();
        let places = indices.by_ref().take(values.len());
        let index = places.fold(None, |first, place| first.or(Some(place)));
        let words = with_values(flag, name.as_deref(), &values);
        words
            .into_iter()
            .map(move |word| (index.unwrap_or(usize::MAX), word))
    });
    words.collect()
}

fn with_values(flag: &Arg, name: Option<&str>, values: &[&OsStr]) -> Vec<String> {
    let id = flag.get_id().as_str();
    let values = values
        .iter()
        .map(|value| shown(id, &value.to_string_lossy()));
    let values: Vec<String> = values.collect();
    let Some(name) = name else {
        let dashes = flag.is_last_set().then(|| "--".to_owned());
        return dashes.into_iter().chain(values).collect();
    };
    let value = match flag.get_value_delimiter() {
        Some(delimiter) => values.join(&delimiter.to_string()),
        None => values.join(" "),
    };
    match flag.is_require_equals_set() || value.starts_with('-') {
        true => vec![format!("{name}={value}")],
        false => vec![name.to_owned(), value],
    }
}

/// The value of a flag. What commands of others contain is not hidden.
fn shown(id: &str, value: &str) -> String {
    match id {
        "headers" | "data" if value.starts_with('@') => value.to_owned(),
        "headers" => match value.split_once(':') {
            Some((name, _)) if is_shown_header(name.trim()) => value.to_owned(),
            Some((name, _)) => format!("{name}: {HIDDEN}"),
            None => HIDDEN.to_owned(),
        },
        "data" => HIDDEN.to_owned(),
        "command" | "job" | "restart" => value.to_owned(),
        _ => shown_urls(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::help;

    #[track_caller]
    fn becomes(given: &str, expected: &str) {
        let words = |line: &str| -> Vec<String> { line.split('|').map(str::to_owned).collect() };
        let again = |words: Vec<String>| {
            without_secrets(words.into_iter().map(OsString::from), help::command())
        };
        let shown = again(words(given));
        assert_eq!(shown.join("|"), expected);
        assert_eq!(again(shown), words(expected), "what is hidden stays so");
    }

    #[test]
    fn a_secret_is_hidden_however_it_was_typed() {
        let hidden = "plimsoll|sweep|http://h/|--header|Authorization: (hidden)";
        for flag in ["-H|", "-H", "--header|", "--header="] {
            let typed = format!("plimsoll|sweep|http://h/|{flag}Authorization: swordfish");
            becomes(&typed, hidden);
        }
        becomes(
            "plimsoll|sweep|-kHX-Key: swordfish|-HAccept: a/b|http://u:p@h/?k=v&swordfish",
            "plimsoll|sweep|--insecure|--header|X-Key: (hidden)|--header|Accept: a/b|\
             http://(hidden)@h/?k=(hidden)&(hidden)",
        );
        becomes(
            "plimsoll|yield|http://h/|-dswordfish|-H|swordfish|--job|mail -p swordfish http://u:p@h",
            "plimsoll|yield|http://h/|--data|(hidden)|--header|(hidden)|--job|mail -p swordfish http://u:p@h",
        );
        becomes(
            "plimsoll|sweep|http://h/|-d@body|-H@headers|--node-metrics=http://n/?k=v",
            "plimsoll|sweep|http://h/|--data|@body|--header|@headers|--node-metrics|http://n/?k=(hidden)",
        );
        becomes(
            "plimsoll|import|a.csv|-oa|--note|see http://u:p@h/",
            "plimsoll|import|a.csv|--output|a|--note|see http://(hidden)@h/",
        );
    }

    #[test]
    fn what_is_no_secret_stays_as_it_was_meant() {
        for same in [
            "plimsoll|sweep|--quick|--goal|p99<10ms|--goal|cpu<80%|--levels|10,50",
            "plimsoll|copies|--numbers|1,2|--|make|-j1|--header|a: b|http://u:p@h/",
            "plimsoll|yield|--step=10%,80%|--arms|nice,weight|--no-html",
            "/opt/plimsoll|lateness|--cpus|0",
        ] {
            becomes(same, same);
        }
        let typed = "p|sweep|http://h/|-c4|--color|never";
        becomes(typed, "p|sweep|http://h/|--connections|4|--color|never");
        becomes("p|sweep|--copies|--|make", "p|copies|--|make");
    }

    #[test]
    fn a_command_that_cannot_be_parsed_is_not_shown() {
        for unknown in [
            "p|sweep|--no-such-flag|swordfish",
            "p|steal",
            "p",
            "p|--help",
        ] {
            let words = unknown.split('|').map(OsString::from);
            let shown = without_secrets(words, help::command());
            assert_eq!(shown, [""; 0], "{unknown}");
        }
    }
}
