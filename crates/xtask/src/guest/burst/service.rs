//! What is compared.

/// A server, where it runs, and how its kernel waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    /// The server of the appliance, as a process of this machine.
    Process,
    /// nginx, as a process of this machine.
    Nginx,
    /// A kernel and one static program.
    Appliance,
    /// Debian's nginx and busybox, with the idle loop as the kernel has it.
    Halt,
    /// The same, and its CPUs never sleep.
    Poll,
    /// The same, and its CPUs poll for a while before they sleep.
    Haltpoll,
}

impl Service {
    pub(crate) const ALL: [Service; 6] = [
        Service::Process,
        Service::Nginx,
        Service::Appliance,
        Service::Halt,
        Service::Poll,
        Service::Haltpoll,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Service::Process => "process",
            Service::Nginx => "nginx",
            Service::Appliance => "appliance",
            Service::Halt => "debian-halt",
            Service::Poll => "debian-poll",
            Service::Haltpoll => "debian-haltpoll",
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Service::Process => "static server, a process",
            Service::Nginx => "nginx, a process",
            Service::Appliance => "appliance guest, halt",
            Service::Halt => "Debian guest, halt",
            Service::Poll => "Debian guest, idle=poll",
            Service::Haltpoll => "Debian guest, haltpoll",
        }
    }

    pub(super) fn is_guest(self) -> bool {
        !matches!(self, Service::Process | Service::Nginx)
    }

    /// What is added to the kernel's command line.
    pub(super) fn kernel_words(self) -> &'static str {
        match self {
            Service::Poll => "idle=poll",
            // Without the hint that its CPUs are its own, the driver waits for a word.
            Service::Haltpoll => "cpuidle_haltpoll.force=1",
            _ => "",
        }
    }

    /// MiB of the guest.
    pub(super) fn memory(self) -> u32 {
        match self {
            Service::Appliance => 128,
            _ => 256,
        }
    }

    /// The guest's port at which /cpu answers.
    pub(super) fn view_port(self) -> u16 {
        match self {
            Service::Appliance => 80,
            _ => 81,
        }
    }
}
