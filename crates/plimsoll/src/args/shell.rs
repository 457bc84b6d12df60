//! `plimsoll completions` and `plimsoll man`.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

const COMPLETIONS_HELP: &str = "\
Examples:
  plimsoll completions bash > /etc/bash_completion.d/plimsoll
  plimsoll completions zsh > ~/.zfunc/_plimsoll
  plimsoll completions fish > ~/.config/fish/completions/plimsoll.fish";

/// `plimsoll completions`
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_HELP)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub(crate) shell: Shell,
}

const MAN_HELP: &str = "\
Examples:
  plimsoll man | man -l -                             read it
  plimsoll man sweep | man -l -                       that of one command
  plimsoll man --dir ~/.local/share/man/man1          install all of them";

/// `plimsoll man`
#[derive(Debug, Args)]
#[command(after_help = MAN_HELP)]
pub(crate) struct ManArgs {
    /// The command whose page to print (default: that of plimsoll itself).
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,

    /// Write all pages into this directory instead.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) dir: Option<PathBuf>,
}
