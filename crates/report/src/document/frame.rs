//! What holds for any run, in sentences and facts: how it ended, what the host
//! lacks, how many trials are invalid, and what it was measured on.

use super::run::Run;
use super::tally::{TrialTally, reason, retry_when};
use super::{Fact, Facts};
use crate::number::{counted, pct};
use crate::sentence::{Sentence, capital, words_of};
use crate::table::Ink;
use plimsoll_model::{
    Bounds, InterruptTime, Outcome, Provenance, Requirement, RunEnd, safe, shell_word,
};

pub(super) fn ended(run: &Run<'_>) -> Option<Sentence> {
    let text = match run.record.ended {
        Some(RunEnd::Complete) => return None,
        Some(RunEnd::Interrupted) => {
            "The run was interrupted: the results come from the trials until then.".to_owned()
        }
        Some(RunEnd::Failed(why)) => {
            let why = safe(why);
            format!("The run failed: {}.", why.trim_end_matches('.'))
        }
        None => "The record has no end: the run was killed or is still running.".to_owned(),
    };
    let resume = words_of(run.resume, |command| {
        let file = shell_word(&run.record.file.to_string_lossy());
        format!(" Resume it with: plimsoll {command} --resume {file}")
    });
    Some(Ink::Yellow.says(text + &resume))
}

pub(super) fn trials(run: &Run<'_>) -> Option<Sentence> {
    // Nobody judged the rows of a table.
    run.resume?;
    let trials = &run.record.trials;
    if trials.all == 0 {
        return Some(Ink::Red.says("No trial was made."));
    }
    let ink = match trials.invalid {
        0 => Ink::Dim,
        _ => Ink::Red,
    };
    let advice = match trials.asks_for_quiet() {
        true => format!(" Run it again {}.", retry_when(trials.commonest)),
        false => String::new(),
    };
    Some(ink.says(format!("{}.{advice}", trials.in_words())))
}

/// What to do about rows without a valid trial, where [`trials`] does not say it.
pub(crate) fn remedy(trials: &TrialTally) -> Option<Sentence> {
    let (why, when) = (reason(trials.commonest?), retry_when(trials.commonest));
    let text = format!("Trials were disturbed, most often because {why}. Run it again {when}.");
    (!trials.asks_for_quiet()).then(|| Ink::Yellow.says(text))
}

pub(super) fn view(run: &Run<'_>) -> Option<Sentence> {
    let taken = run.record.trials.view_pct.filter(|pct| *pct > 1.0)?;
    Some(Ink::Yellow.says(format!(
        "Drawing the live view took {} % of one CPU during trials; --plain avoids that.",
        pct(taken)
    )))
}

/// Where other processes may have been missed.
pub(super) fn unseen(run: &Run<'_>) -> Option<Sentence> {
    // Nobody judged the rows of a table.
    run.resume?;
    let (most, on) = run.record.trials.unseen?;
    let bound = Bounds::usual(InterruptTime::Unknown).other_share.pct();
    (most > bound).then(|| {
        Ink::Yellow.says(format!(
            "In valid trials up to {} % of the CPU time{} went to interrupts, or to processes that this \
             kernel's samples of CPU use miss, such as some that run just after each of its ticks; \
             plimsoll doctor names the busiest process.",
            pct(most),
            on.words()
        ))
    })
}

/// Why figures of the service may mean something else.
pub(super) fn figures(run: &Run<'_>) -> Vec<Sentence> {
    let missed = |r: &Requirement| match &r.outcome {
        Outcome::Missed { lost, remedy } if r.is_about_figures() => {
            Some(Ink::Yellow.says(format!("{}; {}.", capital(&safe(lost)), safe(remedy))))
        }
        _ => None,
    };
    run.requirements.iter().filter_map(missed).collect()
}

/// What is unknown; the rest is in [`figures`].
pub(super) fn lacking(run: &Run<'_>) -> Facts {
    let missed = |r: &Requirement| match &r.outcome {
        _ if r.is_about_figures() => None,
        Outcome::Met { .. } => None,
        Outcome::Missed { lost: why, .. } | Outcome::Failed { why, .. } => {
            Some(Fact::new(r.name.clone(), why.clone()))
        }
    };
    Facts {
        id: "lacking",
        title: "Unavailable on this host (see plimsoll doctor)".to_owned(),
        facts: run.requirements.iter().filter_map(missed).collect(),
    }
}

/// What was under test, as it was found, so that a mistaken address is seen.
pub(super) fn service(run: &Run<'_>) -> Option<String> {
    let found = run.requirements.iter().find_map(|r| match &r.outcome {
        Outcome::Met { found } if r.name == Requirement::SERVICE => Some(found),
        _ => None,
    });
    found.cloned()
}

/// `on web1: AMD EPYC 9B14, 4 CPUs, kvm, kernel 6.1.0`, as far as it is known.
pub(super) fn machine(provenance: &Provenance) -> String {
    let host = provenance.hostname.as_deref();
    let cpus = match provenance.topology.online.len() {
        0 => None,
        n => Some(counted(n, "CPU", "CPUs")),
    };
    let facts = [
        provenance.cpu_model.clone(),
        cpus,
        provenance.virtualisation.clone(),
        provenance.kernel.as_ref().map(|k| format!("kernel {k}")),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    let colon = if facts.is_empty() { "" } else { ": " };
    let host = host.unwrap_or("a host without a name");
    safe(&format!("on {host}{colon}{}", facts.join(", ")))
}
