//! The routes of the page, its event stream and its messages.

use super::message::Message;
use super::view;
use plimsoll_lab::http::{Answers, Bytes, Method, Parts, Reply, StatusCode, Stream, empty, text};
use plimsoll_report::lab::{Region, page};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

/// Browsers at a time; the first of more is closed.
const MOST_CLIENTS: usize = 8;
/// Changes that wait for a browser to read them. One that does not read is closed, and gets the
/// whole when it connects again.
const MOST_UNREAD: usize = 16;

pub(super) struct Site {
    /// `/TOKEN/`
    base: String,
    page: String,
    asked: Mutex<Sender<Message>>,
    shown: Mutex<Shown>,
}

#[derive(Default)]
struct Shown {
    regions: Vec<Region>,
    clients: Vec<Stream>,
}

impl Site {
    pub(super) fn new(token: &str, asked: Sender<Message>) -> Site {
        Site {
            base: format!("/{token}/"),
            page: page(&view::sliders()),
            asked: Mutex::new(asked),
            shown: Mutex::default(),
        }
    }

    /// Sends the regions that have changed.
    pub(super) fn show(&self, regions: Vec<Region>) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = changes(&shown.regions, &regions);
        if !changed.is_empty() {
            let piece = piece(&changed);
            shown
                .clients
                .retain_mut(|client| client.send(piece.clone()));
        }
        shown.regions = regions;
    }

    fn connect(&self) -> Reply {
        let (response, mut stream) = Stream::open("text/event-stream", MOST_UNREAD);
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let all: Vec<&Region> = shown.regions.iter().collect();
        stream.send(piece(&all));
        if shown.clients.len() == MOST_CLIENTS {
            shown.clients.remove(0);
        }
        shown.clients.push(stream);
        Reply::Ready(response)
    }

    fn take(&self, body: &[u8]) -> Reply {
        Reply::Ready(match Message::read(body) {
            Ok(message) => {
                let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
                // The lab may be ending.
                let _ = asked.send(message);
                text(StatusCode::OK, "text/plain", "ok\n")
            }
            Err(why) => text(StatusCode::BAD_REQUEST, "text/plain", why),
        })
    }
}

impl Answers for Site {
    const KEEPS: usize = 4096;

    fn answer(self: Arc<Self>, head: &Parts, body: Bytes) -> Reply {
        let place = head.uri.path().strip_prefix(&self.base);
        match (&head.method, place) {
            (&Method::GET, Some("")) => {
                let page = self.page.clone();
                Reply::Ready(text(StatusCode::OK, "text/html; charset=utf-8", page))
            }
            (&Method::GET, Some("events")) => self.connect(),
            (&Method::POST, Some("do")) => self.take(&body),
            (_, Some("" | "events" | "do")) => Reply::Ready(empty(StatusCode::METHOD_NOT_ALLOWED)),
            _ => Reply::Ready(empty(StatusCode::NOT_FOUND)),
        }
    }
}

fn changes<'a>(before: &[Region], now: &'a [Region]) -> Vec<&'a Region> {
    now.iter()
        .filter(|region| !before.contains(region))
        .collect()
}

/// An event of a stream (HTML, 9.2): JSON has no line ends.
fn piece(regions: &[&Region]) -> Bytes {
    let json = serde_json::to_string(regions).unwrap_or_default();
    Bytes::from(format!("data: {json}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_changed_is_sent_as_one_line() {
        let regions = |text: &str| vec![("job", "burn".to_owned()), ("log", text.to_owned())];
        let (before, now) = (regions("a"), regions("a\nb"));
        assert_eq!(changes(&[], &before).len(), 2);
        assert!(changes(&before, &before).is_empty());
        let sent = piece(&changes(&before, &now));
        assert_eq!(sent, "data: [[\"log\",\"a\\nb\"]]\n\n");
    }
}
