//! A service that runs: a virtual machine, or a process of this one.

use super::http;
use super::service::Service;
use crate::error::XtaskError;
use crate::guest::qemu::{Guest, NO_TIMER_CHECK, REBOOT_AT_PANIC, send_lines};
use crate::tools::QEMU;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// What the program of the appliance says when it serves.
const SERVING: &str = "plimsoll-guest: serving";
/// An emulated guest on a busy machine may be slow; one under KVM that does not start never will.
const EMULATED_WITHIN: Duration = Duration::from_secs(120);
const KVM_WITHIN: Duration = Duration::from_secs(15);
const ANSWER_WITHIN: Duration = Duration::from_secs(20);
/// Lines of the console that are kept for a failure.
const KEPT: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accelerator {
    Kvm,
    Tcg,
}

impl Accelerator {
    pub(super) fn words(self) -> &'static str {
        match self {
            Accelerator::Kvm => "KVM",
            Accelerator::Tcg => "software emulation (TCG)",
        }
    }

    /// How long a boot may take.
    fn patience(self) -> Duration {
        match self {
            Accelerator::Kvm => KVM_WITHIN,
            Accelerator::Tcg => EMULATED_WITHIN,
        }
    }
}

/// Whether this user may use KVM. Whether a guest boots with it is another matter.
pub(super) fn has_kvm() -> bool {
    let kvm = OpenOptions::new().read(true).write(true).open("/dev/kvm");
    kvm.is_ok()
}

/// What a guest is booted from.
pub(super) struct Boot<'a> {
    pub(super) accelerator: Accelerator,
    pub(super) kernel: &'a Path,
    pub(super) image: &'a Path,
}

/// The ports of this machine that lead to a guest's service and to its view.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ports {
    service: u16,
    view: u16,
}

/// The arguments of qemu. A thread for each CPU, as a virtual machine has: two polling CPUs burn
/// two of this machine's.
fn arguments(service: Service, boot: &Boot<'_>, ports: Ports) -> Vec<OsString> {
    let (accelerator, cpu) = match boot.accelerator {
        Accelerator::Kvm => ("kvm", "host"),
        Accelerator::Tcg => ("tcg,thread=multi", "max"),
    };
    let forward = |port: u16, to: u16| format!(",hostfwd=tcp:127.0.0.1:{port}-:{to}");
    let mut network = "user,model=virtio-net-pci".to_owned() + &forward(ports.service, 80);
    if ports.view != ports.service {
        network += &forward(ports.view, service.view_port());
    }
    let memory = service.memory();
    let fixed = format!(
        "-accel {accelerator} -cpu {cpu} -smp 2 -m {memory} -nodefaults -display none \
         -serial stdio -no-reboot -nic {network}"
    );
    let mut arguments: Vec<OsString> = fixed.split_whitespace().map(Into::into).collect();
    arguments.extend(["-kernel".into(), boot.kernel.into()]);
    arguments.extend(["-initrd".into(), boot.image.into()]);
    let words = service.kernel_words();
    let line = format!("console=ttyS0 quiet {NO_TIMER_CHECK} {REBOOT_AT_PANIC} {words}");
    arguments.extend(["-append".into(), line.trim_end().into()]);
    arguments
}

/// A service that has answered, and is ended when dropped.
#[derive(Debug)]
pub(super) struct Running {
    process: Guest,
    ports: Ports,
    /// Of this machine, rather than a machine of its own.
    is_process: bool,
    /// From its start to the end of its first answer.
    pub(super) first_answer: Duration,
}

impl Drop for Running {
    fn drop(&mut self) {
        // nginx ends its workers when it is asked to end, but not when it is killed.
        if self.is_process {
            let asked = Command::new("kill").arg(self.pid().to_string()).status();
            if asked.is_ok_and(|status| status.success()) {
                let _ = self.process.0.wait();
            }
        }
    }
}

impl Running {
    pub(super) fn pid(&self) -> u32 {
        self.process.0.id()
    }

    pub(super) fn port(&self) -> u16 {
        self.ports.service
    }

    /// The log of the guest's CPU use.
    pub(super) fn view(&self) -> Result<String, XtaskError> {
        let log = http::get(self.ports.view, "/cpu", ANSWER_WITHIN);
        log.map_err(|error| XtaskError::Guest(format!("the guest's view was not told: {error}")))
    }
}

pub(super) fn boot(service: Service, boot: &Boot<'_>) -> Result<Running, XtaskError> {
    let free = || http::free_port().map_err(no_port);
    let own = free()?;
    let ports = Ports {
        service: own,
        view: match service.view_port() {
            80 => own,
            _ => free()?,
        },
    };
    let mut command = QEMU.command();
    command.args(arguments(service, boot, ports));
    start(command, ports, boot.accelerator.patience())
}

/// A program of this machine that serves at a port.
pub(super) fn process(mut command: Command, port: u16) -> Result<Running, XtaskError> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let began = Instant::now();
    let process = spawn(&mut command)?;
    while began.elapsed() < ANSWER_WITHIN {
        if http::get(port, "/", ANSWER_WITHIN).is_ok() {
            return Ok(Running {
                process,
                ports: Ports {
                    service: port,
                    view: port,
                },
                is_process: true,
                first_answer: began.elapsed(),
            });
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let program = command.get_program().to_string_lossy().into_owned();
    Err(XtaskError::Guest(format!("{program} did not serve")))
}

fn start(mut command: Command, ports: Ports, within: Duration) -> Result<Running, XtaskError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let began = Instant::now();
    let mut process = spawn(&mut command)?;
    let (sender, lines) = channel();
    if let Some(stdout) = process.0.stdout.take() {
        // The thread ends when the guest closes the pipe.
        let reader = std::thread::Builder::new().spawn(move || send_lines(stdout, &sender));
        reader.map_err(not_started)?;
    }
    let mut last = VecDeque::new();
    loop {
        let left = within.saturating_sub(began.elapsed());
        let line = lines.recv_timeout(left).map_err(|ended| {
            let why = match ended {
                RecvTimeoutError::Timeout => format!("did not serve within {} s", within.as_secs()),
                RecvTimeoutError::Disconnected => "ended before it served".to_owned(),
            };
            let last: Vec<String> = last.drain(..).collect();
            let said = match last.as_slice() {
                [] => "it printed nothing".to_owned(),
                lines => format!("its last lines: {}", lines.join(" / ")),
            };
            XtaskError::Guest(format!("the guest {why}; {said}"))
        })?;
        let line = String::from_utf8_lossy(&line).trim().to_owned();
        if line.contains(SERVING) {
            break;
        }
        if last.len() == KEPT {
            last.pop_front();
        }
        last.push_back(line);
    }
    let answer = http::get(ports.service, "/", ANSWER_WITHIN);
    answer.map_err(|error| XtaskError::Guest(format!("the guest did not answer: {error}")))?;
    Ok(Running {
        process,
        ports,
        is_process: false,
        first_answer: began.elapsed(),
    })
}

fn spawn(command: &mut Command) -> Result<Guest, XtaskError> {
    command.spawn().map(Guest).map_err(not_started)
}

fn not_started(source: std::io::Error) -> XtaskError {
    XtaskError::Start {
        program: "the service".to_owned(),
        source,
    }
}

pub(super) fn no_port(error: std::io::Error) -> XtaskError {
    XtaskError::Unexpected(format!("no port of 127.0.0.1 is free: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(service: Service, accelerator: Accelerator) -> String {
        let boot = Boot {
            accelerator,
            kernel: Path::new("/k"),
            image: Path::new("/i"),
        };
        let view = if service == Service::Appliance { 9 } else { 10 };
        let ports = Ports { service: 9, view };
        let arguments = arguments(service, &boot, ports);
        let words: Vec<&str> = arguments.iter().map(|a| a.to_str().unwrap()).collect();
        words.join(" ")
    }

    #[test]
    fn each_guest_has_its_ports_and_its_way_to_wait() {
        let appliance = line(Service::Appliance, Accelerator::Tcg);
        assert!(appliance.contains("hostfwd=tcp:127.0.0.1:9-:80 -kernel /k -initrd /i"));
        assert!(
            appliance.ends_with("console=ttyS0 quiet no_timer_check panic=-1"),
            "{appliance}"
        );
        let poll = line(Service::Poll, Accelerator::Kvm);
        assert!(poll.contains("-accel kvm -cpu host -smp 2"), "{poll}");
        assert!(
            poll.contains(":9-:80,hostfwd=tcp:127.0.0.1:10-:81 "),
            "{poll}"
        );
        assert!(poll.ends_with("panic=-1 idle=poll"), "{poll}");
    }
}
