//! `plimsoll service`: the hash service under a load that can change while it runs.

mod args;
mod lines;

use lines::GoalOutcome;

pub(crate) use args::{ServiceArgs, goal};
pub(crate) use lines::rating as rating_line;

use crate::failure::Failure;
use crate::note::note;
use crate::output::Output;
use crate::stop::Stop;
use plimsoll_engine::room;
use plimsoll_experiments::args::{allowed_cpus, any_seed, hash_service};
use plimsoll_host::Root;
use plimsoll_lab::{
    Asked, ControlSocket, Kept, LabError, Message, Rating, STEP, Service, Target, Totals,
};
use plimsoll_law::{SettleDecision, SettlePhase};
use plimsoll_load::hash;
use plimsoll_model::{CpuSet, HashService, Rate};
use plimsoll_record::state_file;
use serde_json::json;
use std::time::{Duration, Instant};

/// Locked while a service runs.
const LOCK: &str = "service.lock";

pub(crate) fn run(args: &ServiceArgs, output: &Output) -> Result<(), Failure> {
    let root = Root::machine();
    let stop = Stop::on_signals()?;
    let cpus = allowed_cpus(args.cpus.as_ref(), &root)?;
    let control = args.control.as_deref().map(ControlSocket::bind).transpose();
    let control = control.map_err(|error| {
        let path = args.control.as_deref().unwrap_or(std::path::Path::new(""));
        Failure::Mistake(format!(
            "--control {}: {error}; choose a path in a folder of your own",
            path.display()
        ))
    })?;
    let alone = state_file::usual(LOCK).map(|file| state_file::lock(&file));
    if matches!(alone, Some(None)) {
        note(
            "plimsoll: another `plimsoll service` runs here; on the same CPUs each disturbs the other",
        );
    }
    let asked = args.hash.of(hash_service());
    let rating = rating(asked, (args.rated, args.recalibrate), &cpus, &stop)?;
    note(&format!("plimsoll: {}", lines::rating(&rating)));
    let seed = args.seed.unwrap_or_else(any_seed);
    let (target, arrivals) = (args.target(), args.arrivals.into());
    let mut service = Service::start(&root, rating, target, arrivals, seed)?;
    if let Some(addr) = args.listen {
        let addr = service.listen(addr, seed)?;
        note(&format!(
            "plimsoll: http://{addr}/ is the service, /metrics its state"
        ));
    }
    let mut run = Run {
        service,
        control,
        json: args.json,
        all: Totals::default(),
        settled_at: None,
    };
    if !args.json {
        output.print(lines::HEADER)?;
    }
    run.until(args.duration, &stop, output)?;
    run.conclude(output)
}

/// The rating that is given or kept, or one that is measured now and kept.
pub(crate) fn rating(
    asked: HashService,
    (given, again): (Option<Rate>, bool),
    cpus: &CpuSet,
    stop: &Stop,
) -> Result<Rating, Failure> {
    let root = &Root::machine();
    room::check(&asked, root)?;
    if let Some(rated) = given {
        let service = calibrated(asked, cpus)?;
        return Ok(Rating::assumed(service, cpus, rated));
    }
    let file = state_file::usual(Kept::FILE);
    let kept = file.as_deref().map_or(Ok(Kept::default()), Kept::read);
    let kept = kept.unwrap_or_else(|why| {
        note(&format!(
            "plimsoll: ratings that were kept are not used: {why}"
        ));
        Kept::default()
    });
    if let Some(rating) = kept.find(&asked, cpus, root).filter(|_| !again) {
        return Ok(rating.clone());
    }
    note("plimsoll: calibrating for 12 s; --rated RATE leaves it out");
    let service = calibrated(asked, cpus)?;
    let rating = Rating::measure(&service, cpus, root, &|| stop.is_raised())?;
    if let Some(why) = rating.too_low() {
        note(&format!(
            "plimsoll: {why} meanwhile, so the rating is too low and is not kept"
        ));
    } else if let Some(file) = &file
        && let Err(why) = kept.keep(&rating, root, file)
    {
        note(&format!(
            "plimsoll: the rating is not kept in {}: {why}",
            file.display()
        ));
    }
    Ok(rating)
}

/// With blocks that cost what a request is to cost on the first CPU.
fn calibrated(asked: HashService, cpus: &CpuSet) -> Result<HashService, LabError> {
    let first = cpus.iter().next().unwrap_or(0);
    Ok(HashService {
        mean_block: hash::calibrate(asked.request_cpu, first)?.mean_block,
        ..asked
    })
}

/// A run of a service.
struct Run {
    service: Service,
    control: Option<ControlSocket>,
    json: bool,
    /// Since the target was set last, or since the law of a goal settled.
    all: Totals,
    /// When the law settled, since the start.
    settled_at: Option<Duration>,
}

impl Run {
    fn until(
        &mut self,
        duration: Option<Duration>,
        stop: &Stop,
        output: &Output,
    ) -> Result<(), Failure> {
        let began = Instant::now();
        for step in 1u32.. {
            let due = began + STEP * step;
            while let Some(left) = due.checked_duration_since(Instant::now()) {
                if stop.is_raised() {
                    return Ok(());
                }
                self.wait(left.min(Duration::from_millis(100)));
            }
            let (interval, second) = self.service.step()?;
            self.all.add(&interval);
            self.notice_settled(interval.at);
            if let Some(second) = second {
                let line = if self.json { lines::json } else { lines::text };
                output.print(&line(&second))?;
            }
            if duration.is_some_and(|duration| began.elapsed() >= duration) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The search is no part of what was held.
    fn notice_settled(&mut self, at: Duration) {
        let phase = self.service.decision().map(|decision| decision.phase);
        if phase == Some(SettlePhase::Settled) && self.settled_at.is_none() {
            self.settled_at = Some(at);
            self.all = Totals::default();
        }
    }

    fn wait(&mut self, at_most: Duration) {
        match &self.control {
            None => std::thread::sleep(at_most),
            Some(control) => {
                if let Some(asked) = control.wait(at_most) {
                    self.answer(asked);
                }
            }
        }
    }

    fn answer(&mut self, asked: Asked) {
        let answer = match asked.message {
            Message::Set(target) => match self.service.set(target) {
                Ok(after) => {
                    self.all = Totals::default();
                    self.settled_at = None;
                    json!({ "ok": true, "effective_in_ms": after.as_millis() })
                }
                Err(error) => json!({ "error": error.to_string() }),
            },
            Message::Status => match self.service.last_second() {
                Some(second) => json!(second),
                None => json!({ "error": "the first second is not over; ask again" }),
            },
        };
        asked.answer(answer.to_string());
    }

    fn conclude(self, output: &Output) -> Result<(), Failure> {
        let target = self.service.target();
        let goal = match target {
            Target::Until(goal) => Some(goal),
            _ => None,
        };
        let all = &self.all;
        let unreachable = |decision: SettleDecision| decision.phase == SettlePhase::Unreachable;
        let outcome = goal.map(|goal| GoalOutcome::of(all, goal, self.settled_at.is_some()));
        if !self.json {
            output.print(&lines::summary(all, self.service.rating(), target, outcome))?;
            if let (Some(goal), Some(outcome)) = (goal, outcome) {
                let lost = self.service.decision().is_some_and(unreachable);
                output.print(&lines::outcome(all, goal, outcome, self.settled_at, lost))?;
            }
        }
        self.service.check()?;
        let why = match outcome {
            _ if self.service.decision().is_some_and(unreachable) => {
                "the goal is missed at any load; see whether its limit is shorter than a request, or what else uses these CPUs"
            }
            Some(GoalOutcome::Missed) => {
                "the goal was missed at the load that had settled; see what else uses these CPUs, or give it more time"
            }
            Some(GoalOutcome::MissedUnsettled) => {
                "the load has not settled, and the goal was missed meanwhile; give it more time, or see what else uses these CPUs"
            }
            _ => return Ok(()),
        };
        Err(Failure::Run(why.to_owned()))
    }
}
