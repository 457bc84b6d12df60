//! Headers that may hold secrets: what is recorded, and how a resumed run gets the
//! values again.

use crate::args::{HeaderArgs, LoadArgs};
use plimsoll_engine::RunError;
use plimsoll_model::{HttpService, Plan, Workload};
use plimsoll_report::{HIDDEN, is_hidden_header};

/// Name and value of a header as typed: `Accept: text/html`.
pub(crate) fn parse(text: &str) -> Result<(String, String), RunError> {
    text.split_once(':')
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| {
            RunError::Usage(format!(
                "--header: '{text}' is not a header; write it like 'Accept: text/html'"
            ))
        })
}

/// The plan and the command line as they are recorded.
pub(crate) fn recorded(
    plan: &Plan,
    command_line: Vec<String>,
    given: &LoadArgs,
) -> (Plan, Vec<String>) {
    match given.server.keep_headers {
        true => (plan.clone(), command_line),
        false => (
            without_values(plan),
            without_typed_values(command_line, &given.header.headers),
        ),
    }
}

/// The plan without the values of headers that reports hide.
fn without_values(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    if let Workload::Http(http) = &mut plan.workload {
        let all = std::mem::take(&mut http.headers);
        let (omitted, kept): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|(name, _)| is_hidden_header(name));
        http.headers = kept;
        http.omitted_headers = omitted.into_iter().map(|(name, _)| name).collect();
    }
    plan
}

/// The command line without those values; `headers` are the ones in it, as typed.
fn without_typed_values(words: Vec<String>, headers: &[String]) -> Vec<String> {
    let secrets: Vec<(&str, &str)> = headers
        .iter()
        .filter_map(|text| Some((text.as_str(), text.split_once(':')?.0)))
        .filter(|(_, name)| is_hidden_header(name.trim()))
        .collect();
    let hidden = |word: String| {
        // `-H TEXT`, `-HTEXT`, `-kHTEXT` and `--header=TEXT` all end with it.
        let mut typed = secrets.iter();
        let found = typed.find_map(|(text, name)| Some((word.strip_suffix(text)?, name)));
        match found {
            Some((flag, name)) => format!("{flag}{name}: {HIDDEN}"),
            None => word,
        }
    };
    words.into_iter().map(hidden).collect()
}

/// The recorded plan with the headers given again. A header whose value reports
/// hide is checked by name only, because a token may be new. Others must match the
/// record.
///
/// # Errors
/// A header is missing or differs from the record.
pub(crate) fn supply(plan: &Plan, given: &HeaderArgs) -> Result<Plan, RunError> {
    supply_parsed(plan, given.parsed()?)
}

fn supply_parsed(plan: &Plan, given: Vec<(String, String)>) -> Result<Plan, RunError> {
    let mut plan = plan.clone();
    let Workload::Http(http) = &mut plan.workload else {
        return match given.into_iter().next() {
            Some((name, _)) => Err(unknown(&name)),
            None => Ok(plan),
        };
    };
    given
        .into_iter()
        .try_for_each(|header| take(http, header))?;
    if http.omitted_headers.is_empty() {
        return Ok(plan);
    }
    Err(RunError::Usage(format!(
        "the record does not hold the values of these headers: {}; give each again with -H 'NAME: VALUE'",
        http.omitted_headers.join(", ")
    )))
}

/// The record has no such header, or another value.
fn unknown(name: &str) -> RunError {
    RunError::Usage(format!(
        "the run was recorded with another plan: its requests have no header {name} or one with another value; leave it out to resume, or start a new run"
    ))
}

fn take(http: &mut HttpService, (name, value): (String, String)) -> Result<(), RunError> {
    let mut omitted = http.omitted_headers.iter();
    if let Some(at) = omitted.position(|other| other.eq_ignore_ascii_case(&name)) {
        http.omitted_headers.remove(at);
        http.headers.push((name, value));
        return Ok(());
    }
    let same = |(other, recorded): &&mut (String, String)| {
        other.eq_ignore_ascii_case(&name) && (is_hidden_header(&name) || *recorded == value)
    };
    let recorded = http.headers.iter_mut().find(same);
    recorded.ok_or_else(|| unknown(&name))?.1 = value;
    Ok(())
}

/// The flags needed with `--resume FILE` to resume a run with this plan.
pub(crate) fn flags_to_resume(plan: &Plan) -> String {
    match &plan.workload {
        Workload::Http(http) => http
            .omitted_headers
            .iter()
            .map(|name| format!(" -H '{name}: VALUE'"))
            .collect(),
        Workload::Hash(_) | Workload::Imported(_) => String::new(),
    }
}

#[cfg(test)]
mod tests;
