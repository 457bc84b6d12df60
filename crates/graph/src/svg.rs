//! A picture of a graph: levels as rows, weights as size and number.
//!
//! Edges run downward. Colours are of middle brightness on a transparent ground, so the
//! picture can be read on light and dark pages. The same graph gives the same text.

use crate::JobGraph;
use std::fmt::Write as _;

/// The most nodes and the most edges that a picture shows; more is a dark area.
pub const MOST: usize = 2000;

/// Why there is no picture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SvgError {
    #[error(
        "a picture of {nodes} nodes and {edges} edges shows nothing; write DOT, or take at most {MOST} of each"
    )]
    TooMany { nodes: u32, edges: usize },
}

/// The most nodes side by side; a wider level takes several rows.
const COLUMNS: usize = 32;
/// Between the centres of nodes and of rows.
const STEP: (f64, f64) = (30.0, 46.0);
const MARGIN: f64 = 24.0;
const LARGEST_RADIUS: f64 = 13.0;
const SMALLEST_RADIUS: f64 = 7.0;

/// The picture, as an `svg` element.
///
/// # Errors
/// More than [`MOST`] nodes or edges.
pub fn picture(graph: &JobGraph) -> Result<String, SvgError> {
    let (nodes, edges) = (graph.count(), graph.edges());
    if nodes as usize > MOST || edges > MOST {
        return Err(SvgError::TooMany { nodes, edges });
    }
    let rows = rows(graph);
    let widest = rows.iter().map(Vec::len).max().unwrap_or(1) as f64;
    let size = (
        2.0 * MARGIN + (widest - 1.0) * STEP.0,
        2.0 * MARGIN + (rows.len() as f64 - 1.0) * STEP.1,
    );
    let mut places = vec![(0.0, 0.0); nodes as usize];
    for (row, members) in rows.iter().enumerate() {
        let left = (size.0 - (members.len() as f64 - 1.0) * STEP.0) / 2.0;
        for (column, node) in members.iter().enumerate() {
            let y = MARGIN + row as f64 * STEP.1;
            places[*node as usize] = (left + column as f64 * STEP.0, y);
        }
    }
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = draw(&mut text, graph, &places, size);
    Ok(text)
}

/// The nodes of each row. In a row those come first whose predecessors do: by the mean
/// of their places in their rows, as a share (the barycentre heuristic of Sugiyama,
/// IEEE Transactions on Systems, Man, and Cybernetics 11, 1981).
fn rows(graph: &JobGraph) -> Vec<Vec<u32>> {
    let mut levels: Vec<Vec<u32>> = vec![Vec::new(); graph.level_widths().len()];
    graph
        .nodes()
        .for_each(|node| levels[graph.level(node) as usize].push(node));
    let mut shares = vec![0.5; graph.count() as usize];
    for level in &mut levels {
        let wanted = |node: u32| {
            let before = graph.predecessors(node);
            let sum: f64 = before.iter().map(|p| shares[*p as usize]).sum();
            match before.len() {
                0 => 0.5,
                count => sum / count as f64,
            }
        };
        let mut by_place: Vec<(f64, u32)> = level.iter().map(|n| (wanted(*n), *n)).collect();
        by_place.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        *level = by_place.into_iter().map(|(_, node)| node).collect();
        let width = level.len() as f64;
        for (place, node) in level.iter().enumerate() {
            shares[*node as usize] = (place as f64 + 0.5) / width;
        }
    }
    let lines = levels.iter().flat_map(|level| level.chunks(COLUMNS));
    lines.map(<[u32]>::to_vec).collect()
}

fn draw(
    text: &mut String,
    graph: &JobGraph,
    places: &[(f64, f64)],
    (width, height): (f64, f64),
) -> std::fmt::Result {
    let (nodes, edges) = (graph.count(), graph.edges());
    let heaviest = graph.nodes().map(|n| graph.weight(n)).max().unwrap_or(1);
    let heaviest = f64::from(heaviest.max(1));
    writeln!(
        text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" font-family=\"sans-serif\" font-size=\"11\" text-anchor=\"middle\">"
    )?;
    writeln!(
        text,
        "<title>{nodes} jobs, {edges} dependencies (downward); size and number are the weight in grains</title>"
    )?;
    writeln!(text, "<g stroke=\"#808080\" stroke-width=\"1.2\">")?;
    for node in graph.nodes() {
        for &next in graph.successors(node) {
            let ((x1, y1), (x2, y2)) = (places[node as usize], places[next as usize]);
            writeln!(
                text,
                "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
            )?;
        }
    }
    writeln!(text, "</g>\n<g fill=\"#2f6db3\" stroke=\"#808080\">")?;
    for node in graph.nodes() {
        let (x, y) = places[node as usize];
        // The area grows with the weight.
        let share = (f64::from(graph.weight(node)) / heaviest).sqrt();
        let radius = SMALLEST_RADIUS + share * (LARGEST_RADIUS - SMALLEST_RADIUS);
        writeln!(
            text,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"/>"
        )?;
    }
    writeln!(text, "</g>\n<g fill=\"#ffffff\">")?;
    for node in graph.nodes() {
        let ((x, y), weight) = (places[node as usize], graph.weight(node));
        writeln!(
            text,
            "<text x=\"{x:.1}\" y=\"{:.1}\">{weight}</text>",
            y + 4.0
        )?;
    }
    writeln!(text, "</g>\n</svg>")
}

#[cfg(test)]
mod tests;
