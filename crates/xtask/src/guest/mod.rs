//! Runs tests in a guest: a real kernel with cgroup v2 and idle states, booted with only
//! the tests, their libraries and busybox.

mod console;
mod cpio;
mod idle_states;
mod init;
mod kernel;
mod libraries;
mod qemu;
mod suites;

use crate::args::GuestArgs;
use crate::error::XtaskError;
use crate::workspace::Workspace;
use crate::{cargo, tools};
use console::Console;
use cpio::Archive;
use std::path::Path;
use std::process::Stdio;
use suites::{Built, Suite};

/// Prefix of each line from the guest.
const PREFIX: &str = "guest | ";

/// Builds the tests, boots the guest, and returns the exit status of the tests.
pub(crate) fn run(args: &GuestArgs) -> Result<u8, XtaskError> {
    if std::env::consts::ARCH != "x86_64" {
        let arch = std::env::consts::ARCH;
        return Err(XtaskError::Architecture { arch });
    }
    let wanted = suites::select(suites::SUITES, &args.packages)?;
    tools::require(&[
        tools::QEMU,
        tools::IASL,
        tools::BUSYBOX,
        tools::LDD,
        tools::STRIP,
    ])?;
    let workspace = cargo::workspace()?;
    let folder = workspace.target.join("guest");
    std::fs::create_dir_all(&folder).map_err(XtaskError::on(&folder))?;
    let kernel = match &args.kernel {
        Some(given) => given.clone(),
        None => kernel::kernel(&folder)?,
    };
    let built = build(&workspace, &wanted, !args.packages.is_empty())?;
    // A unique name, because two guests may run in one checkout.
    let image = folder.join(format!("initramfs-{}", std::process::id()));
    let booted = write_image(&image, &built, args).and_then(|()| boot(&kernel, &image, args));
    for made in [image.with_extension("aml"), image] {
        // It may not have been written.
        let _ = std::fs::remove_file(made);
    }
    booted
}

fn build(workspace: &Workspace, wanted: &[Suite], by_name: bool) -> Result<Vec<Built>, XtaskError> {
    let mut built = Vec::new();
    for arguments in suites::cargo_calls(wanted, by_name) {
        let mut command = cargo::command();
        command.args(arguments).stderr(Stdio::inherit());
        let messages = tools::output(&mut command)?;
        built.extend(suites::built(&messages, workspace, wanted)?);
    }
    Ok(built)
}

fn write_image(image: &Path, built: &[Built], args: &GuestArgs) -> Result<(), XtaskError> {
    let mut archive = Archive::default();
    for folder in init::FOLDERS {
        archive.folder(Path::new(folder))?;
    }
    if let Some(busybox) = tools::BUSYBOX.path() {
        add_program(&mut archive, &busybox, Path::new("/bin/busybox"), image)?;
    }
    for built in built {
        archive.folder(&built.folder)?;
        add_program(&mut archive, &built.program, &built.program, image)?;
    }
    let script = init::script(built, &args.filter, args.time_limit);
    archive.file(Path::new("/init"), script.into_bytes())?;
    std::fs::write(image, archive.bytes()?).map_err(XtaskError::on(image))
}

/// Adds a program and its libraries to the guest. Debug information, which is
/// most of a test program, is stripped, because the guest has little memory.
/// The temporary file is named after `image`.
fn add_program(
    archive: &mut Archive,
    program: &Path,
    path: &Path,
    image: &Path,
) -> Result<(), XtaskError> {
    let slim = image.with_extension("slim");
    let mut strip = tools::STRIP.command();
    tools::output(strip.arg("-o").args([slim.as_path(), program]))?;
    let bytes = std::fs::read(&slim).map_err(XtaskError::on(&slim));
    // The next program overwrites it.
    let _ = std::fs::remove_file(&slim);
    archive.file(path, bytes?)?;
    for library in libraries::libraries(program, &ldd(program)?)? {
        let bytes = std::fs::read(&library).map_err(XtaskError::on(&library))?;
        archive.file(&library, bytes)?;
    }
    Ok(())
}

/// The output of ldd, which fails for a static program.
fn ldd(program: &Path) -> Result<String, XtaskError> {
    match tools::output(tools::LDD.command().env("LC_ALL", "C").arg(program)) {
        Err(XtaskError::Command { output, .. }) if output.contains("not a dynamic executable") => {
            Ok(String::new())
        }
        other => other,
    }
}

fn boot(kernel: &Path, image: &Path, args: &GuestArgs) -> Result<u8, XtaskError> {
    let mut console = Console::default();
    let table = idle_states::write_table(image)?;
    let arguments = qemu::arguments(kernel, image, &table);
    let end = qemu::boot(&arguments, args.time_limit, &mut console, show)?;
    for line in console.failed_boot() {
        show(line)?;
    }
    console.verdict(end)
}

fn show(line: &str) -> Result<(), XtaskError> {
    crate::show(&format!("{PREFIX}{line}"))
}
