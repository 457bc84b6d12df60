//! Builds a graph and writes what it is like, or its picture, or DOT.
//!
//! ```text
//! cargo run --release -p plimsoll-graph --example shape -- load-bursts
//! cargo run --release -p plimsoll-graph --example shape -- tries:nodes=64 svg > tries.svg
//! ```

use plimsoll_graph::{ListSchedule, Shape, dot::Dot, svg};
use std::error::Error;
use std::io::Write as _;
use std::num::NonZeroU32;
use std::time::Instant;

/// Enough for ten million nodes with a few edges each.
const ALLOWED_BYTES: u64 = 2 << 30;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let shape: Shape = args.next().as_deref().unwrap_or("load-bursts").parse()?;
    let mut out = std::io::stdout().lock();
    let begun = Instant::now();
    let generated = shape.build(ALLOWED_BYTES)?;
    let built = begun.elapsed();
    let graph = &generated.graph;
    match args.next().as_deref() {
        Some("svg") => write!(out, "{}", svg::picture(graph)?)?,
        Some("dot") => write!(out, "{}", Dot(graph))?,
        _ => {
            let begun = Instant::now();
            let list = ListSchedule::of(graph, NonZeroU32::MIN.saturating_add(1));
            let (nodes, edges, listed) = (graph.count(), graph.edges(), begun.elapsed());
            writeln!(out, "{shape}: {nodes} nodes, {edges} edges")?;
            writeln!(
                out,
                "built in {built:.2?}, needing at most {} MiB",
                shape.bytes_to_build() >> 20
            )?;
            let (shortest, length) = (list.shortest(), list.length());
            writeln!(out, "{:?}", list.bounds())?;
            writeln!(
                out,
                "2 workers: at least {shortest}, list schedule {length}, in {listed:.2?}"
            )?;
            for used in &generated.uses {
                writeln!(out, "{used:?}")?;
            }
        }
    }
    Ok(())
}
