//! Shapes as text.

use super::{Preset, Shape, ShapeError};
use crate::patterns::{Dependence, Pattern};
use crate::rules::Rules;
use std::fmt;
use std::str::FromStr;

/// The size of a graph that does not say.
const NODES: u32 = 64;
const PATTERN_WIDTH: u32 = 4;
const PATTERN_STEPS: u32 = 100;

impl Shape {
    /// All names, in the order of the help.
    pub fn names() -> Vec<&'static str> {
        let presets = Preset::ALL.map(Preset::name);
        let patterns = Dependence::ALL.map(Dependence::name);
        let own = ["independent", "isolated", "dependent"];
        presets.into_iter().chain(own).chain(patterns).collect()
    }

    /// The shape of a name at its usual size.
    fn named(name: &str) -> Option<Shape> {
        if let Some(preset) = Preset::ALL.into_iter().find(|p| p.name() == name) {
            let nodes = preset.usual_nodes();
            return Some(Shape::Preset { preset, nodes });
        }
        if let Some(dependence) = Dependence::ALL.into_iter().find(|d| d.name() == name) {
            let pattern = Pattern::new(dependence, PATTERN_WIDTH, PATTERN_STEPS);
            return Some(Shape::Pattern(pattern));
        }
        match name {
            "independent" | "isolated" => Some(Shape::independent(NODES)),
            "dependent" => Some(Shape::with_dependencies(NODES * 16, 3)),
            _ => None,
        }
    }

    /// The keys that it takes.
    fn keys(&self) -> Vec<&'static str> {
        let radix = |p: &Pattern| p.dependence.has_radix();
        match self {
            Shape::Rules(_) => vec!["rules"],
            Shape::Preset { .. } | Shape::Independent { .. } => vec!["nodes"],
            Shape::Dependent { .. } => vec!["nodes", "dependencies", "width"],
            Shape::Pattern(p) if p.dependence == Dependence::Random => {
                vec!["width", "steps", "radix", "fraction", "random-seed"]
            }
            Shape::Pattern(p) if radix(p) => vec!["width", "steps", "radix"],
            Shape::Pattern(_) => vec!["width", "steps"],
        }
    }

    fn set(&mut self, key: &str, value: &str, item: &str) -> Result<(), ShapeError> {
        match self {
            Shape::Preset { nodes, .. } | Shape::Independent { nodes } => {
                *nodes = size(value, item)?;
            }
            Shape::Dependent {
                nodes,
                dependencies,
                width,
            } => match key {
                "nodes" => *nodes = size(value, item)?,
                "width" => *width = size(value, item)?,
                _ => *dependencies = parse(value, item, COUNT)?,
            },
            Shape::Pattern(pattern) => match key {
                "width" => pattern.width = size(value, item)?,
                "steps" => pattern.steps = size(value, item)?,
                "radix" => pattern.radix = size(value, item)?,
                "random-seed" => pattern.random_seed = parse(value, item, "0 to 2^64-1")?,
                _ => {
                    let fraction: f64 = parse(value, item, SHARE)?;
                    let range = SHARE;
                    let item = item.to_owned();
                    let is_share = (0.0..=1.0).contains(&fraction);
                    let refused = || ShapeError::Number { item, range };
                    pattern.fraction = is_share.then_some(fraction).ok_or_else(refused)?;
                }
            },
            Shape::Rules(_) => {}
        }
        Ok(())
    }
}

const COUNT: &str = "0 to 4294967295";
const SIZE: &str = "1 to 4294967295";
const SHARE: &str = "0 to 1";

fn parse<T: FromStr>(value: &str, item: &str, range: &'static str) -> Result<T, ShapeError> {
    let item = item.to_owned();
    let parsed = value.trim().parse();
    parsed.map_err(|_| ShapeError::Number { item, range })
}

fn size(value: &str, item: &str) -> Result<u32, ShapeError> {
    match parse(value, item, SIZE)? {
        0 => Err(ShapeError::Number {
            item: item.to_owned(),
            range: SIZE,
        }),
        size => Ok(size),
    }
}

impl FromStr for Shape {
    type Err = ShapeError;

    fn from_str(text: &str) -> Result<Shape, ShapeError> {
        let text = text.trim();
        let (name, items) = text
            .split_once(':')
            .map_or((text, None), |(name, items)| (name, Some(items)));
        if name.contains('=') {
            return Ok(Shape::Rules(text.parse::<Rules>()?));
        }
        let unknown = || ShapeError::Unknown {
            name: name.to_owned(),
        };
        let mut shape = Shape::named(name).ok_or_else(unknown)?;
        for item in items.into_iter().flat_map(|items| items.split(',')) {
            let (key, value) = item.split_once('=').unwrap_or((item, ""));
            let (key, takes) = (key.trim(), shape.keys());
            if !takes.contains(&key) {
                return Err(ShapeError::NoSuchKey {
                    shape: name.to_owned(),
                    key: key.to_owned(),
                    takes: takes.join(", "),
                });
            }
            shape.set(key, value, item)?;
        }
        shape.checked()
    }
}

impl Shape {
    /// Itself, if its numbers fit each other.
    fn checked(self) -> Result<Shape, ShapeError> {
        match self {
            Shape::Dependent {
                dependencies,
                width,
                ..
            } if dependencies > width => Err(ShapeError::TooFewInRow {
                dependencies,
                width,
            }),
            shape => Ok(shape),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Rules(rules) => rules.fmt(f),
            Shape::Preset { preset, nodes } => write!(f, "{}:nodes={nodes}", preset.name()),
            Shape::Independent { nodes } => write!(f, "independent:nodes={nodes}"),
            Shape::Dependent {
                nodes,
                dependencies,
                width,
            } => write!(
                f,
                "dependent:nodes={nodes},dependencies={dependencies},width={width}"
            ),
            Shape::Pattern(pattern) => pattern.fmt(f),
        }
    }
}
