//! The terminal of the live view: taken, drawn on, and given back whatever
//! happens. It is that of standard error, so that findings can be piped.

use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Rect;
use ratatui::prelude::CrosstermBackend;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};
use rustix::termios::{isatty, tcgetpgrp, tcgetwinsize};
use std::cell::Cell;
use std::io::{BufWriter, Error, Result, Stderr, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Whether the terminal is ours now. A static, because a panic of any thread
/// gives it back.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Whether the terminal reports the mouse.
static MOUSE: AtomicBool = AtomicBool::new(false);

/// Held while a frame is written, so that none is written to a terminal that
/// another thread's panic has just given back.
static DRAWING: Mutex<()> = Mutex::new(());

thread_local! {
    /// Whether it is this thread that draws: it would wait for itself.
    static DRAWS: Cell<bool> = const { Cell::new(false) };
}

/// A terminal that takes longer to be given back is gone.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// What is written at once: a whole screen with its colours.
const BUFFER: usize = 64 << 10;

/// The size of a terminal that does not report it.
const USUAL: Rect = Rect::new(0, 0, 80, 24);

type Backend = CrosstermBackend<BufWriter<Stderr>>;

/// A terminal in raw mode on its alternate screen; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Screen {
    terminal: Terminal<Backend>,
    area: Rect,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// It is none, it can do too little, or it belongs to another job.
    pub(crate) fn open() -> Result<Screen> {
        let too_little = std::env::var("TERM").is_ok_and(|term| term == "dumb");
        if !isatty(stderr()) || too_little || !is_in_foreground() {
            return Err(Error::other("no terminal for a view"));
        }
        let area = area();
        let screen = Screen {
            terminal: terminal(area)?,
            area,
        };
        give_back_on_panic();
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        execute!(stderr(), EnterAlternateScreen, Hide, Clear(ClearType::All))?;
        Ok(screen)
    }

    /// Has the terminal report the mouse until it is given back.
    ///
    /// # Errors
    /// The terminal cannot be written to.
    pub(crate) fn report_mouse(&mut self) -> Result<()> {
        MOUSE.store(true, Ordering::SeqCst);
        execute!(stderr(), EnableMouseCapture)
    }

    /// How large the terminal was when the last frame was drawn.
    pub(crate) fn area(&self) -> Rect {
        self.area
    }

    /// Draws a frame as large as the terminal is now.
    ///
    /// # Errors
    /// The terminal cannot be written to, or has been given back.
    pub(crate) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> Result<()> {
        let _alone = DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
        if !TAKEN.load(Ordering::SeqCst) {
            return Err(Error::other("the terminal was given back"));
        }
        DRAWS.set(true);
        let drawn = self.draw_alone(draw);
        DRAWS.set(false);
        drawn
    }

    fn draw_alone(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> Result<()> {
        let area = area();
        if area != self.area {
            self.area = area;
            self.redraw()?;
        }
        self.terminal.draw(draw)?;
        Ok(())
    }

    /// Forgets what was drawn: the next frame is written as a whole.
    ///
    /// # Errors
    /// The terminal cannot be written to.
    pub(crate) fn redraw(&mut self) -> Result<()> {
        self.terminal = terminal(self.area)?;
        execute!(stderr(), Clear(ClearType::All))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back, once.
pub(crate) fn give_back() {
    let wait = || DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
    let _alone = (!DRAWS.get()).then(wait);
    if TAKEN.swap(false, Ordering::SeqCst) {
        // There is nothing to be done about a terminal that is gone.
        if MOUSE.swap(false, Ordering::SeqCst) {
            let _ = execute!(stderr(), DisableMouseCapture);
        }
        let _ = execute!(stderr(), Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}

/// A panic message belongs on the usual screen.
fn give_back_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        give_back();
        report(panic);
    }));
}

/// A job in the background that changes its terminal is stopped by it.
fn is_in_foreground() -> bool {
    match tcgetpgrp(stderr()) {
        Ok(foreground) => foreground == rustix::process::getpgrp(),
        // Not this session's terminal, which then has no jobs of it either.
        Err(_) => true,
    }
}

fn area() -> Rect {
    match tcgetwinsize(stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Rect::new(0, 0, size.ws_col, size.ws_row),
        _ => USUAL,
    }
}

fn terminal(area: Rect) -> Result<Terminal<Backend>> {
    let backend = CrosstermBackend::new(BufWriter::with_capacity(BUFFER, stderr()));
    // Fixed, so that nobody else asks for the size, who may start programs to
    // find it out.
    let viewport = Viewport::Fixed(area);
    Terminal::with_options(backend, TerminalOptions { viewport })
}
