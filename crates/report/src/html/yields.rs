//! A yield run as a page: which arm to take, what it gains, what is paid.

use super::charts::{Arms, arm_figures, arm_picks};
use super::facts::{again, list, machine};
use super::figure::{self, Levels, sections};
use super::headline::{head, paragraph, tile};
use super::markup::{El, Html, el, shortened, typeset};
use super::page::{Page, section};
use super::{file_name, outside};
use crate::number::{Written, confidence, trimmed_pct};
use crate::yields::{Parts, parts, said, step, table};
use crate::{YieldReport, secrets, yield_json};
use plimsoll_model::{ArmFinding, Estimate, Plan, StepCourse, TrialPicture, human_duration};

/// All that is shown of a yield run in pictures.
#[derive(Debug, Clone, Copy)]
pub struct YieldHtml<'a> {
    /// What is said in words.
    pub report: &'a YieldReport<'a>,
    /// Its trials, in the order they were made.
    pub trials: &'a [TrialPicture],
    /// Where the load steps: latency after the steps of each arm with a job.
    pub steps: &'a [StepCourse],
    /// What was typed when the run was made.
    pub command_line: &'a [String],
}

/// The page. What looks like a secret in the plan or the command is hidden.
///
/// # Errors
///
/// None that can occur with these types; the signature is that of
/// `serde_json`.
pub fn yield_html(page: &YieldHtml<'_>) -> serde_json::Result<String> {
    let report = page.report;
    let plan = secrets::hide(report.plan);
    let view = Arms {
        report,
        trials: page.trials,
        steps: page.steps,
    };
    let figures = arm_figures(view);
    let levels = Levels::of_arms(arm_picks(view), first(report), &figures);
    let mut main = Html::default();
    let parts = parts(report);
    main.push(answer(report, &plan, &parts));
    main.push(steps(report, &parts));
    main.push(levels.picker());
    let charts = el("div").class("charts").with(sections(&figures, &levels));
    main.push(charts);
    main.push(missing(report));
    main.push(machine(report.provenance));
    main.push(method(report, &plan, &parts, page.command_line));
    let page = Page {
        title: format!("{} beside {} · Plimsoll", job(&plan), plan.workload),
        raw: Some(yield_json(report)?),
        levels: levels.json()?,
        file: file_name(report.record.file),
        main,
    };
    Ok(page.into_string())
}

fn job(plan: &Plan) -> String {
    let side = plan.sideload.as_ref();
    side.map_or_else(|| "a job".to_owned(), |side| side.job.to_string())
}

/// The arm that is shown first: the one to take, else the first that was held
/// against the budget.
fn first(report: &YieldReport<'_>) -> usize {
    let findings = report.findings;
    let at = |is: &dyn Fn(&ArmFinding) -> bool| findings.tried().position(|(_, arm)| is(arm));
    let best = findings.best();
    let best = best.and_then(|best| at(&|arm| std::ptr::eq(arm, best)));
    best.or_else(|| at(&|arm| arm.arm.is_beside())).unwrap_or(0)
}

/// The head of the page: the answer in one line, its figures, and the
/// sentences in full.
fn answer(report: &YieldReport<'_>, plan: &Plan, parts: &Parts) -> El {
    let what = format!("{}, beside it {}", plan.workload, job(plan));
    let below = [doubt(report), tiles(report)];
    head(
        shortened(&what, 160),
        &headline(report),
        below,
        &parts.answer,
    )
}

/// The answer in one line.
fn headline(report: &YieldReport<'_>) -> String {
    let findings = report.findings;
    if let Some(plan) = &report.plan.step {
        return step::headline(findings, plan);
    }
    let budget = &findings.budget;
    match (findings.best(), findings.recommended.within_budget) {
        (Some(best), _) => {
            let gained = best.work_gained_share.map(table::pct);
            let gained = gained.map_or_else(String::new, |gained| {
                format!(" and gain {} % of its work", Written::pct(gained).value)
            });
            let headroom = said::with(findings.recommended.headroom_pct);
            format!(
                "Hold the job by {}{headroom}{gained}, within {budget}",
                best.arm
            )
        }
        (None, Some(_)) => format!("No way to hold the job keeps the service within {budget}"),
        (None, None) => {
            format!("It cannot be told whether any arm keeps the service within {budget}")
        }
    }
}

/// Under the headline, when it rests on only a part of the trials.
fn doubt(report: &YieldReport<'_>) -> Option<El> {
    let trials = &report.record.trials;
    let words = || format!("{}.", trials.in_words());
    let many = trials.are_many_invalid();
    many.then(|| el("p").class("doubt yellow").with(typeset(&words())))
}

/// The figures of the arm to take.
fn tiles(report: &YieldReport<'_>) -> Option<El> {
    let findings = report.findings;
    let best = findings.best()?;
    let sure = |estimate: Estimate| match Written::pct(estimate).ends() {
        Some(ends) => format!("{} interval {ends}", confidence()),
        None => "no interval".to_owned(),
    };
    let gained = best.work_gained_share.map(|share| {
        let gained = table::pct(share);
        let more = format!("of what the job does alone; {}", sure(gained));
        tile("Gained", &Written::pct(gained).value, "%", &more)
    });
    let paid = best.latency_change_pct.map(|change| {
        let change = change.under(&findings.budget);
        let name = format!("Paid, change of {}", findings.budget.quantile);
        let more = format!(
            "{}; budget +{} %",
            sure(change),
            trimmed_pct(findings.budget.more_pct)
        );
        tile(&name, &table::signed(change), "%", &more)
    });
    let total = best.total_work_share.map(|share| {
        let total = table::pct(share);
        let more = format!("of the machine's work, service and job; {}", sure(total));
        tile("In all", &Written::pct(total).value, "%", &more)
    });
    let tiles = [gained, paid, total].into_iter().flatten();
    Some(el("div").class("tiles").with_all(tiles))
}

/// Where the load steps: what became of latency after it, as a table.
fn steps(report: &YieldReport<'_>, parts: &Parts) -> Option<El> {
    report.plan.step.as_ref()?;
    let table = el("div")
        .class("scroll")
        .with(figure::table(&parts.table, false));
    let section = section("step")
        .with(el("h2").with("After a step of the load"))
        .with(table)
        .with(
            el("div")
                .class("sentences")
                .with(paragraph(&step::no_charts())),
        );
    Some(section)
}

/// The arms that this machine cannot do, and why.
fn missing(report: &YieldReport<'_>) -> Option<El> {
    let missing = &report.findings.missing_arms;
    let row = |missing: &plimsoll_model::MissingArm| {
        el("div")
            .with(el("dt").with(missing.arm.name()))
            .with(el("dd").with(outside(&missing.reason)))
    };
    let title = match missing.len() {
        1 => "One arm cannot be had on this machine".to_owned(),
        n => format!("{n} arms cannot be had on this machine"),
    };
    let rows = el("dl").with_all(missing.iter().map(row));
    (!missing.is_empty()).then(|| section("missing").with(el("h2").with(title)).with(rows))
}

/// How it was measured, and the command to do it again.
fn method(report: &YieldReport<'_>, plan: &Plan, parts: &Parts, command_line: &[String]) -> El {
    let left_out = said::left_out(report);
    let notes = [&parts.asked].into_iter().chain(&parts.notes);
    let notes: Vec<El> = notes.chain(&left_out).map(paragraph).collect();
    section("method")
        .with(el("h2").with("How it was measured"))
        .with(el("div").class("sentences").with_all(notes))
        .with(list(facts(report, plan)))
        .with(again(command_line, Some(("arms", plan.seed))))
}

fn facts(report: &YieldReport<'_>, plan: &Plan) -> Vec<(&'static str, Html)> {
    let side = plan.sideload.as_ref();
    let headroom = side.map(|side| format!("{} %", trimmed_pct(side.headroom.pct())));
    let facts = [
        ("Service", Some(plan.workload.to_string())),
        ("Job", side.map(|side| side.job.to_string())),
        ("CPUs of the job", side.map(|side| side.cpus.to_string())),
        ("Latency budget", Some(report.findings.budget.to_string())),
        ("Headroom of quotas and cpuset", headroom),
        (
            "Passes",
            Some(format!("{}, each arm once in each, shuffled", plan.passes)),
        ),
        ("A trial measures", Some(human_duration(plan.window))),
        ("Seed", Some(plan.seed.to_string())),
        (
            "Record",
            Some(report.record.file.to_string_lossy().into_owned()),
        ),
        ("Plimsoll", Some(report.provenance.plimsoll_version.clone())),
    ];
    let known = facts
        .into_iter()
        .filter_map(|(name, fact)| Some((name, outside(&fact?))));
    known.collect()
}
