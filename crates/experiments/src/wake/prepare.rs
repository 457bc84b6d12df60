//! From flags to a plan.

use super::args::WakeArgs;
use super::plan::{BurnBudget, Placed, WakePlan, window};
use super::policy::{WakeSite, gated};
use super::program::{ProgramPlan, is_installed};
use crate::experiment::Machine;
use plimsoll_engine::{RunError, ServiceTarget, TrialSensors};
use plimsoll_host::{Root, Vicinity, vicinity};
use plimsoll_model::{CpuId, CpuSet, IdlePolicy, Placement, RunPlan, Wait};
use std::time::Duration;

/// The p99 of the slip may be this, a tenth of the p99 latency, or half of the gap, whichever is most.
const MOST_SLIP: Duration = Duration::from_micros(2);

/// The trials of a quick run, repeats included, take so long in sum at most.
const QUICK: Duration = Duration::from_secs(90);

/// # Errors
/// A usage error, or the machine cannot be read.
pub(super) fn plan(args: &WakeArgs, machine: &Machine) -> Result<(WakePlan, WakeSite), RunError> {
    let root = &machine.root;
    if args.database.as_deref().is_some_and(has_password) {
        return Err(RunError::Usage(
            "--database has a password, which the record and the list of processes would show; leave it out, and give it in ~/.pgpass or PGPASSWORD".to_owned(),
        ));
    }
    let passes = args.passes.unwrap_or(if args.quick { 4 } else { 5 });
    let usual = if args.workload.is_some() { 10 } else { 1 };
    let length = args.duration.unwrap_or(Duration::from_secs(usual));
    let mut run = args.run.plan(passes, length, 0, root)?;
    run.bounds.slip = args.run.max_slip.unwrap_or(MOST_SLIP);
    let site = WakeSite::find(root, &run.cpus.service, args.limit.0)?;
    let mut left_out = Vec::new();
    let policies = policies(&args.policies, &site, &mut left_out);
    let waits = args.all_waits();
    let mut kinds_left_out = Vec::new();
    let (waits, placements) =
        placements(args, waits, &run.cpus.service, root, &mut kinds_left_out)?;
    // A program makes its own wake-ups.
    if args.workload.is_none() {
        left_out.extend(kinds_left_out);
    }
    if let Some(BurnBudget::Watts(_)) = args.budget {
        has_energy(root, &run)?;
    }
    let program = args.workload.map(|program| {
        let wakee = placements.first().map_or(0, |placed| placed.wakee_cpu);
        ProgramPlan {
            program,
            cpus: gated(&run.cpus.service, root, wakee),
            database: args.database.clone(),
        }
    });
    let mut plan = WakePlan {
        program,
        policies,
        waits: each_once(waits),
        placements: each_once(placements),
        gaps: each_once(args.all_gaps()),
        arrivals: each_once(args.all_arrivals()),
        limit: args.limit.0,
        budget: args.budget,
        latency: args.latency,
        left_out,
        run,
    };
    let once: Duration = plan
        .settings()
        .iter()
        .map(|setting| window(&plan.run, setting))
        .sum();
    if let Some(program) = &plan.program {
        is_installed(program.program)?;
    }
    let is_usual = args.passes.is_none() && args.duration.is_none();
    plan.run.budget = match args.quick && is_usual && plan.program.is_none() {
        true => QUICK,
        false => once * passes * 2,
    };
    Ok((plan, site))
}

fn each_once<T: PartialEq>(list: Vec<T>) -> Vec<T> {
    let mut once = Vec::new();
    for item in list {
        if !once.contains(&item) {
            once.push(item);
        }
    }
    once
}

/// The ends of parameters that hold a password.
const SECRET_PARAMETERS: [&str; 4] = [
    "password=",
    "secret=",
    "scram_client_key=",
    "scram_server_key=",
];

/// Whether a connection string of PostgreSQL has one: among its parameters, or before the host
/// of a URL. A name with `%` is taken for one: libpq decodes those of URLs.
fn has_password(database: &str) -> bool {
    let text: String = database.split_whitespace().collect();
    let user = text
        .split_once("://")
        .and_then(|(_, rest)| rest.rsplit_once('@'));
    let names = text.split(['?', '&']).filter_map(|one| one.split_once('='));
    let text = text.to_lowercase();
    SECRET_PARAMETERS.iter().any(|name| text.contains(name))
        || user.is_some_and(|(user, _)| user.contains(':'))
        || names.map(|(name, _)| name).any(|name| name.contains('%'))
}

/// Those that the machine has means for, each once; as it is twice, if another is compared with it.
fn policies(asked: &[IdlePolicy], site: &WakeSite, left_out: &mut Vec<String>) -> Vec<IdlePolicy> {
    use IdlePolicy::{AllAwake, AsIs, AsIsAgain, Gate, Spinner};
    let mut policies = vec![AsIs, AsIsAgain];
    for policy in [AllAwake, Gate, Spinner] {
        let is_spinner = || site.best == Some(plimsoll_control::idle::IdleMeans::Spinner);
        let why = match policy {
            _ if !asked.contains(&policy) => continue,
            Spinner if !site.spins => site.why_not.join("; "),
            Spinner if is_spinner() && policies.contains(&Gate) => {
                "the gate is a spinner here, for nothing better works".to_owned()
            }
            AllAwake | Gate if site.best.is_none() => site.why_not.join("; "),
            _ => {
                policies.push(policy);
                continue;
            }
        };
        left_out.push(format!("{policy} is left out: {why}."));
    }
    policies
}

/// The CPUs of the pairs, and the waits that there are CPUs for. The woken thread is on the last
/// CPU: the first serves more interrupts.
fn placements(
    args: &WakeArgs,
    mut waits: Vec<Wait>,
    cpus: &CpuSet,
    root: &Root,
    left_out: &mut Vec<String>,
) -> Result<(Vec<Wait>, Vec<Placed>), RunError> {
    let none =
        || RunError::Usage("there is no CPU to measure on; name CPUs with --cpus".to_owned());
    let wakee = cpus.iter().last().ok_or_else(none)?;
    let around = vicinity(root, wakee);
    let mut placed = Vec::new();
    if waits.contains(&Wait::Timer) {
        placed.push(Placed {
            placement: Placement::SameCpu,
            waker_cpu: None,
            wakee_cpu: wakee,
        });
    }
    let needs_waker = waits.iter().any(|wait| *wait != Wait::Timer);
    let asked = |placement: &Placement| {
        let asked = args.placements.as_ref();
        *placement != Placement::SameCpu && asked.is_none_or(|list| list.contains(placement))
    };
    for placement in Placement::ALL
        .into_iter()
        .filter(asked)
        .filter(|_| needs_waker)
    {
        match waker(placement, &around, cpus, wakee) {
            Ok(waker) => placed.push(Placed {
                placement,
                waker_cpu: Some(waker),
                wakee_cpu: wakee,
            }),
            Err(why) => left_out.push(format!("{placement} is left out: {why}.")),
        }
    }
    if needs_waker && placed.iter().all(|p| p.waker_cpu.is_none()) {
        if !waits.contains(&Wait::Timer) {
            return Err(RunError::Usage(format!(
                "CPUs {cpus} have no pair with the placements asked for, of which one wakes the other; name more CPUs with --cpus, or measure --waits timer"
            )));
        }
        waits.retain(|wait| *wait == Wait::Timer);
        left_out.push("futex and eventfd are left out: there is no CPU for the waker.".to_owned());
    }
    Ok((waits, placed))
}

/// The first CPU of a placement. Pure.
pub(super) fn waker(
    placement: Placement,
    around: &Vicinity,
    cpus: &CpuSet,
    wakee: CpuId,
) -> Result<CpuId, &'static str> {
    let own: CpuSet = [wakee].into_iter().collect();
    let core = around.core.clone().unwrap_or_else(|| own.clone());
    let beyond = |set: &Option<CpuSet>| set.clone().unwrap_or_else(|| core.clone());
    let cache = beyond(&around.cache);
    let (candidates, why) = match placement {
        Placement::SameCpu => (CpuSet::default(), "a timer has no waker"),
        Placement::SameCore => (
            cpus.and(&core).without(&own),
            "the core has no second thread to use",
        ),
        Placement::SameLlc => match &around.cache {
            Some(cache) => (
                cpus.and(cache).without(&core),
                "no other core to use shares the last-level cache",
            ),
            None => return Err("sysfs does not say which CPUs share a cache"),
        },
        Placement::SameSocket => match &around.socket {
            Some(socket) => (
                cpus.and(socket).without(&cache).without(&core),
                "no CPU to use has another last-level cache in the same socket",
            ),
            None => return Err("sysfs does not say which CPUs share a socket"),
        },
        Placement::OtherSocket => match &around.socket {
            Some(socket) => (
                cpus.without(socket),
                "there is no second socket with a CPU to use",
            ),
            None => return Err("sysfs does not say which CPUs share a socket"),
        },
    };
    candidates.iter().next().ok_or(why)
}

/// # Errors
/// Power cannot be measured here.
fn has_energy(root: &Root, run: &RunPlan) -> Result<(), RunError> {
    let cpus = run.cpus.service.clone();
    let sensors = TrialSensors::new(root.clone(), cpus, ServiceTarget::OwnThreads);
    let mut open = sensors.open(&[], &[])?;
    let (before, after) = (open.read_edge()?, open.read_edge()?);
    match open.window(&before, &after).machine.energy {
        Some(_) => Ok(()),
        None => Err(RunError::Usage(
            "--budget in watts takes an energy counter, and this machine shows none; give percent of the time of all CPUs, such as 5%".to_owned(),
        )),
    }
}

/// Whether the means of a recorded plan are still there.
///
/// # Errors
/// They are not.
pub(super) fn site(plan: &WakePlan, machine: &Machine) -> Result<WakeSite, RunError> {
    let site = WakeSite::find(&machine.root, &plan.run.cpus.service, plan.limit)?;
    let needs = |policies: &[IdlePolicy]| policies.iter().any(|p| plan.policies.contains(p));
    let lacks_best = site.best.is_none() && needs(&[IdlePolicy::AllAwake, IdlePolicy::Gate]);
    let lacks_spinner = !site.spins && needs(&[IdlePolicy::Spinner]);
    match lacks_best || lacks_spinner {
        false => Ok(site),
        true => Err(RunError::Usage(format!(
            "a policy of this run works here no longer ({}); begin a new run",
            site.why_not.join("; ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::has_password;

    #[test]
    fn passwords_are_found_in_connection_strings() {
        for with in [
            "host=h password=x",
            "host=h password = x",
            "host=h oauth_client_secret=x",
            "postgresql://u:x@h/db",
            "postgresql://u:a@b@h/db",
            "postgresql://h/db?sslpassword=x",
            "postgresql://h/db?user=u&pass%77ord=x",
        ] {
            assert!(has_password(with), "{with}");
        }
        for without in [
            "bench",
            "host=/run user=u",
            "postgresql://u@h:5432/db?a=%20",
        ] {
            assert!(!has_password(without), "{without}");
        }
    }
}
