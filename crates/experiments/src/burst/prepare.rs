//! From flags to a plan and where it runs.

use super::args::BurstArgs;
use super::pattern;
use super::plan::BurstPlan;
use super::server::{Server, Wanted, written};
use crate::defaults::ms;
use crate::experiment::{Machine, Prepared};
use crate::given_again::{self, GivenAgain};
use plimsoll_engine::{RunError, Site, stopped};
use plimsoll_host::{Pid, Root};
use plimsoll_model::{CpuSet, Plan, Rate, RatePhase, ServiceAt, WarmUp, Workload};
use std::time::Duration;

/// From the end of a trial's warm-up to the first phase: the window opens in between.
const LEAD: Duration = ms(100);

/// So many requests after a break show how the service wakes, and so long at most.
const HEAD_REQUESTS: f64 = 100.0;
const HEAD_MOST: Duration = ms(5000);

/// Where each target runs.
#[derive(Debug)]
pub struct BurstSite {
    pub(super) sites: Vec<Site>,
    /// The first target, if this run has started it: held until the run is over.
    server: Option<Server>,
}

impl BurstSite {
    /// Starts the first target if it is a command, and looks up all.
    fn of(
        workloads: &[Workload],
        (command, cpus): (&[String], Option<&CpuSet>),
        machine: &Machine,
    ) -> Result<BurstSite, RunError> {
        let server = match workloads.first() {
            Some(Workload::Http(http)) if !command.is_empty() => {
                let wanted = Wanted {
                    command,
                    http,
                    cpus,
                };
                Some(Server::start(&wanted, machine)?)
            }
            _ => None,
        };
        let mut targets = workloads.to_vec();
        if let (Some(server), Some(first)) = (&server, targets.first_mut()) {
            *first = server.target(first);
        }
        Ok(BurstSite {
            sites: sites(&targets, &machine.root)?,
            server,
        })
    }

    /// The process of the command.
    pub(super) fn command(&self) -> Option<Pid> {
        self.server.as_ref().map(Server::pid)
    }
}

pub(super) fn plan(
    args: &BurstArgs,
    machine: &Machine,
) -> Result<Prepared<BurstPlan, BurstSite>, RunError> {
    let root = &machine.root;
    let step = args.step.unwrap_or(ms(if args.quick { 50 } else { 100 }));
    let phases = phases(args);
    if let Some(why) = pattern::fault(&phases, step) {
        return Err(RunError::Usage(why));
    }
    // Before a server that does not answer is waited for.
    let pids = [args.load.server.service_pid, args.other.against_pid];
    for pid in pids.into_iter().flatten() {
        running(root, pid)?;
    }
    let mut first = args.load.workload(args.url.as_deref(), root)?;
    if let Workload::Hash(hash) = &mut first {
        hash.waiting = args.waiting.as_ref().map(ToString::to_string);
    }
    let mut workloads = vec![first];
    workloads.extend(args.other.workload(&args.load, root)?);
    let started = (&args.command[..], args.load.server.service_cpus.as_ref());
    let site = BurstSite::of(&workloads, started, machine)?;
    let mut loads = workloads.into_iter().zip(&site.sites);
    let mut load_of = || {
        let (workload, site) = loads.next()?;
        Some(load(args, workload, site, &phases, root))
    };
    let load = load_of().ok_or_else(|| RunError::Stuck("no target".to_owned()))?;
    let plan = BurstPlan {
        against: load_of(),
        command: args.command.clone(),
        warm_up_phase: warm_up(&phases),
        head: head(&phases),
        load,
        pattern: phases,
        step,
    };
    Ok(Prepared::new(plan, site))
}

pub(super) fn again(
    args: &BurstArgs,
    plan: BurstPlan,
    machine: &Machine,
) -> Result<Prepared<BurstPlan, BurstSite>, RunError> {
    let given = |url| GivenAgain::of(url, None, &args.load.request);
    let (load, mut notes) = given_again::supply(&plan.load, given(args.url.as_ref())?)?;
    let against = match &plan.against {
        Some(against) => {
            let (plan, more) = given_again::supply(against, given(args.other.against.as_ref())?)?;
            notes.extend(more);
            Some(plan)
        }
        None => None,
    };
    let plan = BurstPlan {
        load,
        against,
        ..plan
    };
    let workloads: Vec<Workload> = plan
        .loads()
        .map(|(_, load)| load.workload.clone())
        .collect();
    for workload in &workloads {
        if let Workload::Http(http) = workload
            && let ServiceAt::Pid(pid) = http.service
        {
            running(&machine.root, pid)?;
        }
    }
    if !args.command.is_empty() && args.command != plan.command {
        return Err(RunError::Usage(match plan.command.is_empty() {
            true => {
                "the run was recorded without a command; leave it out to resume, or start a new run"
                    .to_owned()
            }
            false => format!(
                "the run was recorded with another command, {}; leave the command out to resume it, or start a new run",
                written(&plan.command)
            ),
        }));
    }
    let cpus = Some(&plan.load.run.cpus.service).filter(|cpus| !cpus.is_empty());
    let site = BurstSite::of(&workloads, (&plan.command, cpus), machine)?;
    Ok(Prepared { plan, site, notes })
}

/// A process that exists and is not paused.
fn running(root: &Root, pid: u32) -> Result<(), RunError> {
    match stopped(root, pid)? {
        Some(why) => Err(RunError::Stuck(why)),
        None => Ok(()),
    }
}

/// Where the targets run, each of which has CPU time that can be read.
fn sites(workloads: &[Workload], root: &Root) -> Result<Vec<Site>, RunError> {
    let site = |workload| {
        let site = Site::of(workload, root)?;
        match site.meter(root).hidden() {
            Some(why) => Err(RunError::Usage(why)),
            None => Ok(site),
        }
    };
    workloads.iter().map(site).collect()
}

fn phases(args: &BurstArgs) -> Vec<RatePhase> {
    if let Some(pattern) = &args.pattern {
        return pattern.clone();
    }
    let usual = match (args.quick, args.other.against.is_some()) {
        (false, _) => ms(60_000),
        (true, false) => ms(4000),
        (true, true) => ms(2200),
    };
    let burst = args.burst.unwrap_or(usual);
    let hundred = Rate::per_second(100.0).unwrap_or(Rate::ZERO);
    vec![
        RatePhase {
            length: burst,
            rate: args.rate.unwrap_or(hundred),
        },
        RatePhase {
            length: args.pause.or(args.burst).unwrap_or(usual),
            rate: Rate::ZERO,
        },
    ]
}

/// At the rate of the first burst, at least 10 requests as a rule.
fn warm_up(pattern: &[RatePhase]) -> RatePhase {
    let rate = first_rate(pattern);
    let seconds = (10.0 / rate.get()).clamp(0.5, 5.0);
    RatePhase {
        length: Duration::from_secs_f64(seconds) + LEAD,
        rate,
    }
}

fn first_rate(pattern: &[RatePhase]) -> Rate {
    let burst = pattern.iter().find(|phase| !phase.is_break());
    burst.map_or(Rate::ZERO, |burst| burst.rate)
}

fn head(pattern: &[RatePhase]) -> Option<RatePhase> {
    pattern.last().filter(|phase| phase.is_break())?;
    let rate = first_rate(pattern);
    let length = Duration::from_secs_f64((HEAD_REQUESTS / rate.get()).clamp(0.2, 1e6));
    Some(RatePhase {
        length: length.min(HEAD_MOST),
        rate,
    })
}

fn load(
    args: &BurstArgs,
    workload: Workload,
    site: &Site,
    pattern: &[RatePhase],
    root: &Root,
) -> Plan {
    let cpus = args.load.cpus(site, root);
    let cycle: Duration = pattern.iter().map(|phase| phase.length).sum();
    let after = head(pattern).map_or(Duration::ZERO, |head| head.length);
    let mut plan = Plan::blank(workload);
    plan.arrivals = args.load.arrivals.into();
    plan.calibration.rated = Some(first_rate(pattern));
    plan.run = args.load.blank_run(cpus, site.interrupts(root));
    plan.run.passes = args.cycles.unwrap_or(match args.quick {
        true if args.other.against.is_none() => 7,
        _ => 6,
    });
    plan.run.window = cycle + after + LEAD;
    plan.run.warm_up = WarmUp::fixed(warm_up(pattern).length - LEAD);
    plan.run.idle = ms(if args.quick { 3000 } else { 10_000 });
    let targets = if args.other.against.is_some() { 2 } else { 1 };
    let once = (plan.run.window + plan.run.warm_up.min) * plan.run.passes * targets;
    plan.run.budget = match args.quick {
        true => ms(80_000),
        false => once * 2,
    };
    plan
}
