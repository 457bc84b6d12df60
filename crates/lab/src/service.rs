//! A running service and its target.

use crate::LabError;
use crate::interval::{Interval, Totals};
use crate::listen::Listening;
use crate::metrics;
use crate::rating::{Rating, offer};
use crate::second::Second;
use crate::sensors::LabSensors;
use crate::target::Target;
use plimsoll_host::Root;
use plimsoll_law::{Settle, SettleDecision, SettleSample};
use plimsoll_load::hash::{Footprint, HashLoad};
use plimsoll_load::{LiveRate, Load, Running};
use plimsoll_model::{Arrivals, Rate};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// The control period.
pub const STEP: Duration = Duration::from_millis(500);
const STEPS_OF_SECOND: u32 = 2;

/// The highest rate that is offered, in requests per second: a step counts arrivals one by one.
pub const MOST_RPS: f64 = 1e7;

/// The hash service under a target. Dropping it stops it.
pub struct Service {
    rating: Rating,
    running: Box<dyn Running>,
    rate: Arc<LiveRate>,
    target: Target,
    settle: Option<Settle>,
    decision: Option<SettleDecision>,
    sensors: LabSensors,
    /// When the last step was, in nanoseconds since the start.
    stepped_ns: u64,
    in_flight: u64,
    load: HashLoad,
    listening: Option<Listening>,
    since_start: Totals,
    /// Since the last whole second, and of how many steps.
    second: (Totals, u32),
    last_second: Option<Second>,
}

impl Service {
    /// Starts the service that was rated, on the CPUs of its rating.
    ///
    /// # Errors
    /// A thread cannot be started, /proc cannot be read, or [`LabError::TooSlow`].
    pub fn start(
        root: &Root,
        rating: Rating,
        target: Target,
        arrivals: Arrivals,
        seed: u64,
    ) -> Result<Service, LabError> {
        check(target, rating.rated)?;
        let load = HashLoad::new(&rating.service, &rating.cpus)?;
        let settle = settle_at(target, rating.rated);
        let first = at_most(rate_at(target, &rating, settle.as_ref()));
        let rate = Arc::new(LiveRate::new(first));
        let running = load.start_live(&rate, &offer(arrivals, seed))?;
        let threads = running.threads().service;
        let service = Service {
            stepped_ns: running.session().now_ns(),
            sensors: LabSensors::new(root, &rating.cpus, &threads)?,
            rating,
            running,
            rate,
            target,
            settle,
            decision: None,
            in_flight: 0,
            load,
            listening: None,
            since_start: Totals::default(),
            second: (Totals::default(), 0),
            last_second: None,
        };
        service.follow(first);
        Ok(service)
    }

    /// # Errors
    /// The first error of a file that a request met.
    pub fn check(&self) -> Result<(), LabError> {
        Ok(self.load.check()?)
    }

    /// Serves the same requests over HTTP, too, and OpenMetrics text at `/metrics`. They are counted
    /// from the end of their heads. Returns the address, with the port that port 0 has become.
    ///
    /// # Errors
    /// [`LabError::Listen`].
    pub fn listen(&mut self, addr: SocketAddr, seed: u64) -> Result<SocketAddr, LabError> {
        let work = self.load.requests(seed)?;
        let listening = Listening::start(addr, &self.rating.cpus, Box::new(work));
        let listening = listening.map_err(|source| LabError::Listen { addr, source })?;
        let addr = listening.addr();
        self.listening = Some(listening);
        self.sensors.count_the_process()?;
        Ok(addr)
    }

    pub fn rating(&self) -> &Rating {
        &self.rating
    }

    pub fn target(&self) -> Target {
        self.target
    }

    /// What the law of a latency goal decided last; `None` under a fixed load.
    pub fn decision(&self) -> Option<SettleDecision> {
        self.decision
    }

    /// The last whole second.
    pub fn last_second(&self) -> Option<&Second> {
        self.last_second.as_ref()
    }

    /// Changes the target. Returns after which time the change takes effect.
    ///
    /// # Errors
    /// [`LabError::TooSlow`]; the target stays as it is.
    pub fn set(&mut self, target: Target) -> Result<Duration, LabError> {
        check(target, self.rating.rated)?;
        self.target = target;
        self.decision = None;
        self.settle = match (target, self.settle.take()) {
            (Target::Until(goal), Some(mut settle)) => {
                self.decision = Some(settle.set_goal(goal));
                Some(settle)
            }
            (target, _) => settle_at(target, self.rating.rated),
        };
        Ok(self.offer(rate_at(target, &self.rating, self.settle.as_ref())))
    }

    fn offer(&self, rate: Rate) -> Duration {
        let rate = at_most(rate);
        self.follow(rate);
        let now_ns = self.running.session().now_ns();
        let from_ns = self.rate.set(rate, now_ns);
        Duration::from_nanos(from_ns.saturating_sub(now_ns))
    }

    /// The footprint in memory and files follows the load.
    fn follow(&self, rate: Rate) {
        let share = Footprint::at(rate, Some(self.rating.rated));
        self.load.footprint().set(share);
    }

    /// What happened since the last step, which is to be [`STEP`] ago: under a latency goal it also
    /// decides the next rate. Two steps are a second, which is returned with the second of them.
    ///
    /// # Errors
    /// /proc cannot be read.
    pub fn step(&mut self) -> Result<(Interval, Option<Second>), LabError> {
        let mut tick = self.running.tick();
        let over_http = self.listening.as_ref().map(Listening::take);
        if let Some(served) = over_http {
            tick.completed += served.completed;
            tick.errors += served.failed;
            tick.in_flight += served.in_flight;
            tick.latency.merge(&served.latency);
        }
        let now_ns = self.running.session().now_ns();
        let expected = self.rate.expected_by(now_ns) - self.rate.expected_by(self.stepped_ns);
        let length = Duration::from_nanos(now_ns.saturating_sub(self.stepped_ns));
        let spent = self.sensors.read()?;
        let ended = tick.completed + tick.errors;
        let asked = Rate::per_second(expected / length.as_secs_f64());
        let interval = Interval {
            at: Duration::from_nanos(now_ns),
            length,
            asked: asked.unwrap_or(Rate::ZERO),
            arrived: (ended + tick.in_flight).saturating_sub(self.in_flight),
            completed: tick.completed,
            failed: tick.errors,
            in_flight: tick.in_flight,
            latency: tick.latency,
            service_cpu: spent.service,
            cpu: spent.busy,
            others: spent.others,
        };
        self.stepped_ns = now_ns;
        self.in_flight = tick.in_flight;
        self.decide(&interval);
        if let Some(listening) = &self.listening {
            self.since_start.add(&interval);
            let text = metrics::text(&self.rating, &self.since_start, Some(&interval));
            listening.set_metrics(text);
        }
        let second = self.count_second(&interval);
        Ok((interval, second))
    }

    fn count_second(&mut self, interval: &Interval) -> Option<Second> {
        let (totals, steps) = &mut self.second;
        totals.add(interval);
        *steps += 1;
        if *steps < STEPS_OF_SECOND {
            return None;
        }
        let (totals, _) = std::mem::take(&mut self.second);
        let second = Second::new(&totals, interval, self.rating.rated, self.decision);
        self.last_second = Some(second.clone());
        Some(second)
    }

    fn decide(&mut self, interval: &Interval) {
        let Some(settle) = &mut self.settle else {
            return;
        };
        let decision = settle.decide(&SettleSample {
            period: interval.length,
            offered: interval.asked,
            ended: interval.completed,
            over_limit: interval.latency.above(settle.goal().limit()),
            in_flight: interval.in_flight,
        });
        self.decision = Some(decision);
        self.offer(decision.rate);
    }
}

/// Whether the law can judge a goal: near it, the queue forgets its past within the law's memory.
fn check(target: Target, rated: Rate) -> Result<(), LabError> {
    let Target::Until(goal) = target else {
        return Ok(());
    };
    let takes = goal.relaxation(rated);
    match takes > Settle::MEMORY {
        true => Err(LabError::TooSlow { goal, takes }),
        false => Ok(()),
    }
}

fn settle_at(target: Target, rated: Rate) -> Option<Settle> {
    match target {
        Target::Until(goal) => Some(Settle::new(goal, rated)),
        Target::Rate(_) | Target::Load(_) => None,
    }
}

fn at_most(rate: Rate) -> Rate {
    rate.times((MOST_RPS / rate.get()).min(1.0))
}

/// The rate to offer first under a target.
fn rate_at(target: Target, rating: &Rating, settle: Option<&Settle>) -> Rate {
    match target {
        Target::Rate(rate) => rate,
        Target::Load(level) => level.of(rating.rated),
        Target::Until(_) => settle.map_or(Rate::ZERO, Settle::target),
    }
}
