//! The graph as data.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A directed acyclic graph of jobs, with an integer weight each: a job of weight 3
/// takes three times the grain. Nodes are numbered from 0 in topological order.
///
/// Edges are stored twice, by predecessor and by successor, in compressed rows:
/// 12 bytes a node and 8 bytes an edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobGraph {
    weights: Vec<u32>,
    levels: Vec<u32>,
    successors: Rows,
    predecessors: Rows,
}

/// Why a graph is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    #[error("nodes {} form a cycle; remove one of its edges", path(.nodes))]
    Cycle {
        /// The nodes of the cycle, each before one that needs it.
        nodes: Vec<u32>,
    },
    #[error("the edge {from} -> {to} does not go from a lower to a higher number; sort the nodes")]
    Descending { from: u32, to: u32 },
    #[error("an edge names node {node}, but the graph has {count} (numbered from 0)")]
    NoSuchNode { node: u32, count: u32 },
    #[error("the graph has more than {limit} nodes or edges", limit = u32::MAX)]
    TooLarge,
    #[error("the graph has no nodes; give at least one")]
    Empty,
}

/// A cycle as text. Of a long one the first nodes.
fn path(nodes: &[u32]) -> String {
    const SHOWN: usize = 8;
    let names: Vec<String> = nodes.iter().take(SHOWN).map(u32::to_string).collect();
    let end = match nodes.len() > SHOWN {
        true => "...".to_owned(),
        false => names.first().cloned().unwrap_or_default(),
    };
    format!("{} -> {end}", names.join(" -> "))
}

/// What a graph takes while it is built: weight, level and two row starts a node;
/// an edge as a pair and in both rows.
pub(crate) const BYTES_PER_NODE: u64 = 16;
pub(crate) const BYTES_PER_EDGE: u64 = 16;

impl JobGraph {
    /// A graph of nodes with these weights. `edges` are pairs (predecessor,
    /// successor); a pair that is given twice counts once. Edges must go from lower
    /// to higher numbers: [`JobGraph::sorted`] renumbers others.
    ///
    /// # Errors
    /// No nodes, too many, an edge that names none of them, or one that does not go up.
    pub fn new(weights: &[u32], edges: &[(u32, u32)]) -> Result<JobGraph, GraphError> {
        JobGraph::of(weights.to_vec(), edges.to_vec())
    }

    /// The same without a copy.
    pub(crate) fn of(
        weights: Vec<u32>,
        mut edges: Vec<(u32, u32)>,
    ) -> Result<JobGraph, GraphError> {
        let count = check_ends(&weights, &edges)?;
        if let Some(&(from, to)) = edges.iter().find(|(from, to)| from >= to) {
            return Err(GraphError::Descending { from, to });
        }
        if !edges.is_sorted() {
            edges.sort_unstable();
        }
        edges.dedup();
        let predecessors = Rows::of(count, edges.iter().map(|&(from, to)| (to, from)));
        let successors = Rows::of(count, edges.iter().copied());
        let mut levels = vec![0; weights.len()];
        for node in 0..weights.len() {
            let above = predecessors.row(node).iter();
            let above = above.map(|&p| levels[p as usize] + 1);
            levels[node] = above.max().unwrap_or(0);
        }
        Ok(JobGraph {
            weights,
            levels,
            successors,
            predecessors,
        })
    }

    /// The same for edges in any direction, with the nodes renumbered: beside the
    /// graph the former number of each node. Of nodes that may come next the one with
    /// the lowest number does, so a graph in order keeps its numbers.
    ///
    /// # Errors
    /// As for [`JobGraph::new`]; a cycle is named.
    pub fn sorted(
        weights: &[u32],
        edges: &[(u32, u32)],
    ) -> Result<(JobGraph, Vec<u32>), GraphError> {
        let count = check_ends(weights, edges)?;
        let successors = Rows::of(count, edges.iter().copied());
        let mut waiting = vec![0u32; weights.len()];
        edges.iter().for_each(|(_, to)| waiting[*to as usize] += 1);
        let start = (0..count).filter(|node| waiting[*node as usize] == 0);
        let mut ready: BinaryHeap<Reverse<u32>> = start.map(Reverse).collect();
        let mut order = Vec::with_capacity(weights.len());
        while let Some(Reverse(node)) = ready.pop() {
            order.push(node);
            for &next in successors.row(node as usize) {
                waiting[next as usize] -= 1;
                if waiting[next as usize] == 0 {
                    ready.push(Reverse(next));
                }
            }
        }
        if order.len() < weights.len() {
            let nodes = cycle(edges, &waiting);
            return Err(GraphError::Cycle { nodes });
        }
        let mut number = vec![0u32; weights.len()];
        for (new, old) in (0u32..).zip(&order) {
            number[*old as usize] = new;
        }
        let renumbered = |(from, to): &(u32, u32)| (number[*from as usize], number[*to as usize]);
        let sorted = order.iter().map(|old| weights[*old as usize]).collect();
        let graph = JobGraph::of(sorted, edges.iter().map(renumbered).collect())?;
        Ok((graph, order))
    }

    /// How many nodes it has.
    pub fn count(&self) -> u32 {
        self.weights.len() as u32
    }

    /// How many edges it has.
    pub fn edges(&self) -> usize {
        self.successors.items.len()
    }

    /// All nodes, each after its predecessors.
    pub fn nodes(&self) -> std::ops::Range<u32> {
        0..self.count()
    }

    /// The nodes that need `node`, ascending.
    pub fn successors(&self, node: u32) -> &[u32] {
        self.successors.row(node as usize)
    }

    /// The nodes that `node` needs, ascending.
    pub fn predecessors(&self, node: u32) -> &[u32] {
        self.predecessors.row(node as usize)
    }

    /// The run time of `node` in grains.
    pub fn weight(&self, node: u32) -> u32 {
        self.weights[node as usize]
    }

    /// The most edges on a path to `node`.
    pub fn level(&self, node: u32) -> u32 {
        self.levels[node as usize]
    }

    /// How many nodes each level has.
    pub fn level_widths(&self) -> Vec<u32> {
        let deepest = self.levels.iter().max().copied().unwrap_or(0);
        let mut widths = vec![0; deepest as usize + 1];
        let each = self.levels.iter();
        each.for_each(|level| widths[*level as usize] += 1);
        widths
    }
}

/// How many nodes there are, if every edge names two of them.
fn check_ends(weights: &[u32], edges: &[(u32, u32)]) -> Result<u32, GraphError> {
    let count = u32::try_from(weights.len()).map_err(|_| GraphError::TooLarge)?;
    u32::try_from(edges.len()).map_err(|_| GraphError::TooLarge)?;
    let ends = edges.iter().flat_map(|&(from, to)| [from, to]);
    match ends.into_iter().find(|node| *node >= count) {
        _ if count == 0 => Err(GraphError::Empty),
        Some(node) => Err(GraphError::NoSuchNode { node, count }),
        None => Ok(count),
    }
}

/// A cycle among the nodes that still wait for a predecessor: each of them has one
/// that waits, too, so going from one to the next must come round.
fn cycle(edges: &[(u32, u32)], waiting: &[u32]) -> Vec<u32> {
    let waits = |node: u32| waiting[node as usize] > 0;
    let mut before = vec![None; waiting.len()];
    for &(from, to) in edges.iter().filter(|(from, to)| waits(*from) && waits(*to)) {
        before[to as usize] = Some(from);
    }
    let mut seen_at = vec![None; waiting.len()];
    let mut backward: Vec<u32> = Vec::new();
    let mut at = before.iter().flatten().next().copied();
    while let Some(node) = at {
        if let Some(first) = seen_at[node as usize] {
            backward.drain(..first);
            break;
        }
        seen_at[node as usize] = Some(backward.len());
        backward.push(node);
        at = before[node as usize];
    }
    backward.reverse();
    backward
}

/// Lists of node numbers, one a node.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rows {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Rows {
    /// From pairs (row, item); items keep their order within a row.
    fn of(rows: u32, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Rows {
        let mut starts = vec![0u32; rows as usize + 1];
        for (row, _) in pairs.clone() {
            starts[row as usize + 1] += 1;
        }
        for row in 0..rows as usize {
            starts[row + 1] += starts[row];
        }
        let mut items = vec![0; starts[rows as usize] as usize];
        // While items are placed, `starts[row]` is where the next one goes: in the end
        // it is the start of the row after.
        for (row, item) in pairs {
            let at = &mut starts[row as usize];
            items[*at as usize] = item;
            *at += 1;
        }
        starts.copy_within(0..rows as usize, 1);
        starts[0] = 0;
        Rows { starts, items }
    }

    fn row(&self, row: usize) -> &[u32] {
        &self.items[self.starts[row] as usize..self.starts[row + 1] as usize]
    }
}

#[cfg(test)]
mod tests;
