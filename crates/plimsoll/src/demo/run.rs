//! The lab on a terminal: the loop that steps the service, takes keys, carries out effects and draws.

use super::draw::{self, Layout, Look};
use super::effects::Hands;
use super::keys::{self, Asked};
use super::sensors::LabSensors;
use super::state::{Effect, Event, Second, State};
use crate::failure::Failure;
use crate::stop::Stop;
use crate::terminal::Screen;
use plimsoll_lab::{Interval, Service, Totals};
use plimsoll_model::{Rate, Share};
use ratatui::crossterm::event;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The control period of a latency goal.
const STEP: Duration = Duration::from_millis(500);
/// Steps of what is shown as a second.
const STEPS: u32 = 2;
/// Four frames a second at most: the CPUs are in use by what is shown.
const FRAME: Duration = Duration::from_millis(250);

/// A loop that does not end within this time of a signal is stuck.
const STUCK: Duration = Duration::from_secs(3);

/// A running lab. Its screen comes first: it is given back before children are waited for.
pub(super) struct Lab {
    pub(super) screen: Screen,
    pub(super) state: State,
    pub(super) look: Look,
    pub(super) hands: Hands,
    pub(super) service: Service,
    pub(super) sensors: LabSensors,
    pub(super) stop: Stop,
    pub(super) clock: Clock,
}

/// When what is due.
pub(super) struct Clock {
    began: Instant,
    next_step: Instant,
    steps: u32,
    /// Since the last second was shown.
    second: Totals,
    busy: Vec<f64>,
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
            steps: 0,
            second: Totals::default(),
            busy: Vec::new(),
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
            screen,
            hands,
            service,
            ..
        } = self;
        drop(screen);
        drop(service);
        hands.end();
        ran
    }

    fn until_over(&mut self) -> Result<(), Failure> {
        loop {
            // A terminal that is gone ends the lab, too.
            if self.clock.changed
                && self.clock.next_frame() <= Instant::now()
                && self.draw().is_err()
            {
                return Ok(());
            }
            self.keys();
            if self.clock.next_step <= Instant::now() {
                self.step()?;
            }
            for event in self.hands.news() {
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
        let (state, look) = (&self.state, self.look);
        self.screen.draw(|frame| draw::draw(state, look, frame))?;
        self.clock.drawn = Some(Instant::now());
        self.clock.changed = false;
        Ok(())
    }

    /// Takes the keys that come until something else is due.
    fn keys(&mut self) {
        loop {
            let until = self.clock.until(self.hands.are_full());
            let left = until.saturating_duration_since(Instant::now());
            match event::poll(left) {
                Ok(true) => {}
                Ok(false) => return,
                Err(_) => {
                    // Without a keyboard there is something to be seen, and signals end it.
                    std::thread::sleep(left);
                    return;
                }
            }
            let Ok(input) = event::read() else { return };
            match keys::asked(&self.state, self.screen.area(), &input) {
                Some(Asked::Event(event)) => self.fold(event),
                Some(Asked::Redraw) => {
                    self.clock.changed = true;
                    // If that fails, so does the next frame.
                    drop(self.screen.redraw());
                }
                None => {}
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
                    self.service.set(target);
                }
                Effect::Quit => self.clock.is_over = true,
                other => {
                    let layout = Layout::of(self.screen.area());
                    let width = layout.map(|layout| layout.page.width);
                    if let Some(event) = self.hands.carry_out(other, width) {
                        self.fold(event);
                    }
                }
            }
        }
    }

    fn step(&mut self) -> Result<(), Failure> {
        let interval = self.service.step()?;
        self.clock.second.add(&interval);
        let busy = interval.cpu.map(Share::pct);
        self.clock.busy.extend(busy);
        self.clock.steps += 1;
        // After a pause of the whole machine, steps do not come all at once.
        let now = Instant::now();
        self.clock.next_step = (self.clock.next_step + STEP).max(now);
        if self.clock.steps.is_multiple_of(STEPS) {
            let second = self.second(&interval);
            self.fold(Event::Second(second));
        }
        Ok(())
    }

    /// What has happened since the last second.
    fn second(&mut self, last: &Interval) -> Second {
        let all = std::mem::take(&mut self.clock.second);
        let busy = std::mem::take(&mut self.clock.busy);
        let us = |q| all.latency.quantile(q).map(|t| t.as_secs_f64() * 1e6);
        let served = Rate::of(all.completed, all.length).get();
        let waits = self.sensors.read();
        Second {
            at: self.clock.began.elapsed(),
            asked_rps: all.asked / all.length.as_secs_f64().max(1e-3),
            served_rps: served,
            load_pct: 100.0 * served / self.service.rating().rated.get(),
            cpu_pct: (!busy.is_empty()).then(|| busy.iter().sum::<f64>() / busy.len() as f64),
            us: [0.5, 0.95, 0.99].map(us),
            in_flight: last.in_flight,
            phase: self.service.decision().map(|decision| decision.phase),
            job: self.hands.job_work(),
            run_delay_pct: waits.run_delay_pct,
            pressure_pct: waits.pressure_pct,
        }
    }
}
