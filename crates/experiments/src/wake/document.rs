//! The findings as a document.

use super::findings::{
    Because, Change, PolicyFinding, ProgramFigureFinding, ProgramFinding, WakeFindings,
};
use super::plan::WakePlan;
use super::program::Program;
use super::{Wake, charts, tables};
use crate::experiment::ReportOf;
use plimsoll_model::{Estimate, IdlePolicy};
use plimsoll_report::{Document, Ink, Role, Sentence, estimate, estimate_us};

pub(super) fn document<'a>(report: &'a ReportOf<'a, Wake>) -> Document<'a> {
    let (plan, found) = (report.plan, report.findings);
    let mut out = Document::of_run(report, 1, "policies and gaps");
    out.charts(charts::all(found));
    tables::add(&mut out, found);
    answers(&mut out, found);
    out.say(Role::Doubt, doubts(plan, found));
    out.say(Role::Note, notes(plan, found));
    out
}

fn answers(out: &mut Document<'_>, found: &WakeFindings) {
    let why = found.recommended.why.clone();
    if found.recommended.because == Because::ProgramMeasured {
        program_answers(out, found, why);
        return;
    }
    match (found.recommended.policy, found.recommended.because) {
        (Some(policy), _) if policy.is_as_is() => out.answer(Ink::Green, why),
        (Some(_), _) => out.answer(Ink::Green, format!("Recommended: {why}")),
        (None, Because::Inconclusive) => out.answer(Ink::Red, format!("Inconclusive. {why}")),
        (None, _) => out.answer(Ink::Yellow, why),
    }
    let others = found.policies.iter().filter(|row| !row.policy.is_as_is());
    let texts = others.filter_map(saved).map(|text| Ink::Plain.says(text));
    out.say(Role::Answer, texts);
}

/// A sentence for each policy; that of the gate is the headline.
fn program_answers(out: &mut Document<'_>, found: &WakeFindings, why: String) {
    let mut others: Vec<&ProgramFinding> = found.programs.iter().collect();
    others.retain(|row| !row.policy.is_as_is());
    others.sort_by_key(|row| row.policy != IdlePolicy::Gate);
    let mut texts = others.into_iter().filter_map(program_changed);
    let Some(first) = texts.next() else {
        out.answer(Ink::Plain, why);
        return;
    };
    out.answer(Ink::Plain, first);
    out.say(Role::Answer, texts.map(|text| Ink::Plain.says(text)));
    out.say(Role::Note, [Ink::Plain.says(why)]);
}

fn saved(row: &PolicyFinding) -> Option<String> {
    let (p99, saved) = (row.p99_us?, row.p99_saved_us?);
    let burn = match row.extra_burn_pct {
        Some(burn) => format!("{} % of all CPU time more", estimate(Some(burn), 1)),
        None => "an unknown burn".to_owned(),
    };
    let verdict = verdict(row.p99_change);
    let relative = match row.p99_ratio {
        Some(ratio) => format!("p99 {} times that as it is, ", estimate(Some(ratio), 2)),
        None => String::new(),
    };
    let (by, direction) = match saved.value < 0.0 {
        true => (saved.negated(), "more"),
        false => (saved, "less"),
    };
    Some(format!(
        "{}: {relative}mean {}, {} us {direction}, for {burn}{verdict}.",
        row.policy,
        estimate_us(Some(p99)),
        estimate(Some(by), 1),
    ))
}

fn verdict(change: Option<Change>) -> &'static str {
    match change {
        Some(Change::Lower) => "",
        Some(Change::Higher) => "; significantly slower than as-is",
        Some(Change::NotSignificant) => "; not significantly different from as-is",
        None => "; too few passes for an interval",
    }
}

/// The figure that a program is compared by.
fn headline(row: &ProgramFinding) -> Option<&ProgramFigureFinding> {
    let name = match row.program {
        Program::Schbench => "p99",
        Program::Pgbench => "average",
    };
    row.figures.iter().find(|figure| figure.name == name)
}

fn program_changed(row: &ProgramFinding) -> Option<String> {
    let figure = headline(row)?;
    Some(format!(
        "{}: {} {} times as-is{}.",
        row.policy,
        figure.name,
        estimate(Some(figure.ratio?), 2),
        verdict(figure.change)
    ))
}

/// The figure that is compared, and its ratio between two equal arms (A/A).
fn noise(found: &WakeFindings) -> Option<(&str, Estimate)> {
    let mut programs = found.programs.iter();
    match programs.find(|row| row.policy == IdlePolicy::AsIsAgain) {
        Some(again) => headline(again).and_then(|figure| Some((&*figure.name, figure.ratio?))),
        None => found.noise.p99_ratio.map(|ratio| ("p99", ratio)),
    }
}

fn doubts(plan: &WakePlan, found: &WakeFindings) -> Vec<Sentence> {
    let mut texts: Vec<String> = found.left_out.clone();
    if let Some((figure, noise)) = noise(found) {
        texts.push(format!(
            "Noise floor (A/A): the {figure} of as-is, measured again, is {} times that of the first.",
            estimate(Some(noise), 2)
        ));
    }
    let empty = found.wakeups.iter().filter(|row| row.trials == 0).count();
    if empty > 0 {
        texts.push(format!(
            "{empty} of {} kinds of wake-ups have no valid trial; they are left out of the means of all policies.",
            found.wakeups.len()
        ));
    }
    let is_shown = |e: Option<Estimate>| e.is_some_and(|e| e.interval().is_some());
    let mut means = found.policies.iter().map(|row| row.p99_us);
    let mut burns = found.programs.iter().map(|row| row.burn_pct);
    if plan.run.passes < 3 || !(means.any(is_shown) || burns.any(is_shown)) {
        texts.push("Fewer than 3 valid passes: means have no interval.".to_owned());
    }
    let yellow = texts.into_iter().map(|text| Ink::Yellow.says(text));
    yellow.collect()
}

fn notes(plan: &WakePlan, found: &WakeFindings) -> Vec<Sentence> {
    if let Some(program) = &plan.program {
        let text = format!(
            "{} {} CPU {}, which the gate keeps awake. Burn is CPU time of all tasks, and idle time spent polling, of the time of all CPUs; other load is part of it.",
            program.program,
            match program.program {
                Program::Schbench => "wakes a thread on",
                Program::Pgbench => "runs on",
            },
            program.cpus
        );
        return vec![Ink::Plain.says(text)];
    }
    let mut texts = vec![
        "Latency runs from the call that wakes the thread (of a timer, from the intended time) until it runs. Burn is CPU time of waker, woken thread and spinners, and idle time spent polling, of the time of all CPUs; other tasks are left out.".to_owned(),
    ];
    for row in &found.policies {
        let Some(means) = &row.means else { continue };
        let what = match row.policy {
            IdlePolicy::Gate | IdlePolicy::Spinner => "the woken thread's core is kept awake",
            _ => "CPUs are kept awake",
        };
        texts.push(format!("{}: {what} by {means}.", row.policy));
    }
    for state in &found.states {
        let measured = match (state.measured_exit_us, &state.absent) {
            (Some(us), _) => format!("{} us measured", estimate(Some(us), 1)),
            (None, Some(why)) => format!("not measured: {why}"),
            (None, None) => "not measured".to_owned(),
        };
        texts.push(format!(
            "Idle state {}: {} us advertised exit latency, {measured}.",
            state.name, state.advertised_exit_us
        ));
    }
    let mut absent: Vec<String> = Vec::new();
    for row in &found.policies {
        absent.extend(
            row.power_absent
                .iter()
                .map(|why| format!("Power: absent, {why}.")),
        );
        let clock = row.clock_absent.iter();
        absent.extend(clock.map(|why| format!("Lost turbo: absent, {why}.")));
    }
    let split = found.split.absent.iter();
    absent.extend(split.map(|why| format!("Parts of a wake-up: {why}.")));
    absent.dedup();
    absent.sort();
    absent.dedup();
    texts.extend(absent);
    if plan.limit.is_none() {
        texts.push(
            "CPUs that are kept awake poll (limit n/a); --limit permits shallow idle states."
                .to_owned(),
        );
    }
    let plain = texts.into_iter().map(|text| Ink::Plain.says(text));
    plain.collect()
}
