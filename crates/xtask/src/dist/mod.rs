//! Makes what is handed out: a static program with its pages, completions, bill of
//! materials and checksums, as a tarball and as a Debian package. The same commit gives
//! the same bytes in every folder.

mod build;
mod container;
mod package;
mod target;
mod twice;

pub(crate) use target::Target;

use crate::args::DistArgs;
use crate::error::XtaskError;
use crate::tools::{self, output};
use crate::{cargo, show};
use build::Places;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the linked program may weigh.
const LARGEST: u64 = 12_000_000;

pub(crate) fn run(args: &DistArgs) -> Result<u8, XtaskError> {
    tools::require(args.target.tools())?;
    let workspace = cargo::workspace()?;
    let made_at = made_at(&workspace.root)?;
    let places = Places::of(workspace.root, workspace.target)?;
    let made = make(&places, args.target, &made_at)?;
    let bytes = std::fs::metadata(&made.program).map_err(XtaskError::on(&made.program))?;
    show(&format!(
        "{}\n{} bytes: {}",
        made.checksums.trim_end(),
        bytes.len(),
        made.program.display()
    ))?;
    if bytes.len() > LARGEST {
        return Err(XtaskError::Unexpected(format!(
            "the program has more than {LARGEST} bytes"
        )));
    }
    if args.check {
        container::check(&made.program, args.target, &places.target)?;
        show("it runs in an empty container")?;
        let other = twice::elsewhere(&places)?;
        twice::compare(&made, &make(&other, args.target, &made_at)?)?;
        show("a build in another folder gives the same bytes")?;
    }
    Ok(0)
}

/// What was made, and its `SHA256SUMS`.
pub(crate) struct Made {
    program: PathBuf,
    folder: PathBuf,
    checksums: String,
}

fn make(places: &Places, target: Target, made_at: &str) -> Result<Made, XtaskError> {
    let program = build::build(places, target)?;
    let bill = build::bill_of_materials(places, target, made_at)?;
    package::pack(places, target, made_at, &program, &bill)
}

/// The time stamp of all that is made: that of the commit, in seconds.
fn made_at(root: &Path) -> Result<String, XtaskError> {
    if let Ok(given) = std::env::var("SOURCE_DATE_EPOCH") {
        return Ok(given);
    }
    let mut git = Command::new("git");
    git.current_dir(root).args(["log", "-1", "--format=%ct"]);
    Ok(output(&mut git)?.trim().to_owned())
}
