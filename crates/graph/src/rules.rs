//! Graphs by rules that are drawn at each node.
//!
//! The graph grows row by row. At each node of a row the rules are drawn, each from
//! a random stream of its own:
//!
//! - `prune`: the node has no successors.
//! - `fork`: it gets so many new successors besides the one below.
//! - `join`: its successor in the next row is a new node, which so many of the nodes
//!   after it in the row need, too. Without a join the row goes on as chains.
//! - `seed`: so many new nodes without predecessors come into the next row.
//! - `weight`: its weight is so many grains. It is 1 where the rule does not apply.
//!
//! A row is no wider than `width`: a fork or seed that finds no room is *cut*. A row
//! that would be empty gets one new start node. The graph ends when it has its nodes.
//! Without rules it is one chain.
//!
//! As text, in any order:
//!
//! ```text
//! rules  = item *("," item)
//! item   = "nodes=" COUNT | "width=" COUNT | "random-seed=" NUMBER
//!        | "prune=" PROBABILITY
//!        | ("seed=" | "fork=" | "join=" | "weight=") PROBABILITY [":" range]
//! range  = MAX | MIN "-" MAX          ; MIN is 1 if not given, and both are 1
//! ```
//!
//! ```
//! use plimsoll_graph::Rules;
//!
//! let rules: Rules = "nodes=64,fork=0.3:4,join=0.4:2-6,weight=0.6:3".parse()?;
//! assert_eq!(rules.generate()?.graph.count(), 64);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod generate;
mod text;

pub use generate::Generated;

use crate::streams::Stream;

/// A rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    Seed,
    Fork,
    Join,
    Prune,
    Weight,
}

impl Rule {
    pub const ALL: [Rule; 5] = [
        Rule::Seed,
        Rule::Fork,
        Rule::Join,
        Rule::Prune,
        Rule::Weight,
    ];

    /// Its name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Rule::Seed => "seed",
            Rule::Fork => "fork",
            Rule::Join => "join",
            Rule::Prune => "prune",
            Rule::Weight => "weight",
        }
    }
}

/// How often a rule applies, and the range of the number that is then drawn, all of
/// whose values are equally probable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chance {
    probability: f64,
    min: u32,
    max: u32,
}

impl Chance {
    /// `probability` in 0..=1, `min` at most `max`.
    ///
    /// # Errors
    /// Either is not so.
    pub fn new(rule: Rule, probability: f64, min: u32, max: u32) -> Result<Chance, RulesError> {
        let rule = rule.name();
        if !(0.0..=1.0).contains(&probability) {
            return Err(RulesError::Probability { rule, probability });
        }
        if min > max {
            return Err(RulesError::Range { rule, min, max });
        }
        Ok(Chance {
            probability,
            min,
            max,
        })
    }

    /// How often the rule is to apply.
    pub fn probability(&self) -> f64 {
        self.probability
    }
}

/// Why rules are refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RulesError {
    #[error("the probability of `{rule}` is {probability}; give one from 0 to 1")]
    Probability {
        rule: &'static str,
        probability: f64,
    },
    #[error("the range of `{rule}` is {min}-{max}, which is inverted; give the lower end first")]
    Range {
        rule: &'static str,
        min: u32,
        max: u32,
    },
    #[error("`{0}` takes no range: a node is pruned or not")]
    NoRange(&'static str),
    #[error("`{0}=0` leaves no graph; give at least 1")]
    Zero(&'static str),
    #[error("`{item}` is no rule; take nodes, width, random-seed, seed, fork, join, prune, weight")]
    Unknown { item: String },
    #[error("`{item}` is no number; write {wanted}")]
    NoNumber { item: String, wanted: &'static str },
    #[error("`{0}` is given twice; give it once")]
    Twice(String),
}

/// The rules of a graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    nodes: u32,
    width: u32,
    random_seed: u64,
    chances: [Option<Chance>; Rule::ALL.len()],
}

impl Rules {
    /// The most nodes in a row, if not given.
    pub const WIDTH: u32 = 16;

    /// A chain of `nodes`.
    ///
    /// # Errors
    /// No nodes.
    pub fn chain(nodes: u32) -> Result<Rules, RulesError> {
        if nodes == 0 {
            return Err(RulesError::Zero("nodes"));
        }
        Ok(Rules {
            nodes,
            width: Rules::WIDTH,
            random_seed: 0,
            chances: [None; Rule::ALL.len()],
        })
    }

    /// The same with this rule.
    #[must_use]
    pub fn with(mut self, rule: Rule, chance: Chance) -> Rules {
        self.chances[rule as usize] = Some(chance);
        self
    }

    /// The same with other random numbers.
    #[must_use]
    pub fn with_random_seed(mut self, random_seed: u64) -> Rules {
        self.random_seed = random_seed;
        self
    }

    /// The same with at most so many nodes a row.
    ///
    /// # Errors
    /// No room for a node.
    pub fn with_width(mut self, width: u32) -> Result<Rules, RulesError> {
        self.width = width;
        match width {
            0 => Err(RulesError::Zero("width")),
            _ => Ok(self),
        }
    }

    /// How many nodes the graph will have.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// How a rule is drawn, if it is given.
    pub fn chance(&self, rule: Rule) -> Option<Chance> {
        self.chances[rule as usize]
    }

    /// What a rule says at a node; `None` if it does not apply there.
    ///
    /// The decision and the number are two places of the stream, so neither says
    /// anything of the other.
    pub fn draw(&self, rule: Rule, node: u32) -> Option<u32> {
        let chance = self.chance(rule)?;
        let stream = Stream::new(self.random_seed, rule as u64);
        let applies = stream.unit(node.into(), 0) < chance.probability;
        applies.then(|| stream.between(node.into(), 1, chance.min, chance.max))
    }
}

/// How often a rule was to apply and how often it did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RuleUse {
    pub rule: Rule,
    /// The probability.
    pub configured: f64,
    /// The share of draws in which the rule applied.
    pub realised: f64,
    /// At how many nodes it was drawn. Pruned nodes draw no fork or join, and nodes
    /// that join another draw no join.
    pub draws: u64,
    /// How many draws that applied found too little room in the row or no nodes left.
    pub cut: u64,
}

#[cfg(test)]
mod tests;
