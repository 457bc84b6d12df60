//! Requests that are sent before a trial, and what their answers give to those of the trial.

use super::syntax::CapturedFrom;
use super::template::{Piece, Text, push_bytes, written};
use super::values::Value;
use super::{Entry, Mix};
use crate::LoadError;
use crate::http::parser::{MOST_KEPT, header_values};
use crate::http::probe::{Answered, ask};
use crate::http::request::{Request, Writer};
use crate::http::target::Target;
use std::time::Duration;

/// Of what a login gave, in one text.
const MOST_PLACED: usize = 16 << 20;

/// What logins gave.
#[derive(Default)]
pub(in crate::http) struct Credentials {
    values: Vec<(String, Value)>,
    cookies: Vec<(String, String)>,
}

impl Credentials {
    /// A text with what was captured in its places.
    ///
    /// # Errors
    /// A value cannot stand there.
    pub(in crate::http) fn placed(&self, text: &Text) -> Result<Text, String> {
        let mut placed = Text::new();
        let mut bytes = 0;
        for piece in text {
            match piece {
                Piece::Captured(name, place) => {
                    let value = self.values.iter().rev().find(|(other, _)| other == name);
                    if let Some((_, value)) = value {
                        let value = written(value, *place);
                        let value = value.map_err(|why| format!("'{name}' of the login: {why}"))?;
                        bytes += value.len();
                        if bytes > MOST_PLACED {
                            return Err(format!("what the login gives as '{name}' is too long"));
                        }
                        push_bytes(&mut placed, &value);
                    }
                }
                Piece::Bytes(bytes) => push_bytes(&mut placed, bytes),
                other => placed.push(other.clone()),
            }
        }
        Ok(placed)
    }

    /// The value of a Cookie header.
    pub(in crate::http) fn cookies(&self) -> Option<String> {
        let cookies = self.cookies.iter();
        let cookies: Vec<String> = cookies
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        (!cookies.is_empty()).then(|| cookies.join("; "))
    }

    /// Sends the logins of a mix, in order.
    ///
    /// # Errors
    /// [`LoadError::Service`]: one failed, or its answer has not what is captured.
    pub(in crate::http) fn of(
        mix: &Mix,
        host: &str,
        target: &Target,
        timeout: Duration,
    ) -> Result<Credentials, LoadError> {
        let mut all = Credentials::default();
        let mut writer = Writer::new(&mix.supply, 0);
        for login in &mix.logins {
            let request = Request::of(login, mix, host, &all).map_err(LoadError::Service)?;
            let mut bytes = Vec::new();
            writer.write(&request, &mix.supply, false, &mut bytes);
            let bytes = request.fixed(false).unwrap_or(&bytes);
            let answer = ask(target, &request, bytes, timeout)?;
            all.take(login, &answer)
                .map_err(|why| LoadError::Service(format!("{} {why}", target.url)))?;
        }
        Ok(all)
    }

    fn take(&mut self, login: &Entry, answer: &Answered) -> Result<(), String> {
        for text in header_values(&answer.opening, "set-cookie") {
            let pair = text.split(';').next().unwrap_or_default();
            let Some((name, value)) = pair.split_once('=') else {
                continue;
            };
            let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
            self.cookies.retain(|(other, _)| *other != name);
            self.cookies.push((name, value));
        }
        for capture in &login.captures {
            let value = match &capture.from {
                CapturedFrom::Json(pointer) => in_json(&answer.body, pointer)?,
                CapturedFrom::Header(name) => {
                    let value = header_values(&answer.opening, name).into_iter().next();
                    text(value, || {
                        format!("has no header {name} in its answer to '{}'", login.name)
                    })?
                }
                CapturedFrom::Cookie(name) => {
                    let cookie = self.cookies.iter().find(|(other, _)| other == name);
                    let value = cookie.map(|(_, value)| value.clone());
                    text(value, || {
                        format!("set no cookie {name} in its answer to '{}'", login.name)
                    })?
                }
            };
            self.values.push((capture.name.clone(), value));
        }
        Ok(())
    }
}

fn text(text: Option<String>, lacks: impl FnOnce() -> String) -> Result<Value, String> {
    Ok(Value {
        text: text.ok_or_else(lacks)?,
        is_json: false,
    })
}

fn in_json(body: &[u8], pointer: &str) -> Result<Value, String> {
    let json: serde_json::Value =
        serde_json::from_slice(body).map_err(|e| match body.len() == MOST_KEPT {
            true => "answered a login with a body of more than 1 MiB, which is more than captures \
                     read"
                .to_owned(),
            false => format!("answered a login with a body that is no JSON ({e})"),
        })?;
    match json.pointer(pointer) {
        None | Some(serde_json::Value::Null) => {
            Err(format!("has no {pointer} in its answer to a login"))
        }
        Some(serde_json::Value::String(text)) => Ok(Value {
            text: text.clone(),
            is_json: false,
        }),
        Some(other) => Ok(Value {
            text: other.to_string(),
            is_json: true,
        }),
    }
}
