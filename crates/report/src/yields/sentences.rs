//! What follows from the table, in sentences.

use super::YieldReport;
use super::table::{pct, with_sign};
use crate::number::{Written, for_count, per_second, time_us, trimmed_pct};
use crate::sentence::{Sentence, words_if, words_of};
use crate::table::Ink;
use plimsoll_model::{
    Arm, ArmFinding, BesideRate, BudgetVerdict, Cause, Estimate, Job, YieldFindings,
    human_duration, human_minutes,
};

pub(super) fn asked(report: &YieldReport<'_>) -> Sentence {
    let findings = report.findings;
    let Some(rate) = findings.rate_rps else {
        return Ink::Dim.says("Nothing was measured yet.");
    };
    let side = &report.plan.sideload;
    let of = match (&findings.rated, side.service) {
        (Some(rated), BesideRate::Load(level)) => format!(
            ", {} % of the {} that the service carries alone",
            trimmed_pct(level.pct()),
            per_second(rated.rate_rps)
        ),
        (None, _) | (_, BesideRate::Rate(_)) => String::new(),
    };
    let passes = passes(findings.passes);
    let to_the_end = match side.job {
        Job::Command(_) => ", or until the command ends",
        Job::Counted(_) => "",
    };
    Ink::Dim.says(format!(
        "{} requests{of}; {} a trial{to_the_end}; {passes}.",
        per_second(rate),
        human_duration(report.plan.load.run.window)
    ))
}

pub(super) fn passes(n: u32) -> String {
    match n {
        0 => "no pass with valid trials of all arms".to_owned(),
        1 => "one pass with valid trials of all arms".to_owned(),
        n => format!("{n} passes with valid trials of all arms"),
    }
}

/// Which arm to take, its worst case and why, and whether it keeps to the budget.
pub(super) fn answer(report: &YieldReport<'_>) -> Vec<Sentence> {
    let findings = report.findings;
    let recommended = &findings.recommended;
    let budget = &findings.budget;
    let Some(best) = findings.best() else {
        let needed = needed(report);
        return vec![Ink::Yellow.says(format!("Budget {budget}: inconclusive. {needed}"))];
    };
    let (paid, alike) = (paid(best, report), alike(report));
    let name = format!("{}{}", best.arm, with(recommended.headroom_pct));
    match recommended.verdict {
        BudgetVerdict::Within => {
            let headroom = recommended
                .headroom_pct
                .filter(|_| best.arm == Arm::Plimsoll);
            let run = headroom.map(|headroom| {
                let headroom = trimmed_pct(headroom);
                Ink::Plain.says(format!(
                    "Run it with: plimsoll side --headroom {headroom}% -- COMMAND"
                ))
            });
            let why = why(best);
            let take = format!("Use {name}: {paid}, within {budget}.{why}{alike}");
            let said = [Some(Ink::Green.says(take)), run, undecided(report)];
            said.into_iter().flatten().collect()
        }
        BudgetVerdict::Inconclusive => vec![Ink::Yellow.says(format!(
            "Best supported: {name}: {paid}.{alike} Whether it is within {budget} is \
             inconclusive{}. {}",
            noisy(report),
            needed(report)
        ))],
        BudgetVerdict::Beyond => {
            let price = words_of(best.price_us_per_pct, |price| {
                let price = time_us(price.value.max(0.0));
                format!(", {price} of p99 for each percent of work")
            });
            let broken = Ink::Red.says(format!(
                "No isolation mechanism keeps the service within {budget}. Closest: {name}: \
                 {paid}{price}.{}{alike} Leave more headroom (--headroom), allow more (--budget), or \
                 run the job elsewhere.",
                why(best)
            ));
            [Some(broken), undecided(report)]
                .into_iter()
                .flatten()
                .collect()
        }
    }
}

/// `the job gains 38.5 % (36.5 to 40.5) of its work beside the service and p99 changes by 2.1 % (0.7
/// to 3.5), at worst +3.5 %`
fn paid(best: &ArmFinding, report: &YieldReport<'_>) -> String {
    let findings = report.findings;
    let of_trials = |e| Written::pct(e).with_ends_of(" %", best.trials);
    let gained = words_of(best.work_gained_share.map(pct), |gained| {
        let figure = of_trials(gained);
        match gained.low.is_some_and(|low| low <= 0.0) && gained.value > 0.0 {
            true => format!("what the job gains is inconclusive ({figure})"),
            false => format!("the job gains {figure} of its work beside the service"),
        }
    });
    let changes = best
        .latency_change_pct
        .and_then(|change| change.under(&findings.budget));
    let changes = words_of(changes, |change| {
        format!(
            "{} changes by {}",
            findings.budget.quantile,
            of_trials(change)
        )
    });
    let worst = words_of(worst_case(report), |worst| format!(", at worst {worst} %"));
    let parts = [gained, changes]
        .into_iter()
        .filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" and ") + &worst
}

/// Where runs of a command may not count its work: the arm in which they say the most too much.
pub(super) fn doubtful_work(findings: &YieldFindings) -> Option<Sentence> {
    let found = findings.tried().filter_map(|(headroom, found)| {
        let (cpu, runs) = found.work_by_cpu_share.zip(found.work_gained_share)?;
        let name = format!("{}{}", found.arm, with(headroom));
        Some((name, pct(cpu), pct(runs)))
    });
    let of_a_run = |cpu: &Estimate, runs: &Estimate| cpu.value / runs.value;
    let (name, cpu, runs) =
        found.min_by(|a, b| of_a_run(&a.1, &a.2).total_cmp(&of_a_run(&b.1, &b.2)))?;
    Some(Ink::Yellow.says(format!(
        "A run of the job took less CPU time beside the service than alone: under {name} the job \
         gained {} % by its runs and {} % by its CPU time. Its runs may end by time and not by \
         work, as those of a benchmark do; give a command that does the same work each time.",
        Written::pct(runs).value,
        Written::pct(cpu).value
    )))
}

/// `+3.5`, with as many digits as the interval of the change supports.
pub(super) fn worst_case(report: &YieldReport<'_>) -> Option<String> {
    let findings = report.findings;
    let change = findings
        .best()?
        .latency_change_pct?
        .under(&findings.budget)?;
    let worst = findings.recommended.worst_case_pct?;
    let widened = Estimate {
        high: Some(worst),
        ..change
    };
    Some(with_sign(Written::pct(widened).most()))
}

/// ` Alike: nice and weight.`
fn alike(report: &YieldReport<'_>) -> String {
    let recommended = &report.findings.recommended;
    let alike: Vec<String> = recommended
        .alike
        .iter()
        .map(|at| format!("{}{}", at.arm, with(at.headroom_pct)))
        .collect();
    if alike.is_empty() {
        return String::new();
    }
    let names = listed(&alike);
    match recommended.verdict {
        BudgetVerdict::Within => {
            let gain = for_count(alike.len(), "gains", "gain");
            format!(" Within it, {names} {gain} as much (the intervals overlap).")
        }
        BudgetVerdict::Inconclusive | BudgetVerdict::Beyond => format!(
            " Alike within the noise: {names}; the worst case is that of the \
             lowest of {}.",
            alike.len() + 1
        ),
    }
}

/// Why what seems to keep to the budget is inconclusive.
fn noisy(report: &YieldReport<'_>) -> String {
    let findings = report.findings;
    let worst = findings.recommended.worst_case_pct;
    let is_low = worst.is_some_and(|worst| worst <= findings.budget.more_pct);
    let noise = findings.noise_floor_pct.filter(|_| is_low);
    words_of(noise, |noise| {
        format!(
            ": two equal measurements differ by up to {} %",
            trimmed_pct(noise)
        )
    })
}

/// The arms that may be better than the one that is named.
fn undecided(report: &YieldReport<'_>) -> Option<Sentence> {
    let findings = report.findings;
    let recommended = &findings.recommended;
    let curve = words_if(!findings.curve.is_empty(), " with other headrooms");
    let more = match recommended.verdict {
        BudgetVerdict::Within => ", with more work gained",
        BudgetVerdict::Inconclusive | BudgetVerdict::Beyond => "",
    };
    (!recommended.undecided.is_empty()).then(|| {
        let names = names(&recommended.undecided);
        Ink::Yellow.says(format!(
            "{names}{curve}: inconclusive{more}. {}",
            needed(report)
        ))
    })
}

pub(crate) fn with(headroom_pct: Option<f64>) -> String {
    words_of(headroom_pct, |headroom| {
        format!(" with a headroom of {} %", trimmed_pct(headroom))
    })
}

fn why(arm: &ArmFinding) -> &'static str {
    match arm.cause {
        Some(Cause::Waiting) => " The cause is run delay.",
        Some(Cause::Slower) => " The cause is slower execution, not run delay.",
        Some(Cause::Both) => " The causes are run delay and slower execution.",
        None => "",
    }
}

fn needed(report: &YieldReport<'_>) -> String {
    let is_open = |a: &&ArmFinding| a.verdict == Some(BudgetVerdict::Inconclusive);
    let tried = report.findings.tried().map(|(_, found)| found);
    let open = tried.filter(is_open);
    // Which one is best is known only when all are decided.
    let each: Option<Vec<u32>> = open.map(|a| a.passes_to_tell).collect();
    let passes = each.and_then(|passes| passes.into_iter().max());
    let again = |passes: u32| {
        let run = &report.plan.load.run;
        let trials = report.findings.tried().count() as u32;
        let time = (run.window + run.warm_up.min) * trials * passes;
        format!(
            "About {passes} passes may decide it (--passes {passes}, which takes {}).",
            human_minutes(time)
        )
    };
    let longer = || {
        "Stop other load on this machine and measure longer: without --quick, or with --duration \
         and --passes."
            .to_owned()
    };
    passes.map_or_else(longer, again)
}

pub(super) fn names(arms: &[Arm]) -> String {
    listed(&arms.iter().map(|arm| arm.name()).collect::<Vec<_>>())
}

/// `a, b and c`
pub(super) fn listed<S: AsRef<str>>(parts: &[S]) -> String {
    let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
    match parts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => parts.concat(),
    }
}
