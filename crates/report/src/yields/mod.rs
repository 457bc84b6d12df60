//! What a best-effort job beside a service gained and what the service paid
//! (`docs/schema/yield.schema.json`).

mod charts;
mod csv;
mod curve;
mod head;
mod notes;
mod sentences;
mod step;
mod table;

#[cfg(test)]
pub(crate) mod tests;

use crate::Report;
use crate::document::json::Json;
use crate::document::{Document, Fact, Facts, Role, Run, Table, file_name};
use crate::table::Ink;
use plimsoll_model::{StepCourse, TrialPicture, YieldFindings, YieldPlan};

const SCHEMA_VERSION: u32 = 3;

pub type YieldReport<'a> = Report<'a, YieldPlan, YieldFindings>;

/// What the charts of a page are drawn from.
#[derive(Debug, Clone, Default)]
pub struct YieldPicture {
    pub trials: Vec<TrialPicture>,
    /// Where the load steps: latency after the steps of each arm with a job.
    pub steps: Vec<StepCourse>,
}

pub fn document<'a>(
    report: &'a YieldReport<'a>,
    picture: Option<&'a YieldPicture>,
) -> Document<'a> {
    let findings = report.findings;
    let (asked, table, notes, answer) = match &report.plan.step {
        None => (
            sentences::asked(report),
            Table {
                legend: notes::legend(findings),
                ..Table::of(curve::table(findings))
            },
            notes::of(report),
            [curve::sentences(findings), sentences::answer(report)].concat(),
        ),
        Some(plan) => (
            step::asked(report, plan),
            step::table(findings),
            step::notes(report),
            step::answer(report, plan),
        ),
    };
    let (workload, job) = (&report.workload, report.plan.sideload.job.to_string());
    let subject = Ink::Bold.says(format!("{workload}, beside it {job}"));
    let mut out = Document::new(format!("{job} beside {workload}"), vec![subject]);
    out.headline = head::headline(report);
    out.tiles = head::tiles(report);
    out.method = head::facts(report);
    out.say(Role::Note, [asked]);
    out.table(table);
    out.say(Role::Note, notes);
    if let Some(YieldPicture { trials, steps }) = picture {
        let view = charts::Arms {
            report,
            trials,
            steps,
        };
        let charts = charts::figures(view);
        out.picker = Some(charts::picker(view, &charts));
        out.charts(charts);
    }
    out.facts(missing(report));
    out.say(Role::Answer, answer);
    out.say(Role::Doubt, sentences::doubtful_work(findings));
    out.run = Some(Run::of(report, "arms"));
    out.json = Some(Json::of_run(SCHEMA_VERSION, report, Some(job)));
    out.csv = Some(csv::csv(report));
    out.download = file_name(report.record.file);
    out
}

fn missing(report: &YieldReport<'_>) -> Facts {
    let missing = report.findings.missing_arms.iter();
    Facts {
        id: "missing",
        title: "Mechanisms unavailable on this host".to_owned(),
        facts: missing
            .map(|missing| Fact::new(missing.arm.name(), missing.reason.clone()))
            .collect(),
    }
}
