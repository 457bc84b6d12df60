//! The files of a rig besides its record: graphs that are read and written, plug-ins,
//! and the trace.

use super::graphs::Planned;
use super::outcome::Part;
use super::plan::{GraphPlan, RigPlan};
use plimsoll_engine::RunError;
use plimsoll_graph::{JobGraph, dot::Dot, svg};
use plimsoll_schedulers::fingerprint;
use rustix::fs::{Mode, OFlags, open};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The text of a graph is part of the plan, and so of the record.
const MOST_DOT_BYTES: u64 = 1 << 20;

/// What a run needs besides its plan.
#[derive(Debug, Default)]
pub struct RigSite {
    /// Where a trace is written.
    pub(super) trace: Option<PathBuf>,
}

/// The plug-ins among these with what they contain.
pub(super) fn libraries(schedulers: &[String]) -> Result<BTreeMap<String, String>, RunError> {
    let paths = schedulers.iter().filter(|name| name.contains('/'));
    let of = |path: &String| Ok((path.clone(), sha1_of(path)?));
    paths.map(of).collect()
}

fn sha1_of(path: &str) -> Result<String, RunError> {
    fingerprint(Path::new(path)).map_err(|error| {
        RunError::Usage(format!(
            "--scheduler: cannot open {path}: {error}; give the path of a shared library"
        ))
    })
}

/// # Errors
/// A plug-in is no longer what it was when the run was begun.
pub(super) fn refuse_changed_libraries(plan: &RigPlan) -> Result<(), RunError> {
    for (path, begun_with) in &plan.library_sha1 {
        if sha1_of(path)? != *begun_with {
            return Err(RunError::Usage(format!(
                "--scheduler: {path} has changed since the run was begun, and its trials would be of two schedulers; restore it, or start a new run"
            )));
        }
    }
    Ok(())
}

/// A name as it is, or the text of a file.
pub(super) fn graph(name: &str) -> Result<GraphPlan, RunError> {
    let is_file = [".dot", ".gv"].iter().any(|ending| name.ends_with(ending));
    let dot = is_file.then(|| text_of(name)).transpose()?;
    Ok(GraphPlan {
        name: name.to_owned(),
        dot,
    })
}

fn text_of(file: &str) -> Result<String, RunError> {
    let why = |why: String| RunError::Usage(format!("--graph {file}: {why}"));
    let unopened = |e: io::Error| why(format!("{e}; give a file in DOT"));
    // Opening a pipe otherwise waits for its writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = open(file, flags, Mode::empty()).map_err(|errno| unopened(errno.into()))?;
    let opened = File::from(opened);
    if !opened.metadata().map_err(unopened)?.is_file() {
        return Err(why(
            "it is no regular file; give a file in DOT, or the name of a graph".to_owned(),
        ));
    }
    let mut text = String::new();
    let read = opened.take(MOST_DOT_BYTES + 1).read_to_string(&mut text);
    read.map_err(|e| why(format!("{e}; give a text file in DOT")))?;
    match text.len() as u64 <= MOST_DOT_BYTES {
        true => Ok(text),
        false => Err(why(
            "it is larger than 1 MiB, the most that a record keeps of a graph; give rules or a shape by name".to_owned(),
        )),
    }
}

/// Writes the graph of the plan to a new file.
///
/// # Errors
/// Its ending is neither that of DOT nor of SVG, it exists, or cannot be written.
pub(super) fn save_graph(plan: &RigPlan, path: &Path) -> Result<(), RunError> {
    let why = |why: String| RunError::Usage(format!("--save-graph {}: {why}", path.display()));
    let graph = match plan.has(Part::Break) || !plan.has(Part::Steady) {
        true => &plan.graph,
        false => &plan.steady_graph,
    };
    let planned = Planned::of(graph, plan).map_err(|e| RunError::Usage(e.to_string()))?;
    let graph: &JobGraph = planned.graph();
    let text = match path.extension().and_then(|ending| ending.to_str()) {
        Some("dot" | "gv") => Dot(graph).to_string(),
        Some("svg") => svg::picture(graph).map_err(|e| why(e.to_string()))?,
        _ => {
            return Err(why(
                "a graph is written as DOT or SVG; end the name in .dot or .svg".to_owned(),
            ));
        }
    };
    let mut file = new_file("--save-graph", path)?;
    file.write_all(text.as_bytes())
        .map_err(|e| why(e.to_string()))
}

/// A file that was not there.
///
/// # Errors
/// It was, or cannot be made.
pub(super) fn new_file(flag: &str, path: &Path) -> Result<File, RunError> {
    let mut options = File::options();
    // As all outputs.
    let options = options.write(true).create_new(true).mode(0o600);
    options.open(path).map_err(|e| {
        let path = path.display();
        RunError::Usage(format!(
            "{flag} {path}: {e}; give a new file in a folder of yours"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, mkfifoat};

    #[test]
    fn a_graph_is_read_from_a_regular_file_only() {
        let dir = tempfile::tempdir().unwrap();
        let [pipe, folder, file] = ["a.dot", "b.dot", "c.dot"].map(|name| dir.path().join(name));
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(&file, "digraph {}").unwrap();
        let read = |path: &Path| graph(path.to_str().unwrap());
        for path in [&pipe, &folder] {
            // A pipe without a writer is refused, not waited for.
            let error = read(path).unwrap_err();
            assert!(matches!(error, RunError::Usage(_)), "{error}");
            assert!(error.to_string().contains("no regular file"), "{error}");
        }
        let plan = read(&file).unwrap();
        assert_eq!(plan.dot.as_deref(), Some("digraph {}"));
    }
}
