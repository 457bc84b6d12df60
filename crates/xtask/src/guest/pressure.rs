//! Who pays for pressure on memory or on a disk: `plimsoll yield` with a service that has memory or
//! files beside a job that takes all there is, in a guest with cgroup v2, swap and a slow disk.

use crate::dist::Target;
use crate::error::XtaskError;
use crate::guest::console::Console;
use crate::guest::cpio::Archive;
use crate::guest::{add_program, burst, debian, init, qemu, show};
use crate::tools::{self, BUSYBOX, LDD, MKE2FS, QEMU, STRIP, XZ};
use crate::{cargo, workspace::Workspace};
use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

const DISK_BYTES: u64 = 2 << 30;
const TIME_LIMIT: Duration = Duration::from_secs(3600);
/// A disk, and a scheduler for it that knows weights.
const MODULES: [&str; 2] = ["drivers/block/virtio_blk", "block/bfq"];

/// Says every 5 s how many pages the service, the oldest process of this name, has waited for so far.
const FAULTS: &str = "\
    (while sleep 5; do\n\
      service=$(pidof plimsoll | tr ' ' '\\n' | sort -n | head -n 1)\n\
      awk '{print \"major faults of the service: \" $12}' /proc/$service/stat\n\
    done) 2>/dev/null &\n";

/// An emulated machine delays requests and loses time to this one's other load.
const EMULATED: &[(&str, &str)] = &[
    ("--max-slip", "10s"),
    ("--max-other", "100%"),
    ("--max-steal", "100%"),
];

/// What is short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pressure {
    Memory,
    Disk,
}

impl Pressure {
    pub(crate) fn of(word: &str) -> Option<Pressure> {
        match word {
            "memory" => Some(Pressure::Memory),
            "disk" => Some(Pressure::Disk),
            _ => None,
        }
    }

    /// MiB of the guest: for memory what the service has twice, and room for a kernel.
    fn memory_mib(self) -> u32 {
        match self {
            Pressure::Memory => 1200,
            Pressure::Disk => 700,
        }
    }

    /// Of the disk: the job's transfers are bounded by it, and not by the emulator's CPU.
    fn throttle(self) -> &'static str {
        match self {
            Pressure::Memory => "",
            Pressure::Disk => ",throttling.bps-total=20000000,throttling.iops-total=2000",
        }
    }

    /// Flags of `plimsoll yield` with their values.
    fn flags(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Pressure::Memory => &[
                ("--memory", "512M"),
                ("--job", "memory"),
                ("--rate", "15"),
                ("--rated", "60"),
                ("--arms", "none,weight,memory-high"),
                ("--headroom", "20%"),
                ("-z", "45s"),
            ],
            Pressure::Disk => &[
                ("--files", "/disk"),
                ("--file-size", "256M"),
                ("--job", "disk:/disk"),
                ("--rate", "15"),
                ("--rated", "60"),
                ("--arms", "none,weight,io-weight"),
                ("-z", "30s"),
            ],
        }
    }

    /// Commands of the guest that run `measure` once for each way of sharing the disk.
    fn commands(self, measure: &str) -> String {
        match self {
            Pressure::Memory => format!(
                "mkswap /dev/vda && swapon /dev/vda\n\
                 echo bfq >/sys/block/vda/queue/scheduler\n\
                 cd /tmp\n\
                 {FAULTS}\
                 {measure}\n\
                 grep -E 'pswp|oom_kill ' /proc/vmstat\n"
            ),
            Pressure::Disk => format!(
                "mkdir /disk && mount -t ext4 /dev/vda /disk\n\
                 cd /tmp\n\
                 echo bfq >/sys/block/vda/queue/scheduler\n\
                 echo; echo 'by the scheduler bfq'\n\
                 {measure}\n\
                 echo none >/sys/block/vda/queue/scheduler\n\
                 echo \"$(cat /sys/block/vda/dev) enable=1 ctrl=user rpct=90 rlat=20000 wpct=90 wlat=20000 min=10 max=100\" \
                 >/sys/fs/cgroup/io.cost.qos\n\
                 echo \"$(cat /sys/block/vda/dev) ctrl=user model=linear rbps=20000000 rseqiops=2000 rrandiops=2000 \
                 wbps=20000000 wseqiops=2000 wrandiops=2000\" >/sys/fs/cgroup/io.cost.model\n\
                 echo; echo 'by io.cost'\n\
                 {measure}\n"
            ),
        }
    }
}

/// `flags` after those of the measurement, which they replace where they have the same name.
fn measure(pressure: Pressure, flags: &[String]) -> String {
    let given = |name: &str| {
        let is = |flag: &String| flag.split('=').next() == Some(name);
        flags.iter().any(is)
    };
    let own = pressure.flags().iter().chain(EMULATED);
    let own = own.filter(|(name, _)| !given(name));
    let own = own.map(|(name, value)| format!(" {name} {value}"));
    let more = flags.iter().map(|flag| format!(" {}", init::quoted(flag)));
    let all: String = own.chain(more).collect();
    format!("plimsoll yield --no-html --plain{all} || status=$?")
}

/// Boots the guest and returns the exit status of `plimsoll yield`; `flags` are more of its own.
pub(crate) fn run(pressure: Pressure, flags: &[String]) -> Result<u8, XtaskError> {
    super::require_x86()?;
    tools::require(&[QEMU, BUSYBOX, LDD, MKE2FS, STRIP, XZ])?;
    let workspace = cargo::workspace()?;
    let cache = workspace.target.join("guest");
    let scratch = cache.join(format!("pressure-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).map_err(XtaskError::on(&scratch))?;
    let status = prepared(pressure, &workspace, &cache, &scratch, flags);
    let _ = std::fs::remove_dir_all(&scratch);
    status
}

fn prepared(
    pressure: Pressure,
    workspace: &Workspace,
    cache: &Path,
    scratch: &Path,
    flags: &[String],
) -> Result<u8, XtaskError> {
    let kernel = debian::kernel(cache, Target::X86)?;
    let image = scratch.join("initramfs");
    let measure = measure(pressure, flags);
    let commands = format!(
        "for module in /modules/*; do insmod $module; done\n{}",
        pressure.commands(&measure)
    );
    write_image(
        &burst::plimsoll(workspace)?,
        cache,
        &kernel,
        &image,
        &commands,
    )?;
    let disk = scratch.join("disk");
    let made = File::create(&disk).and_then(|file| file.set_len(DISK_BYTES));
    made.map_err(XtaskError::on(&disk))?;
    if pressure == Pressure::Disk {
        // A journal makes the service wait for transactions with data of the job, whatever weights say.
        tools::output(
            MKE2FS
                .command()
                .args(["-q", "-t", "ext4", "-O", "^has_journal"])
                .arg(&disk),
        )?;
    }
    let mut drive = OsString::from("format=raw,if=virtio,file=");
    drive.push(&disk);
    drive.push(pressure.throttle());
    let mut arguments = qemu::arguments(Target::X86, &kernel, &image);
    // The last -m counts.
    let memory = pressure.memory_mib().to_string();
    arguments.extend(["-m".into(), memory.into(), "-drive".into(), drive]);
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
    commands: &str,
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
    let script = init::of(commands, TIME_LIMIT);
    archive.file(Path::new("/init"), script.into_bytes())?;
    std::fs::write(image, archive.bytes()?).map_err(XtaskError::on(image))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_replace_those_of_the_measurement() {
        let line = measure(Pressure::Memory, &["--passes", "3"].map(str::to_owned));
        assert!(
            line.ends_with(" --max-steal 100% '--passes' '3' || status=$?"),
            "{line}"
        );
        let line = measure(Pressure::Memory, &["--job=burn".to_owned()]);
        assert!(
            !line.contains("--job memory") && line.contains("--memory 512M"),
            "{line}"
        );
    }

    #[test]
    fn disk_is_shared_by_weights_in_two_ways() {
        let commands = Pressure::Disk.commands("MEASURE");
        assert_eq!(commands.matches("MEASURE").count(), 2);
        assert!(commands.find("bfq") < commands.find("io.cost.qos"));
    }
}
