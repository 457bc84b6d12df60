//! The text of a file of requests, as editors that send requests know it (`.http`): pure.

use std::fmt::Display;

/// What a file says, before its values are known.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Draft {
    pub(super) sets: Vec<SetDraft>,
    pub(super) requests: Vec<RequestDraft>,
}

/// `# @data NAME FILE [random]`
#[derive(Debug, PartialEq)]
pub(super) struct SetDraft {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) file: String,
    pub(super) random: bool,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct RequestDraft {
    /// That of its request line, from 1.
    pub(super) line: usize,
    pub(super) name: Option<String>,
    pub(super) weight: Option<f64>,
    pub(super) login: bool,
    pub(super) expected_status: Option<u16>,
    pub(super) expected_text: Option<String>,
    pub(super) captures: Vec<Capture>,
    pub(super) method: String,
    pub(super) target: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: BodyDraft,
    /// `{{` has no meaning in it.
    pub(super) is_literal: bool,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub(super) enum BodyDraft {
    #[default]
    None,
    Text(String),
    File(String),
    /// Given apart.
    Bytes,
}

/// A value that the answer to a login gives.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::http) struct Capture {
    pub(super) name: String,
    pub(super) from: CapturedFrom,
}

#[derive(Debug, Clone, PartialEq)]
pub(in crate::http) enum CapturedFrom {
    /// A JSON pointer (RFC 6901).
    Json(String),
    Header(String),
    Cookie(String),
}

/// Where a file is wrong, and how.
#[derive(Debug, PartialEq)]
pub(super) struct Wrong {
    pub(super) line: usize,
    pub(super) why: String,
}

pub(super) fn wrong<T>(line: usize, why: impl Display) -> Result<T, Wrong> {
    Err(Wrong {
        line,
        why: why.to_string(),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Before the request line.
    Start,
    Headers,
    Body,
}

struct Reader {
    draft: Draft,
    variables: Vec<(String, String)>,
    at: At,
    /// Of all lines with their variables.
    bytes: usize,
    /// The request that is being read.
    request: RequestDraft,
    body: Vec<String>,
}

/// # Errors
/// The first line that makes no sense.
pub(super) fn parse(text: &str) -> Result<Draft, Wrong> {
    let mut reader = Reader {
        draft: Draft::default(),
        variables: Vec::new(),
        at: At::Start,
        bytes: 0,
        request: RequestDraft::default(),
        body: Vec::new(),
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut last = 0;
    for (index, line) in text.lines().enumerate() {
        last = index + 1;
        reader.line(last, line)?;
    }
    reader.end(last)?;
    match reader.draft.requests.iter().any(|request| !request.login) {
        true => Ok(reader.draft),
        false => wrong(
            last.max(1),
            "no request to measure; write one like 'GET /path'",
        ),
    }
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Wrong> {
        if let Some(name) = line.strip_prefix("###") {
            self.end(number)?;
            let name = name.trim_matches(|c: char| c == '#' || c.is_whitespace());
            self.request.name = (!name.is_empty()).then(|| name.to_owned());
            return Ok(());
        }
        if self.at == At::Body {
            let line = self.replaced(number, line)?;
            self.body.push(line);
            return Ok(());
        }
        let text = line.trim();
        if let Some(comment) = comment(text) {
            return match comment.strip_prefix('@') {
                Some(directive) => self.directive(number, directive),
                None => Ok(()),
            };
        }
        match (self.at, text.is_empty()) {
            (At::Start, true) => Ok(()),
            (At::Start, false) => self.first(number, text),
            (_, true) => {
                self.at = At::Body;
                Ok(())
            }
            (_, false) if line.starts_with(char::is_whitespace) && text.starts_with(['?', '&']) => {
                let more = self.replaced(number, text)?;
                self.request.target += &more;
                Ok(())
            }
            (_, false) => self.header(number, text),
        }
    }

    /// `@name = value`, or the request line.
    fn first(&mut self, number: usize, text: &str) -> Result<(), Wrong> {
        if let Some(variable) = text.strip_prefix('@') {
            let Some((name, value)) = variable.split_once('=') else {
                return wrong(number, "a variable is written '@name = value'");
            };
            let value = self.replaced(number, value.trim())?;
            let name = checked_name(number, name.trim())?;
            self.variables.retain(|(other, _)| *other != name);
            if self.variables.len() == MOST_VARIABLES {
                return wrong(number, format!("more than {MOST_VARIABLES} variables"));
            }
            self.variables.push((name, value));
            return Ok(());
        }
        if text.starts_with(['<', '>']) {
            return wrong(
                number,
                "scripts are not run; remove them, and write what an answer must be with '# @expect' and what it gives with '# @capture'",
            );
        }
        let text = self.replaced(number, text)?;
        let (text, version) = match text.rsplit_once(char::is_whitespace) {
            Some((text, version)) if version.starts_with("HTTP/") => (text.trim_end(), version),
            _ => (text.as_str(), "HTTP/1.1"),
        };
        if version != "HTTP/1.1" {
            return wrong(
                number,
                "requests are sent with HTTP/1.1; leave the version out",
            );
        }
        let is_method = |word: &str| word.chars().all(|c| c.is_ascii_alphabetic() || c == '-');
        let (method, target) = match text.split_once(char::is_whitespace) {
            Some((method, target)) if is_method(method) => (method, target.trim_start()),
            _ => ("GET", text),
        };
        self.request.line = number;
        self.request.method = method.to_owned();
        self.request.target = target.to_owned();
        self.at = At::Headers;
        Ok(())
    }

    fn header(&mut self, number: usize, text: &str) -> Result<(), Wrong> {
        let text = self.replaced(number, text)?;
        let Some((name, value)) = text.split_once(':') else {
            return wrong(
                number,
                "not a header; write it like 'Accept: text/html', and an empty line before the body",
            );
        };
        let header = (name.trim().to_owned(), value.trim().to_owned());
        self.request.headers.push(header);
        Ok(())
    }

    fn directive(&mut self, number: usize, text: &str) -> Result<(), Wrong> {
        let text = self.replaced(number, text)?;
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((&text, ""));
        let rest = rest.trim();
        let words: Vec<&str> = rest.split_whitespace().collect();
        let request = &mut self.request;
        match (word, words.as_slice()) {
            ("name", [_, ..]) => request.name = Some(rest.to_owned()),
            ("weight", [weight]) => {
                let weight = weight.parse().ok().filter(|w: &f64| *w > 0.0 && *w <= 1e9);
                request.weight = match weight {
                    None => return wrong(number, "a weight is a number above zero, up to 1e9"),
                    weight => weight,
                };
            }
            ("expect", [status]) => {
                let status = status.parse().ok().filter(|s| (200..600).contains(s));
                request.expected_status = match status {
                    None => return wrong(number, "'# @expect' takes a status from 200 to 599"),
                    status => status,
                };
            }
            ("expect-body", [_, ..]) => request.expected_text = Some(rest.to_owned()),
            ("login", []) => request.login = true,
            ("capture", [name, kind, from]) => {
                let (name, from) = (checked_name(number, name)?, (*from).to_owned());
                let from = match *kind {
                    "json" if from.starts_with('/') => CapturedFrom::Json(from),
                    "json" => {
                        return wrong(
                            number,
                            format!("'{from}' is no JSON pointer; write it like /token"),
                        );
                    }
                    "header" => CapturedFrom::Header(from),
                    "cookie" => CapturedFrom::Cookie(from),
                    _ => return wrong(number, "a value is captured from json, header or cookie"),
                };
                request.captures.push(Capture { name, from });
            }
            ("data", [name, file, order @ ..]) if matches!(order, [] | ["random"]) => {
                let name = checked_name(number, name)?;
                if self.draft.sets.iter().any(|set| set.name == name) {
                    return wrong(number, format!("there are two data sets named {name}"));
                }
                self.draft.sets.push(SetDraft {
                    line: number,
                    name,
                    file: (*file).to_owned(),
                    random: !order.is_empty(),
                });
            }
            ("name" | "weight" | "expect" | "expect-body" | "login" | "capture" | "data", _) => {
                return wrong(number, USAGE);
            }
            _ => return wrong(number, format!("'@{word}' is not known; {USAGE}")),
        }
        Ok(())
    }

    /// Ends a request, or does nothing where none has begun.
    fn end(&mut self, number: usize) -> Result<(), Wrong> {
        let mut request = std::mem::take(&mut self.request);
        let lines = std::mem::take(&mut self.body);
        if std::mem::replace(&mut self.at, At::Start) == At::Start {
            let given = [
                (request.weight.is_some(), "weight"),
                (request.login, "login"),
                (request.expected_status.is_some(), "expect"),
                (request.expected_text.is_some(), "expect-body"),
                (!request.captures.is_empty(), "capture"),
            ];
            return match given.iter().find(|(is_given, _)| *is_given) {
                Some((_, what)) => wrong(
                    number,
                    format!(
                        "'@{what}' stands before a request, and none came; write one like 'GET /path'"
                    ),
                ),
                None => Ok(()),
            };
        }
        if !request.login && !request.captures.is_empty() {
            return wrong(
                request.line,
                "values are captured from a login alone; add '# @login'",
            );
        }
        if request.login && request.weight.is_some() {
            return wrong(
                request.line,
                "a login is sent before each trial and has no weight",
            );
        }
        let kept = lines.iter().rposition(|line| !line.trim().is_empty());
        let lines = &lines[..kept.map_or(0, |at| at + 1)];
        request.body = match lines {
            [] => BodyDraft::None,
            [only] if only.starts_with("< ") => BodyDraft::File(only[2..].trim().to_owned()),
            lines => {
                let is_script = |line: &&String| {
                    ["> ", ">> ", "<> "]
                        .iter()
                        .any(|mark| line.starts_with(mark))
                };
                if lines.iter().any(|line| is_script(&line)) {
                    return wrong(
                        request.line,
                        "what follows the body with '>' or '<>' is not run; remove it",
                    );
                }
                BodyDraft::Text(lines.join("\n"))
            }
        };
        self.draft.requests.push(request);
        Ok(())
    }

    /// With the variables of the file in their places.
    fn replaced(&mut self, number: usize, text: &str) -> Result<String, Wrong> {
        let mut text = text.to_owned();
        for (name, value) in &self.variables {
            for mark in [format!("{{{{{name}}}}}"), format!("{{{{ {name} }}}}")] {
                let places = text.matches(&mark).count();
                if text
                    .len()
                    .saturating_add(places.saturating_mul(value.len()))
                    > MOST_OF_LINE
                {
                    return wrong(number, "with its variables the line has more than 1 MiB");
                }
                text = text.replace(&mark, value);
            }
        }
        self.bytes += text.len();
        match self.bytes <= MOST_OF_FILE {
            true => Ok(text),
            false => wrong(number, "with its variables the file has more than 64 MiB"),
        }
    }
}

/// Variables in variables must not take all memory.
const MOST_OF_LINE: usize = 1 << 20;
const MOST_OF_FILE: usize = 64 << 20;
const MOST_VARIABLES: usize = 1000;

const USAGE: &str = "known are: @name TEXT, @weight NUMBER, @expect STATUS, @expect-body TEXT, @login, @capture NAME json|header|cookie FROM, @data NAME FILE [random]";

/// The text of a comment.
fn comment(text: &str) -> Option<&str> {
    let text = text.strip_prefix('#').or_else(|| text.strip_prefix("//"))?;
    Some(text.trim_start())
}

fn checked_name(line: usize, name: &str) -> Result<String, Wrong> {
    let is_good = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    match !name.is_empty() && name.chars().all(is_good) {
        true => Ok(name.to_owned()),
        false => wrong(
            line,
            format!("'{name}' is no name; use letters, digits, _ and -"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_requests_is_read() {
        let text = "@base = /v1\n# a comment\n# @data users users.csv random\n\n\
            ### sign in\n# @login\n# @capture token json /access/token\nPOST {{base}}/login\n\
            Content-Type: application/json\n\n{\"user\": \"a\"}\n\n\
            ### list\n// @weight 7\nGET {{ base }}/items\n  ?page=1\n  &size={{users.n}} HTTP/1.1x\nAccept: a/b\n\
            ###\n{{base}}/plain HTTP/1.1\n\
            ### put\n# @expect 201\n# @expect-body it's done\nPUT /a\n\n< body.bin\n\n\n";
        let draft = parse(text).unwrap();
        assert_eq!(draft.sets[0].file, "users.csv");
        assert!(draft.sets[0].random);
        let [login, list, plain, put] = draft.requests.as_slice() else {
            panic!("{draft:?}");
        };
        assert!(login.login);
        assert_eq!((login.line, login.target.as_str()), (8, "/v1/login"));
        assert_eq!(login.body, BodyDraft::Text("{\"user\": \"a\"}".into()));
        let from = CapturedFrom::Json("/access/token".into());
        assert_eq!(login.captures[0].from, from);
        assert_eq!(list.name.as_deref(), Some("list"));
        assert_eq!(list.weight, Some(7.0));
        assert_eq!(list.target, "/v1/items?page=1&size={{users.n}} HTTP/1.1x");
        assert_eq!(list.headers, [("Accept".into(), "a/b".into())]);
        assert_eq!(
            (plain.method.as_str(), plain.target.as_str()),
            ("GET", "/v1/plain")
        );
        assert_eq!(put.expected_status, Some(201));
        assert_eq!(put.expected_text.as_deref(), Some("it's done"));
        assert_eq!(put.body, BodyDraft::File("body.bin".into()));
    }

    #[test]
    fn variables_in_variables_do_not_grow_without_an_end() {
        let mut text = "@a0 = xxxxxxxxxx\n".to_owned();
        for n in 1..40 {
            let before = format!("{{{{a{}}}}}", n - 1).repeat(10);
            text += &format!("@a{n} = {before}\n");
        }
        let wrong = parse(&(text + "GET /{{a39}}\n")).unwrap_err();
        assert!(wrong.why.contains("more than 1 MiB"), "{wrong:?}");
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_line() {
        for (text, line, why) in [
            ("", 1, "no request"),
            ("# @login\nGET /", 2, "no request to measure"),
            ("# @wieght 7\nGET /", 1, "'@wieght' is not known"),
            ("# @weight -1\nGET /", 1, "above zero"),
            ("# @weight\nGET /", 1, "known are"),
            ("# @expect 99\nGET /", 1, "200 to 599"),
            ("GET /\n# @weight 2\n### b\n# @weight 3\n", 4, "none came"),
            ("# @login\n# @weight 2\nGET /", 3, "no weight"),
            ("# @capture a json /b\nGET /", 2, "from a login"),
            ("# @capture a json b\nGET /", 1, "no JSON pointer"),
            ("# @capture a body b\nGET /", 1, "json, header or cookie"),
            ("# @data a b\n# @data a c\nGET /", 2, "two data sets"),
            ("@a b\nGET /", 1, "@name = value"),
            ("GET / HTTP/2\n", 1, "HTTP/1.1"),
            ("GET /\n{}", 2, "empty line before the body"),
            ("< {%\nx\n%}\nGET /", 1, "scripts"),
            ("POST /\n\n{}\n\n> {% x %}\n", 1, "is not run"),
        ] {
            let wrong = parse(text).unwrap_err();
            assert_eq!(wrong.line, line, "{text:?} {wrong:?}");
            assert!(wrong.why.contains(why), "{text:?} {wrong:?}");
        }
    }
}
