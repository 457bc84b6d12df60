//! `plimsoll service`: the hash service under a load that can change while it runs.

mod args;
mod lines;

pub(crate) use args::{ServiceArgs, goal};
pub(crate) use lines::rating as rating_line;

use crate::failure::Failure;
use crate::note::note;
use crate::output::Output;
use crate::stop::Stop;
use lines::Line;
use plimsoll_engine::room;
use plimsoll_experiments::args::{any_seed, hash_service};
use plimsoll_host::{Root, own_allowed_cpus};
use plimsoll_lab::{
    Asked, ControlSocket, Interval, Kept, LabError, Message, Rating, Service, Target, Totals,
};
use plimsoll_law::{SettleDecision, SettlePhase};
use plimsoll_load::hash;
use plimsoll_model::{CpuSet, HashService, Rate, Share};
use plimsoll_record::state_file;
use std::time::{Duration, Instant};

/// The control period of a latency goal.
const STEP: Duration = Duration::from_millis(500);
/// A line is of so many steps.
const STEPS: u32 = 2;
/// Locked while a service runs.
const LOCK: &str = "service.lock";

pub(crate) fn run(args: &ServiceArgs, output: &Output) -> Result<(), Failure> {
    let root = Root::machine();
    let stop = Stop::on_signals()?;
    let cpus = cpus(args.cpus.as_ref(), &root)?;
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
        second: Totals::default(),
        last: None,
    };
    if !args.json {
        output.print(lines::HEADER)?;
    }
    run.until(args.duration, &stop, output)?;
    run.conclude(output)
}

/// The CPUs that were asked for, else all that this process may use.
pub(crate) fn cpus(asked: Option<&CpuSet>, root: &Root) -> Result<CpuSet, Failure> {
    let allowed = own_allowed_cpus(root).map_err(LabError::from)?;
    let Some(asked) = asked else {
        return Ok(allowed);
    };
    let missing = asked.without(&allowed);
    match missing.is_empty() {
        true => Ok(asked.clone()),
        false => Err(Failure::Mistake(format!(
            "CPU {missing} is not for this process to use; choose --cpus from {allowed}"
        ))),
    }
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
    note("plimsoll: calibrating for 12 s; --recalibrate does it again");
    let service = calibrated(asked, cpus)?;
    let rating = Rating::measure(&service, cpus, root, &|| stop.is_raised())?;
    if rating.is_disturbed() {
        note(&format!(
            "plimsoll: other processes used {} of these CPUs meanwhile, so the rating is too low and is not kept",
            rating.others.unwrap_or(Share::ZERO)
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
    /// Since the last line.
    second: Totals,
    last: Option<Interval>,
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
            let interval = self.service.step()?;
            self.all.add(&interval);
            self.notice_settled(interval.at);
            self.second.add(&interval);
            self.last = Some(interval);
            if step.is_multiple_of(STEPS) {
                let line = self.line();
                output.print(&if self.json { line.json() } else { line.text() })?;
                self.second = Totals::default();
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
            Message::Set(target) => {
                let after = self.service.set(target);
                self.all = Totals::default();
                self.settled_at = None;
                serde_json::json!({ "ok": true, "effective_in_ms": after.as_millis() }).to_string()
            }
            Message::Status => self.line().json().trim_end().to_owned(),
        };
        asked.answer(answer);
    }

    fn line(&self) -> Line {
        let last = self.last.as_ref();
        let at = last.map_or((Duration::ZERO, 0), |last| (last.at, last.in_flight));
        let cpu = last.and_then(|last| last.cpu);
        let decision = self.service.decision();
        Line::new(at, &self.second, cpu, self.service.rating(), decision)
    }

    fn conclude(self, output: &Output) -> Result<(), Failure> {
        let missed = |decision: SettleDecision| decision.phase == SettlePhase::Unreachable;
        if !self.json {
            let (rating, target) = (self.service.rating(), self.service.target());
            output.print(&lines::summary(&self.all, rating, target))?;
            if let Target::Until(goal) = target {
                output.print(&lines::kept(&self.all, goal, self.settled_at))?;
            }
        }
        self.service.check()?;
        if self.service.decision().is_some_and(missed) {
            return Err(Failure::Run(format!(
                "the goal is missed at any load; see whether the limit of {} is shorter than a request, or what else uses these CPUs",
                self.service.target()
            )));
        }
        Ok(())
    }
}
