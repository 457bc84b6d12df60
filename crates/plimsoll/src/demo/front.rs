//! Front ends of the lab: a terminal, a browser. The state machine and the loop are the same.

use super::draw::{self, Layout, Look};
use super::keys::{self, Asked};
use super::state::{Event, State};
use crate::terminal::Screen;
use ratatui::crossterm::event;
use std::io;
use std::time::{Duration, Instant};

/// What comes next from the user.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Input {
    Event(Event),
    /// The whole has to be drawn anew.
    Redraw,
    /// Nothing came in the time.
    Nothing,
}

pub(super) trait FrontEnd {
    /// # Errors
    /// The user is gone, which ends the lab.
    fn show(&mut self, state: &State) -> io::Result<()>;

    /// What comes next, waited for until `until`.
    fn next(&mut self, state: &State, until: Instant) -> Input;

    /// Columns that findings have.
    fn columns(&self) -> Option<u16>;
}

/// A terminal, which is given back when this is dropped.
pub(super) struct Terminal {
    screen: Screen,
    look: Look,
}

impl Terminal {
    pub(super) fn open(look: Look) -> io::Result<Terminal> {
        let mut screen = Screen::open()?;
        // Keys do all that the mouse does.
        let _ = screen.report_mouse();
        Ok(Terminal { screen, look })
    }
}

impl FrontEnd for Terminal {
    fn show(&mut self, state: &State) -> io::Result<()> {
        let look = self.look;
        self.screen.draw(|frame| draw::draw(state, look, frame))
    }

    fn next(&mut self, state: &State, until: Instant) -> Input {
        let left = until.saturating_duration_since(Instant::now());
        match event::poll(left) {
            Ok(true) => {}
            Ok(false) => return Input::Nothing,
            Err(_) => {
                // Without a keyboard there is something to be seen, and signals end it.
                std::thread::sleep(left);
                return Input::Nothing;
            }
        }
        let Ok(input) = event::read() else {
            // Not at once again: the keyboard may be gone.
            std::thread::sleep(left.min(Duration::from_millis(10)));
            return Input::Nothing;
        };
        match keys::asked(state, self.screen.area(), &input) {
            Some(Asked::Event(event)) => Input::Event(event),
            Some(Asked::Redraw) => {
                // If that fails, so does the next frame.
                drop(self.screen.redraw());
                Input::Redraw
            }
            None => Input::Nothing,
        }
    }

    fn columns(&self) -> Option<u16> {
        Some(Layout::of(self.screen.area())?.page.width)
    }
}
