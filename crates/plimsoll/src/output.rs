//! Where findings go: standard output, its width and its colours.

use crate::args::{ColorChoice, Format};
use crate::failure::Failure;
use plimsoll_report::Report;
use rustix::termios::tcgetwinsize;
use std::io::{IsTerminal, Write};

/// The width of what is no terminal: room for all columns.
const DEFAULT_WIDTH: usize = 160;

/// Standard output, as this command may use it.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) colour: bool,
    pub(crate) width: usize,
}

impl Output {
    pub(crate) fn new(choice: ColorChoice) -> Output {
        let stdout = std::io::stdout();
        let colour = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            // https://no-color.org: set and not empty.
            ColorChoice::Auto => {
                stdout.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
            }
        };
        let terminal = tcgetwinsize(&stdout).ok().map(|size| size.ws_col.into());
        Output {
            colour,
            width: terminal.filter(|w| *w > 0).unwrap_or(DEFAULT_WIDTH),
        }
    }

    /// Prints a text that ends its own lines.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()?;
        Ok(())
    }

    /// Prints findings in a format.
    pub(crate) fn findings(&self, report: &Report<'_>, format: Format) -> Result<(), Failure> {
        match format {
            Format::Text => self.print(&plimsoll_report::text(report, self.width, self.colour)),
            Format::Json => {
                let json = plimsoll_report::json(report).map_err(|e| {
                    Failure::Run(format!("the findings cannot be put into JSON: {e}"))
                })?;
                self.print(&json)
            }
            Format::Csv => self.print(&plimsoll_report::csv(report)),
        }
    }
}

/// A remark that is no finding, on standard error.
pub(crate) fn note(text: &str) {
    // A run does not end because nobody reads its remarks.
    let _ = writeln!(std::io::stderr(), "{text}");
}
