//! `plimsoll completions` and `plimsoll man`: made from the flags as they are
//! parsed, by the program that parses them, so that they cannot drift apart.

use crate::failure::Failure;
use crate::output::Output;
use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use plimsoll_model::safe;
use plimsoll_record::write_public;
use std::path::{Path, PathBuf};

const COMPLETIONS_HELP: &str = "\
Examples:
  plimsoll completions bash > /etc/bash_completion.d/plimsoll
  plimsoll completions zsh > ~/.zfunc/_plimsoll
  plimsoll completions fish > ~/.config/fish/completions/plimsoll.fish";

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_HELP)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

const MAN_HELP: &str = "\
Examples:
  plimsoll man | man -l -                             read it
  plimsoll man sweep | man -l -                       that of one command
  plimsoll man --dir ~/.local/share/man/man1          install all of them";

#[derive(Debug, Args)]
#[command(after_help = MAN_HELP)]
pub(crate) struct ManArgs {
    /// The command whose page to print (default: that of plimsoll itself).
    #[arg(value_name = "COMMAND")]
    command: Option<String>,

    /// Write all pages into this directory instead.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

/// Sections beside those of the flags. In roff, a line that begins with a dot is
/// a request.
const SECTIONS: &str = r#".SH ENVIRONMENT
.TP
NO_COLOR
If set and not empty, no colours are used (\fB\-\-color\fR overrides it).
.TP
LC_ALL, LC_CTYPE, LANG
Charts are drawn with Unicode if the first of these that is set names UTF\-8, else with ASCII.
.TP
TERM
With \fBdumb\fR, progress is printed in lines.
.SH FILES
.TP
plimsoll\-runs/
Where records are written unless \fB\-\-output\fR says otherwise.
"#;

/// How the paragraph on exit codes begins on every page of help.
pub(crate) const EXIT_STATUS_BEGINS: &str = "Exit status: ";

pub(crate) fn completions(
    args: &CompletionsArgs,
    mut command: Command,
    output: &Output,
) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "plimsoll", &mut script);
    output.print(&String::from_utf8_lossy(&script))
}

pub(crate) fn man(args: &ManArgs, mut command: Command, output: &Output) -> Result<(), Failure> {
    command.build();
    if let Some(dir) = &args.dir {
        return write_all(&command, dir, output);
    }
    let page = match &args.command {
        None => page(&command),
        Some(name) => {
            let Some(sub) = command.find_subcommand(name) else {
                return Err(Failure::Mistake(format!(
                    "there is no command '{name}'; plimsoll --help lists them"
                )));
            };
            page(sub)
        }
    };
    output.print(&page?)
}

/// `plimsoll.1`, `plimsoll-sweep.1` and so on.
fn write_all(command: &Command, dir: &Path, output: &Output) -> Result<(), Failure> {
    let subs = command
        .get_subcommands()
        .filter(|sub| sub.get_name() != "help");
    for command in std::iter::once(command).chain(subs) {
        let path = dir.join(format!("{}.1", title(command)));
        let page = page(command)?;
        let written =
            std::fs::create_dir_all(dir).and_then(|()| write_public(&path, page.as_bytes()));
        written.map_err(|e| {
            let shown = path.display();
            Failure::Mistake(format!(
                "{shown} cannot be written: {e}; choose another directory with --dir"
            ))
        })?;
        output.print(&(safe(&path.to_string_lossy()) + "\n"))?;
    }
    Ok(())
}

fn title(command: &Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}

fn page(command: &Command) -> Result<String, Failure> {
    let mut page = Vec::new();
    let man = Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let below = command.get_after_long_help().or(command.get_after_help());
    let below = below.map(ToString::to_string).unwrap_or_default();
    Ok(String::from_utf8_lossy(&page).into_owned() + &end(&below) + SECTIONS)
}

/// What stands below the flags; of that, exit codes have a section of their own.
fn end(below: &str) -> String {
    let is_status = |paragraph: &&str| paragraph.starts_with(EXIT_STATUS_BEGINS);
    let (status, notes): (Vec<&str>, Vec<&str>) = below.split("\n\n").partition(is_status);
    let status = status.join("\n\n").replacen(EXIT_STATUS_BEGINS, "", 1);
    section("NOTES AND EXAMPLES", &notes.join("\n\n")) + &section("EXIT STATUS", &status)
}

/// Text under a heading. Its indented lines are to stay as they are.
fn section(name: &str, text: &str) -> String {
    if text.trim().is_empty() {
        return String::new();
    }
    let mut out = format!(".SH \"{name}\"\n");
    let mut is_as_it_is = false;
    for line in text.trim().lines() {
        if line.starts_with("  ") != is_as_it_is {
            is_as_it_is = !is_as_it_is;
            out += if is_as_it_is { ".nf\n" } else { ".fi\n" };
        }
        if line.is_empty() {
            out += ".PP\n";
        } else {
            out += &escaped(line);
            out.push('\n');
        }
    }
    out + if is_as_it_is { ".fi\n" } else { "" }
}

/// Text to roff: no requests, and dashes and quotes as they are typed.
fn escaped(line: &str) -> String {
    let line = line
        .replace('\\', "\\e")
        .replace('-', "\\-")
        .replace('\'', "\\(aq");
    if line.starts_with('.') {
        format!("\\&{line}")
    } else {
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::help;

    #[test]
    fn examples_stay_as_they_are_in_the_manual() {
        let text = "Words.\n\nExample:\n  plimsoll x --goal 'p99<5ms'\n\nMore.";
        let expected = ".SH \"NOTES AND EXAMPLES\"\nWords.\n.PP\nExample:\n.nf\n  \
                        plimsoll x \\-\\-goal \\(aqp99<5ms\\(aq\n.fi\n.PP\nMore.\n";
        assert_eq!(end(text), expected);
        assert_eq!(escaped(".TH"), "\\&.TH");
    }

    #[test]
    fn each_page_has_the_exit_codes_of_its_command_once() {
        let mut command = help::command();
        command.build();
        for sub in command.get_subcommands().chain([&command]) {
            let page = page(sub).unwrap();
            if sub.get_name() != "help" {
                let name = sub.get_name();
                assert_eq!(page.matches("EXIT STATUS").count(), 1, "{name}:\n{page}");
                assert!(!page.contains(EXIT_STATUS_BEGINS), "{name}:\n{page}");
            }
        }
        let side = page(command.find_subcommand("side").unwrap()).unwrap();
        let (_, codes) = side.split_once("EXIT STATUS").unwrap();
        assert!(codes.starts_with("\"\nthat of CMD"), "{codes}");
    }
}
