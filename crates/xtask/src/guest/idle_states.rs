//! The guest's idle states, which qemu's firmware tables do not have: an ACPI table, or for
//! arm64 an overlay of the device tree.

use super::qemu;
use crate::dist::Target;
use crate::error::XtaskError;
use crate::tools::{DTC, FDT_OVERLAY, IASL, output};
use std::ffi::OsString;
use std::path::Path;

const ACPI: &str = include_str!("idle_states.asl");
const OVERLAY: &str = include_str!("idle_states.dtso");

/// The arguments of qemu that add them. They name files that are written beside `image`.
pub(crate) fn arguments(target: Target, image: &Path) -> Result<[OsString; 2], XtaskError> {
    match target {
        Target::X86 => acpi_table(image),
        Target::Arm => device_tree(image),
    }
}

fn acpi_table(image: &Path) -> Result<[OsString; 2], XtaskError> {
    let source = image.with_extension("asl");
    std::fs::write(&source, ACPI).map_err(XtaskError::on(&source))?;
    // iasl puts the table beside its source.
    output(IASL.command().arg(&source))?;
    Ok([
        "-acpitable".into(),
        after("file=", &image.with_extension("aml")),
    ])
}

fn device_tree(image: &Path) -> Result<[OsString; 2], XtaskError> {
    let source = image.with_extension("dtso");
    std::fs::write(&source, OVERLAY).map_err(XtaskError::on(&source))?;
    let overlay = image.with_extension("dtbo");
    let mut compile = DTC.command();
    compile.args(["-I", "dts", "-O", "dtb", "-o"]);
    output(compile.args([&overlay, &source]))?;
    let base = image.with_extension("base.dtb");
    let mut dump = qemu::emulator(Target::Arm).command();
    dump.args(qemu::machine(Target::Arm));
    dump.args(["-nodefaults", "-display", "none", "-machine"]);
    output(dump.arg(after("dumpdtb=", &base)))?;
    let tree = image.with_extension("dtb");
    let mut apply = FDT_OVERLAY.command();
    output(apply.arg("-i").arg(&base).arg("-o").args([&tree, &overlay]))?;
    Ok(["-dtb".into(), tree.into()])
}

fn after(key: &str, path: &Path) -> OsString {
    let mut text = OsString::from(key);
    text.push(path);
    text
}
