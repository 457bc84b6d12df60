//! Runs the emulator.

use crate::dist::Target;
use crate::error::XtaskError;
use crate::guest::console::{Console, End};
use crate::tools::{QEMU, QEMU_SYSTEM_ARM64, Tool};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

pub(crate) fn emulator(target: Target) -> Tool {
    match target {
        Target::X86 => QEMU,
        Target::Arm => QEMU_SYSTEM_ARM64,
    }
}

/// A kernel parameter: a panic reboots at once, and a reboot ends the emulator.
pub(crate) const REBOOT_AT_PANIC: &str = "panic=-1";
/// A kernel parameter of x86: no check of the timer at boot. On a busy host the check fails now and then, and the
/// kernel panics with "IO-APIC + timer doesn't work".
pub(crate) const NO_TIMER_CHECK: &str = "no_timer_check";

/// The machine. Two CPUs, because many scheduler behaviours need two.
pub(crate) fn machine(target: Target) -> impl Iterator<Item = OsString> {
    let machine = match target {
        Target::X86 => "-cpu max -smp 2 -m 512",
        Target::Arm => "-M virt -cpu cortex-a57 -smp 2 -m 512",
    };
    machine.split_whitespace().map(Into::into)
}

/// The arguments of qemu. Always emulated, even where KVM is available, so that
/// the guest is the same everywhere. One emulator thread for both CPUs: with one each, a
/// CPU occasionally executes code that the kernel has just patched on the other
/// (static keys, as the first quota switches one), and the kernel panics with
/// "int3" in an interrupt.
pub(crate) fn arguments(target: Target, kernel: &Path, initramfs: &Path) -> Vec<OsString> {
    let fixed = "-accel tcg,thread=single -nodefaults -display none -serial stdio -no-reboot";
    let mut arguments: Vec<OsString> = fixed.split_whitespace().map(Into::into).collect();
    arguments.extend(machine(target));
    arguments.extend(["-kernel".into(), kernel.into()]);
    arguments.extend(["-initrd".into(), initramfs.into()]);
    let line = match target {
        Target::X86 => format!("console=ttyS0 {NO_TIMER_CHECK} {REBOOT_AT_PANIC}"),
        Target::Arm => format!("console=ttyAMA0 {REBOOT_AT_PANIC}"),
    };
    arguments.extend(["-append".into(), line.into()]);
    arguments
}

/// A guest that is turned off when dropped.
#[derive(Debug)]
pub(crate) struct Guest(pub(crate) Child);

impl Drop for Guest {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Boots a guest and passes its output to `console` until the tests are over,
/// the guest has ended, or `time_limit` has passed. Text to show goes to
/// `show`.
pub(crate) fn boot(
    emulator: Tool,
    arguments: &[OsString],
    time_limit: Duration,
    console: &mut Console,
    mut show: impl FnMut(&str) -> Result<(), XtaskError>,
) -> Result<End, XtaskError> {
    let deadline = Instant::now() + time_limit;
    let mut command = emulator.command();
    command.args(arguments).stdin(Stdio::null());
    let started = command.stdout(Stdio::piped()).spawn();
    let fail = |source| XtaskError::Start {
        program: "qemu".to_owned(),
        source,
    };
    let mut guest = Guest(started.map_err(fail)?);
    let (sender, lines) = channel();
    if let Some(stdout) = guest.0.stdout.take() {
        // The thread ends when the guest closes the pipe.
        let reader = std::thread::Builder::new().spawn(move || send_lines(stdout, &sender));
        reader.map_err(fail)?;
    }
    let end = loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match lines.recv_timeout(left) {
            Ok(line) => {
                if let Some(text) = console.line(&line) {
                    show(&text)?;
                }
                if console.is_over() {
                    break End::Closed;
                }
            }
            Err(RecvTimeoutError::Timeout) => break End::TimeLimit(time_limit),
            Err(RecvTimeoutError::Disconnected) => break End::Closed,
        }
    };
    drop(guest);
    // A hanging test leaves an unfinished line.
    for line in lines {
        if let Some(text) = console.line(&line) {
            show(&text)?;
        }
    }
    Ok(end)
}

pub(crate) fn send_lines(stdout: impl Read, sender: &Sender<Vec<u8>>) {
    let mut reader = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        let read = reader.read_until(b'\n', &mut line);
        let is_end = line.is_empty() || sender.send(line).is_err();
        if is_end || read.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guest_boots_what_it_is_given_and_ends_instead_of_rebooting() {
        for (target, line) in [
            (Target::X86, "console=ttyS0 no_timer_check panic=-1"),
            (Target::Arm, "console=ttyAMA0 panic=-1"),
        ] {
            let arguments = arguments(target, Path::new("/k"), Path::new("/i"));
            let arguments: Vec<&str> = arguments.iter().map(|a| a.to_str().unwrap()).collect();
            let value = |flag: &str| {
                let at = arguments.iter().position(|a| *a == flag).unwrap();
                arguments[at + 1]
            };
            assert_eq!((value("-kernel"), value("-initrd")), ("/k", "/i"));
            assert_eq!(value("-append"), line);
            assert_eq!(value("-smp"), "2");
            assert!(arguments.contains(&"-no-reboot"));
        }
    }

    #[test]
    fn lines_are_complete_and_the_last_may_be_unterminated() {
        let (sender, lines) = channel();
        send_lines(&b"a\r\nb\n\ntest c ... "[..], &sender);
        drop(sender);
        let lines: Vec<Vec<u8>> = lines.iter().collect();
        assert_eq!(lines, [&b"a\r\n"[..], b"b\n", b"\n", b"test c ... "]);
    }
}
