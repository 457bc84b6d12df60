//! Against the format, read by another hand.

use super::*;
use serde_json::Value;

fn job(job: u32, worker: usize, start_ns: u64, end_ns: u64) -> JobTime {
    JobTime {
        job,
        worker,
        start_ns,
        end_ns,
    }
}

fn events_of(runs: &[Trace<'_>]) -> Vec<Value> {
    let mut out = Vec::new();
    write_trace(&mut out, runs).unwrap();
    let read: Value = serde_json::from_slice(&out).unwrap();
    read["traceEvents"].as_array().unwrap().clone()
}

fn of_phase<'a>(events: &'a [Value], phase: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["ph"] == phase).collect()
}

/// 0 -> {1, 2} -> 3 on two workers, to the nanosecond.
fn diamond() -> (JobGraph, [JobTime; 4]) {
    let graph = JobGraph::new(&[1, 1, 3, 1], &[(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
    let times = [
        job(0, 0, 1_005, 2_000),
        job(1, 0, 2_010, 3_000),
        job(2, 1, 2_500, 5_499),
        job(3, 1, 5_600, 6_000),
    ];
    (graph, times)
}

#[test]
fn every_event_has_what_its_phase_needs() {
    let (graph, times) = diamond();
    let parked = WorkerEvent {
        worker: 1,
        kind: WorkerEventKind::Park,
        start_ns: 0,
        end_ns: 2_400,
    };
    let run = Trace {
        scheduler: "a \"quoted\"\n\\name",
        graph: &graph,
        times: &times,
        events: &[parked],
    };
    let events = events_of(&[run, run]);
    for event in &events {
        assert!(event["pid"].is_u64() && event["tid"].is_u64(), "{event}");
        assert!(event["name"].is_string(), "{event}");
        let needed: &[&str] = match event["ph"].as_str().unwrap() {
            "M" => &["args"],
            "X" => &["ts", "dur", "cat"],
            "s" => &["ts", "id", "cat"],
            "f" => &["ts", "id", "cat", "bp"],
            other => panic!("unknown phase {other}"),
        };
        for key in needed {
            assert!(!event[key].is_null(), "{key}: {event}");
        }
    }
    assert_eq!(of_phase(&events, "X").len(), 2 * (4 + 1));
    assert_eq!(events[0]["args"]["name"], "a \"quoted\"\n\\name");
}

#[test]
fn jobs_are_slices_on_the_track_of_their_worker() {
    let (graph, times) = diamond();
    let run = Trace {
        scheduler: "rayon",
        graph: &graph,
        times: &times,
        events: &[],
    };
    let events = events_of(&[run]);
    let third = of_phase(&events, "X")[2].clone();
    assert_eq!(
        (&third["tid"], &third["name"]),
        (&1.into(), &"job 2".into())
    );
    assert_eq!(third["ts"].as_f64(), Some(2.5));
    assert_eq!(third["dur"].as_f64(), Some(2.999));
    assert_eq!(third["args"]["weight"], 3);
    assert_eq!(third["args"]["level"], 1);
    let names = of_phase(&events, "M");
    assert_eq!(names.len(), 3, "one process and two workers");
}

#[test]
fn each_dependency_is_a_flow_that_begins_in_one_job_and_ends_in_the_other() {
    let (graph, times) = diamond();
    let run = Trace {
        scheduler: "rayon",
        graph: &graph,
        times: &times,
        events: &[],
    };
    let events = events_of(&[run, run]);
    let (starts, ends) = (of_phase(&events, "s"), of_phase(&events, "f"));
    assert_eq!(
        (starts.len(), ends.len()),
        (2 * graph.edges(), 2 * graph.edges())
    );
    let mut ids: Vec<u64> = starts.iter().map(|s| s["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), starts.len(), "an id is one flow");
    let encloses = |slice: &Value, event: &Value| {
        let at = event["ts"].as_f64().unwrap();
        let ts = slice["ts"].as_f64().unwrap();
        let same = slice["tid"] == event["tid"] && slice["pid"] == event["pid"];
        same && (ts..ts + slice["dur"].as_f64().unwrap()).contains(&at)
    };
    let slices = of_phase(&events, "X");
    for start in &starts {
        let end = ends.iter().find(|end| end["id"] == start["id"]).unwrap();
        assert!(start["ts"].as_f64() < end["ts"].as_f64());
        for event in [start, end] {
            assert!(slices.iter().any(|slice| encloses(slice, event)), "{event}");
        }
    }
}

#[test]
fn a_run_that_was_not_timed_is_an_empty_trace() {
    let graph = JobGraph::new(&[1], &[]).unwrap();
    let run = Trace {
        scheduler: "tokio",
        graph: &graph,
        times: &[],
        events: &[],
    };
    assert_eq!(events_of(&[run]).len(), 1);
    assert_eq!(events_of(&[]).len(), 0);
}
