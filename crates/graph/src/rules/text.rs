//! Rules as text.

use super::{Chance, Rule, Rules, RulesError};
use std::fmt;
use std::str::FromStr;

/// The nodes of a graph whose rules do not say.
const NODES: u32 = 64;

impl FromStr for Rules {
    type Err = RulesError;

    fn from_str(text: &str) -> Result<Rules, RulesError> {
        let mut rules = Rules::chain(NODES)?;
        let mut seen: Vec<&str> = Vec::new();
        for item in text.split(',').map(str::trim) {
            let unknown = || RulesError::Unknown {
                item: item.to_owned(),
            };
            let (key, value) = item.split_once('=').ok_or_else(unknown)?;
            if seen.contains(&key) {
                return Err(RulesError::Twice(key.to_owned()));
            }
            seen.push(key);
            match key {
                "nodes" => rules.nodes = at_least_one("nodes", value, item)?,
                "width" => rules.width = at_least_one("width", value, item)?,
                "random-seed" => rules.random_seed = number(value, item, "a whole number")?,
                _ => {
                    let rule = Rule::ALL.into_iter().find(|rule| rule.name() == key);
                    let rule = rule.ok_or_else(unknown)?;
                    rules = rules.with(rule, chance(rule, value, item)?);
                }
            }
        }
        Ok(rules)
    }
}

fn number<T: FromStr>(text: &str, item: &str, wanted: &'static str) -> Result<T, RulesError> {
    let no_number = |_| RulesError::NoNumber {
        item: item.to_owned(),
        wanted,
    };
    text.trim().parse().map_err(no_number)
}

fn at_least_one(key: &'static str, value: &str, item: &str) -> Result<u32, RulesError> {
    match number(value, item, "a whole number up to 4294967295")? {
        0 => Err(RulesError::Zero(key)),
        count => Ok(count),
    }
}

fn chance(rule: Rule, value: &str, item: &str) -> Result<Chance, RulesError> {
    const WANTED: &str = "a probability, or a probability and a range as 0.3:4 or 0.3:2-6";
    let (probability, range) = value
        .split_once(':')
        .map_or((value, None), |(p, range)| (p, Some(range)));
    let probability = number(probability, item, WANTED)?;
    let (min, max) = match range {
        None => (1, 1),
        Some(_) if rule == Rule::Prune => return Err(RulesError::NoRange(rule.name())),
        Some(range) => match range.split_once('-') {
            Some((min, max)) => (number(min, item, WANTED)?, number(max, item, WANTED)?),
            None => (1, number(range, item, WANTED)?),
        },
    };
    Chance::new(rule, probability, min, max)
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rules { nodes, width, .. } = self;
        write!(f, "nodes={nodes},width={width}")?;
        for rule in Rule::ALL {
            let Some(chance) = self.chance(rule) else {
                continue;
            };
            write!(f, ",{}={}", rule.name(), chance.probability)?;
            if rule != Rule::Prune {
                write!(f, ":{}-{}", chance.min, chance.max)?;
            }
        }
        write!(f, ",random-seed={}", self.random_seed)
    }
}
