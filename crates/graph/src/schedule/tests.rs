use super::*;
use std::num::NonZeroU32;

fn diamond() -> (JobGraph, ListSchedule) {
    let graph = JobGraph::new(&[1, 1, 3, 1], &[(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
    let list = ListSchedule::of(&graph, NonZeroU32::new(2).unwrap());
    (graph, list)
}

fn timing(stress: f64) -> Timing {
    Timing {
        grain: Duration::from_micros(100),
        stress,
        tolerance: 0.1,
        lead: Duration::from_micros(1000),
    }
}

fn times(schedule: &Schedule) -> Vec<(u64, u64)> {
    let us = |r: &Release| (r.start_ns / 1000, r.deadline_ns.unwrap() / 1000);
    schedule.releases().iter().map(us).collect()
}

#[test]
fn times_follow_the_formula() {
    let (graph, list) = diamond();
    let at = |stress| Schedule::of(&graph, &list, &timing(stress)).unwrap();
    let one = at(1.0);
    // The tolerance is a tenth of 500 us.
    let wanted = [(1000, 1150), (1100, 1250), (1100, 1450), (1400, 1550)];
    assert_eq!(times(&one), wanted);
    let half = at(0.5);
    let wanted = [(1000, 1300), (1200, 1500), (1200, 1900), (1800, 2100)];
    assert_eq!(times(&half), wanted);
    assert_eq!(half.length(), Duration::from_micros(1000));
}

#[test]
fn stress_beyond_the_bound_is_refused() {
    let (graph, list) = diamond();
    let highest = Schedule::highest_stress(&list, 0.1);
    assert!((highest - 1.1).abs() < 1e-9);
    assert!(Schedule::of(&graph, &list, &timing(highest)).is_ok());
    let error = Schedule::of(&graph, &list, &timing(1.2)).unwrap_err();
    assert!(matches!(error, ScheduleError::BelowBound { .. }));
    assert!(
        error.to_string().ends_with("stay at or below 1.100"),
        "{error}"
    );
}

#[test]
fn what_is_no_time_is_refused() {
    let (graph, list) = diamond();
    let refused = |timing: Timing| Schedule::of(&graph, &list, &timing).unwrap_err();
    for stress in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(refused(timing(stress)), ScheduleError::Stress(_)));
    }
    let mut none = timing(1.0);
    none.grain = Duration::ZERO;
    assert_eq!(refused(none), ScheduleError::NoGrain);
    let mut long = timing(1.0);
    long.grain = Duration::MAX;
    assert_eq!(refused(long), ScheduleError::TooLong);
    let mut early = timing(1.0);
    early.tolerance = -0.1;
    assert_eq!(refused(early), ScheduleError::Tolerance(-0.1));
    assert_eq!(refused(timing(1e-18)), ScheduleError::TooLong);
}

#[test]
fn own_times_are_held_against_order_and_bound() {
    let (graph, list) = diamond();
    let grain = Duration::from_micros(1);
    let release = |start_ns, deadline_ns| Release {
        start_ns,
        deadline_ns,
    };
    let made = |releases| Schedule::from_releases(&graph, &list, grain, releases);
    let mut releases = vec![release(0, Some(6000)); 4];
    assert!(made(releases.clone()).is_ok());
    releases[2] = release(900, Some(800));
    let error = made(releases.clone()).unwrap_err();
    let (job, early_ns) = (2, 100);
    assert_eq!(error, ScheduleError::DeadlineBeforeStart { job, early_ns });
    assert!(matches!(
        made(vec![release(0, Some(4999)); 4]),
        Err(ScheduleError::TooTight { needs_ns: 5000, .. })
    ));
    assert!(made(vec![release(0, None); 4]).is_ok());
    assert!(matches!(
        made(releases[..2].to_vec()),
        Err(ScheduleError::Count { given: 2, count: 4 })
    ));
}
