//! The server of known behaviour on a port, as a program of its own: it sleeps while there is nothing to do,
//! first polls for a time that it learns, or always polls. It answers at once, or after so many
//! microseconds. For `plimsoll burst`, and for generators that are compared:
//!
//!     plimsoll burst http://127.0.0.1:8099/ -- target/release/examples/serve 8099 adaptive
//!     taskset -c 0 target/release/examples/serve 8099 poll 200

use plimsoll_load::known::{Behaviour, KnownServer, Waits};
use plimsoll_pool::WAKE_UP_PRICE;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let usage = "give a port, and park, adaptive or poll";
    let port = args.next().ok_or(usage)?.parse()?;
    let waits = match args.next().as_deref() {
        Some("park") => Waits::Asleep,
        Some("adaptive") => Waits::Learning {
            price: WAKE_UP_PRICE,
        },
        Some("poll") => Waits::Polling,
        _ => return Err(usage.into()),
    };
    let after = args.next().map_or(Ok(0), |us| us.parse())?;
    let behaviour = Behaviour::Answer {
        after: Duration::from_micros(after),
    };
    let _server = KnownServer::start_at(behaviour, port, waits)?;
    loop {
        std::thread::park();
    }
}
