//! A run of copies of one command: how much they slow each other down.

use crate::chart::figures::copies::{self as charts, CopiesView};
use crate::document::csv::{Column as Field, number as field, table as csv_table};
use crate::document::json::Json;
use crate::document::{Document, Fact, Role, Run, Table, remedy};
use crate::html::Levels;
use crate::number::{self, counted, for_count};
use crate::sentence::Sentence;
use crate::table::{Column, Ink, known, trials};
use crate::{Report, smt, sweep};
use plimsoll_model::{CopiesFinding, CopiesFindings, CopiesPlan, SmtFinding, TrialPicture};

/// The version of the schema that the JSON keeps to.
const SCHEMA_VERSION: u32 = 3;

/// All that a document of copies is made from, but the picture.
pub type CopiesReport<'a> = Report<'a, CopiesPlan, CopiesFindings>;

/// What a run of copies has to say; with charts of a page if there is a picture
/// of its trials.
pub fn document<'a>(
    report: &'a CopiesReport<'a>,
    picture: Option<&'a Vec<TrialPicture>>,
) -> Document<'a> {
    let findings = report.findings;
    let table = report.table();
    let mut out = Document::of_workload(report);
    out.run = Some(match table {
        Some(_) => Run::imported(report),
        None => Run::of(report, "numbers of copies"),
    });
    out.json = Some(Json::of_run(SCHEMA_VERSION, report, None));
    let answers = sentences(&findings.copies);
    if let Some(first) = answers.first() {
        out.headline = first.text.trim_end_matches('.').to_owned();
    }
    if table.is_none() {
        out.method = method(report.plan);
    }
    out.terminal_charts(|| charts::terminal(findings));
    if let Some(trials) = picture {
        let charts = charts::figures(CopiesView {
            findings,
            trials,
            tally: &report.record.trials.in_words(),
            is_imported: table.is_some(),
        });
        out.picker = Some(Levels::of_copies(&findings.copies, &charts));
        out.charts(charts);
    }
    out.table(Table::of(columns(&findings.copies, &findings.smt)));
    out.say(
        Role::Note,
        table.map(|table| sweep::imported(table, report.record.trials.all)),
    );
    out.say(Role::Note, smt::of_copies(report));
    out.say(Role::Answer, answers);
    if findings.copies.iter().any(is_disturbed) {
        out.say(Role::Doubt, remedy(&report.record.trials));
    }
    out.csv = Some(csv_table(&COPIES, &findings.copies));
    out
}

/// The columns of the slow-down table.
pub(crate) fn columns(rows: &[CopiesFinding], smt: &SmtFinding) -> Vec<Column> {
    let ratio = |ratio: f64| format!("{ratio:.2}");
    let mut columns = vec![
        Column::new("copies", "", 0, rows.iter().map(|r| r.copies.to_string())),
        Column::new(
            "time",
            "s",
            0,
            rows.iter().map(|r| number::short(r.seconds)),
        ),
        Column::new(
            "slowest",
            "s",
            2,
            rows.iter().map(|r| number::short(r.slowest_seconds)),
        ),
        Column::new(
            "CPU",
            "%",
            0,
            rows.iter().map(|r| known(r.cpu_pct, number::pct)),
        ),
        Column::new(
            "efficiency",
            "ratio",
            0,
            rows.iter().map(|r| known(r.efficiency_ratio, ratio)),
        ),
        Column::new(
            "trials",
            "",
            1,
            rows.iter().map(|r| trials(r.trials, r.invalid_trials)),
        ),
    ];
    // Beside the CPU use that it corrects.
    if let Some(work) = smt::column(smt, rows) {
        columns.insert(AFTER_CPU, work);
    }
    columns
}

/// Where a column stands that follows CPU use.
const AFTER_CPU: usize = 4;

/// What the row with the most copies says.
pub(crate) fn sentences(rows: &[CopiesFinding]) -> Vec<Sentence> {
    let Some(most) = rows.iter().rfind(|r| r.trials > 0) else {
        let none = "There is no valid trial, so how much copies slow each other down is not known.";
        return vec![Sentence::new(Ink::Yellow, none)];
    };
    let copies = f64::from(most.copies);
    let work = match most.efficiency_ratio {
        _ if most.copies == 1 => Sentence::new(
            Ink::Plain,
            format!("One copy alone takes {} s.", number::short(most.seconds)),
        ),
        Some(ratio) => Sentence::new(
            Ink::Green,
            format!(
                "With {} copies at once, each runs at {:.0} % of the speed of one alone: \
                 together they do the work of {} copies that do not disturb each other.",
                most.copies,
                100.0 * ratio,
                number::short(copies * ratio),
            ),
        ),
        None => Sentence::new(
            Ink::Yellow,
            format!(
                "With {} copies at once, each takes {} s; no valid trial of one copy alone, so how \
                 much they slow each other down is not known.",
                most.copies,
                number::short(most.seconds),
            ),
        ),
    };
    let cpu = match most.cpu_pct {
        Some(cpu) => format!("CPU use is then {} %.", number::pct(cpu)),
        None => "CPU use is not known.".to_owned(),
    };
    let mut out = vec![work, Sentence::new(Ink::Plain, cpu)];
    let disturbed = rows.iter().filter(|r| is_disturbed(r));
    out.extend(disturbed.map(|r| {
        let text = format!(
            "No valid trial with {}; its row shows the disturbed {}.",
            counted(r.copies, "copy", "copies"),
            for_count(r.invalid_trials, "one", "ones"),
        );
        Sentence::new(Ink::Red, text)
    }));
    out
}

/// Whether a row shows invalid trials, for want of others.
pub(crate) fn is_disturbed(row: &CopiesFinding) -> bool {
    row.trials == 0
}

/// How it was measured.
fn method(plan: &CopiesPlan) -> Vec<Fact> {
    let copies: Vec<String> = plan.numbers.iter().map(ToString::to_string).collect();
    Fact::known([
        ("Copies at once", Some(copies.join(", "))),
        (
            "Visits of each",
            Some(format!(
                "{}, in shuffled order and mirrored",
                plan.run.passes
            )),
        ),
        ("CPUs", sweep::method::cpus(&plan.run.cpus)),
        ("Seed", Some(plan.run.seed.to_string())),
    ])
}

/// Under a head that carries the units; what is not known is an empty field.
const COPIES: [Field<CopiesFinding>; 7] = [
    ("copies", |c| c.copies.to_string()),
    ("seconds", |c| field(c.seconds)),
    ("slowest_seconds", |c| field(c.slowest_seconds)),
    ("cpu_pct", |c| field(c.cpu_pct)),
    ("efficiency_ratio", |c| field(c.efficiency_ratio)),
    ("trials", |c| c.trials.to_string()),
    ("invalid_trials", |c| c.invalid_trials.to_string()),
];
