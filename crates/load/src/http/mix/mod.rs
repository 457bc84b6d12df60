//! What is asked of a server: one request, or several that are chosen by their weights, some with
//! values that change.

mod entry;
mod har;
mod login;
mod syntax;
mod template;
mod values;

pub(super) use entry::Entry;
pub(super) use login::Credentials;
pub use template::percent_encoded;
pub(super) use template::{Piece, Supply, Text, push_bytes};

use super::flag_file;
use super::target::{Location, parse_url};
use crate::LoadError;
use http::Method;
use plimsoll_model::{HttpService, RequestFile, RequestOfFile, shown_url};
use sha1::{Digest, Sha1};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use syntax::{BodyDraft, Draft, Wrong};
use template::Names;
use values::{DataSet, TableLimits};

/// Of the file, and of each that it names.
const MOST_BYTES: u64 = 64 << 20;
const MOST_REQUESTS: usize = 1000;

/// What is asked, checked and ready but for what logins give.
#[derive(Debug)]
pub(super) struct Mix {
    pub(super) logins: Vec<Entry>,
    pub(super) entries: Vec<Entry>,
    pub(super) supply: Arc<Supply>,
    /// They are calls of gRPC.
    pub(super) is_grpc: bool,
    /// For sentences: the name of the file.
    file: Option<String>,
}

impl Mix {
    /// # Errors
    /// A request cannot be sent, or a file has changed since the service was described.
    pub(super) fn of(service: &HttpService, to: &Location) -> Result<Mix, LoadError> {
        let Some(described) = &service.requests else {
            return Ok(Mix {
                logins: Vec::new(),
                entries: vec![Entry::only(service, to).or_else(LoadError::mistake)?],
                supply: Arc::default(),
                is_grpc: service.grpc,
                file: None,
            });
        };
        let read = ReadFile::of(&described.file, &service.headers, to)?;
        match read.sha1 == described.sha1 {
            true => read.mix.over(service.grpc),
            false => LoadError::mistake(format!(
                "{}, or a file that it names, has changed since the run began; start a new run",
                described.file
            )),
        }
    }

    /// # Errors
    /// A call of gRPC has another method than POST.
    fn over(self, is_grpc: bool) -> Result<Mix, LoadError> {
        let all = self.logins.iter().chain(&self.entries);
        let mut others = all.filter(|entry| is_grpc && entry.method != Method::POST);
        match others.next() {
            Some(entry) => LoadError::mistake(format!(
                "{} is a {}, and calls of gRPC are POST; write it so, or leave --grpc out",
                self.called(entry)
                    .unwrap_or_else(|| "the request".to_owned()),
                entry.method
            )),
            None => Ok(Mix { is_grpc, ..self }),
        }
    }

    /// The request that is most often chosen.
    pub(super) fn main(&self) -> usize {
        let weights = self.entries.iter().map(|entry| entry.weight);
        let heaviest = weights
            .enumerate()
            .reduce(|a, b| if b.1 > a.1 { b } else { a });
        heaviest.map_or(0, |(at, _)| at)
    }

    /// The sums of the weights up to each request.
    pub(super) fn sums(&self) -> Vec<f64> {
        let mut sum = 0.0;
        let weights = self.entries.iter().map(|entry| entry.weight);
        weights
            .map(|weight| {
                sum += weight;
                sum
            })
            .collect()
    }

    /// `request 'cart' of shop.http`; `None` for a request that is the only one.
    pub(super) fn called(&self, entry: &Entry) -> Option<String> {
        let file = self.file.as_ref()?;
        Some(format!("request '{}' of {file}", entry.name))
    }
}

/// Describes the requests of a file: a `.har` archive, or requests as editors know them.
/// Headers in `common` are sent with all that have no such.
///
/// # Errors
/// What of the file makes no sense.
pub fn describe_requests(
    file: &str,
    common: &[(String, String)],
    url: &str,
) -> Result<RequestFile, LoadError> {
    let to = parse_url(url)?;
    if to.path != "/" {
        return LoadError::mistake(format!(
            "the paths of the requests are those in {file}; give the URL without one, as {}://{}",
            if to.secure { "https" } else { "http" },
            to.authority
        ));
    }
    let read = ReadFile::of(file, common, &to)?;
    let of_file = |(entry, path): (&Entry, String)| RequestOfFile {
        name: entry.name.clone(),
        method: entry.method.to_string(),
        path: shown_url(&path),
        weight: entry.weight,
    };
    let entries = read.mix.entries.iter();
    Ok(RequestFile {
        file: file.to_owned(),
        sha1: read.sha1,
        requests: entries.zip(read.paths).map(of_file).collect(),
        logins: read.mix.logins.len(),
        left_out: read.left_out,
    })
}

struct ReadFile {
    mix: Mix,
    /// Of the requests that are no logins.
    paths: Vec<String>,
    left_out: usize,
    sha1: String,
}

impl ReadFile {
    fn of(file: &str, common: &[(String, String)], to: &Location) -> Result<ReadFile, LoadError> {
        let mut files = Files::default();
        let text = files
            .text(file)
            .or_else(|why| LoadError::mistake(format!("--requests-file: {why}")))?;
        let is_archive = file.to_ascii_lowercase().ends_with(".har");
        let parsed = match is_archive {
            true => har::parse(&text, |url| path_at(url, to).is_ok()).map_err(|why| Wrong {
                line: 1,
                why: format!("no HTTP archive ({why})"),
            }),
            false => syntax::parse(&text).map(|draft| (draft, 0)),
        };
        let at = |wrong: Wrong| {
            LoadError::Mistake(format!("{file}, line {}: {}", wrong.line, wrong.why))
        };
        let (draft, left_out) = parsed.map_err(at)?;
        if draft.requests.is_empty() {
            return LoadError::mistake(format!(
                "{file} has no answered request to {}; give the address of the server that it was recorded with",
                to.authority
            ));
        }
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        let (mix, paths) = built(draft, file, folder, common, to, &mut files).map_err(at)?;
        Ok(ReadFile {
            mix,
            paths,
            left_out,
            sha1: files.sha1(),
        })
    }
}

fn built(
    draft: Draft,
    file: &str,
    folder: &Path,
    common: &[(String, String)],
    to: &Location,
    files: &mut Files,
) -> Result<(Mix, Vec<String>), Wrong> {
    let at = |line: usize| move |why: String| Wrong { line, why };
    if draft.requests.len() > MOST_REQUESTS {
        return Err(at(1)(format!(
            "more than {MOST_REQUESTS} different requests; give fewer"
        )));
    }
    let (mut sets, mut limits) = (Vec::new(), TableLimits::default());
    for set in draft.sets {
        let text = files
            .text(&beside(folder, &set.file))
            .map_err(at(set.line))?;
        let read = DataSet::read(&set.name, &set.file, &text, set.random, &mut limits);
        sets.push(read.map_err(|why| at(set.line)(format!("{}: {why}", set.file)))?);
    }
    let columns = Rc::default();
    let mut bytes = 0usize;
    let mut captured: Vec<String> = Vec::new();
    let (mut logins, mut entries, mut paths) = (Vec::new(), Vec::new(), Vec::new());
    // Logins come first, so that what they capture is known to all.
    let (first, rest): (Vec<_>, Vec<_>) = draft.requests.into_iter().partition(|r| r.login);
    for request in first.into_iter().chain(rest) {
        let at = at(request.line);
        let path = path_at(&request.target, to).map_err(at)?;
        let body = match &request.body {
            BodyDraft::File(name) => files.bytes(&beside(folder, name)).map_err(at)?,
            _ => Vec::new(),
        };
        let is_login = request.login;
        let names = Names {
            sets: &sets,
            captured: &captured,
            columns: Rc::clone(&columns),
        };
        let entry = Entry::of(request, &path, &names, common, body).map_err(at)?;
        bytes = bytes.saturating_add(entry.most_bytes());
        if bytes as u64 > MOST_BYTES {
            return Err(at("all requests together have more than 64 MiB".to_owned()));
        }
        captured.extend(entry.captures.iter().map(|capture| capture.name.clone()));
        match is_login {
            true => logins.push(entry),
            false => {
                entries.push(entry);
                paths.push(path);
            }
        }
    }
    let mix = Mix {
        logins,
        entries,
        supply: Arc::new(Supply::of(sets)),
        is_grpc: false,
        file: Some(file.to_owned()),
    };
    Ok((mix, paths))
}

/// The path of a target, which is one or an address at the server.
fn path_at(target: &str, to: &Location) -> Result<String, String> {
    // A fragment is not sent (RFC 9110, section 7.1).
    let target = target.split('#').next().unwrap_or_default();
    if target.starts_with('/') {
        return Ok(target.to_owned());
    }
    let scheme = target.find("://").map(|at| at + 3);
    let Some(host) = scheme else {
        return Err(format!(
            "'{}' is no path and no address; write it like /path",
            shown_url(target)
        ));
    };
    let end = target[host..]
        .find(['/', '?'])
        .map_or(target.len(), |at| host + at);
    let (origin, path) = target.split_at(end);
    let of = parse_url(origin).map_err(|e| e.to_string())?;
    if (of.secure, &of.authority) != (to.secure, &to.authority) {
        return Err(format!(
            "it is sent to {}, and the run is of {}; all requests go to one server",
            of.authority, to.authority
        ));
    }
    Ok(match path.starts_with('/') {
        true => path.to_owned(),
        false => format!("/{path}"),
    })
}

fn beside(folder: &Path, file: &str) -> String {
    let path: PathBuf = folder.join(file);
    path.to_string_lossy().into_owned()
}

/// Reads files, and sums up what was in them.
#[derive(Default)]
struct Files {
    digest: Sha1,
}

impl Files {
    fn text(&mut self, path: &str) -> Result<String, String> {
        let text = String::from_utf8(self.bytes(path)?);
        text.map_err(|_| format!("'{path}' is no UTF-8 text"))
    }

    fn bytes(&mut self, path: &str) -> Result<Vec<u8>, String> {
        let bytes = flag_file::bytes(path, MOST_BYTES)?;
        self.digest.update((bytes.len() as u64).to_le_bytes());
        self.digest.update(&bytes);
        Ok(bytes)
    }

    fn sha1(self) -> String {
        let bytes = self.digest.finalize();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::request::{Request, Writer};
    use proptest::prelude::*;

    const PARTS: [&str; 24] = [
        "###",
        "### a",
        "# @login",
        "# @weight 2",
        "# @expect 201",
        "# @capture t json /a",
        "# @expect-body x",
        "@a = b",
        "@b = {{a}}{{a}}",
        "GET /",
        "POST /{{a}}?x={{$uuid}}",
        "{{$counter}}",
        "{{$randomInt 1 9}}",
        "{{t}}",
        "{{",
        "}}",
        "\n",
        "\r\n",
        "\r",
        ": ",
        "A: {{b}}",
        "Content-Type: a/json",
        "\u{7}",
        "\u{85}",
    ];

    fn mix(text: &str) -> Result<Mix, LoadError> {
        let to = parse_url("http://localhost:8080")?;
        let at = |wrong: Wrong| LoadError::Mistake(wrong.why);
        let draft = syntax::parse(text).map_err(at)?;
        let mut files = Files::default();
        let folder = Path::new("/none");
        let (mix, _) = built(draft, "r.http", folder, &[], &to, &mut files).map_err(at)?;
        Ok(mix)
    }

    #[test]
    fn calls_of_grpc_are_posts() {
        let text = "POST /a.B/C\n\n###\nGET /a.B/D\n";
        assert!(mix(text).unwrap().over(false).is_ok());
        let refused = mix(text).unwrap().over(true).unwrap_err().to_string();
        assert!(refused.contains("of r.http is a GET"), "{refused}");
        assert!(mix("POST /a.B/C\n").unwrap().over(true).unwrap().is_grpc);
    }

    /// What a file of this text sends, each request once.
    fn sent(text: &str) -> Result<Vec<Vec<u8>>, LoadError> {
        let mix = mix(text)?;
        let none = Credentials::default();
        let requests = mix.logins.iter().chain(&mix.entries);
        let bytes = requests.map(|entry| {
            let request = Request::of(entry, &mix, "h", &none).map_err(LoadError::Mistake)?;
            let mut filled = Vec::new();
            Writer::new(&mix.supply, 1).write(&request, &mix.supply, true, &mut filled);
            Ok(request.fixed(true).unwrap_or(&filled).to_vec())
        });
        bytes.collect()
    }

    proptest! {
        #[test]
        fn any_text_is_refused_or_gives_requests_with_one_head(
            parts in prop::collection::vec((prop::sample::select(&PARTS[..]), "\\PC{0,4}|\n"), 0..30),
        ) {
            let text: String = parts.iter().map(|(part, more)| format!("{part}{more}")).collect();
            for bytes in sent(&text).unwrap_or_default() {
                let mut headers = [httparse::EMPTY_HEADER; 64];
                let mut request = httparse::Request::new(&mut headers);
                let head = request.parse(&bytes).unwrap();
                prop_assert!(head.is_complete(), "{bytes:?}");
                let length = request.headers.iter().find(|h| h.name == "Content-Length");
                let length = length.map_or(0, |h| String::from_utf8_lossy(h.value).parse().unwrap());
                prop_assert_eq!(head.unwrap() + length, bytes.len());
            }
        }
    }
}
