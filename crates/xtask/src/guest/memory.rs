//! Who pays for memory pressure: `plimsoll yield` with a service that has memory and a job that
//! takes all there is, in a guest with cgroup v2 and swap, which this machine may not have.

use crate::dist::Target;
use crate::error::XtaskError;
use crate::guest::console::Console;
use crate::guest::cpio::Archive;
use crate::guest::{add_program, burst, debian, init, qemu, show};
use crate::tools::{self, BUSYBOX, LDD, QEMU, STRIP, XZ};
use crate::{cargo, workspace::Workspace};
use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

/// MiB of the guest: what the service has twice, and room for a kernel.
const MEMORY_MIB: u32 = 1200;
const SWAP_BYTES: u64 = 2 << 30;
const TIME_LIMIT: Duration = Duration::from_secs(3600);
/// A disk, and a scheduler for it that knows weights.
const MODULES: [&str; 2] = ["drivers/block/virtio_blk", "block/bfq"];

/// An emulated machine delays requests and loses time to this one's other load.
const YIELD: &str = "plimsoll yield --memory 512M --job memory --rate 15 --rated 60 \
    --arms none,weight,memory-high --headroom 20% -z 45s --no-html --plain \
    --max-slip 10s --max-other 100% --max-steal 100%";

/// Boots the guest and returns the exit status of `plimsoll yield`; `flags` are more of its own.
pub(crate) fn run(flags: &[String]) -> Result<u8, XtaskError> {
    super::require_x86()?;
    tools::require(&[QEMU, BUSYBOX, LDD, STRIP, XZ])?;
    let workspace = cargo::workspace()?;
    let cache = workspace.target.join("guest");
    let scratch = cache.join(format!("memory-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).map_err(XtaskError::on(&scratch))?;
    let status = prepared(&workspace, &cache, &scratch, flags);
    let _ = std::fs::remove_dir_all(&scratch);
    status
}

fn prepared(
    workspace: &Workspace,
    cache: &Path,
    scratch: &Path,
    flags: &[String],
) -> Result<u8, XtaskError> {
    let kernel = debian::kernel(cache, Target::X86)?;
    let image = scratch.join("initramfs");
    write_image(&burst::plimsoll(workspace)?, cache, &kernel, &image, flags)?;
    let swap = scratch.join("swap");
    let disk = File::create(&swap).and_then(|file| file.set_len(SWAP_BYTES));
    disk.map_err(XtaskError::on(&swap))?;

    let mut arguments = qemu::arguments(Target::X86, &kernel, &image);
    let mut drive = OsString::from("format=raw,if=virtio,file=");
    drive.push(&swap);
    // The last -m counts.
    arguments.extend([
        "-m".into(),
        MEMORY_MIB.to_string().into(),
        "-drive".into(),
        drive,
    ]);
    let mut console = Console::default();
    let end = qemu::boot(QEMU, &arguments, TIME_LIMIT, &mut console, show)?;
    for line in console.failed_boot() {
        show(line)?;
    }
    console.status(end)
}

fn write_image(
    plimsoll: &Path,
    cache: &Path,
    kernel: &Path,
    image: &Path,
    flags: &[String],
) -> Result<(), XtaskError> {
    let mut archive = Archive::default();
    for folder in init::FOLDERS {
        archive.folder(Path::new(folder))?;
    }
    for (at, module) in debian::modules(cache, kernel, &MODULES)?.iter().enumerate() {
        let bytes = std::fs::read(module).map_err(XtaskError::on(module))?;
        archive.file(Path::new(&format!("/modules/{at}.ko")), bytes)?;
    }
    let slim = image.with_extension("slim");
    for (program, to) in [
        (tools::place(BUSYBOX)?, "/bin/busybox"),
        (plimsoll.to_owned(), "/bin/plimsoll"),
    ] {
        tools::output(STRIP.command().arg("-o").args([&slim, &program]))?;
        add_program(&mut archive, &program, &slim, Path::new(to))?;
    }
    let script = init::of(&commands(flags), TIME_LIMIT);
    archive.file(Path::new("/init"), script.into_bytes())?;
    std::fs::write(image, archive.bytes()?).map_err(XtaskError::on(image))
}

/// The measurement, and what shows that memory was short and nothing was killed for it.
fn commands(flags: &[String]) -> String {
    let flags: String = flags
        .iter()
        .map(|flag| format!(" {}", init::quoted(flag)))
        .collect();
    format!(
        "for module in /modules/*; do insmod $module; done\n\
         mkswap /dev/vda && swapon /dev/vda\n\
         echo bfq >/sys/block/vda/queue/scheduler\n\
         cd /tmp\n\
         {YIELD}{flags} || status=$?\n\
         grep -E 'pswp|oom_kill ' /proc/vmstat\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_flags_come_after_those_of_the_measurement() {
        let commands = commands(&["--passes".to_owned(), "3".to_owned()]);
        assert!(
            commands.contains("--max-steal 100% '--passes' '3' || status=$?\n"),
            "{commands}"
        );
        assert!(commands.find("swapon") < commands.find("plimsoll yield"));
    }
}
