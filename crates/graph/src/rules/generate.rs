//! From rules to a graph.

use super::{Rule, RuleUse, Rules};
use crate::{GraphError, JobGraph};
use std::ops::Range;

/// A graph, and how often each rule that was given applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    pub graph: JobGraph,
    /// Empty for a graph that has no rules.
    pub uses: Vec<RuleUse>,
}

impl Rules {
    /// The graph.
    ///
    /// # Errors
    /// More edges than a graph can have.
    pub fn generate(&self) -> Result<Generated, GraphError> {
        let mut growth = Growth::new(self);
        let mut row = 0..growth.start_node();
        while growth.weights.len() < self.nodes as usize {
            row = growth.next_row(row);
        }
        let uses = growth.uses();
        let graph = JobGraph::of(growth.weights, growth.edges)?;
        Ok(Generated { graph, uses })
    }
}

/// A join that the nodes to come in the row also belong to.
struct OpenJoin {
    node: u32,
    missing: u32,
}

#[derive(Clone, Copy, Default)]
struct Tally {
    draws: u64,
    applied: u64,
    cut: u64,
}

struct Growth<'a> {
    rules: &'a Rules,
    weights: Vec<u32>,
    edges: Vec<(u32, u32)>,
    tallies: [Tally; Rule::ALL.len()],
}

impl<'a> Growth<'a> {
    fn new(rules: &'a Rules) -> Growth<'a> {
        let nodes = rules.nodes as usize;
        Growth {
            rules,
            weights: Vec::with_capacity(nodes),
            // A node brings at most the edge that made it and one that goes on.
            edges: Vec::with_capacity(2 * nodes),
            tallies: Default::default(),
        }
    }

    /// What a rule says at a node; 0 if it does not apply.
    fn draw(&mut self, rule: Rule, node: u32) -> u32 {
        let drawn = self.rules.draw(rule, node);
        let tally = &mut self.tallies[rule as usize];
        tally.draws += 1;
        tally.applied += u64::from(drawn.is_some());
        drawn.unwrap_or(0)
    }

    /// A new node without predecessors; its number plus one, the end of a row of it.
    fn start_node(&mut self) -> u32 {
        let node = self.weights.len() as u32;
        let drawn = self.rules.draw(Rule::Weight, node);
        let tally = &mut self.tallies[Rule::Weight as usize];
        tally.draws += 1;
        tally.applied += u64::from(drawn.is_some());
        self.weights.push(drawn.unwrap_or(1));
        node + 1
    }

    /// A new node in the row that begins at `first`, if there is room.
    fn add(&mut self, first: u32) -> Option<u32> {
        let total = self.weights.len() as u32;
        let room = total < self.rules.nodes && total - first < self.rules.width;
        room.then(|| self.start_node() - 1)
    }

    /// Grows one row below `row` and returns it.
    fn next_row(&mut self, row: Range<u32>) -> Range<u32> {
        let first = row.end;
        let mut join: Option<OpenJoin> = None;
        let pruned: Vec<bool> = row.clone().map(|n| self.draw(Rule::Prune, n) > 0).collect();
        let grows = |node: &u32| !pruned[(node - row.start) as usize];
        // Chains first: they need no more room than the row has that they come from.
        for node in row.clone().filter(grows) {
            self.carry_on(node, first, &mut join);
        }
        for node in row.clone().filter(grows) {
            self.add_new(Rule::Fork, node, first);
        }
        for node in row.clone() {
            self.add_new(Rule::Seed, node, first);
        }
        if self.weights.len() as u32 == first {
            self.start_node();
        }
        first..self.weights.len() as u32
    }

    /// The new nodes of a fork or of seeds.
    fn add_new(&mut self, rule: Rule, node: u32, first: u32) {
        for _ in 0..self.draw(rule, node) {
            let Some(next) = self.add(first) else {
                self.tallies[rule as usize].cut += 1;
                return;
            };
            if rule == Rule::Fork {
                self.edges.push((node, next));
            }
        }
    }

    /// The successor that each node has that is not pruned, while there are nodes left.
    fn carry_on(&mut self, node: u32, first: u32, open: &mut Option<OpenJoin>) {
        if let Some(join) = open.as_mut().filter(|join| join.missing > 0) {
            join.missing -= 1;
            self.edges.push((node, join.node));
            return;
        }
        let missing = self.draw(Rule::Join, node);
        match self.add(first) {
            Some(next) => {
                self.edges.push((node, next));
                *open = Some(OpenJoin {
                    node: next,
                    missing,
                });
            }
            None => self.tallies[Rule::Join as usize].cut += u64::from(missing > 0),
        }
    }

    fn uses(&self) -> Vec<RuleUse> {
        let used = |rule: Rule| {
            let tally = self.tallies[rule as usize];
            Some(RuleUse {
                rule,
                configured: self.rules.chance(rule)?.probability(),
                realised: match tally.draws {
                    0 => 0.0,
                    draws => tally.applied as f64 / draws as f64,
                },
                draws: tally.draws,
                cut: tally.cut,
            })
        };
        Rule::ALL.into_iter().filter_map(used).collect()
    }
}
