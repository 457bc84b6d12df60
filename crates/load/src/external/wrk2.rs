//! wrk2: what it prints with `--latency`.

use super::{MS, Output, Quantiles, S, from_quantiles, time};
use plimsoll_model::Errors;
use std::time::Duration;

pub(super) fn parse(text: &str) -> Result<Output, String> {
    let mut known = Vec::new();
    let mut total = None;
    let (mut requests, mut errors) = (None, Errors::default());
    for line in text.lines() {
        let line = line.trim();
        if let Some(point) = distribution(line).or_else(|| spectrum(line)) {
            known.push(point);
        } else if let Some((_, count)) = line.split_once("Total count") {
            total = first_number(count);
        } else if let Some((count, rest)) = line.split_once(" requests in ") {
            let lasted = rest.split(',').next().and_then(of_wrk);
            requests = count.trim().parse::<u64>().ok().zip(lasted);
        } else if let Some(kinds) = line.strip_prefix("Socket errors:") {
            let of = |kind: &str| {
                let mut kinds = kinds.split(',');
                kinds.find_map(|one| one.trim().strip_prefix(kind)?.trim().parse::<u64>().ok())
            };
            errors.connect = of("connect").unwrap_or(0);
            errors.reset = of("read").unwrap_or(0) + of("write").unwrap_or(0);
            errors.timeout = of("timeout").unwrap_or(0);
        } else if let Some(count) = line.strip_prefix("Non-2xx or 3xx responses:") {
            errors.status = count.trim().parse().unwrap_or(0);
        }
    }
    let lacks = |what: &str| format!("it has no {what}; is it that of wrk2, with --latency?");
    let (requests, lasted) = requests.ok_or_else(|| lacks("number of requests"))?;
    let total = total.ok_or_else(|| lacks("percentile spectrum"))? as u64;
    if total == 0 && requests > 0 {
        return Err("it measured nothing: wrk2 begins after 10 s; does it use {duration}?".into());
    }
    let mut stated: Vec<f64> = known.iter().map(|(q, _)| *q).collect();
    stated.sort_by(f64::total_cmp);
    Ok(Output {
        lasted,
        completed: requests.saturating_sub(errors.status),
        errors,
        dropped: 0,
        latency: from_quantiles(known, total)?,
        quantiles: Quantiles::Only(stated),
    })
}

/// `99.900%    3.21ms`
fn distribution(line: &str) -> Option<(f64, Duration)> {
    let (pct, value) = line.split_once("% ")?;
    Some((pct.trim().parse::<f64>().ok()? / 100.0, of_wrk(value)?))
}

/// `0.973     0.500000           49         2.00`, in milliseconds.
fn spectrum(line: &str) -> Option<(f64, Duration)> {
    let mut words = line.split_whitespace();
    let numbers = [words.next()?, words.next()?, words.next()?, words.next()?];
    if words.next().is_some() {
        return None;
    }
    let value: f64 = numbers[0].parse().ok()?;
    let q: f64 = numbers[1].parse().ok()?;
    numbers[2].parse::<u64>().ok()?;
    Some((q, time(value, MS).ok()?))
}

/// A time as wrk writes it: 973.00us, 3.21ms, 1.05s, 2.00m.
fn of_wrk(text: &str) -> Option<Duration> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic())?);
    let unit = match unit {
        "us" => Duration::from_micros(1),
        "ms" => MS,
        "s" => S,
        "m" => S * 60,
        "h" => S * 3600,
        _ => return None,
    };
    time(number.parse().ok()?, unit).ok()
}

fn first_number(text: &str) -> Option<f64> {
    let mut words = text.split(|c: char| !(c.is_ascii_digit() || c == '.'));
    words.find(|word| !word.is_empty())?.parse().ok()
}
