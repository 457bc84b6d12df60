//! A value of ours in a shared file: taken only if it is stricter than what is there,
//! and given back only if it is still ours.
//!
//! Of two runs on one file the stricter writes. At its end it leaves what the other one
//! wants, found in that one's journal, and otherwise what was there before both.

use super::knob::{Hands, Knob, write};
use crate::error::ControlError;
use crate::journal::{Change, Claim, Entry, Journal, Undone, claims, lock};
use plimsoll_host::Root;
use std::path::Path;
use std::sync::Arc;

/// What is written, and for how long it is journalled.
#[derive(Debug)]
pub(crate) struct Held {
    knob: Knob,
    ours: String,
    journal: Journal,
    hands: Arc<dyn Hands>,
    state: State,
    was_offline: bool,
}

#[derive(Debug)]
enum State {
    Written {
        former: String,
        entry: Entry,
    },
    /// What is there is as strict, by another program.
    Left {
        found: String,
    },
}

/// Whether our value is in effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InFile {
    Ours,
    /// It was lost while the CPU was offline, and is written again.
    WrittenAgain,
    /// The file is not there.
    Absent,
    /// Another program keeps a value that is as strict.
    Stricter {
        found: String,
    },
    /// Another program has replaced ours by one that permits more. It stays.
    Looser {
        found: String,
    },
}

impl Held {
    pub(crate) fn take(
        knob: Knob,
        ours: String,
        journal: &Journal,
        hands: &Arc<dyn Hands>,
    ) -> Result<Held, ControlError> {
        let mut held = Held {
            knob,
            ours,
            journal: journal.clone(),
            hands: Arc::clone(hands),
            state: State::Left {
                found: String::new(),
            },
            was_offline: false,
        };
        match held.try_to_write()? {
            true => Ok(held),
            false => Err(ControlError::NoIdleFile {
                path: knob.path(journal.root()),
            }),
        }
    }

    /// Writes our value, unless what is there is as strict; `false` if the file is absent.
    fn try_to_write(&mut self) -> Result<bool, ControlError> {
        let (root, dir) = (self.journal.root(), self.journal.dir());
        let _lock = lock(dir)?;
        let Some(found) = self.knob.read(root)? else {
            return Ok(false);
        };
        let is_looser = self.knob.is_looser(&found, &self.ours);
        if !is_looser.ok_or_else(|| malformed(self.knob, root, &found))? {
            self.state = State::Left { found };
            return Ok(true);
        }
        // Below another run's value is what was there before both.
        let claims = claims(dir, root, self.knob)?;
        let below = claims.into_iter().find(|claim| claim.ours == found);
        let former = below.map_or(found, |claim| claim.former);
        let entry = self.journal.enter(&Change::IdleKnobSet {
            knob: self.knob,
            former: former.clone(),
            ours: self.ours.clone(),
        })?;
        let written = write(&*self.hands, root, self.knob, &self.ours);
        if let Err(error) = written {
            self.journal.mark_undone(entry)?;
            return Err(error);
        }
        self.state = State::Written { former, entry };
        self.kick();
        Ok(true)
    }

    fn kick(&self) {
        if let Some(cpu) = self.knob.cpu() {
            self.hands.kick(cpu);
        }
    }

    /// Looks whether our value is still there, and writes it again if the CPU was offline
    /// or another program's stricter value is gone.
    pub(crate) fn check(&mut self) -> Result<InFile, ControlError> {
        let root = self.journal.root();
        let Some(found) = self.knob.read(root)? else {
            self.was_offline = true;
            return Ok(InFile::Absent);
        };
        let was_offline = std::mem::take(&mut self.was_offline);
        let is_looser = self.knob.is_looser(&found, &self.ours).unwrap_or(true);
        match &self.state {
            State::Written { .. } if found == self.ours => Ok(InFile::Ours),
            State::Written { .. } if is_looser && was_offline => {
                write(&*self.hands, root, self.knob, &self.ours)?;
                self.kick();
                Ok(InFile::WrittenAgain)
            }
            State::Written { .. } if is_looser => Ok(InFile::Looser { found }),
            State::Left { .. } if is_looser => {
                self.try_to_write()?;
                match &self.state {
                    State::Written { .. } => Ok(InFile::WrittenAgain),
                    State::Left { found } => Ok(InFile::Stricter {
                        found: found.clone(),
                    }),
                }
            }
            _ => Ok(InFile::Stricter { found }),
        }
    }

    /// Remembers that the CPU was offline, so that a value that it lost is written again.
    pub(crate) fn went_offline(&mut self) {
        self.was_offline = true;
    }

    /// Says who keeps another value in the file: a run of Plimsoll, if its journal has it.
    pub(crate) fn by_whom(&self, found: &str) -> Result<String, ControlError> {
        let claims = claims(self.journal.dir(), self.journal.root(), self.knob)?;
        let whose = match claims.into_iter().find(|claim| claim.ours == found) {
            Some(claim) => format!("process {} of Plimsoll", claim.owner),
            None => "another program".to_owned(),
        };
        Ok(format!("{} is '{found}', by {whose}", capital(self.knob)))
    }

    /// Gives back what is still ours; a sentence says what was done, or why not.
    pub(crate) fn give_back(&mut self) -> Result<Option<String>, ControlError> {
        let State::Written { former, entry } = &self.state else {
            return Ok(None);
        };
        let (root, dir) = (self.journal.root(), self.journal.dir());
        match release(&*self.hands, root, dir, self.knob, former, &self.ours)? {
            Undone::Done(sentence) => {
                self.journal.mark_undone(*entry)?;
                self.state = State::Left {
                    found: self.ours.clone(),
                };
                Ok(sentence)
            }
            // It stays in the journal, for the next start.
            Undone::Later(sentence) | Undone::StillRuns(sentence) => Ok(Some(sentence)),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // What fails stays in the journal, and the next start reports it.
        let _ = self.give_back();
    }
}

fn malformed(knob: Knob, root: &Root, found: &str) -> ControlError {
    ControlError::Malformed {
        path: knob.path(root),
        found: found.to_owned(),
    }
}

/// Gives a file back if it still holds our value.
pub(crate) fn release(
    hands: &dyn Hands,
    root: &Root,
    journals: &Path,
    knob: Knob,
    former: &str,
    ours: &str,
) -> Result<Undone, ControlError> {
    let _lock = lock(journals)?;
    let Some(found) = knob.read(root)? else {
        return Ok(match is_cpu_present(root, knob) {
            true => Undone::Later(format!(
                "{} is not given back, because its file is not there while the CPU is offline.",
                capital(knob)
            )),
            false => Undone::Done(None),
        });
    };
    if found != ours {
        let sentence = format!(
            "{} was left alone: it holds '{found}', which another program wrote.",
            capital(knob)
        );
        return Ok(Undone::Done((found != former).then_some(sentence)));
    }
    let strictest = |a: Claim, b: Claim| match knob.is_looser(&a.ours, &b.ours) {
        Some(true) => b,
        _ => a,
    };
    let other = claims(journals, root, knob)?.into_iter().reduce(strictest);
    let value = other.as_ref().map_or(former, |claim| &claim.ours);
    if value != ours {
        write(hands, root, knob, value)?;
    }
    let whose = match &other {
        Some(claim) => format!(", which process {} wants", claim.owner),
        None => String::new(),
    };
    Ok(Undone::Done(Some(format!(
        "Set {knob} from '{ours}' back to '{value}'{whose}."
    ))))
}

/// What is left of a value of ours, in a sentence.
pub(crate) fn left(root: &Root, knob: Knob, former: &str, ours: &str) -> Option<String> {
    let found = knob.read(root).ok().flatten()?;
    (found == ours).then(|| format!("{} is '{ours}'; it was '{former}'.", capital(knob)))
}

fn is_cpu_present(root: &Root, knob: Knob) -> bool {
    let folder = |cpu| root.path(format!("/sys/devices/system/cpu/cpu{cpu}"));
    knob.cpu().is_some_and(|cpu| folder(cpu).exists())
}

fn capital(knob: Knob) -> String {
    let text = knob.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
