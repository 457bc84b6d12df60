//! What a record leaves out because it may be secret, and how a resumed run gets it again.

use crate::args::RequestArgs;
use plimsoll_engine::RunError;
use plimsoll_model::{
    HIDDEN, HttpService, Plan, ServiceAt, Workload, is_shown_header, shell_word, shown_url,
};

/// What a resumed run is given of its requests.
#[derive(Debug, Default)]
pub(crate) struct GivenAgain {
    url: Option<String>,
    node_metrics: Option<String>,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

impl GivenAgain {
    /// # Errors
    /// A header makes no sense, or a file cannot be read.
    pub(crate) fn of(
        url: Option<&String>,
        node_metrics: Option<&String>,
        request: &RequestArgs,
    ) -> Result<GivenAgain, RunError> {
        Ok(GivenAgain {
            url: url.cloned(),
            node_metrics: node_metrics.cloned(),
            headers: request.parsed_headers()?,
            body: request.body()?,
        })
    }

    fn first(&self) -> Option<&'static str> {
        let given = [
            (self.url.is_some(), "a URL"),
            (self.node_metrics.is_some(), "--node-metrics"),
            (!self.headers.is_empty(), "a header"),
            (self.body.is_some(), "a body"),
        ];
        let first = given.into_iter().find(|(is_given, _)| *is_given);
        first.map(|(_, what)| what)
    }
}

/// The recorded plan with what was given again, and notes for the user. What reports hide
/// may be new, as a token may be; the rest must match the record.
///
/// # Errors
/// Something is missing or differs from the record.
pub(crate) fn supply(plan: &Plan, given: GivenAgain) -> Result<(Plan, Vec<String>), RunError> {
    let mut plan = plan.clone();
    let http = match &mut plan.workload {
        Workload::Http(http) => http,
        Workload::Command(load) if given.headers.is_empty() && given.body.is_none() => {
            take_url(&mut load.url, given.url, "the URL")?;
            take_node_metrics(&mut load.service, given.node_metrics)?;
            nothing_missing(&addresses(&load.url, &load.service))?;
            return Ok((plan, Vec::new()));
        }
        _ => {
            return match given.first() {
                Some(what) => Err(other_plan(&format!("it sent no requests that have {what}"))),
                None => Ok((plan, Vec::new())),
            };
        }
    };
    name_omitted(http);
    take_url(&mut http.url, given.url, "the URL")?;
    take_node_metrics(&mut http.service, given.node_metrics)?;
    for header in given.headers {
        take_header(&mut http.headers, header)?;
    }
    let notes = take_body(http, given.body)?.into_iter().collect();
    nothing_missing(&flags(http))?;
    Ok((plan, notes))
}

fn nothing_missing(flags: &str) -> Result<(), RunError> {
    match flags.is_empty() {
        true => Ok(()),
        false => Err(RunError::Usage(format!(
            "the record leaves out what may be secret of its requests; give it again with{flags}"
        ))),
    }
}

/// Names the headers that an early version left out like any whose value is not there.
fn name_omitted(http: &mut HttpService) {
    let names = std::mem::take(&mut http.omitted_headers).into_iter();
    http.headers
        .extend(names.map(|name| (name, HIDDEN.to_owned())));
}

fn other_plan(difference: &str) -> RunError {
    RunError::Usage(format!(
        "the run was recorded with another plan: {difference}; leave it out to resume, or start a new run"
    ))
}

fn take_url(recorded: &mut String, given: Option<String>, what: &str) -> Result<(), RunError> {
    let Some(given) = given else { return Ok(()) };
    let (shown, was) = (shown_url(&given), shown_url(recorded));
    if shown != was {
        return Err(other_plan(&format!("{what} is {shown} and was {was}")));
    }
    if !recorded.contains(HIDDEN) && given != *recorded {
        let difference = format!("{what} {was} had other values in its query");
        return Err(other_plan(&difference));
    }
    *recorded = given;
    Ok(())
}

fn take_node_metrics(service: &mut ServiceAt, given: Option<String>) -> Result<(), RunError> {
    match (service, given) {
        (_, None) => Ok(()),
        (ServiceAt::NodeMetrics(url), given) => take_url(url, given, "--node-metrics"),
        (_, Some(_)) => Err(other_plan("it had no --node-metrics")),
    }
}

/// Takes the value of a header whose value is missing, or else of one that matches.
fn take_header(
    recorded: &mut [(String, String)],
    (name, value): (String, String),
) -> Result<(), RunError> {
    let called_so = |(other, _): &(String, String)| other.eq_ignore_ascii_case(&name);
    let is_missing = |header: &(String, String)| called_so(header) && header.1 == HIDDEN;
    let matches = |header: &(String, String)| {
        called_so(header) && (!is_shown_header(&name) || header.1 == value)
    };
    let at = recorded.iter().position(is_missing);
    let at = at.or_else(|| recorded.iter().position(matches));
    let header = at.and_then(|at| recorded.get_mut(at)).ok_or_else(|| {
        other_plan(&format!(
            "its requests have no header {name} or one with another value"
        ))
    })?;
    header.1 = value;
    Ok(())
}

/// A note says that a body has another length, as one with a new token may.
fn take_body(http: &mut HttpService, given: Option<Vec<u8>>) -> Result<Option<String>, RunError> {
    let Some(given) = given else { return Ok(None) };
    let (bytes, was) = (given.len() as u64, http.body_bytes());
    if http.omitted_body_bytes.take().is_none() && given != http.body {
        return Err(other_plan("its requests have no body or another one"));
    }
    http.body = given;
    Ok((bytes != was).then(|| {
        format!("the body has {bytes} bytes and had {was}; look whether it is the same request")
    }))
}

/// The flags needed with `--resume FILE` to resume a run with this plan.
pub(crate) fn flags_to_resume(plan: &Plan) -> String {
    let mut plan = plan.clone();
    match &mut plan.workload {
        Workload::Http(http) => {
            name_omitted(http);
            flags(http)
        }
        Workload::Command(load) => addresses(&load.url, &load.service),
        Workload::Hash(_) | Workload::Imported(_) => String::new(),
    }
}

/// The flag for what the record lacks of the server that is measured in turns with that of the plan,
/// after a space.
pub(crate) fn against_to_resume(other: &Plan) -> String {
    match &other.workload {
        Workload::Http(http) if http.url.contains(HIDDEN) => {
            format!(" --against {}", word(&http.url))
        }
        _ => String::new(),
    }
}

fn word(text: &str) -> String {
    shell_word(&text.replace(HIDDEN, "VALUE"))
}

/// The URLs that lack something, each after a space.
fn addresses(url: &str, service: &ServiceAt) -> String {
    let mut flags = String::new();
    if url.contains(HIDDEN) {
        flags += &format!(" {}", word(url));
    }
    if let ServiceAt::NodeMetrics(url) = service
        && url.contains(HIDDEN)
    {
        flags += &format!(" --node-metrics {}", word(url));
    }
    flags
}

/// Flags for what a request lacks, each after a space.
fn flags(http: &HttpService) -> String {
    let mut flags = addresses(&http.url, &http.service);
    let lacking = http.headers.iter().filter(|(_, value)| value == HIDDEN);
    for (name, value) in lacking {
        flags += &format!(" -H {}", word(&format!("{name}: {value}")));
    }
    if http.omitted_body_bytes.is_some() {
        flags += " -d BODY";
    }
    flags
}

#[cfg(test)]
mod tests;
