//! The graph as data.

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
    #[error("node {node} depends on itself by way of its successors; remove an edge of that cycle")]
    Cycle { node: u32 },
    #[error("an edge names node {node}, but the graph has {count} (numbered from 0)")]
    NoSuchNode { node: u32, count: u32 },
    #[error("the graph has more than {limit} nodes or edges", limit = u32::MAX)]
    TooLarge,
    #[error("the graph has no nodes; give at least one")]
    Empty,
}

impl JobGraph {
    /// A graph of nodes with these weights. `edges` are pairs (predecessor,
    /// successor); a pair that is given twice counts once. Edges must go from lower
    /// to higher numbers: [`JobGraph::sorted`] renumbers others.
    ///
    /// # Errors
    /// No nodes, too many, an edge that names none of them, or one that does not go up.
    pub fn new(weights: &[u32], edges: &[(u32, u32)]) -> Result<JobGraph, GraphError> {
        let count = u32::try_from(weights.len()).map_err(|_| GraphError::TooLarge)?;
        if count == 0 {
            return Err(GraphError::Empty);
        }
        let mut edges = edges.to_vec();
        for &(from, to) in &edges {
            if let Some(&node) = [from, to].iter().find(|&&node| node >= count) {
                return Err(GraphError::NoSuchNode { node, count });
            }
            if from >= to {
                return Err(GraphError::Cycle { node: from });
            }
        }
        edges.sort_unstable();
        edges.dedup();
        u32::try_from(edges.len()).map_err(|_| GraphError::TooLarge)?;
        let successors = Rows::new(count, edges.iter().copied());
        let mut backward: Vec<(u32, u32)> = edges.iter().map(|&(from, to)| (to, from)).collect();
        backward.sort_unstable();
        let predecessors = Rows::new(count, backward.into_iter());
        let mut levels = vec![0; weights.len()];
        for node in 0..weights.len() {
            let above = predecessors
                .row(node)
                .iter()
                .map(|&p| levels[p as usize] + 1);
            levels[node] = above.max().unwrap_or(0);
        }
        Ok(JobGraph {
            weights: weights.to_vec(),
            levels,
            successors,
            predecessors,
        })
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
}

/// Lists of node numbers, one a node.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rows {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Rows {
    /// From pairs (row, item), ascending.
    fn new(rows: u32, pairs: impl Iterator<Item = (u32, u32)>) -> Rows {
        let mut starts = vec![0; rows as usize + 1];
        let mut items = Vec::new();
        for (row, item) in pairs {
            starts[row as usize + 1] += 1;
            items.push(item);
        }
        for row in 0..rows as usize {
            starts[row + 1] += starts[row];
        }
        Rows { starts, items }
    }

    fn row(&self, row: usize) -> &[u32] {
        &self.items[self.starts[row] as usize..self.starts[row + 1] as usize]
    }
}
