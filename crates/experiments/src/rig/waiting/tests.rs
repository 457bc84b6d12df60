//! Waiting on simulated trials.

use super::*;
use crate::rig::outcome::Part;
use crate::rig::outcome::RigTrial;
use crate::rig::planner::RigPlanner;
use crate::rig::tests::plan;
use plimsoll_engine::{Next, Planner};
use plimsoll_model::Trial;

const US: Duration = Duration::from_micros(1);

/// What a policy does by construction: p99 in us, burn in percent of a core.
type Known = fn(&str) -> (f64, f64);

fn usual(policy: &str) -> (f64, f64) {
    match policy {
        "spin" => (5.0, 100.0),
        "adaptive" => (5.2, 20.0),
        "park" => (60.0, 2.0),
        "rayon" => (90.0, 3.0),
        other => unreachable!("{other}"),
    }
}

fn wait_plan(edit: impl FnOnce(&mut WaitPlan)) -> RigPlan {
    let mut plan = plan(&[Part::Wait], &["plimsoll"], 5);
    let mut wait = WaitPlan {
        policies: ["spin", "adaptive", "park", "rayon"]
            .map(String::from)
            .to_vec(),
        patterns: vec![GapPattern::Poisson, GapPattern::Fixed],
        mean_gaps: vec![1_000 * US],
        idle: None,
        price: 2_500 * US,
        budget: None,
        most_burn_pct: None,
    };
    edit(&mut wait);
    plan.wait = Some(wait);
    plan
}

/// All trials of a plan; passes differ by `noise`.
fn trials(plan: &RigPlan, known: Known, noise: f64) -> Vec<RigTrial> {
    let planner = RigPlanner::new(plan);
    let mut trials: Vec<RigTrial> = Vec::new();
    while let Next::Trial(spec) = planner.next(&trials) {
        let policy = spec.setting.scheduler().to_owned();
        let (p99_us, burn_pct) = known(&policy);
        // A noise of its own for each policy, which no pass shares.
        let turn = (u64::from(spec.pass) * 7 + policy.len() as u64 * 3) % 5;
        let factor = 1.0 + noise * (turn as f64 - 2.0);
        let window = spec.window;
        let mut trial: RigTrial = Trial::begun(spec, 0);
        let latency = Duration::from_nanos((p99_us * factor * 1e3) as u64);
        trial.work.latency.record_many(latency, 3_300);
        trial.window = window;
        trial.outcome.waiting = Some(WaitFigures {
            workers_cpu: window.mul_f64(burn_pct * factor / 100.0),
            window,
            gaps: window,
            hindsight: window.mul_f64(0.9),
            parked: Some(if policy == "park" { 3_300 } else { 0 }),
            wakeups: 3_300,
        });
        trials.push(trial);
    }
    trials
}

fn found(
    edit: impl FnOnce(&mut WaitPlan),
    noise: f64,
) -> (Vec<WaitingFinding>, WaitingRecommendation) {
    let plan = wait_plan(edit);
    let (rows, recommended) = findings(&plan, &trials(&plan, usual, noise));
    (rows, recommended.unwrap())
}

#[test]
fn each_policy_is_visited_at_each_kind_of_gaps_in_each_pass() {
    let plan = wait_plan(|_| {});
    let trials = trials(&plan, usual, 0.0);
    assert_eq!(trials.len(), 4 * 2 * 4);
    assert!(trials.iter().all(|t| t.spec.window == 3_300_000 * US));
}

#[test]
fn a_policy_that_is_slower_and_dearer_is_not_on_the_front() {
    let (rows, _) = found(|_| {}, 0.01);
    let of = |name: &str| rows.iter().find(|row| row.policy == name).unwrap();
    assert!(of("spin").on_front && of("adaptive").on_front && of("park").on_front);
    assert!(!of("rayon").on_front);
    assert_eq!(of("rayon").dominated_by, ["adaptive", "park"][1..]);
    assert!(of("park").burn_pct.unwrap().holds(2.0));
    // 3,300 sleeps of 2.5 ms each, in 0.9 times 3.3 s.
    let ratio = of("park").competitive_ratio.unwrap();
    assert!((ratio.value - 2.8).abs() < 0.03, "{ratio:?}");
    assert!(of("park").parked_pct.unwrap().holds(100.0));
}

#[test]
fn without_limits_the_cheapest_of_the_fast_is_recommended() {
    let (_, found) = found(|_| {}, 0.01);
    assert_eq!(
        (found.policy.as_deref(), found.because),
        (Some("adaptive"), WaitingBecause::Knee)
    );
}

#[test]
fn a_latency_is_kept_at_least_burn() {
    let with = |goal: &str, noise| found(|p| p.budget = Some(goal.parse().unwrap()), noise).1;
    assert_eq!(with("p99<20us", 0.01).policy.as_deref(), Some("adaptive"));
    assert_eq!(with("p99<80us", 0.01).policy.as_deref(), Some("park"));
    let none = with("p99<1us", 0.01);
    assert_eq!(
        (none.policy, none.because),
        (None, WaitingBecause::NoneWithinLimits)
    );
    // 5 and 5.2 us with 10 % from pass to pass.
    let open = with("p99<5.1us", 0.1);
    assert_eq!(
        (open.policy, open.because),
        (None, WaitingBecause::Inconclusive)
    );
}

#[test]
fn a_dearer_policy_has_to_be_seen_to_be_faster() {
    let with = |pct, noise| found(|p| p.most_burn_pct = Some(pct), noise).1.policy;
    assert_eq!(with(5.0, 0.01).as_deref(), Some("park"));
    assert_eq!(with(30.0, 0.01).as_deref(), Some("adaptive"));
    // Spin is 4 % faster than adaptive, which noise hides.
    assert_eq!(with(200.0, 0.1).as_deref(), Some("adaptive"));
    assert_eq!(with(200.0, 0.001).as_deref(), Some("spin"));
}

#[test]
fn too_few_trials_are_inconclusive() {
    let plan = wait_plan(|_| {});
    let mut trials = trials(&plan, usual, 0.01);
    trials.retain(|t| t.spec.setting.scheduler() != "park");
    let (rows, found) = findings(&plan, &trials);
    assert_eq!(found.unwrap().because, WaitingBecause::Inconclusive);
    let park = rows.iter().find(|row| row.policy == "park").unwrap();
    assert!(park.burn_pct.is_none() && !park.on_front && park.trials == 0);
}

#[test]
fn patterns_keep_their_mean_and_follow_their_seed() {
    let mean = 1_000 * US;
    for pattern in GapPattern::ALL {
        let times: Vec<u64> = pattern.times(mean, 7).take(20_000).collect();
        let last = times[19_999] as f64 / 2e4;
        assert!((last / 1e6 - 1.0).abs() < 0.03, "{pattern}: {last}");
        assert!(times.is_sorted());
        assert!(
            times
                .iter()
                .copied()
                .eq(pattern.times(mean, 7).take(20_000))
        );
    }
    let bursty: Vec<u64> = GapPattern::Bursty.times(mean, 1).take(11).collect();
    assert_eq!(
        (bursty[0], bursty[9], bursty[10]),
        (9_100_000, 10_000_000, 19_100_000)
    );
}

#[test]
fn windows_are_long_enough_for_their_quantiles() {
    let of = |us: u32| WaitPlan::window(Duration::from_millis(500), GapPattern::Poisson, US * us);
    assert_eq!(of(50), Duration::from_millis(500));
    assert_eq!(of(1_000), Duration::from_millis(3_300));
    assert_eq!(of(5_000), Duration::from_millis(1_900));
}

#[test]
fn idleness_has_a_burn_and_no_part_in_the_recommendation() {
    let plan = wait_plan(|p| p.idle = Some(Duration::from_secs(10)));
    let (rows, with) = findings(&plan, &trials(&plan, usual, 0.01));
    let idle: Vec<&WaitingFinding> = rows.iter().filter(|r| r.gaps == GapPattern::Idle).collect();
    assert_eq!((idle.len(), idle[0].mean_gap_us), (4, 1e7));
    assert!(idle[2].burn_pct.unwrap().holds(2.0), "{:?}", idle[2]);
    assert_eq!(idle[2].latency_us, WaitingLatency::default());
    assert_eq!(with.unwrap(), found(|_| {}, 0.01).1);
    let specs = trials(&plan, usual, 0.0);
    let is_idle = |t: &&RigTrial| of_setting(&t.spec.setting).unwrap().1 == GapPattern::Idle;
    assert!(
        specs
            .iter()
            .filter(is_idle)
            .all(|t| t.spec.window.as_secs() == 10)
    );
}

#[test]
fn a_peer_that_is_lower_in_both_within_the_noise_is_undecided() {
    let known: Known = |policy| match policy {
        "rayon" => (5.1, 19.8),
        other => usual(other),
    };
    let told = |noise| {
        let plan = wait_plan(|p| {
            p.policies.retain(|name| name != "spin");
            p.patterns = vec![GapPattern::Bursty];
        });
        let (rows, _) = findings(&plan, &trials(&plan, known, noise));
        let own = rows
            .iter()
            .find(|r| r.policy == "adaptive")
            .unwrap()
            .clone();
        (own.dominated_by, own.lower_within_noise, undecided(&rows))
    };
    let (dominated, within, text) = told(0.1);
    assert_eq!(
        (dominated.len(), &within[..]),
        (0, &["rayon".to_owned()][..])
    );
    assert_eq!(
        text.as_deref(),
        Some(
            "Undecided: rayon is lower in both than adaptive at bursty gaps of 1ms, within the noise (p99 and burn)."
        )
    );
    let (dominated, within, text) = told(0.0001);
    assert_eq!((dominated.len(), within.len(), text), (1, 0, None));
}

#[test]
fn no_line_is_wider_than_the_terminal_and_no_column_vanishes_unsaid() {
    let all = ["spin", "spin-then-park:20.5us", "yield-then-park", "tokio"];
    let known: Known = |policy| (1e3 + policy.len() as f64, 99.0);
    let plan = wait_plan(|p| {
        p.policies = all.map(String::from).to_vec();
        p.idle = Some(Duration::from_secs(10));
    });
    let (rows, recommended) = findings(&plan, &trials(&plan, known, 0.2));
    let found = crate::rig::findings::RigFindings {
        waiting: rows,
        waiting_recommended: recommended,
        ..Default::default()
    };
    for width in [60, 80, 200] {
        let mut document = plimsoll_report::Document::default();
        crate::rig::tables::add(&mut document, &found);
        let look = plimsoll_report::Look {
            width,
            colour: false,
            charts: None,
        };
        let text = plimsoll_report::render(&document, plimsoll_report::Format::Text, look);
        let text = text.unwrap();
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}\n{text}");
        }
        let (_, left_out) = text.split_once("Left out").unwrap_or_default();
        assert_eq!(left_out.is_empty(), width != 80, "{text}");
        for column in ["p50", "p99.9", "slept", "ratio", "trials"] {
            assert!(text.contains(column), "{column}: {text}");
        }
    }
}
