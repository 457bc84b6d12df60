//! One request over HTTP/2 on a connection of its own, before the load.

use super::{Ended, Http2, Kept, Lost, Step, form};
use crate::http::parser::{Answer, MAX_HEAD};
use crate::http::probe::{Answered, Clock};
use crate::http::probe_error::{ProbeError, TimeLimit};
use crate::http::request::Request;
use crate::http::target::HTTP2;
use crate::http::transport::Transport;
use plimsoll_model::Bytes;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

/// An answer, and whether the server takes further requests on the connection after it was watched
/// for so long. The connection is open, and secured if need be.
pub(in crate::http) fn ask(
    transport: Transport,
    streams: NonZeroU32,
    (request, bytes): (&Request, &[u8]),
    clock: Clock,
    watch: Duration,
) -> Result<Answered, ProbeError> {
    if transport.is_secure() && transport.protocol() != Some(HTTP2) {
        return Err(ProbeError::NotHttp2(
            "it did not choose h2 in the TLS handshake (ALPN)".to_owned(),
        ));
    }
    let not_http2 = |what: &str| ProbeError::NotHttp2(what.to_owned());
    let form = form(bytes, transport.is_secure(), request.is_grpc);
    let form = form.ok_or_else(|| not_http2("the request has no form in it"))?;
    let began = Instant::now();
    let http2 = Http2::begin(transport, streams);
    let mut http2 = http2.map_err(|_| ProbeError::NoAnswer)?;
    let sent = http2.send(0, form, request.sink());
    let mut received = 0;
    let ended = match sent {
        Ok(()) => end(&mut http2, clock, &mut received)?,
        Err(_) => return Err(error(&http2, received)),
    };
    let took = began.elapsed();
    let (Ok(answer), Some(kept)) = (ended.how, ended.kept) else {
        return Err(match ended.how {
            Err(Lost::Refused) => not_http2("it refused the request (GOAWAY)"),
            _ => error(&http2, received),
        });
    };
    let most = http2.streams_of_server();
    if most < streams.get() as usize {
        let asked = streams.get();
        return Err(ProbeError::Streams { most, asked });
    }
    let keeps_alive = stays_open(&mut http2, clock, watch);
    let (opening, body) = as_http1(&answer, kept);
    Ok(Answered {
        answer: Answer {
            keep_alive: keeps_alive,
            ..answer
        },
        took,
        opening,
        body,
    })
}

fn end(http2: &mut Http2, clock: Clock, received: &mut u64) -> Result<Ended, ProbeError> {
    loop {
        let bytes = Bytes(*received);
        let has_begun = http2.has_answer_begun(0);
        clock.set(
            http2.wire.get().transport.stream(),
            |within| match has_begun {
                false => ProbeError::Silent(within),
                true => ProbeError::Endless { within, bytes },
            },
        )?;
        let step = http2.step(false);
        *received += http2.wire.get().read as u64;
        match step {
            Step::Nothing | Step::More => {}
            Step::Ended { ended, .. } => return Ok(ended),
            Step::Over(_) => return Err(error(http2, *received)),
        }
    }
}

/// Why a connection gave no answer.
fn error(http2: &Http2, received: u64) -> ProbeError {
    let wire = http2.wire.get();
    let alone = http2.ended_alone.as_ref().filter(|_| !http2.is_over);
    match (&wire.tls, &http2.error) {
        (Some(error), _) => ProbeError::Tls(error.clone()),
        _ if alone.is_some() => ProbeError::EndedAlone(alone.cloned().unwrap_or_default()),
        (None, Some(why)) if wire.broken.is_none() => ProbeError::NotHttp2(why.clone()),
        _ if received == 0 => ProbeError::NoAnswer,
        _ => ProbeError::CutOff(Bytes(received)),
    }
}

fn stays_open(http2: &mut Http2, clock: Clock, watch: Duration) -> bool {
    let until = clock.ending(TimeLimit::fixed(watch));
    let over = ProbeError::Silent;
    while until.set(http2.wire.get().transport.stream(), over).is_ok() {
        if let Step::Over(_) = http2.step(false) {
            return false;
        }
    }
    http2.takes_more()
}

/// The head as of HTTP/1.1, with the beginning of the body, and the body.
fn as_http1(answer: &Answer, kept: Kept) -> (Vec<u8>, Vec<u8>) {
    let mut opening = format!("HTTP/1.1 {}\r\n", answer.status).into_bytes();
    for (name, value) in &kept.head.headers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            opening.extend_from_slice(part);
        }
    }
    opening.extend_from_slice(b"\r\n");
    opening.truncate(MAX_HEAD);
    (opening, kept.body)
}
