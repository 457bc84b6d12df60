//! The guest's idle states: an ACPI table for qemu.

use crate::error::XtaskError;
use crate::tools::{IASL, output};
use std::path::{Path, PathBuf};

const SOURCE: &str = include_str!("idle_states.asl");

/// Writes the table beside `image`, named after it.
pub(crate) fn write_table(image: &Path) -> Result<PathBuf, XtaskError> {
    let source = image.with_extension("asl");
    let table = image.with_extension("aml");
    std::fs::write(&source, SOURCE).map_err(XtaskError::on(&source))?;
    // iasl puts the table beside its source.
    let compiled = output(IASL.command().arg(&source));
    let _ = std::fs::remove_file(&source);
    compiled.map(|_| table)
}
