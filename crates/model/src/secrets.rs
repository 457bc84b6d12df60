//! What of a request may be secret, and is neither shown nor, as a rule, recorded.

use crate::{HttpService, Plan, ServiceAt, Workload};

/// Stands where something is hidden.
pub const HIDDEN: &str = "(hidden)";

/// Headers whose values are shown: how an answer is asked for, not by whom. Any other may
/// carry a key.
const SHOWN: [&str; 14] = [
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "content-encoding",
    "content-language",
    "content-type",
    "host",
    "pragma",
    "priority",
    "range",
    "te",
    "user-agent",
];

pub fn is_shown_header(name: &str) -> bool {
    SHOWN.iter().any(|shown| name.eq_ignore_ascii_case(shown))
}

/// A URL without user and password, values of its query, and fragment. What stands alone in a query
/// is hidden too, and so is a user: tokens are given like that.
pub fn shown_url(url: &str) -> String {
    let is_scheme = |text: &str| {
        text.chars()
            .all(|c| c.is_alphanumeric() || "+-.".contains(c))
    };
    let scheme = url.find("://").filter(|at| is_scheme(&url[..*at]));
    let (scheme, rest) = url.split_at(scheme.map_or(0, |at| at + 3));
    let (who, rest) = rest.split_at(userinfo(rest));
    let who = match who.is_empty() {
        true => String::new(),
        false => format!("{HIDDEN}@"),
    };
    let (rest, fragment) = parted(rest, '#');
    let (path, query) = parted(rest, '?');
    let query: Vec<String> = query.split('&').map(shown_parameter).collect();
    let query = query.join("&");
    let fragment = match fragment.len() {
        0 | 1 => fragment.to_owned(),
        _ => format!("#{HIDDEN}"),
    };
    format!("{scheme}{who}{path}{query}{fragment}")
}

/// A text shorter than this is no secret, and may be a part of any word.
const LEAST_SECRET: usize = 3;

/// What [`shown_url`] hides of a URL: user and password, together and each, and values of its query,
/// the longest first.
pub fn secrets_of_url(url: &str) -> Vec<&str> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (who, rest) = rest.split_at(userinfo(rest));
    let (rest, fragment) = parted(rest, '#');
    let (_, query) = parted(rest, '?');
    let query = query.trim_start_matches('?').split('&');
    let values = query.map(|part| part.split_once('=').map_or(part, |(_, value)| value));
    let who = who.trim_end_matches('@');
    let all = std::iter::once(who)
        .chain(who.splitn(2, ':'))
        .chain(values)
        .chain([fragment.trim_start_matches('#')]);
    let mut all: Vec<&str> = all.filter(|part| part.len() >= LEAST_SECRET).collect();
    all.sort_by_key(|part| std::cmp::Reverse(part.len()));
    all
}

/// The length of user and password at the beginning of an address, up to the `@`.
fn userinfo(rest: &str) -> usize {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let port = authority.rsplit_once(':').map_or("", |(_, port)| port);
    // `u:p/w@h`: what looks like a port is a part of a password that is not encoded.
    let is_port = authority.starts_with('[') || port.chars().all(|c| c.is_ascii_digit());
    let within = match authority.contains('@') || is_port {
        true => authority,
        false => rest,
    };
    within.rfind('@').map_or(0, |at| at + 1)
}

/// A text before a mark, and from it on.
fn parted(text: &str, mark: char) -> (&str, &str) {
    text.split_at(text.find(mark).unwrap_or(text.len()))
}

/// `?name=(hidden)`: the first has the mark of the query before it.
fn shown_parameter(text: &str) -> String {
    let (mark, text) = match text.strip_prefix('?') {
        Some(text) => ("?", text),
        None => ("", text),
    };
    match text.split_once('=') {
        Some((name, "")) => format!("{mark}{name}="),
        Some((name, _)) => format!("{mark}{name}={HIDDEN}"),
        None if text.is_empty() => mark.to_owned(),
        None => format!("{mark}{HIDDEN}"),
    }
}

/// A sentence with its URLs as [`shown_url`] has them.
pub fn shown_urls(text: &str) -> String {
    let ends = |c: char| c.is_whitespace() || "'\"`<>".contains(c);
    let words = text.split_inclusive(ends);
    let shown = |word: &str| {
        let (word, end) = match word.strip_suffix(ends) {
            Some(bare) => word.split_at(bare.len()),
            None => (word, ""),
        };
        match word.contains("://") {
            true => shown_url(word) + end,
            false => word.to_owned() + end,
        }
    };
    words.map(shown).collect()
}

impl HttpService {
    /// The request with what may be secret hidden, which changes nothing where it is
    /// hidden already.
    pub fn without_secrets(&self) -> HttpService {
        let shown = |(name, value): &(String, String)| {
            let is_shown = is_shown_header(name);
            let value = if is_shown { value } else { HIDDEN };
            (name.clone(), value.to_owned())
        };
        let omitted = self.omitted_headers.iter();
        let omitted = omitted.map(|name| (name.clone(), HIDDEN.to_owned()));
        HttpService {
            url: shown_url(&self.url),
            headers: self.headers.iter().map(shown).chain(omitted).collect(),
            omitted_headers: Vec::new(),
            body: Vec::new(),
            omitted_body_bytes: Some(self.body_bytes()).filter(|bytes| *bytes > 0),
            service: self.service.without_secrets(),
            ..self.clone()
        }
    }

    /// The length of the body, which a record may not hold.
    pub fn body_bytes(&self) -> u64 {
        self.omitted_body_bytes.unwrap_or(self.body.len() as u64)
    }
}

impl ServiceAt {
    fn without_secrets(&self) -> ServiceAt {
        match self {
            ServiceAt::NodeMetrics(url) => ServiceAt::NodeMetrics(shown_url(url)),
            other => other.clone(),
        }
    }
}

impl Plan {
    /// The plan with what may be secret of its requests hidden.
    pub fn without_secrets(&self) -> Plan {
        let mut plan = self.clone();
        match &mut plan.workload {
            Workload::Http(http) => *http = http.without_secrets(),
            Workload::Command(load) => {
                load.url = shown_url(&load.url);
                load.service = load.service.without_secrets();
            }
            Workload::Hash(_) | Workload::Imported(_) => {}
        }
        plan
    }
}

#[cfg(test)]
mod tests;
