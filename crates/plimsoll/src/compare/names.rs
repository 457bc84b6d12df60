//! What compared machines and their runs are called.

use crate::load_record::LoadRecord;

/// The names, in the order of the records. No two machines have the same, nor two runs.
pub(super) struct Names {
    pub(super) machines: Vec<String>,
    pub(super) runs: Vec<Vec<String>>,
}

pub(super) fn of(loaded: &[Vec<LoadRecord>]) -> Names {
    let all: Vec<&LoadRecord> = loaded.iter().flatten().collect();
    let mut names = of_records(&all).into_iter();
    let runs = loaded
        .iter()
        .map(|runs| names.by_ref().take(runs.len()).collect());
    let runs: Vec<Vec<String>> = runs.collect();
    Names {
        machines: of_machines(loaded, &runs),
        runs,
    }
}

/// A name for each record: its own, or its file's where others have the same.
fn of_records(loaded: &[&LoadRecord]) -> Vec<String> {
    let mut names: Vec<String> = loaded.iter().map(|l| l.name()).collect();
    let path = |l: &LoadRecord| l.file.to_string_lossy().into_owned();
    for next in [LoadRecord::stem, path] {
        let taken = names.clone();
        let is_shared = |name: &String| taken.iter().filter(|other| *other == name).count() > 1;
        for (name, loaded) in names.iter_mut().zip(loaded) {
            if is_shared(name) {
                *name = next(loaded);
            }
        }
    }
    names
}

/// A name for each machine: that of its one run; else that of all its runs, or how the
/// names of their files begin, or all of these.
fn of_machines(loaded: &[Vec<LoadRecord>], runs: &[Vec<String>]) -> Vec<String> {
    if runs.iter().all(|runs| runs.len() == 1) {
        return runs.concat();
    }
    let own = loaded.iter().map(|runs| {
        let name = runs.first().map(LoadRecord::name);
        name.filter(|name| runs.iter().all(|run| run.name() == *name))
    });
    let stems = loaded.iter().map(|runs| {
        let stems: Vec<String> = runs.iter().map(LoadRecord::stem).collect();
        beginning(&stems)
    });
    let joined = runs.iter().map(|runs| runs.join(" + ")).collect();
    let distinct = |names: &Vec<String>| {
        let is_new = |(nth, name): (usize, &String)| !names[..nth].contains(name);
        names.iter().enumerate().all(is_new)
    };
    let own: Option<Vec<String>> = own.collect();
    let stems: Option<Vec<String>> = stems.collect();
    own.filter(distinct)
        .or(stems.filter(distinct))
        .unwrap_or(joined)
}

/// How all texts begin, without the numbers that tell them apart.
fn beginning(texts: &[String]) -> Option<String> {
    let [first, others @ ..] = texts else {
        return None;
    };
    if others.is_empty() {
        return Some(first.clone());
    }
    let shared = |length: &usize| {
        let start = first.get(..*length);
        start.is_some_and(|start| others.iter().all(|other| other.starts_with(start)))
    };
    let length = (1..=first.len()).rev().find(shared)?;
    let trimmed = first[..length].trim_end_matches(|c: char| !c.is_alphabetic());
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_called_by_how_their_files_begin() {
        let of =
            |texts: &[&str]| beginning(&texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>());
        for (texts, name) in [
            (&["old1", "old2", "old3"][..], Some("old")),
            (&["web-new-10", "web-new-11"], Some("web-new")),
            (&["naïve-1", "naïf-2"], Some("naï")),
            (&["a", "b"], None),
            (&["2026-1", "2026-2"], None),
            (&["old1"], Some("old1")),
        ] {
            assert_eq!(of(texts).as_deref(), name, "{texts:?}");
        }
    }
}
