//! A run of copies of one command: how much they slow each other down.

mod charts;
mod findings;

use crate::document::csv::{Field, Interval, Number, Text, table as csv_table};
use crate::document::json::Json;
use crate::document::{Document, Fact, Role, Run, Table, remedy};
use crate::{Report, method, smt};
use findings::{columns, faster, is_disturbed, sentences, too_short};
use plimsoll_model::{CopiesFinding, CopiesFindings, CopiesPlan, TrialPicture};

const SCHEMA_VERSION: u32 = 4;

pub type CopiesReport<'a> = Report<'a, CopiesPlan, CopiesFindings>;

pub fn document<'a>(
    report: &'a CopiesReport<'a>,
    picture: Option<&'a Vec<TrialPicture>>,
) -> Document<'a> {
    let findings = report.findings;
    let (table, is_table) = (report.table(), report.table().is_some());
    let mut out = Document::of_workload(report);
    out.run = Some(match table {
        Some(_) => Run::imported(report),
        None => Run::of(report, "numbers of copies"),
    });
    out.json = Some(Json::of_run(SCHEMA_VERSION, report, None));
    let answers = sentences(&findings.copies, is_table);
    if let Some(first) = answers.first() {
        out.headline = first.text.trim_end_matches('.').to_owned();
    }
    if table.is_none() {
        out.method = facts(report.plan);
    }
    let view = move |trials| charts::View {
        findings,
        trials,
        is_table,
    };
    out.terminal_charts(move || charts::terminal(view(&[])));
    if let Some(trials) = picture {
        // Of a table it is not known when its rows were measured.
        let own = Some(trials).filter(|_| table.is_none());
        let tally = report.record.trials.in_words();
        let time_line = own.and_then(|trials| charts::of_trials(trials, tally));
        let figures = charts::figures(view(trials), time_line);
        out.picker = Some(charts::picker(view(trials), &figures));
        out.charts(figures);
    }
    out.table(Table::of(columns(findings, is_table)));
    out.say(
        Role::Note,
        table.map(|table| method::imported(table, report.record.trials.all)),
    );
    out.say(Role::Note, smt::of_copies(report));
    out.say(Role::Answer, answers);
    if findings.copies.iter().any(is_disturbed) {
        out.say(Role::Doubt, remedy(&report.record.trials));
    }
    out.say(Role::Doubt, faster(&findings.copies));
    let measured_here = table.is_none().then_some(&findings.copies[..]);
    out.say(Role::Doubt, measured_here.and_then(too_short));
    out.csv = Some(csv_table(&COPIES, &findings.copies));
    out
}

fn facts(plan: &CopiesPlan) -> Vec<Fact> {
    let copies: Vec<String> = plan.numbers.iter().map(ToString::to_string).collect();
    Fact::known([
        ("Copies at once", Some(copies.join(", "))),
        ("Visits of each", Some(method::visits(plan.run.passes))),
        ("CPUs", method::cpus(&plan.run.cpus)),
        ("Seed", Some(plan.run.seed.to_string())),
    ])
}

const COPIES: [Field<CopiesFinding>; 7] = [
    Text("copies", |c| c.copies.to_string()),
    Number("seconds", |c| Some(c.seconds)),
    Number("slowest_seconds", |c| Some(c.slowest_seconds)),
    Number("cpu_pct", |c| c.cpu_pct),
    Interval("efficiency_ratio", |c| c.efficiency_ratio),
    Text("trials", |c| c.trials.to_string()),
    Text("invalid_trials", |c| c.invalid_trials.to_string()),
];
