//! Behaviours as scripts: what to send when, and when to close.

use super::Behaviour;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// Delay after the previous step, or after the request.
    pub(super) after: Duration,
    pub(super) act: Act,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    Send(Vec<u8>),
    /// Send this many filler bytes.
    Fill(u64),
    Close,
}

/// The steps for each request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Script {
    /// Whether connections are closed before any request.
    pub(super) refuses: bool,
    pub(super) steps: Vec<Step>,
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n";
const OK_AND_CLOSE: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n";
/// Delay between fragments that must not arrive together.
const GAP: Duration = Duration::from_micros(500);

pub(super) fn script(behaviour: &Behaviour) -> Script {
    use Act::{Close, Fill, Send};
    let ok = || send(OK);
    let steps = match behaviour {
        Behaviour::Answer { after } => vec![Step {
            after: *after,
            act: Send(OK.to_vec()),
        }],
        Behaviour::Queue(_) => vec![ok()],
        Behaviour::CloseAtOnce | Behaviour::Silent => vec![],
        Behaviour::CloseAfterAnswer { announced: true } => vec![send(OK_AND_CLOSE), now(Close)],
        Behaviour::CloseAfterAnswer { announced: false } => vec![ok(), now(Close)],
        Behaviour::DieInBody => vec![
            send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"),
            now(Close),
        ],
        Behaviour::Garbage => vec![send(b"220 mail.invalid ESMTP ready\r\n")],
        Behaviour::Large { bytes } => vec![
            send(format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n").as_bytes()),
            now(Fill(*bytes)),
        ],
        Behaviour::Status(status) => vec![status_only(*status)],
        Behaviour::Redirect(to) => vec![send(
            format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n").as_bytes(),
        )],
        Behaviour::OddChunks => odd_chunks(),
        Behaviour::UntilClose => vec![
            send(b"HTTP/1.1 200 OK\r\n\r\nhowever "),
            later(b"long"),
            now(Close),
        ],
        Behaviour::SlowHead { per_byte } => OK
            .iter()
            .map(|byte| Step {
                after: *per_byte,
                act: Send(vec![*byte]),
            })
            .collect(),
    };
    Script {
        refuses: *behaviour == Behaviour::CloseAtOnce,
        steps,
    }
}

/// The script for requests that a [`Queue`](super::Queue) refuses.
pub(super) fn refusal() -> Script {
    Script {
        refuses: false,
        steps: vec![status_only(429)],
    }
}

fn status_only(status: u16) -> Step {
    send(format!("HTTP/1.1 {status} Known\r\nContent-Length: 0\r\n\r\n").as_bytes())
}

fn now(act: Act) -> Step {
    Step {
        after: Duration::ZERO,
        act,
    }
}

fn send(bytes: &[u8]) -> Step {
    now(Act::Send(bytes.to_vec()))
}

fn later(bytes: &[u8]) -> Step {
    Step {
        after: GAP,
        act: Act::Send(bytes.to_vec()),
    }
}

/// A body of 16 bytes, in three chunks.
fn odd_chunks() -> Vec<Step> {
    vec![
        send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 O"),
        later(b"K\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\n\r"),
        later(b"\n5;name=\"va"),
        later(b"lue\"\r\nabcde\r"),
        later(b"\n0A\r\n01234"),
        later(b"56789\r\n1\r\n!\r\n0\r\nx: "),
        later(b"y\r\n\r"),
        later(b"\n"),
    ]
}
