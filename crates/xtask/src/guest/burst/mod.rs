//! What virtual machines burn while their server has nothing to do: seen from outside by
//! `plimsoll burst`, and from inside by their own kernel.

mod args;
mod http;
mod image;
mod machine;
mod measure;
mod picture;
mod service;
mod table;
mod view;

pub(crate) use args::{BurstArgs, parse};
pub(super) use measure::build as plimsoll;

use crate::dist::Target;
use crate::error::XtaskError;
use crate::guest::debian;
use crate::tools::{self, BUSYBOX, LDD, NGINX, QEMU, STRIP, XZ};
use crate::{cargo, show};
use machine::{Accelerator, Boot, Running};
use measure::Found;
use service::Service;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use view::GuestView;

/// What came out for a service.
#[derive(Debug)]
enum Row {
    Measured(Box<Measured>),
    /// Why it was not measured.
    LeftOut(String),
}

#[derive(Debug)]
struct Measured {
    found: Found,
    /// `None` for a process, whose kernel is that of the host.
    view: Option<GuestView>,
    first_answer: Duration,
}

/// What services are started from.
struct Parts {
    program: PathBuf,
    kernel: PathBuf,
    appliance: PathBuf,
    debian: PathBuf,
    accelerator: Accelerator,
    /// Where nginx as a process writes.
    scratch: PathBuf,
}

pub(crate) fn run(args: &BurstArgs) -> Result<u8, XtaskError> {
    super::require_x86()?;
    tools::require(&[QEMU, BUSYBOX, LDD, NGINX, STRIP, XZ])?;
    let workspace = cargo::workspace()?;
    let cache = workspace.target.join("guest");
    let folder = args.out.clone().unwrap_or_else(|| cache.join("burst"));
    let scratch = cache.join(format!("burst-{}", std::process::id()));
    for folder in [&folder, &scratch] {
        std::fs::create_dir_all(folder).map_err(XtaskError::on(folder))?;
    }
    let plimsoll = measure::build(&workspace)?;
    let program = image::build(&workspace)?;
    let parts = prepare(program, &cache, &scratch);
    let measured = parts.and_then(|parts| {
        let accelerator = parts.accelerator.words();
        show(&format!(
            "guests: 2 CPUs, Debian's cloud kernel, {accelerator}"
        ))?;
        measure_all(args, &parts, &plimsoll, &folder)
    });
    let _ = std::fs::remove_dir_all(&scratch);
    let rows = measured?;
    show(&format!("\n{}", table::table(&rows)))?;
    if let Some(chart) = picture::picture(&rows) {
        let path = folder.join("guests.svg");
        std::fs::write(&path, chart.svg_file()).map_err(XtaskError::on(&path))?;
        show(&format!("\nPicture: {}", path.display()))?;
    }
    Ok(0)
}

/// Boots the appliance, asks it once, and says how long that took.
pub(super) fn check(cache: &Path, kernel: &Path) -> Result<Duration, XtaskError> {
    tools::require(&[XZ])?;
    let program = image::build(&cargo::workspace()?)?;
    let file = cache.join(format!("appliance-{}", std::process::id()));
    let booted = image::appliance(&program, cache, kernel, &file).and_then(|()| {
        let boot = Boot {
            accelerator: Accelerator::Tcg,
            kernel,
            image: &file,
        };
        machine::boot(Service::Appliance, &boot)
    });
    for file in [&file, &file.with_extension("slim")] {
        // It may not have been written.
        let _ = std::fs::remove_file(file);
    }
    Ok(booted?.first_answer)
}

fn prepare(program: PathBuf, cache: &Path, scratch: &Path) -> Result<Parts, XtaskError> {
    let kernel = debian::kernel(cache, Target::X86)?;
    let (appliance, debian) = (scratch.join("appliance"), scratch.join("debian"));
    image::appliance(&program, cache, &kernel, &appliance)?;
    image::debian(&program, cache, &kernel, &debian)?;
    let accelerator = accelerator(&kernel, &appliance)?;
    Ok(Parts {
        program,
        kernel,
        appliance,
        debian,
        accelerator,
        scratch: scratch.to_owned(),
    })
}

/// KVM if a guest boots with it: that it may be opened is not enough where this machine is itself
/// a guest.
fn accelerator(kernel: &Path, image: &Path) -> Result<Accelerator, XtaskError> {
    if !machine::has_kvm() {
        return Ok(Accelerator::Tcg);
    }
    let boot = Boot {
        accelerator: Accelerator::Kvm,
        kernel,
        image,
    };
    match machine::boot(Service::Appliance, &boot) {
        Ok(_) => Ok(Accelerator::Kvm),
        Err(why) => {
            show(&format!("KVM is not used: {why}"))?;
            Ok(Accelerator::Tcg)
        }
    }
}

fn measure_all(
    args: &BurstArgs,
    parts: &Parts,
    plimsoll: &Path,
    folder: &Path,
) -> Result<Vec<(Service, Row)>, XtaskError> {
    let is_wanted = |service: &Service| args.only.is_empty() || args.only.contains(service);
    let mut rows = Vec::new();
    for service in Service::ALL.into_iter().filter(is_wanted) {
        show(&format!("\n{}", service.words()))?;
        let running = start(service, parts)?;
        rows.push((service, row(service, &running, args, plimsoll, folder)?));
    }
    Ok(rows)
}

fn row(
    service: Service,
    running: &Running,
    args: &BurstArgs,
    plimsoll: &Path,
    folder: &Path,
) -> Result<Row, XtaskError> {
    let driver = match service.is_guest() {
        true => view::read(&running.view()?).driver,
        false => String::new(),
    };
    if service == Service::Haltpoll && driver != "haltpoll" {
        return Ok(Row::LeftOut(format!(
            "the guest's cpuidle driver is '{driver}': that of haltpoll loads only where CPUID \
             says that the guest runs under KVM"
        )));
    }
    let found = measure::run(plimsoll, service, running, args, folder)?;
    let view = match service.is_guest() {
        true => {
            let log = running.view()?;
            let file = folder.join(format!("{}.view", service.name()));
            std::fs::write(&file, &log).map_err(XtaskError::on(&file))?;
            Some(view::read(&log))
        }
        false => None,
    };
    Ok(Row::Measured(Box::new(Measured {
        found,
        view,
        first_answer: running.first_answer,
    })))
}

fn start(service: Service, parts: &Parts) -> Result<Running, XtaskError> {
    let image = match service {
        Service::Process => {
            let port = http::free_port().map_err(machine::no_port)?;
            let mut command = Command::new(&parts.program);
            command.arg(format!("127.0.0.1:{port}"));
            return machine::process(command, port);
        }
        Service::Nginx => return nginx(&parts.scratch),
        Service::Appliance => &parts.appliance,
        Service::Halt | Service::Poll | Service::Haltpoll => &parts.debian,
    };
    let boot = Boot {
        accelerator: parts.accelerator,
        kernel: &parts.kernel,
        image,
    };
    machine::boot(service, &boot)
}

/// nginx in the foreground, so that it ends with its process.
fn nginx(scratch: &Path) -> Result<Running, XtaskError> {
    let port = http::free_port().map_err(machine::no_port)?;
    let page = scratch.join("srv/index.html");
    let file = scratch.join("nginx.conf");
    let folder = scratch.display().to_string();
    let configuration = image::nginx_configuration(&format!("127.0.0.1:{port}"), &folder);
    std::fs::create_dir_all(scratch.join("srv")).map_err(XtaskError::on(scratch))?;
    std::fs::write(&page, "hello\n").map_err(XtaskError::on(&page))?;
    std::fs::write(&file, configuration).map_err(XtaskError::on(&file))?;
    let mut command = NGINX.command();
    command.arg("-c").arg(&file).args(["-g", "daemon off;"]);
    machine::process(command, port)
}
