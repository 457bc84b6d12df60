//! Standard output with its width and colours, and output files.

use crate::command_line;
use crate::failure::Failure;
use clap::{Command, ValueEnum};
use plimsoll_record::{Existing, write_private};
use plimsoll_report::Look;
use plimsoll_report::chart::Charset;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::geteuid;
use rustix::termios::tcgetwinsize;
use std::ffi::OsString;
use std::fs::{File, FileType, OpenOptions};
use std::io::{IsTerminal, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The width of tables outside a terminal: room for all columns.
const ALL_COLUMNS: usize = 160;

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) colour: bool,
    /// Columns of the terminal, or what COLUMNS says; `None` without either.
    width: Option<usize>,
    /// The same as `colour` for standard error.
    pub(crate) stderr_colour: bool,
    /// What the locale shows, here and on standard error.
    pub(crate) charset: Charset,
    charts: bool,
    /// All that can be parsed: tells what of a command line may be secret.
    commands: fn() -> Command,
}

impl Output {
    pub(crate) fn new(choice: ColorChoice, charts: bool, commands: fn() -> Command) -> Output {
        let stdout = std::io::stdout();
        let colour = has_colours(choice, stdout.is_terminal());
        let terminal = tcgetwinsize(&stdout).ok().map(|size| size.ws_col.into());
        // As POSIX has it for utilities: COLUMNS where no terminal reports a width.
        let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
        let width = terminal.filter(|w| *w > 0).or_else(columns);
        Output {
            colour,
            width: width.filter(|w| *w > 0),
            stderr_colour: has_colours(choice, std::io::stderr().is_terminal()),
            charset: charset(|name| std::env::var(name).ok()),
            charts,
            commands,
        }
    }

    /// The words of a command line, as it may be recorded and shown.
    pub(crate) fn shown_words(&self, words: impl Iterator<Item = OsString>) -> Vec<String> {
        command_line::without_secrets(words, (self.commands)())
    }

    /// Prints a text that ends its own lines.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()?;
        Ok(())
    }

    pub(crate) fn put(&self, text: &str, file: Option<&Path>) -> Result<(), Failure> {
        let Some(file) = file else {
            return self.print(text);
        };
        write_whole(file, text).map_err(|e| {
            let shown = file.display();
            let why = format!("{shown} cannot be written: {e}; choose another file with -o");
            Failure::of_writing(&e, &why)
        })
    }

    /// How findings look on their way to such a file, or to standard output.
    pub(crate) fn look(&self, file: Option<&Path>) -> Look {
        Look {
            width: self.width.filter(|_| file.is_none()).unwrap_or(ALL_COLUMNS),
            colour: file.is_none() && self.colour,
            charts: self.charts.then_some(self.charset),
        }
    }
}

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

/// Writes a file for its owner alone, and so that what was there before is lost only to
/// what is complete. A device, a pipe or a descriptor is written to as it is.
pub(crate) fn write_whole(file: &Path, text: &str) -> std::io::Result<()> {
    // Others may have made a symlink: it is replaced, wherever it leads.
    let there = std::fs::symlink_metadata(file).map(|there| there.file_type());
    let is_special = |kind: &FileType| !kind.is_file() && !kind.is_symlink();
    let special = there.ok().filter(is_special);
    if special.is_some() {
        return open_special(file)?.write_all(text.as_bytes());
    }
    if is_descriptor(file) {
        // A file behind /dev/stdout may hold what was printed before.
        let mut open = OpenOptions::new().append(true).open(file)?;
        return open.write_all(text.as_bytes());
    }
    write_private(file, text.as_bytes(), Existing::Replace)
}

/// Opens a pipe or a device of this user or of the system. Another user may exchange the
/// name meanwhile, so what was opened is looked at.
fn open_special(file: &Path) -> std::io::Result<File> {
    // To open a pipe waits for a reader, who may never come.
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    let open = options
        .append(true)
        .custom_flags(flags.bits().cast_signed())
        .open(file)?;
    let about = open.metadata()?;
    if about.is_file() || ![0, geteuid().as_raw()].contains(&about.uid()) {
        return Err(std::io::Error::new(
            std::io::ErrorKind::PermissionDenied,
            "it is a pipe or a device of another user",
        ));
    }
    fcntl_setfl(&open, OFlags::APPEND)?;
    Ok(open)
}

/// Whether a name stands for an open file, so that a rename would replace the name in
/// /dev and not that file.
fn is_descriptor(file: &Path) -> bool {
    let streams = ["/dev/stdout", "/dev/stderr"].map(Path::new);
    let folders = ["/dev/fd", "/proc/self/fd"].map(Path::new);
    streams.contains(&file) || file.parent().is_some_and(|dir| folders.contains(&dir))
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

    #[test]
    fn a_pipe_that_nobody_reads_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(write_whole(&pipe, "text").is_err());
    }

    #[test]
    fn a_link_that_takes_the_place_of_a_pipe_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (victim, link) = (dir.path().join("victim"), dir.path().join("link"));
        std::fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        // As after the first look, when the name stood for a pipe.
        for file in [&link, &victim] {
            assert!(open_special(file).is_err(), "{}", file.display());
        }
        assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
        assert!(write_whole(Path::new("/dev/null"), "text").is_ok());
    }

    #[test]
    fn a_pipe_of_another_user_is_refused() {
        if !geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let reader = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&pipe)
            .unwrap();
        assert!(write_whole(&pipe, "text").is_ok());
        std::os::unix::fs::chown(&pipe, Some(65534), None).unwrap();
        let error = write_whole(&pipe, "text").unwrap_err().to_string();
        assert!(error.contains("of another user"), "{error}");
        drop(reader);
    }

    #[test]
    fn a_name_that_others_can_guess_is_not_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        std::fs::write(&victim, "precious").unwrap();
        let guessed = format!("page.html.{}.part", std::process::id());
        std::os::unix::fs::symlink(&victim, dir.path().join(guessed)).unwrap();
        let page = dir.path().join("page.html");
        write_whole(&page, "page").unwrap();
        assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
        assert_eq!(std::fs::read(&page).unwrap(), b"page");
    }

    #[test]
    fn a_descriptor_is_written_to_and_not_replaced() {
        for name in ["/dev/stdout", "/dev/fd/3", "/proc/self/fd/1"] {
            assert!(is_descriptor(Path::new(name)), "{name}");
        }
        for name in ["/dev/shm/page.html", "stdout", "/tmp/page.html"] {
            assert!(!is_descriptor(Path::new(name)), "{name}");
        }
        // What was printed before stays.
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "before ").unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(file.as_file());
        write_whole(Path::new(&format!("/proc/self/fd/{fd}")), "after").unwrap();
        assert_eq!(std::fs::read(file.path()).unwrap(), b"before after");
    }
}
