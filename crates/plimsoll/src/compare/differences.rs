//! In what records differ besides what is compared.

use super::names::Names;
use crate::failure::Failure;
use crate::load_record::LoadRecord;
use plimsoll_model::{ComparisonCaution, Respect};

/// Refuses runs of one machine that were made on different ones, or on one that was
/// changed between them.
pub(super) fn refuse_within(loaded: &[Vec<LoadRecord>], names: &Names) -> Result<(), Failure> {
    for (runs, names) in loaded.iter().zip(&names.runs) {
        for (run, name) in runs.iter().zip(names) {
            let (first, other) = (&runs[0].provenance, &run.provenance);
            let mut differs = first.differences(other).into_iter();
            if let Some(differs) = differs.find(|d| d.respect.bars_resuming()) {
                return Err(Failure::Mistake(format!(
                    "'{}' and '{name}' cannot be runs of one machine: {differs}; give --against runs that repeat each other, or compare them without it",
                    names[0],
                )));
            }
        }
    }
    Ok(())
}

/// What may differ besides what is compared, and what is in doubt.
pub(super) fn cautions(loaded: &[Vec<LoadRecord>], names: &Names) -> Vec<ComparisonCaution> {
    let mut out = Vec::new();
    let Some((first, others)) = loaded.split_first() else {
        return out;
    };
    for (other, name) in others.iter().zip(&names.machines[1..]) {
        let names = [&*names.machines[0], name];
        out.extend(of_pair([&first[0], &other[0]], names));
        out.extend(not_alternated([first, other], names));
    }
    for (runs, names) in loaded.iter().zip(&names.runs) {
        for (run, name) in runs.iter().zip(names).skip(1) {
            out.extend(of_pair([&runs[0], run], [&names[0], name]));
        }
        for (run, name) in runs.iter().zip(names) {
            let broken = run.findings.capacity.iter();
            let broken = broken.filter(|c| c.confirmed == Some(false));
            out.extend(broken.map(|finding| ComparisonCaution::NotConfirmed {
                name: name.clone(),
                goal: finding.goal,
            }));
            let doubts = run.findings.doubts.iter();
            out.extend(doubts.map(|doubt| ComparisonCaution::Doubted {
                name: name.clone(),
                doubt: *doubt,
            }));
        }
    }
    out
}

/// In what two runs differ.
fn of_pair([one, other]: [&LoadRecord; 2], [first, name]: [&str; 2]) -> Vec<ComparisonCaution> {
    let are_named = first == one.name() && name == other.name();
    let (one, two) = (&one.provenance, &other.provenance);
    // Hosts that the machines are called by are no news.
    let found = one.differences(two).into_iter();
    let news = found.filter(|m| !(are_named && m.respect == Respect::Host));
    let mut out: Vec<ComparisonCaution> = news
        .map(|differs| ComparisonCaution::Surroundings {
            name: name.to_owned(),
            first: first.to_owned(),
            differs,
        })
        .collect();
    if one.plimsoll_version != two.plimsoll_version {
        out.push(ComparisonCaution::Version {
            name: name.to_owned(),
            first: first.to_owned(),
            versions: [one, two].map(|p| p.plimsoll_version.clone()),
        });
    }
    out
}

/// Where all runs of one were made before those of the other, on one host.
fn not_alternated(sides: [&Vec<LoadRecord>; 2], names: [&str; 2]) -> Option<ComparisonCaution> {
    let [one, other] = sides;
    let hosts = sides.map(|runs| runs[0].provenance.hostname.as_ref());
    if one.len() < 2 || other.len() < 2 || hosts[0].is_none() || hosts[0] != hosts[1] {
        return None;
    }
    let is_before = |a: &[LoadRecord], b: &[LoadRecord]| {
        let last = a.iter().map(|run| run.created_unix_ms).max();
        last < b.iter().map(|run| run.created_unix_ms).min()
    };
    let caution = |[first, then]: [&str; 2]| ComparisonCaution::NotAlternated {
        first: first.to_owned(),
        then: then.to_owned(),
    };
    if is_before(one, other) {
        Some(caution(names))
    } else {
        is_before(other, one).then(|| caution([names[1], names[0]]))
    }
}
