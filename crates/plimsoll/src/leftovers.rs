//! What killed runs have left on the machine: undone at the start of each run, and by
//! `plimsoll repair`, listed by `plimsoll doctor`.

use crate::failure::Failure;
use crate::note::note;
use crate::output::Output;
use clap::Args;
use plimsoll_control::{ControlError, Journals, Repaired, Running};
use plimsoll_host::Root;
use plimsoll_model::{Outcome, Requirement, safe};
use std::path::{Path, PathBuf};

const REPAIR_HELP: &str = "\
A run that is killed (kill -9, out of memory) cannot clean up behind itself.
This command, as the start of every run, undoes what it changed: empty cgroups,
controllers, folders of copies, and processes that were only measured. The
command of `plimsoll side` is left as it is, frozen or restricted, until you say
what is to be done with it. Cgroups of this user that have no journal any more
are found by their names.

Examples:
  plimsoll repair            undo, and list what still runs
  plimsoll repair --thaw     let it run on, without limits of a cgroup
  plimsoll repair --kill     end it

Exit status: 0 nothing is left, 1 something is left, 2 usage error.";

#[derive(Debug, Args)]
#[command(after_help = REPAIR_HELP)]
pub(crate) struct RepairArgs {
    /// Let commands of killed runs continue, without limits; where there is no cgroup they keep
    /// their nice value, scheduling class and CPUs.
    #[arg(long, conflicts_with = "kill")]
    thaw: bool,

    /// End commands of killed runs.
    #[arg(long)]
    kill: bool,
}

pub(crate) fn run(args: &RepairArgs, output: &Output) -> Result<(), Failure> {
    let running = match (args.thaw, args.kill) {
        (true, _) => Running::Thaw,
        (_, true) => Running::Kill,
        _ => Running::Leave,
    };
    let root = Root::machine();
    let (mut repaired, mut unseen) = (Vec::new(), Vec::new());
    for (nth, journals) in Journals::all_usual().iter().enumerate() {
        let mut repair = || {
            repaired.extend(journals.repair(&root, running)?);
            if nth == 0 {
                repaired.extend(journals.repair_unjournalled(&root, running)?);
            }
            unseen.extend(journals.out_of_sight(&root)?);
            Ok(())
        };
        repair().map_err(|error: ControlError| Failure::Run(error.to_string()))?;
    }
    let is_whole = repaired.iter().all(Repaired::is_whole) && unseen.is_empty();
    let mut text = described(&repaired);
    for path in unseen {
        text += &format!("{}.\n", out_of_sight(&path));
    }
    if is_whole {
        text += "Nothing is left of killed runs.\n";
    }
    output.print(&text)?;
    match is_whole {
        true => Ok(()),
        false => Err(Failure::Command(1)),
    }
}

fn described(all: &[Repaired]) -> String {
    let mut text = String::new();
    for repaired in all {
        text += &format!("Left by process {}, which was killed:\n", repaired.owner);
        let still = repaired.still_runs.iter().map(|line| ("still runs", line));
        let left = repaired.left.iter().map(|line| ("left", line));
        let done = repaired.done.iter().map(|line| ("undone", line));
        for (what, line) in done.chain(left).chain(still) {
            text += &format!("  {what:<10}  {}\n", safe(line));
        }
    }
    if all.iter().any(|repaired| !repaired.still_runs.is_empty()) {
        text += "plimsoll repair --thaw lets what still runs go on; --kill ends it.\n";
    }
    text
}

/// A sentence without its full stop.
fn out_of_sight(path: &Path) -> String {
    format!(
        "{} is of a run in another PID namespace, which is not seen from here: whether it has ended is unknown; run plimsoll repair there, or outside of containers",
        safe(&path.display().to_string())
    )
}

/// What killed runs have left, for the list of `plimsoll doctor`.
pub(crate) fn found(all_journals: &[Journals], root: &Root) -> Option<Requirement> {
    let lost = match leftovers(all_journals, root) {
        Ok((all, unseen)) if all.is_empty() && unseen.is_empty() => return None,
        Ok((all, unseen)) => {
            let left = all.into_iter().flat_map(|one| one.left);
            let unseen = unseen.iter().map(|path| out_of_sight(path) + ".");
            let left: Vec<String> = left.chain(unseen).collect();
            left.join(" ").trim_end_matches('.').to_owned()
        }
        Err(error) => error.to_string(),
    };
    Some(Requirement {
        name: "a machine without leftovers of killed runs".to_owned(),
        outcome: Outcome::Missed {
            lost,
            remedy: "run: plimsoll repair".to_owned(),
        },
    })
}

type Found = (Vec<Repaired>, Vec<PathBuf>);

fn leftovers(all_journals: &[Journals], root: &Root) -> Result<Found, ControlError> {
    let (mut all, mut unseen) = (Vec::new(), Vec::new());
    for (nth, journals) in all_journals.iter().enumerate() {
        all.extend(journals.leftovers(root)?);
        if nth == 0 {
            all.extend(journals.unjournalled(root)?);
        }
        unseen.extend(journals.out_of_sight(root)?);
    }
    Ok((all, unseen))
}

/// Restores them, with a note. A run that changes nothing itself continues if
/// that fails.
pub(crate) fn restore_if_possible(journals: &Journals, root: &Root) {
    match journals.repair(root, Running::Leave) {
        Ok(all) => {
            // What has to wait for another run needs no action.
            for repaired in &all {
                if !repaired.done.is_empty() {
                    let done = repaired.done.join(" ");
                    note(&format!(
                        "note: an earlier run was killed; restored: {done}"
                    ));
                }
                if !repaired.still_runs.is_empty() {
                    let still_runs = repaired.still_runs.join(" ");
                    note(&format!(
                        "note: an earlier run was killed, and what it ran disturbs this one. \
                         {still_runs} Thaw or end it: plimsoll repair --thaw, plimsoll repair --kill"
                    ));
                }
            }
        }
        Err(error) => note(&format!(
            "note: cannot look for what an earlier run may have left: {error}"
        )),
    }
}
