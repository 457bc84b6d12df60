//! The thread that draws.

use super::draw;
use super::state::{Event, Key, State};
use crate::stop::Stop;
use crate::terminal::Screen;
use ratatui::crossterm::event::{self, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use rustix::process::setpriority_process;
use rustix::thread::gettid;
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

/// Five frames a second at most: the eye needs no more, and the CPU is being
/// measured.
const FRAME: Duration = Duration::from_millis(200);
/// The lowest priority: whatever is measured goes first.
const NICE: i32 = 19;

/// State shared by the thread that measures and the one that draws.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// The run pauses before the next trial.
    pub(super) pause: AtomicBool,
    pub(super) over: AtomicBool,
    /// CPU time of the view's thread, in nanoseconds.
    pub(super) cpu_ns: AtomicU64,
}

pub(super) struct View {
    pub(super) screen: Screen,
    pub(super) state: State,
    pub(super) began: Instant,
    pub(super) events: Receiver<Event>,
    pub(super) shared: Arc<Shared>,
    pub(super) stop: Stop,
    /// Dropped at the very end, when the terminal has been given back.
    pub(super) ending: Sender<()>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pressed {
    Key(Key),
    /// Ctrl-C: ends cleanly, the second time at once.
    Interrupt,
    /// Ctrl-L: the screen was written on by somebody else.
    Redraw,
}

impl View {
    /// Draws until the run is over or the terminal is gone.
    pub(super) fn run(mut self) {
        // Where it is refused, the view is as important as the rest.
        let _ = setpriority_process(Some(gettid()), NICE);
        let mut shown = None;
        while !self.shared.over.load(Ordering::Relaxed) {
            let changed = self.keys() | self.news();
            if self.stop.is_raised() && !self.state.is_ending {
                self.fold(Event::Ending);
            }
            let second = self.began.elapsed().as_secs();
            if changed || shown != Some(second) {
                self.fold(Event::Clock);
                let drawn = self.screen.draw(|frame| draw::draw(&self.state, frame));
                if drawn.is_err() {
                    break;
                }
                shown = Some(second);
            }
            self.store_cpu_time();
        }
        // A view that is gone must not pause the run for ever.
        self.shared.pause.store(false, Ordering::Relaxed);
        let View { screen, ending, .. } = self;
        drop(screen);
        drop(ending);
    }

    fn fold(&mut self, event: Event) {
        self.state.fold(event, self.began.elapsed());
    }

    /// Waits for the time of a frame, and takes the keys that come.
    fn keys(&mut self) -> bool {
        let until = Instant::now() + FRAME;
        let mut changed = false;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match event::poll(left) {
                Ok(true) => {}
                Ok(false) => return changed,
                Err(_) => {
                    // Without a keyboard there is still something to be seen.
                    std::thread::sleep(left);
                    return changed;
                }
            }
            match event::read() {
                Ok(event::Event::Key(key)) => {
                    if let Some(pressed) = pressed(key) {
                        self.act(pressed);
                        changed = true;
                    }
                }
                Ok(event::Event::Resize(..)) => changed = true,
                _ => {}
            }
        }
    }

    fn act(&mut self, pressed: Pressed) {
        match pressed {
            Pressed::Key(key) => self.fold(Event::Key(key)),
            Pressed::Interrupt if self.stop.is_raised() => self.stop.leave_at_once(),
            Pressed::Interrupt => self.fold(Event::Ending),
            // If that fails, so does the next frame.
            Pressed::Redraw => drop(self.screen.redraw()),
        }
        let pause = self.state.pause_asked;
        self.shared.pause.store(pause, Ordering::Relaxed);
        if self.state.is_ending {
            self.stop.raise();
        }
    }

    fn news(&mut self) -> bool {
        let mut changed = false;
        while let Ok(event) = self.events.try_recv() {
            self.fold(event);
            changed = true;
        }
        changed
    }

    fn store_cpu_time(&self) {
        let used = clock_gettime(ClockId::ThreadCPUTime);
        let ns = used.tv_sec.saturating_mul(1_000_000_000) + used.tv_nsec;
        let ns = u64::try_from(ns).unwrap_or(0);
        self.shared.cpu_ns.store(ns, Ordering::Relaxed);
    }
}

fn pressed(key: KeyEvent) -> Option<Pressed> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match key.code {
        KeyCode::Char('c') if control => Pressed::Interrupt,
        KeyCode::Char('l') if control => Pressed::Redraw,
        _ if control => return None,
        KeyCode::Char('q' | 'Q') => Pressed::Key(Key::End),
        KeyCode::Char('p' | 'P' | ' ') => Pressed::Key(Key::Pause),
        KeyCode::Char('?' | 'h' | 'H') => Pressed::Key(Key::Help),
        KeyCode::Esc => Pressed::Key(Key::Back),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_do_what_the_help_says() {
        let plain = |c| pressed(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE));
        let control = |c| pressed(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL));
        assert_eq!(plain('q'), Some(Pressed::Key(Key::End)));
        assert_eq!(plain('p'), Some(Pressed::Key(Key::Pause)));
        assert_eq!(plain('?'), Some(Pressed::Key(Key::Help)));
        assert_eq!(control('c'), Some(Pressed::Interrupt));
        assert_eq!(plain('c'), None);
        assert_eq!(control('q'), None);
    }
}
