//! Graphs by name.
//!
//! As text a name, and after a colon what differs from the usual size:
//! `load-bursts`, `stencil:width=4,steps=100`, or [`Rules`]: `nodes=64,fork=0.3:4`.

mod text;

use crate::graph::{BYTES_PER_EDGE, BYTES_PER_NODE};
use crate::patterns::Pattern;
use crate::rules::{Chance, Generated, Rule, Rules, RulesError};
use crate::{GraphError, JobGraph};

/// A graph by rules that has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Preset {
    /// A chain that bursts into a dense graph and comes back, again and again, with
    /// jobs of one to three grains.
    LoadBursts,
    /// Chains of two or three jobs, one after another.
    ShortChains,
    /// The same, with up to sixteen of them side by side.
    InterleavedChains,
    /// Trees of a few jobs that join, side by side and always about as many: a
    /// stationary load.
    Tries,
}

impl Preset {
    pub const ALL: [Preset; 4] = [
        Preset::LoadBursts,
        Preset::ShortChains,
        Preset::InterleavedChains,
        Preset::Tries,
    ];

    /// Its name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Preset::LoadBursts => "load-bursts",
            Preset::ShortChains => "short-chains",
            Preset::InterleavedChains => "interleaved-chains",
            Preset::Tries => "tries",
        }
    }

    /// Its nodes, if not given.
    pub const fn usual_nodes(self) -> u32 {
        match self {
            Preset::LoadBursts | Preset::ShortChains => 64,
            Preset::InterleavedChains | Preset::Tries => 256,
        }
    }

    /// The rules that make it.
    ///
    /// # Errors
    /// No nodes.
    pub fn rules(self, nodes: u32) -> Result<Rules, RulesError> {
        let chain = Rules::chain(nodes)?;
        let with = |rules: Rules, rule, probability, min, max| {
            Ok::<_, RulesError>(rules.with(rule, Chance::new(rule, probability, min, max)?))
        };
        match self {
            Preset::LoadBursts => {
                let rules = with(chain, Rule::Fork, 0.27, 1, 4)?;
                let rules = with(rules, Rule::Join, 0.44, 2, 6)?;
                let rules = with(rules, Rule::Weight, 0.66, 1, 3)?;
                Ok(rules.with_random_seed(LOAD_BURSTS_SEED))
            }
            Preset::ShortChains => with(chain, Rule::Prune, 0.4, 1, 1),
            Preset::InterleavedChains => {
                let rules = with(chain, Rule::Prune, 0.4, 1, 1)?;
                with(rules, Rule::Seed, 0.6, 1, 1)
            }
            Preset::Tries => {
                let rules = with(chain, Rule::Seed, 0.6, 1, 2)?;
                let rules = with(rules, Rule::Join, 0.5, 1, 2)?;
                let rules = with(rules, Rule::Prune, 0.2, 1, 1)?;
                rules.with_width(8)
            }
        }
    }
}

/// The seed whose first 64 nodes are a chain, two bursts of 8 and 10 jobs, and a chain
/// to one end: one of eleven such among the first 3000.
const LOAD_BURSTS_SEED: u64 = 1945;

/// What a graph looks like.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    Rules(Rules),
    Preset {
        preset: Preset,
        nodes: u32,
    },
    /// Jobs without dependencies.
    Independent {
        nodes: u32,
    },
    /// Rows of `width` jobs, each of which needs `dependencies` of the row before it:
    /// those nearest to its place, on a ring. Task Bench's nearest with any number of
    /// jobs.
    Dependent {
        nodes: u32,
        dependencies: u32,
        width: u32,
    },
    Pattern(Pattern),
}

/// Why a graph is not built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ShapeError {
    #[error(transparent)]
    Rules(#[from] RulesError),
    #[error(transparent)]
    Graph(#[from] GraphError),
    #[error("no graph is called `{name}`; choose from {}, or give a file that ends in .dot or .gv", Shape::names().join(", "))]
    Unknown { name: String },
    #[error("`{shape}` has no `{key}`; it takes {takes}")]
    NoSuchKey {
        shape: String,
        key: String,
        takes: String,
    },
    #[error("`{item}` is no number in {range}")]
    Number { item: String, range: &'static str },
    #[error(
        "{shape} needs {} MiB while it is built, and {} MiB are allowed; take fewer nodes or dependencies",
        needed.div_ceil(1 << 20), allowed >> 20
    )]
    Memory {
        shape: String,
        needed: u64,
        allowed: u64,
    },
    #[error("a job needs {dependencies} of a row of {width}; take at most as many as the row has")]
    TooFewInRow { dependencies: u32, width: u32 },
}

impl Shape {
    /// The width of [`Shape::Dependent`], if not given: enough that a few dozen workers
    /// have jobs while the row before is still running.
    pub const WIDTH: u32 = 64;

    /// `nodes` jobs without dependencies.
    pub fn independent(nodes: u32) -> Shape {
        Shape::Independent { nodes }
    }

    /// `nodes` jobs that each need `dependencies` of the [`Shape::WIDTH`] before it.
    pub fn with_dependencies(nodes: u32, dependencies: u32) -> Shape {
        Shape::Dependent {
            nodes,
            dependencies,
            width: Shape::WIDTH.max(dependencies),
        }
    }

    /// How many nodes the graph will have.
    pub fn nodes(&self) -> u64 {
        match self {
            Shape::Rules(rules) => rules.nodes().into(),
            Shape::Preset { nodes, .. } | Shape::Independent { nodes } => u64::from(*nodes),
            Shape::Dependent { nodes, .. } => u64::from(*nodes),
            Shape::Pattern(pattern) => pattern.nodes(),
        }
    }

    /// How many edges it will have, or at most so many where chance decides.
    pub fn edges_at_most(&self) -> u64 {
        match self {
            Shape::Rules(_) | Shape::Preset { .. } => 2 * self.nodes(),
            Shape::Independent { .. } => 0,
            Shape::Dependent {
                nodes,
                dependencies,
                width,
            } => u64::from(*dependencies) * u64::from(nodes.saturating_sub(*width)),
            Shape::Pattern(pattern) => pattern.edges(),
        }
    }

    /// The memory that building it takes at most. The graph itself keeps 16 bytes a
    /// node and 8 an edge.
    pub fn bytes_to_build(&self) -> u64 {
        let edges = self.edges_at_most().saturating_mul(BYTES_PER_EDGE);
        edges.saturating_add(self.nodes().saturating_mul(BYTES_PER_NODE))
    }

    /// The graph, if building it takes no more than `allowed` bytes.
    ///
    /// # Errors
    /// It takes more, it has no nodes, or more than 2^32 nodes or edges.
    pub fn build(&self, allowed: u64) -> Result<Generated, ShapeError> {
        if self.nodes() == 0 {
            return Err(GraphError::Empty.into());
        }
        let needed = self.bytes_to_build();
        if self.nodes().max(self.edges_at_most()) > u64::from(u32::MAX) {
            return Err(GraphError::TooLarge.into());
        }
        if needed > allowed {
            let shape = self.to_string();
            return Err(ShapeError::Memory {
                shape,
                needed,
                allowed,
            });
        }
        let edges = match self {
            Shape::Rules(rules) => return Ok(rules.generate()?),
            Shape::Preset { preset, nodes } => return Ok(preset.rules(*nodes)?.generate()?),
            Shape::Independent { .. } => Vec::new(),
            Shape::Dependent {
                nodes,
                dependencies,
                width,
            } => dependent_edges(*nodes, *dependencies, *width)?,
            Shape::Pattern(pattern) => pattern.all_edges(),
        };
        let weights = vec![1; self.nodes() as usize];
        Ok(Generated {
            graph: JobGraph::of(weights, edges)?,
            uses: Vec::new(),
        })
    }
}

fn dependent_edges(
    nodes: u32,
    dependencies: u32,
    width: u32,
) -> Result<Vec<(u32, u32)>, ShapeError> {
    if dependencies > width || width == 0 {
        return Err(ShapeError::TooFewInRow {
            dependencies,
            width,
        });
    }
    let wide = u64::from(width);
    let needs = |node: u32| {
        let (row, point) = (node / width, u64::from(node % width));
        let first = point + wide - u64::from(dependencies / 2);
        let nearest = (0..u64::from(dependencies)).map(move |i| ((first + i) % wide) as u32);
        nearest.map(move |point| ((row - 1) * width + point, node))
    };
    let count = u64::from(dependencies) * u64::from(nodes.saturating_sub(width));
    let mut edges = Vec::with_capacity(count as usize);
    (width..nodes).for_each(|node| edges.extend(needs(node)));
    Ok(edges)
}

#[cfg(test)]
mod tests;
