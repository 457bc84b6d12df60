//! Graphs as DOT, the language of Graphviz.
//!
//! What is read is the part of DOT that says what a graph of jobs is:
//!
//! ```text
//! file      = ["strict"] "digraph" [id] "{" *(statement [";"]) "}"
//! statement = id *("->" id) [attributes] | id "=" id
//!           | ("graph" | "node" | "edge") attributes
//! attributes = 1*("[" *(id "=" id [";" | ","]) "]")
//! id        = a name, a number, or "a quoted text"
//! ```
//!
//! with `//`, `/* */` and `#` comments. A node's weight is its attribute `weight`, or
//! else its label if that is a whole number, or else 1. Other attributes are left
//! unread. Subgraphs, ports, HTML labels, and undirected graphs are refused.
//!
//! ```
//! use plimsoll_graph::dot;
//!
//! let read = dot::read("digraph { load [weight=3]; load -> {} }");
//! assert_eq!(read.unwrap_err().to_string(), "line 1: subgraphs are not read; list each edge");
//! let read = dot::read("digraph { load [weight=3]; load -> parse -> save }")?;
//! assert_eq!(read.names, ["load", "parse", "save"]);
//! assert_eq!(read.graph.weight(0), 3);
//! # Ok::<(), dot::DotError>(())
//! ```
//!
//! The parser is our own: `dot-parser`, which `petgraph` uses for this, is under the
//! GPL, and `graphviz-rust` brings a parser generator for what takes two small files.

mod parse;
mod tokens;

use crate::{GraphError, JobGraph};
use std::fmt;

pub use parse::read;

/// A graph from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    pub graph: JobGraph,
    /// What the file calls each node.
    pub names: Vec<String>,
}

/// Why a file is no graph.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DotError {
    #[error("line {line}: expected {wanted}, found {found}")]
    Expected {
        line: u32,
        wanted: &'static str,
        found: String,
    },
    #[error("line {line}: subgraphs are not read; list each edge")]
    Subgraph { line: u32 },
    #[error("line {line}: an undirected graph has no order of jobs; write `digraph` and `->`")]
    Undirected { line: u32 },
    #[error("line {line}: ports are not read; name the node alone")]
    Port { line: u32 },
    #[error("line {line}: HTML labels are not read; write a quoted text")]
    Html { line: u32 },
    #[error("line {line}: the {what} is not closed")]
    Open { line: u32, what: &'static str },
    #[error("line {line}: {found:?} is no part of DOT")]
    Character { line: u32, found: char },
    #[error(
        "line {line}: the weight {found:?} is no whole number up to {}",
        u32::MAX
    )]
    Weight { line: u32, found: String },
    #[error("line {line}: a weight for all nodes is not read; give each node its own")]
    CommonWeight { line: u32 },
    #[error("nodes {} form a cycle; remove one of its edges", .names.join(" -> "))]
    Cycle { names: Vec<String> },
    #[error(transparent)]
    Graph(GraphError),
}

/// A graph as DOT: nodes by number, with their weight as attribute and label.
#[derive(Debug, Clone, Copy)]
pub struct Dot<'a>(pub &'a JobGraph);

impl fmt::Display for Dot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Dot(graph) = self;
        writeln!(f, "digraph {{")?;
        for node in graph.nodes() {
            let weight = graph.weight(node);
            writeln!(f, "  {node} [weight={weight}, label=\"{weight}\"];")?;
        }
        for node in graph.nodes() {
            for next in graph.successors(node) {
                writeln!(f, "  {node} -> {next};")?;
            }
        }
        writeln!(f, "}}")
    }
}

#[cfg(test)]
mod tests;
