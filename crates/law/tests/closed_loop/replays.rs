//! Replays of logs from closed loops.

use crate::rig::Rig;
use crate::{SECOND, TENTH, all_laws, guard, ours, unchanged};
use plimsoll_law::{Difference, Entry, Headroom, Law, Plimsoll, Reading, replay};
use plimsoll_simulate::SharedSpec;

fn lines(rig: &Rig) -> impl Iterator<Item = &str> {
    rig.lines.iter().map(String::as_str)
}

#[test]
fn log_of_each_law_replays() {
    for law in all_laws() {
        for period in [TENTH, SECOND] {
            let mut rig = Rig::new(law.clone(), SharedSpec::default(), period);
            let load = |t: f64| match t % 40.0 < 10.0 {
                true => 0.9,
                false => 0.1 + t % 7.0 / 20.0,
            };
            rig.run(100.0, load, unchanged);
            rig.run(20.0, load, |s| s.machine = None);
            rig.run(20.0, load, guard(Reading::of(0.1 + 0.2, 0.25)));
            rig.run(60.0, load, guard(Reading::of(0.1, 0.3)));
            let decided = 200.0 / period.as_secs_f64();
            assert_eq!(replay(lines(&rig)), Ok(decided.round() as usize));
        }
    }
}

#[test]
fn log_continues_in_a_new_file_and_with_another_headroom() {
    let mut rig = Rig::new(ours(), SharedSpec::default(), TENTH);
    rig.run(20.0, |_| 0.3, unchanged);
    let wider = Law::Plimsoll(Plimsoll::new(Headroom::pct(40.0).unwrap()));
    let begin = |law: &Law, rig: &Rig| Entry::Begin {
        law: law.clone(),
        state: rig.state.clone(),
    };
    let new_file = rig.lines.len();
    rig.lines.push(begin(&wider, &rig).to_line().unwrap());
    rig.law = wider;
    rig.run(20.0, |_| 0.3, unchanged);
    assert_eq!(replay(lines(&rig)), Ok(400));
    assert_eq!(replay(lines(&rig).skip(new_file)), Ok(200));
}

#[test]
fn first_different_decision_is_reported() {
    let mut rig = Rig::new(ours(), SharedSpec::default(), SECOND);
    rig.run(20.0, |_| 0.3, unchanged);
    let line = rig.lines[9].clone();
    let changed = line.replacen("\"cpus\":2", "\"cpus\":1", 1);
    assert_ne!(line, changed);
    rig.lines[9] = changed;
    let found = replay(lines(&rig)).unwrap_err();
    let sentence = found.to_string();
    assert!(
        matches!(found, Difference::Decides { line: 10, .. }),
        "{found}"
    );
    assert!(
        sentence.starts_with("line 10 of the log, at 9.000 s, says 'runs with"),
        "{found}"
    );
}

#[test]
fn log_without_law_or_with_truncated_line_is_an_error() {
    let mut rig = Rig::new(ours(), SharedSpec::default(), SECOND);
    rig.run(5.0, |_| 0.3, unchanged);
    let without_law = replay(lines(&rig).skip(1));
    assert_eq!(without_law, Err(Difference::NoLaw { line: 1 }));
    rig.lines[5].truncate(40);
    let found = replay(lines(&rig)).unwrap_err();
    assert!(
        matches!(found, Difference::Unreadable { line: 6, .. }),
        "{found}"
    );
}

#[test]
fn serialized_names_have_unit_suffixes() {
    let mut rig = Rig::new(ours(), SharedSpec::default(), SECOND);
    rig.run(2.0, |_| 0.2, guard(Reading::of(1.0, 2.0)));
    for (line, text) in [
        (0, "\"headroom_share\":0.2"),
        (0, "\"settle_ns\":1000000000"),
        (0, "\"frozen_for_ns\":0"),
        (2, "\"at_ns\":2000000000"),
        (2, "\"sideload_ns\":"),
        (2, "\"action\":\"run\""),
        (2, "\"why\":"),
    ] {
        assert!(
            rig.lines[line].contains(text),
            "{text} in {}",
            rig.lines[line]
        );
    }
}
