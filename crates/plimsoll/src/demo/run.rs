//! The lab on a terminal: the loop that steps the service, takes keys, carries out effects and draws.

use super::effects::Children;
use super::front::{FrontEnd, Input};
use super::sensors::WaitSensors;
use super::state::{Effect, Event, Second, State};
use crate::failure::Failure;
use crate::stop::Stop;
use plimsoll_lab::{STEP, Service};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Four frames a second at most: the CPUs are in use by what is shown.
const FRAME: Duration = Duration::from_millis(250);

/// A loop that does not end within this time of a signal is stuck.
const STUCK: Duration = Duration::from_secs(3);

/// A running lab. Its front end comes first: a terminal is given back before children are waited for.
pub(super) struct Lab {
    pub(super) front: Box<dyn FrontEnd>,
    pub(super) state: State,
    pub(super) children: Children,
    pub(super) service: Service,
    pub(super) sensors: WaitSensors,
    pub(super) stop: Stop,
    pub(super) clock: Clock,
}

/// When what is due.
pub(super) struct Clock {
    began: Instant,
    next_step: Instant,
    /// Whether something has changed since the last frame.
    changed: bool,
    drawn: Option<Instant>,
    is_over: bool,
}

impl Clock {
    pub(super) fn start() -> Clock {
        let now = Instant::now();
        Clock {
            began: now,
            next_step: now + STEP,
            changed: true,
            drawn: None,
            is_over: false,
        }
    }

    /// When the next frame may be drawn.
    fn next_frame(&self) -> Instant {
        self.drawn.map_or(self.began, |drawn| drawn + FRAME)
    }

    /// Until when there is nothing to do but to wait for keys.
    fn until(&self, has_children: bool) -> Instant {
        let now = Instant::now();
        let look = has_children.then_some(now + FRAME);
        let frame = self.changed.then(|| self.next_frame());
        let due = [look, frame].into_iter().flatten();
        due.fold(self.next_step, Instant::min)
    }
}

/// Ends the process if a signal asks for that and the loop does not follow: a terminal that nobody
/// reads blocks the thread that writes to it. The children end with this process.
fn leave_if_stuck(stop: &Stop, is_over: &Arc<AtomicBool>) {
    let (stop, is_over) = (stop.clone(), Arc::clone(is_over));
    let watch = move || {
        let mut since = None;
        while !is_over.load(Ordering::Relaxed) {
            if stop.is_raised() && since.get_or_insert_with(Instant::now).elapsed() >= STUCK {
                stop.leave_at_once();
            }
            std::thread::sleep(FRAME);
        }
    };
    // Without it, a second signal does the same.
    let _ = std::thread::Builder::new()
        .name("watch".to_owned())
        .spawn(watch);
}

impl Lab {
    /// Runs until the user or a signal ends it, then ends what it has started.
    pub(super) fn run(mut self) -> Result<(), Failure> {
        let is_over = Arc::new(AtomicBool::new(false));
        leave_if_stuck(&self.stop, &is_over);
        let ran = self.until_over();
        is_over.store(true, Ordering::Relaxed);
        let Lab {
            front,
            children,
            service,
            ..
        } = self;
        drop(front);
        drop(service);
        children.end();
        ran
    }

    fn until_over(&mut self) -> Result<(), Failure> {
        loop {
            // A user who is gone ends the lab, too.
            if self.clock.changed
                && self.clock.next_frame() <= Instant::now()
                && self.draw().is_err()
            {
                return Ok(());
            }
            self.inputs();
            if self.clock.next_step <= Instant::now() {
                self.step()?;
            }
            for event in self.children.events() {
                self.fold(event);
            }
            // Time may have effects.
            let effects = self.state.fold(Event::Clock, self.clock.began.elapsed());
            self.carry_out(effects);
            if self.stop.is_raised() || self.clock.is_over {
                return Ok(());
            }
        }
    }

    fn draw(&mut self) -> std::io::Result<()> {
        self.front.show(&self.state)?;
        self.clock.drawn = Some(Instant::now());
        self.clock.changed = false;
        Ok(())
    }

    /// Takes what the user asks for until something else is due.
    fn inputs(&mut self) {
        loop {
            let until = self.clock.until(self.children.are_running());
            match self.front.next(&self.state, until) {
                Input::Event(event) => self.fold(event),
                Input::Redraw => self.clock.changed = true,
                Input::Nothing => {}
            }
            // Keys that come faster than they are taken put nothing else off.
            if self.clock.is_over || until <= Instant::now() {
                return;
            }
        }
    }

    fn fold(&mut self, event: Event) {
        let effects = self.state.fold(event, self.clock.began.elapsed());
        self.clock.changed = true;
        self.carry_out(effects);
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            self.clock.changed = true;
            match effect {
                Effect::SetTarget(target) => {
                    if let Err(error) = self.service.set(target) {
                        self.fold(Event::Note(error.to_string()));
                    }
                }
                Effect::Quit => self.clock.is_over = true,
                other => {
                    let columns = self.front.columns();
                    if let Some(event) = self.children.carry_out(other, columns) {
                        self.fold(event);
                    }
                }
            }
        }
    }

    fn step(&mut self) -> Result<(), Failure> {
        let (_, second) = self.service.step()?;
        // After a pause of the whole machine, steps do not come all at once.
        self.clock.next_step = (self.clock.next_step + STEP).max(Instant::now());
        if let Some(second) = second {
            let second = self.shown(&second);
            self.fold(Event::Second(second));
        }
        Ok(())
    }

    /// A second with what the lab reads besides.
    fn shown(&mut self, of: &plimsoll_lab::Second) -> Second {
        let waits = self.sensors.read();
        Second {
            at: self.clock.began.elapsed(),
            asked_rps: of.asked_rps,
            served_rps: of.served_rps,
            load_pct: of.load_pct,
            cpu_pct: of.cpu_pct,
            us: [of.p50_us, of.p95_us, of.p99_us],
            in_flight: of.in_flight,
            phase: of.decision.map(|decision| decision.phase),
            job: self.children.job_work(),
            run_delay_pct: waits.run_delay_pct,
            pressure_pct: waits.pressure_pct,
        }
    }
}
