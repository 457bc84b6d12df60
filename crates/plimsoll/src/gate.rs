//! `plimsoll gate`: keeps those CPUs awake that chosen tasks run on.

mod args;
mod command;
mod interrupts;
mod latency;
mod prove;
mod watts;

pub(crate) use args::GateArgs;

use crate::failure::Failure;
use crate::leftovers::restore_if_possible;
use crate::note::note;
use crate::signals::Signals;
use args::Budget;
use command::Job;
use plimsoll_control::{ControlError, Journals, PlacedTasks};
use plimsoll_host::{Root, cores_of, online_cpus};
use plimsoll_law::{KeepAwake, Price};
use plimsoll_model::{CpuSet, CpuTime, Share};
use plimsoll_side::gate::{Follow, Followed, GateRequest, GateSummary, Gating, only_gate};
use plimsoll_side::{Notice, Signal, SignalSource};
use prove::Prove;
use std::time::{Duration, Instant};

/// The sampling period is a fifth of the hold, within these bounds: 50 Hz at the default.
const PERIODS: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(20));

pub(crate) fn run(args: &GateArgs) -> Result<(), Failure> {
    names_tasks(args)?;
    let root = Root::machine();
    let fail = |error: &dyn std::fmt::Display| Failure::Run(error.to_string());
    let online = online_cpus(&root).map_err(|e| fail(&e))?;
    let cores = cores_of(&root, &online);
    let mut law = law(args, cores.clone());
    let pool = args.pool.map(|n| pool(&cores, &online, n.get() as usize));
    let pool = pool.transpose().map_err(Failure::Mistake)?;
    let journals = Journals::usual();
    restore_if_possible(&journals, &root);
    let resolved = latency::resolve(&root, &online, args.latency, args.means)?;
    let irqs = interrupts::of(&args.irq, &root)?;
    let mut signals = Signals::listen(&root)?;
    let only = only_gate(&journals)?;
    let holding = watts::Holding::of(&root, &journals, &resolved, &online);
    law.budget = budget(args, &holding, &mut signals)?;
    let placed = pool
        .as_ref()
        .map(|pool| placing(args, pool, &journals, &root));
    let mut placed = placed.transpose().map_err(|e| fail(&e))?;
    let mut job = Job::start(args, placed.as_mut())?;
    let request = GateRequest {
        follow: follow(args, job.as_ref()),
        period: period(args.hold),
        law,
        limit: resolved.limit,
        placed,
        log: args.log.as_deref(),
        only,
    };
    let mut notify = |notice: Notice| match notice {
        Notice::Warning(text) | Notice::NotHeld(text) => note(&format!("plimsoll: {text}")),
        Notice::Note(text) if !args.quiet => note(&format!("plimsoll: {text}")),
        Notice::Note(_) => {}
    };
    let started = Gating::start(&root, &journals, request, resolved.means, &mut notify);
    let mut gating = started.map_err(|error| end_job(&mut job, error.into()))?;
    notify(Notice::Note(resolved.explained));
    let moved = interrupts::move_to(pool.as_ref(), &irqs, (&journals, &root), &mut notify);
    let _moved = moved.map_err(|failure| end_job(&mut job, failure))?;
    let mut prove = args.prove.then(Prove::new);
    let ended = supervise(
        &mut gating,
        &mut job,
        &mut signals,
        &mut prove,
        &root,
        &mut notify,
    );
    let summary = gating.finish(&mut notify);
    let code = ended.map_err(|error| end_job(&mut job, error))?;
    say(summary?, prove.as_ref(), &mut notify);
    match code {
        0 => Ok(()),
        code => Err(Failure::Command(code)),
    }
}

fn say(mut summary: GateSummary, prove: Option<&Prove>, notify: &mut dyn FnMut(Notice)) {
    if prove.is_some() {
        // The probe's threads are of this process, too.
        summary.own = None;
    }
    notify(Notice::Note(summary.to_string()));
    for line in prove.into_iter().flat_map(Prove::findings) {
        notify(Notice::Note(line));
    }
}

fn names_tasks(args: &GateArgs) -> Result<(), Failure> {
    let names = [&args.cgroup, &args.unit, &args.comm];
    if !args.command.is_empty() || args.pid.is_some() || names.iter().any(|n| n.is_some()) {
        return Ok(());
    }
    let way_out = "add -- CMD, or one of --pid, --cgroup, --unit and --comm";
    Err(Failure::Mistake(format!(
        "no tasks to follow were named; {way_out}"
    )))
}

fn law(args: &GateArgs, cores: Vec<CpuSet>) -> KeepAwake {
    let price = Price {
        wakeup: CpuTime(args.hold),
        burn: Share::ONE,
    };
    KeepAwake::new(args.rule.into(), price, cores, period(args.hold))
}

/// As a share of CPU time; one in watts is measured for that.
fn budget(
    args: &GateArgs,
    holding: &watts::Holding<'_>,
    signals: &mut Signals,
) -> Result<Option<Share>, Failure> {
    match args.budget {
        None => Ok(None),
        Some(Budget::Share(share)) => Ok(Some(share)),
        Some(Budget::Watts(watts)) => {
            let (share, measured) = watts::share(watts, holding, signals)?;
            if !args.quiet {
                note(&format!("plimsoll: {measured}"));
            }
            Ok(share)
        }
    }
}

fn period(hold: Duration) -> Duration {
    (hold / 5).clamp(PERIODS.0, PERIODS.1)
}

/// Whole cores with `n` CPUs or the next more, from the last: the first CPU often has the
/// interrupts.
fn pool(cores: &[CpuSet], online: &CpuSet, n: usize) -> Result<CpuSet, String> {
    if n > online.len() {
        return Err(format!(
            "--pool {n} is more than the {} CPUs that are online; choose fewer",
            online.len()
        ));
    }
    let mut cpus = CpuSet::default();
    for core in cores.iter().rev() {
        if cpus.len() < n {
            cpus = cpus.iter().chain(core.iter()).collect();
        }
    }
    match cpus.len() < n {
        true => Err("--pool needs to know which CPUs share a core, which this machine does not tell; use taskset".into()),
        false => Ok(cpus),
    }
}

/// For the tasks that run already, or for a command before it is started.
fn placing(
    args: &GateArgs,
    pool: &CpuSet,
    journals: &Journals,
    root: &Root,
) -> Result<PlacedTasks, ControlError> {
    let journal = journals.open(root)?;
    match args.command.is_empty() {
        true => PlacedTasks::on(pool, &journal),
        false => PlacedTasks::for_command(pool, &journal),
    }
}

fn follow(args: &GateArgs, job: Option<&Job>) -> Follow {
    match (&args.cgroup, &args.unit, &args.comm) {
        (Some(name), _, _) => Follow::Cgroup(name.clone()),
        (_, Some(name), _) => Follow::Unit(name.clone()),
        (_, _, Some(name)) => Follow::Name(name.clone()),
        _ => match job {
            Some(job) => Follow::Command(job.pid()),
            None => Follow::Process(args.pid.unwrap_or_default()),
        },
    }
}

/// A command that was started for a gate does not run without it after an error.
fn end_job(job: &mut Option<Job>, failure: Failure) -> Failure {
    match job {
        Some(job) => job.end(failure),
        None => failure,
    }
}

/// Runs the gate until the command or the tasks end, or until a signal ends it. The exit
/// code.
fn supervise(
    gating: &mut Gating,
    job: &mut Option<Job>,
    signals: &mut Signals,
    prove: &mut Option<Prove>,
    root: &Root,
    notify: &mut dyn FnMut(Notice),
) -> Result<u8, Failure> {
    loop {
        let (due, sooner) = gating.due();
        let wait = due.saturating_duration_since(Instant::now());
        for signal in signals.wait_beside(sooner, wait) {
            match (signal, job.as_mut()) {
                (Signal::Pause, _) => {
                    gating.suspend(true, notify)?;
                    signals.pause();
                    gating.suspend(false, notify)?;
                }
                (_, None) => return Ok(0),
                (signal, Some(job)) => job.pass_on(signal, root),
            }
        }
        if let Some(job) = job
            && let Some(code) = job.exit_code()?
        {
            return Ok(code);
        }
        if let Followed::Gone(clause) = gating.round(notify)? {
            notify(Notice::Note(clause));
            return Ok(0);
        }
        if let Some(prove) = prove {
            prove.step(gating, root, notify)?;
            if prove.is_done() && job.is_none() {
                return Ok(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pool_has_whole_cores_from_the_last() {
        let set = |list: &str| list.parse::<CpuSet>().unwrap();
        let cores = [set("0,4"), set("1,5"), set("2,6"), set("3,7")];
        let online = set("0-7");
        let of = |n| pool(&cores, &online, n).map(|cpus| cpus.to_string());
        assert_eq!(of(2), Ok("3,7".into()));
        assert_eq!(of(3), Ok("2-3,6-7".into()));
        assert!(of(9).unwrap_err().contains("8 CPUs"));
        assert!(pool(&[], &online, 1).is_err());
    }

    #[test]
    fn samples_are_a_fifth_of_the_hold_within_bounds() {
        let ms = Duration::from_millis;
        assert_eq!(
            [period(ms(100)), period(ms(50)), period(ms(10))],
            [ms(20), ms(10), ms(2)]
        );
        assert_eq!(period(Duration::from_secs(10)), ms(20));
    }
}
