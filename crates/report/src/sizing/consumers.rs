//! CPU use in the unit of each that acts on it: the autoscaler of pods sees a
//! container's own CPU time, an alarm on a host all that its CPUs do.

use super::PlanReport;
use crate::method;
use crate::number::{self, Written};
use crate::sentence::Sentence;
use crate::table::Ink;
use plimsoll_model::{CpuGauge, HpaTarget, Millicores};

/// What CPU use is of in a plan, and where an alarm on the host belongs.
pub(super) fn sentences(report: &PlanReport<'_>) -> Vec<Sentence> {
    let auto = &report.sizing.autoscaler;
    if auto.target_cpu_pct.is_none() {
        return Vec::new();
    }
    let gauge = match unmeasured(report) {
        Some(why) => Ink::Yellow.says(why),
        None => Ink::Plain.says(own_time(report)),
    };
    let mut out = vec![gauge];
    let alarm = auto.host_cpu_pct.filter(|_| is_own(report));
    out.extend(alarm.map(|cpu| {
        let least = Written::to_act_at(cpu).least().to_owned();
        Ink::Plain.says(format!(
            "An alarm on the CPU use of the host (as of EC2), where interrupts and all else count, \
             belongs at {least} % of {}.",
            of_its_cpus(report)
        ))
    }));
    out
}

fn is_own(report: &PlanReport<'_>) -> bool {
    report.sizing.cpu_of == CpuGauge::OwnTime
}

fn own_time(report: &PlanReport<'_>) -> String {
    format!(
        "CPU use is the service's own CPU time, as Kubernetes counts a container's, in percent of \
         what it could use, {}.",
        what_it_could_use(report)
    )
}

/// Where the figures are not of the service alone.
pub(super) fn unmeasured(report: &PlanReport<'_>) -> Option<String> {
    if is_own(report) {
        return None;
    }
    if report.subject().is_table {
        return Some(
            "The table does not say whose CPU time its CPU use counts: if it is the host's, a \
             container's own is lower, and an autoscaler of pods acts late."
                .to_owned(),
        );
    }
    Some(
        "The service's own CPU time was not measured: CPU use is that of its host's CPUs, where \
         interrupts and all else count. A container's own is lower, so an autoscaler of pods acts \
         late. Sweep again as root, or with --service-pid or --service-cgroup."
            .to_owned(),
    )
}

pub(super) fn what_it_could_use(report: &PlanReport<'_>) -> String {
    match (report.cpu_capacity(), usable(report)) {
        (Some(capacity), _) => method::capacity(capacity),
        (None, Some(usable)) => method::amount(usable),
        (None, None) => "as many CPUs as it was measured on".to_owned(),
    }
}

/// What the pod should request.
pub(super) fn usable(report: &PlanReport<'_>) -> Option<Millicores> {
    let measured_on = report.cpus.map(Millicores::of_cpus);
    let recorded = report.cpu_capacity().map(|capacity| capacity.millicores);
    report.sizing.own_of.or(recorded).or(measured_on)
}

fn of_its_cpus(report: &PlanReport<'_>) -> String {
    match report.cpus {
        Some(n) => format!("its {}", number::counted(n, "CPU", "CPUs")),
        None => "its CPUs".to_owned(),
    }
}

/// `406m of CPU time`, `40 %`.
pub(super) fn target(target: HpaTarget) -> String {
    match target {
        HpaTarget::AverageValue { millicores } => format!("{millicores} of CPU time"),
        HpaTarget::AverageUtilization { pct } => format!("{pct} %"),
    }
}
