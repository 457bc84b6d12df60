//! Runs tests in a guest: a real kernel with cgroup v2 and idle states, booted with only
//! the tests, their libraries and busybox. `burst` boots servers instead.

pub(crate) mod burst;
mod console;
mod cpio;
mod debian;
mod idle_states;
mod init;
mod libraries;
pub(crate) mod pressure;
mod qemu;
mod suites;

use crate::args::GuestArgs;
use crate::dist::Target;
use crate::error::XtaskError;
use crate::tools::Tool;
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
    require_x86()?;
    let target = args.target;
    let wanted = suites::select(suites::of(target), &args.packages)?;
    tools::require(needs(target))?;
    let workspace = cargo::workspace()?;
    let mut folder = workspace.target.join("guest");
    if target == Target::Arm {
        folder.push(target.debian());
    }
    std::fs::create_dir_all(&folder).map_err(XtaskError::on(&folder))?;
    let kernel = match &args.kernel {
        Some(given) => given.clone(),
        None => debian::kernel(&folder, target)?,
    };
    let busybox = match target {
        Target::X86 => tools::BUSYBOX.path(),
        Target::Arm => Some(debian::busybox(&folder, target)?),
    };
    let built = build(&workspace, &wanted, args)?;
    // A unique name, because two guests may run in one checkout.
    let scratch = folder.join(format!("boot-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).map_err(XtaskError::on(&scratch))?;
    let image = scratch.join("initramfs");
    let booted = write_image(&image, &built, busybox.as_deref(), args)
        .and_then(|()| boot(&kernel, &image, args));
    let _ = std::fs::remove_dir_all(&scratch);
    let status = booted?;
    // It needs modules of its kernel, which a kernel that was given may not have.
    let is_all = args.packages.is_empty() && args.filter.is_empty() && args.kernel.is_none();
    if status == 0 && is_all && target == Target::X86 {
        let took = burst::check(&folder, &kernel)?;
        show(&format!(
            "the appliance serves {:.1} s after its start",
            took.as_secs_f64()
        ))?;
    }
    Ok(status)
}

fn require_x86() -> Result<(), XtaskError> {
    match std::env::consts::ARCH {
        "x86_64" => Ok(()),
        arch => Err(XtaskError::Architecture { arch }),
    }
}

fn needs(target: Target) -> &'static [Tool] {
    match target {
        Target::X86 => &[
            tools::QEMU,
            tools::IASL,
            tools::BUSYBOX,
            tools::LDD,
            tools::STRIP,
        ],
        Target::Arm => &[
            tools::QEMU_SYSTEM_ARM64,
            tools::DTC,
            tools::GCC_ARM64,
            tools::LDD,
            tools::STRIP_ARM64,
        ],
    }
}

fn build(
    workspace: &Workspace,
    wanted: &[Suite],
    args: &GuestArgs,
) -> Result<Vec<Built>, XtaskError> {
    let mut built = Vec::new();
    // For arm64 too few are built to build the workspace for them.
    let by_name = !args.packages.is_empty() || args.target == Target::Arm;
    for arguments in suites::cargo_calls(wanted, by_name) {
        let mut command = cargo::command();
        command.args(arguments).stderr(Stdio::inherit());
        if args.target == Target::Arm {
            command.args(["--target", args.target.triple()]);
        }
        let messages = tools::output(&mut command)?;
        built.extend(suites::built(&messages, workspace, wanted)?);
    }
    Ok(built)
}

fn write_image(
    image: &Path,
    built: &[Built],
    busybox: Option<&Path>,
    args: &GuestArgs,
) -> Result<(), XtaskError> {
    let strip = match args.target {
        Target::X86 => tools::STRIP,
        Target::Arm => tools::STRIP_ARM64,
    };
    let mut archive = Archive::default();
    for folder in init::FOLDERS {
        archive.folder(Path::new(folder))?;
    }
    let slim = image.with_extension("slim");
    let mut add = |program: &Path, path: &Path| {
        tools::output(strip.command().arg("-o").args([slim.as_path(), program]))?;
        add_program(&mut archive, program, &slim, path)
    };
    if let Some(busybox) = busybox {
        add(busybox, Path::new("/bin/busybox"))?;
    }
    for built in built {
        add(&built.program, &built.program)?;
    }
    for built in built {
        archive.folder(&built.folder)?;
    }
    let script = init::script(built, &args.filter, args.time_limit);
    archive.file(Path::new("/init"), script.into_bytes())?;
    std::fs::write(image, archive.bytes()?).map_err(XtaskError::on(image))
}

/// Adds a program and its libraries to the guest. Debug information, which is
/// most of a test program, is stripped in `slim`, because the guest has little memory.
fn add_program(
    archive: &mut Archive,
    program: &Path,
    slim: &Path,
    path: &Path,
) -> Result<(), XtaskError> {
    let bytes = std::fs::read(slim).map_err(XtaskError::on(slim))?;
    archive.file(path, bytes)?;
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
    let target = args.target;
    let mut arguments = qemu::arguments(target, kernel, image);
    arguments.extend(idle_states::arguments(target, image)?);
    let end = qemu::boot(
        qemu::emulator(target),
        &arguments,
        args.time_limit,
        &mut console,
        show,
    )?;
    for line in console.failed_boot() {
        show(line)?;
    }
    console.verdict(end)
}

fn show(line: &str) -> Result<(), XtaskError> {
    crate::show(&format!("{PREFIX}{line}"))
}
