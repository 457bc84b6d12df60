//! Requests that a browser recorded (HTTP Archive 1.2): pure.

use super::entry::OWN;
use super::percent_encoded;
use super::syntax::{BodyDraft, Draft, RequestDraft};
use serde::Deserialize;
use std::collections::HashMap;

#[derive(Deserialize)]
struct Archive {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    request: Request,
    response: Response,
}

#[derive(Deserialize)]
struct Response {
    status: u16,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    method: String,
    url: String,
    headers: Vec<Header>,
    post_data: Option<PostData>,
}

#[derive(Deserialize)]
struct Header {
    name: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PostData {
    #[serde(default)]
    mime_type: String,
    #[serde(default)]
    text: String,
    /// In place of the text.
    #[serde(default)]
    params: Vec<Param>,
}

#[derive(Deserialize)]
struct Param {
    name: String,
    #[serde(default)]
    value: String,
}

impl PostData {
    /// `None` if the archive does not have what was sent.
    fn body(self) -> Option<BodyDraft> {
        let is_form = self
            .mime_type
            .starts_with("application/x-www-form-urlencoded");
        match (self.text.is_empty(), self.params.is_empty()) {
            (false, _) => Some(BodyDraft::Text(self.text)),
            (true, true) => Some(BodyDraft::None),
            (true, false) if is_form => {
                let pair = |param: &Param| {
                    format!(
                        "{}={}",
                        percent_encoded(&param.name),
                        percent_encoded(&param.value)
                    )
                };
                let pairs: Vec<String> = self.params.iter().map(pair).collect();
                Some(BodyDraft::Text(pairs.join("&")))
            }
            (true, false) => None,
        }
    }
}

/// What belongs to the recorded connection, besides what the client sets.
const OF_CONNECTION: [&str; 2] = ["host", "keep-alive"];

/// The requests that `is_here` takes and that had an answer below 400, each once, with how often
/// it was sent as its weight; and how many were left out.
///
/// # Errors
/// Why the text is no archive.
pub(super) fn parse(text: &str, is_here: impl Fn(&str) -> bool) -> Result<(Draft, usize), String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let archive: Archive = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let mut draft = Draft::default();
    let mut places = HashMap::new();
    let mut left_out = 0;
    for Entry { request, response } in archive.log.entries {
        if !is_here(&request.url) || !(200..400).contains(&response.status) {
            left_out += 1;
            continue;
        }
        let sent = |header: &Header| {
            let mut own = OWN.iter().chain(&OF_CONNECTION);
            let is_own = own.any(|own| header.name.eq_ignore_ascii_case(own));
            !is_own && !header.name.starts_with(':')
        };
        let headers = request.headers.into_iter().filter(sent);
        let headers: Vec<_> = headers.map(|h| (h.name, h.value)).collect();
        let body = request
            .post_data
            .map_or(Some(BodyDraft::None), PostData::body);
        let Some(body) = body else {
            left_out += 1;
            continue;
        };
        let found = RequestDraft {
            line: 1,
            method: request.method,
            target: request.url,
            headers,
            body,
            expected_status: Some(response.status),
            weight: Some(1.0),
            is_literal: true,
            ..RequestDraft::default()
        };
        let key = format!("{found:?}");
        match places.get(&key) {
            None => {
                places.insert(key, draft.requests.len());
                draft.requests.push(found);
            }
            Some(at) => {
                let known: &mut RequestDraft = &mut draft.requests[*at];
                known.weight = known.weight.map(|weight| weight + 1.0);
            }
        }
    }
    Ok((draft, left_out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_gives_its_requests_with_weights() {
        let entry = |url: &str, status: u16| {
            format!(
                "{{\"request\": {{\"method\": \"POST\", \"url\": \"{url}\", \"headers\": [{{\"name\": \"Host\", \
                 \"value\": \"h\"}}, {{\"name\": \":path\", \"value\": \"/\"}}, {{\"name\": \"X\", \"value\": \"y\"}}], \
                 \"postData\": {{\"mimeType\": \"a\", \"text\": \"{{{{b}}}}\"}}}}, \"response\": {{\"status\": {status}}}}}"
            )
        };
        let entries = [
            entry("http://h/a", 201),
            entry("http://h/a", 201),
            entry("http://h/b", 304),
            entry("http://other/a", 200),
            entry("http://h/c", 0),
        ];
        let text = format!("{{\"log\": {{\"entries\": [{}]}}}}", entries.join(","));
        let (draft, left_out) = parse(&text, |url| url.starts_with("http://h/")).unwrap();
        let seen: Vec<_> = draft
            .requests
            .iter()
            .map(|r| (r.target.as_str(), r.weight, r.expected_status))
            .collect();
        assert_eq!(
            seen,
            [
                ("http://h/a", Some(2.0), Some(201)),
                ("http://h/b", Some(1.0), Some(304))
            ]
        );
        assert_eq!(draft.requests[0].headers, [("X".into(), "y".into())]);
        assert_eq!(draft.requests[0].body, BodyDraft::Text("{{b}}".into()));
        assert_eq!(left_out, 2);
        let form = r#"{"log": {"entries": [{"request": {"method": "POST", "url": "http://h/", "headers": [],
            "postData": {"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "a b", "value": "&"}, {"name": "c"}]}},
            "response": {"status": 200}}]}}"#;
        let (draft, left_out) = parse(form, |_| true).unwrap();
        let body = BodyDraft::Text("a%20b=%26&c=".into());
        assert_eq!((&draft.requests[0].body, left_out), (&body, 0));
        let parts = form.replace("application/x-www-form-urlencoded", "multipart/form-data");
        let (draft, left_out) = parse(&parts, |_| true).unwrap();
        assert_eq!((draft.requests.len(), left_out), (0, 1));
        assert!(parse("{}", |_| true).unwrap_err().contains("log"));
    }
}
