//! From words to a graph.

use super::tokens::{Token, Tokens};
use super::{DotError, Imported};
use crate::{GraphError, JobGraph};
use std::collections::HashMap;

/// The graph that a text describes. Nodes are numbered as they first appear, or in
/// topological order where that is another.
///
/// # Errors
/// It is not of the part of DOT that is read, or no graph of jobs: a sentence, with
/// the line where there is one.
pub fn read(text: &str) -> Result<Imported, DotError> {
    let mut parser = Parser::of(text)?;
    parser.head()?;
    while parser.token != Token::Sign('}') {
        parser.statement()?;
    }
    parser.advance()?;
    if parser.token != Token::End {
        return Err(parser.expected("the end of the file"));
    }
    parser.graph()
}

struct Parser<'a> {
    tokens: Tokens<'a>,
    line: u32,
    token: Token,
    numbers: HashMap<String, u32>,
    names: Vec<String>,
    weights: Vec<u32>,
    edges: Vec<(u32, u32)>,
}

/// What of a list of attributes counts.
#[derive(Default)]
struct Attributes {
    weight: Option<(u32, String)>,
    label: Option<String>,
}

impl<'a> Parser<'a> {
    fn of(text: &'a str) -> Result<Parser<'a>, DotError> {
        let mut tokens = Tokens::of(text);
        let (line, token) = tokens.next()?;
        Ok(Parser {
            tokens,
            line,
            token,
            numbers: HashMap::new(),
            names: Vec::new(),
            weights: Vec::new(),
            edges: Vec::new(),
        })
    }

    fn advance(&mut self) -> Result<Token, DotError> {
        let (line, next) = self.tokens.next()?;
        self.line = line;
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn expected(&self, wanted: &'static str) -> DotError {
        DotError::Expected {
            line: self.line,
            wanted,
            found: self.token.to_string(),
        }
    }

    fn is_keyword(&self, word: &str) -> bool {
        matches!(&self.token, Token::Name(name) if name.eq_ignore_ascii_case(word))
    }

    fn is_at(&self, sign: char) -> bool {
        self.token == Token::Sign(sign)
    }

    fn eat(&mut self, sign: char, wanted: &'static str) -> Result<(), DotError> {
        match self.is_at(sign) {
            true => self.advance().map(|_| ()),
            false => Err(self.expected(wanted)),
        }
    }

    fn id(&mut self, wanted: &'static str) -> Result<String, DotError> {
        if self.is_at('{') || self.is_keyword("subgraph") {
            return Err(DotError::Subgraph { line: self.line });
        }
        match &self.token {
            Token::Name(_) | Token::Quoted(_) => match self.advance()? {
                Token::Name(text) | Token::Quoted(text) => Ok(text),
                _ => Err(self.expected(wanted)),
            },
            _ => Err(self.expected(wanted)),
        }
    }

    fn head(&mut self) -> Result<(), DotError> {
        if self.is_keyword("strict") {
            self.advance()?;
        }
        if self.is_keyword("graph") {
            return Err(DotError::Undirected { line: self.line });
        }
        if !self.is_keyword("digraph") {
            return Err(self.expected("`digraph`"));
        }
        self.advance()?;
        if !self.is_at('{') {
            self.id("`{`")?;
        }
        self.eat('{', "`{`")
    }

    fn statement(&mut self) -> Result<(), DotError> {
        if self.is_at(';') {
            return self.advance().map(|_| ());
        }
        let line = self.line;
        if ["graph", "node", "edge"]
            .iter()
            .any(|word| self.is_keyword(word))
        {
            let of_nodes = self.is_keyword("node");
            self.advance()?;
            if !self.is_at('[') {
                return Err(self.expected("`[`"));
            }
            let common = self.attributes()?;
            return match common.weight {
                Some(_) if of_nodes => Err(DotError::CommonWeight { line }),
                _ => Ok(()),
            };
        }
        let first = self.id("a node, an edge or `}`")?;
        if self.is_at('=') {
            self.advance()?;
            return self.id("a value").map(|_| ());
        }
        self.edge_or_node(first)
    }

    fn edge_or_node(&mut self, first: String) -> Result<(), DotError> {
        let mut last = self.node(first)?;
        let mut is_edge = false;
        while self.token == Token::Arrow {
            is_edge = true;
            self.advance()?;
            let name = self.id("a node")?;
            let next = self.node(name)?;
            self.edges.push((last, next));
            last = next;
        }
        let found = self.attributes()?;
        if is_edge {
            return Ok(());
        }
        let label = found.label.and_then(|label| label.trim().parse().ok());
        let weight = match found.weight {
            None => label,
            Some((line, found)) => match found.trim().parse() {
                Ok(weight) => Some(weight),
                Err(_) => return Err(DotError::Weight { line, found }),
            },
        };
        if let Some(weight) = weight {
            self.weights[last as usize] = weight;
        }
        Ok(())
    }

    /// The number of a node, which is new with its first use.
    fn node(&mut self, name: String) -> Result<u32, DotError> {
        if self.is_at(':') {
            return Err(DotError::Port { line: self.line });
        }
        if let Some(number) = self.numbers.get(&name) {
            return Ok(*number);
        }
        let too_large = |_| DotError::Graph(GraphError::TooLarge);
        let number = u32::try_from(self.names.len()).map_err(too_large)?;
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        self.weights.push(1);
        Ok(number)
    }

    fn attributes(&mut self) -> Result<Attributes, DotError> {
        let mut found = Attributes::default();
        while self.is_at('[') {
            self.advance()?;
            while !self.is_at(']') {
                let key = self.id("an attribute or `]`")?;
                self.eat('=', "`=`")?;
                let line = self.line;
                let value = self.id("a value")?;
                match key.as_str() {
                    "weight" => found.weight = Some((line, value)),
                    "label" => found.label = Some(value),
                    _ => {}
                }
                if self.is_at(',') || self.is_at(';') {
                    self.advance()?;
                }
            }
            self.advance()?;
        }
        Ok(found)
    }

    fn graph(self) -> Result<Imported, DotError> {
        let name = |node: &u32| self.names[*node as usize].clone();
        let (graph, former) =
            JobGraph::sorted(&self.weights, &self.edges).map_err(|error| match error {
                GraphError::Cycle { nodes } => {
                    let first = nodes.first();
                    let names = nodes.iter().chain(first).map(name).collect();
                    DotError::Cycle { names }
                }
                other => DotError::Graph(other),
            })?;
        let names = former.iter().map(name).collect();
        Ok(Imported { graph, names })
    }
}
