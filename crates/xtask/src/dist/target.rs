//! The machines that programs are made for.

use crate::tools::{AR, CYCLONEDX, DPKG_DEB, GCC_ARM64, MUSL_GCC, QEMU_ARM64, SHA256SUM, Tool};
use std::path::Path;
use std::process::Command;

/// Static programs, linked with musl: they need no library of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    X86,
    Arm,
}

impl Target {
    pub(crate) const ALL: [Target; 2] = [Target::X86, Target::Arm];

    /// Cargo's name for it.
    pub(crate) fn triple(self) -> &'static str {
        match self {
            Target::X86 => "x86_64-unknown-linux-musl",
            Target::Arm => "aarch64-unknown-linux-musl",
        }
    }

    /// Debian's name for the architecture.
    pub(crate) fn debian(self) -> &'static str {
        match self {
            Target::X86 => "amd64",
            Target::Arm => "arm64",
        }
    }

    /// Relocations in the packed form, 2 % of the program less: musl reads it since 1.2.4.
    /// Debian 12's linker has it for x86-64 alone.
    pub(super) fn link_flags(self) -> &'static [&'static str] {
        match self {
            Target::X86 => &["-Clink-arg=-Wl,-z,pack-relative-relocs"],
            Target::Arm => &[],
        }
    }

    /// What makes its programs. The compilers are cargo's choice (.cargo/config.toml).
    pub(super) fn tools(self) -> &'static [Tool] {
        match self {
            Target::X86 => &[MUSL_GCC, CYCLONEDX, DPKG_DEB, SHA256SUM],
            Target::Arm if self.is_native() => &[AR, CYCLONEDX, DPKG_DEB, SHA256SUM],
            Target::Arm => &[GCC_ARM64, QEMU_ARM64, CYCLONEDX, DPKG_DEB, SHA256SUM],
        }
    }

    /// The emulator's path, where this machine does not run such programs.
    pub(super) fn emulator(self) -> Option<std::path::PathBuf> {
        match self {
            Target::Arm if !self.is_native() => QEMU_ARM64.path(),
            _ => None,
        }
    }

    fn is_native(self) -> bool {
        self.triple().starts_with(std::env::consts::ARCH)
    }

    /// A program for this target, under the emulator where this machine needs one.
    pub(super) fn command(self, program: &Path) -> Command {
        match self.emulator() {
            None => Command::new(program),
            Some(emulator) => {
                let mut command = Command::new(emulator);
                command.arg(program);
                command
            }
        }
    }
}
