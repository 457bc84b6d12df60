//! Where findings go: standard output, its width and its colours.

use crate::args::ColorChoice;
use crate::failure::Failure;
use plimsoll_report::Look;
use plimsoll_report::chart::Charset;
use rustix::termios::tcgetwinsize;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;

/// How wide tables are that leave columns out where they do not fit, when it
/// goes into no terminal: room for all columns.
const ALL_COLUMNS: usize = 160;

/// Standard output, as this command may use it.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) colour: bool,
    /// Columns of the terminal, or what COLUMNS says; `None` without either.
    width: Option<usize>,
    /// The same as `colour` for standard error.
    pub(crate) stderr_colour: bool,
    /// What the locale shows, here and on standard error.
    pub(crate) charset: Charset,
    /// Whether charts are wanted.
    charts: bool,
}

impl Output {
    pub(crate) fn new(choice: ColorChoice, charts: bool) -> Output {
        let stdout = std::io::stdout();
        let colour = has_colours(choice, stdout.is_terminal());
        let terminal = tcgetwinsize(&stdout).ok().map(|size| size.ws_col.into());
        // As POSIX has it for utilities: what the user says, where there is no
        // terminal to ask.
        let told = || std::env::var("COLUMNS").ok()?.parse().ok();
        let width = terminal.filter(|w| *w > 0).or_else(told);
        Output {
            colour,
            width: width.filter(|w| *w > 0),
            stderr_colour: has_colours(choice, std::io::stderr().is_terminal()),
            charset: charset(|name| std::env::var(name).ok()),
            charts,
        }
    }

    /// For tables that leave columns out where they do not fit.
    pub(crate) fn table_width(&self) -> usize {
        self.width.unwrap_or(ALL_COLUMNS)
    }

    /// Prints a text that ends its own lines.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()?;
        Ok(())
    }

    /// Prints a text, or writes it to a file that was named.
    pub(crate) fn put(&self, text: &str, file: Option<&Path>) -> Result<(), Failure> {
        let Some(file) = file else {
            return self.print(text);
        };
        write_whole(file, text).map_err(|e| {
            let why = format!(
                "{} cannot be written: {e}; choose another file with -o",
                file.display()
            );
            match e.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Failure::Run(why),
                _ => Failure::Mistake(why),
            }
        })
    }

    /// How findings look on their way to such a file, or to standard output.
    pub(crate) fn look(&self, file: Option<&Path>) -> Look {
        Look {
            width: file.map_or(self.table_width(), |_| ALL_COLUMNS),
            colour: file.is_none() && self.colour,
            charts: self.charts.then_some(self.charset),
        }
    }
}

/// Whether a stream may be coloured.
fn has_colours(choice: ColorChoice, is_terminal: bool) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        // https://no-color.org: set and not empty.
        ColorChoice::Auto => {
            is_terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
        }
    }
}

/// What the locale can show: the first of these variables that is set and not
/// empty decides (POSIX, chapter 8.2).
fn charset(variable: impl Fn(&str) -> Option<String>) -> Charset {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let mut set = names.into_iter().filter_map(variable);
    let locale = set.find(|value| !value.is_empty()).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    if locale.contains("utf-8") || locale.contains("utf8") {
        Charset::Unicode
    } else {
        Charset::Ascii
    }
}

/// Writes beside the file and renames, so that what was there before is lost
/// only to what is whole. Where a rename replaces what is no file, such as
/// /dev/stdout, it is written as it is.
pub(crate) fn write_whole(file: &Path, text: &str) -> std::io::Result<()> {
    let is_special = std::fs::metadata(file).is_ok_and(|there| !there.is_file());
    let Some(name) = file.file_name().filter(|_| !is_special) else {
        return std::fs::write(file, text);
    };
    let mut beside = name.to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = file.with_file_name(beside);
    let written = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, file));
    if written.is_err() {
        // What is left of it would only be in the way.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

/// Refuses to write over a file that what is written is made from.
pub(crate) fn spare_sources(file: Option<&Path>, sources: &[&Path]) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if sources.iter().any(|source| real(source) == real(file)) {
        return Err(Failure::Mistake(format!(
            "{} is what is read here, and -o would overwrite it; choose another file",
            file.display()
        )));
    }
    Ok(())
}

/// A remark that is no finding, on standard error.
pub(crate) fn note(text: &str) {
    // A run does not end because nobody reads its remarks.
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_locale_variable_that_is_set_decides() {
        let of = |set: &[(&str, &str)]| {
            charset(|name| {
                let found = set.iter().find(|(n, _)| *n == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        let german = ("LANG", "de_DE.UTF-8");
        assert_eq!(of(&[german]), Charset::Unicode);
        assert_eq!(of(&[german, ("LC_ALL", "C")]), Charset::Ascii);
        assert_eq!(of(&[german, ("LC_ALL", "")]), Charset::Unicode);
        assert_eq!(of(&[("LC_CTYPE", "C.utf8")]), Charset::Unicode);
        assert_eq!(of(&[]), Charset::Ascii);
    }
}
