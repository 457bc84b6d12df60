//! `docs/record.md` describes the content of the file.

use super::sample::{TestDir, copies_trial, invalid_trial, seconds, trial, yield_trial};
use plimsoll_model::Trial;

const DOCS: &str = include_str!("../../../../docs/record.md");

#[test]
fn every_table_and_column_is_documented() {
    let test_dir = TestDir::new();
    let record = test_dir.create("run.plimsoll");
    let sql = "SELECT m.name, c.name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c
               WHERE m.type = 'table'";
    let mut statement = record.conn.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    let rows: Vec<(String, String)> = rows.unwrap().map(Result::unwrap).collect();
    assert!(rows.len() > 60, "{rows:?}");
    for (table, column) in rows {
        let (_, after) = DOCS.split_once(&format!("\n`{table}`, ")).expect(&table);
        let section = after.split("\n\n`").next().unwrap();
        assert!(section.contains(&format!("`{column}`")), "{table}.{column}");
    }
}

#[test]
fn documented_queries_work() {
    let (_test_dir, mut record) = TestDir::with_new_record();
    let seconds = seconds(3);
    record
        .append(&Trial {
            seconds,
            ..invalid_trial(0)
        })
        .unwrap();
    record.append(&yield_trial()).unwrap();
    let queries: Vec<&str> = DOCS
        .split("```sql\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert_eq!(queries.len(), 3);
    for query in queries {
        let mut statement = record.conn.prepare(query).unwrap();
        assert!(statement.exists([]).unwrap(), "{query}");
    }
}

#[test]
fn settings_and_outcomes_look_as_documented() {
    let (_test_dir, mut record) = TestDir::with_new_record();
    record.append(&trial(0)).unwrap();
    record.append(&yield_trial()).unwrap();
    record.append(&copies_trial()).unwrap();
    let sql = "SELECT setting_json, outcome_json FROM trial";
    let mut statement = record.conn.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok([row.get(0)?, row.get(1)?]));
    let rows: Vec<[String; 2]> = rows.unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 3);
    for json in rows.iter().flatten() {
        assert!(DOCS.contains(&format!("`{json}`")), "{json}");
    }
}
