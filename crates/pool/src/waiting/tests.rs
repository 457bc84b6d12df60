//! The policies on simulated time.

use super::*;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

fn unit(rng: &mut Xoshiro256PlusPlus) -> f64 {
    ((rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

fn exponential_ns(rng: &mut Xoshiro256PlusPlus, mean_ns: u64) -> u64 {
    (-unit(rng).ln() * mean_ns as f64) as u64
}

/// Gaps of a seed, by number.
type Gaps = fn(&mut Xoshiro256PlusPlus, usize) -> u64;

/// What a policy paid for gaps, and what it did.
struct Paid {
    spun_ns: f64,
    parked: usize,
    hindsight_ns: f64,
    total_ns: f64,
    gaps: usize,
}

impl Paid {
    fn cost_ns(&self) -> f64 {
        self.spun_ns + self.parked as f64 * WAKE_UP_PRICE.as_nanos() as f64
    }

    /// The competitive ratio.
    fn ratio(&self) -> f64 {
        self.cost_ns() / self.hindsight_ns
    }

    fn parked_share(&self) -> f64 {
        self.parked as f64 / self.gaps as f64
    }

    fn burn(&self) -> f64 {
        self.spun_ns / self.total_ns
    }
}

fn adaptive_on(gaps_ns: impl Iterator<Item = u64>) -> Paid {
    let price_ns = WAKE_UP_PRICE.as_nanos() as f64;
    let mut rule = SpinLimit::new(WAKE_UP_PRICE);
    let mut paid = Paid {
        spun_ns: 0.0,
        parked: 0,
        hindsight_ns: 0.0,
        total_ns: 0.0,
        gaps: 0,
    };
    for gap_ns in gaps_ns {
        let (gap, limit) = (Duration::from_nanos(gap_ns), rule.limit());
        paid.spun_ns += gap.min(limit).as_nanos() as f64;
        paid.parked += usize::from(gap > limit);
        paid.hindsight_ns += (gap_ns as f64).min(price_ns);
        paid.total_ns += gap_ns as f64;
        paid.gaps += 1;
        assert_eq!(rule.observe(gap), rule.limit());
    }
    paid
}

fn of_seed(seed: u64, count: usize, gaps: Gaps) -> Paid {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    adaptive_on((0..count).map(|at| gaps(&mut rng, at)))
}

/// Bursts of 10 with 100 us between them, and breaks of 20 ms.
fn bursty(rng: &mut Xoshiro256PlusPlus, at: usize) -> u64 {
    let mean_ns = if at.is_multiple_of(10) {
        20 * MS
    } else {
        100 * US
    };
    exponential_ns(rng, mean_ns)
}

#[test]
fn cost_stays_near_that_of_knowing_the_next_gap() {
    // (gaps, the highest competitive ratio of 50 seeds)
    let cases: [(Gaps, f64); 8] = [
        (|_, _| 50 * US, 1.01),
        (|_, _| 20 * MS, 1.03),
        (|rng, _| exponential_ns(rng, 50 * US), 1.01),
        (|rng, _| exponential_ns(rng, MS), 1.3),
        (|rng, _| exponential_ns(rng, 2 * MS), 1.7),
        (|rng, _| exponential_ns(rng, 5 * MS), 1.7),
        (|rng, _| exponential_ns(rng, 20 * MS), 1.2),
        (bursty, 1.7),
    ];
    for (case, (gaps, highest)) in cases.into_iter().enumerate() {
        for seed in 0..50 {
            let ratio = of_seed(seed, 2_000, gaps).ratio();
            assert!(ratio <= highest, "case {case}, seed {seed}: {ratio}");
        }
    }
}

#[test]
fn short_gaps_are_spun_through_and_long_ones_slept_through() {
    for seed in 0..50 {
        let short = of_seed(seed, 2_000, |rng, _| exponential_ns(rng, MS));
        assert!(short.parked_share() < 0.01, "{}", short.parked_share());
        let long = of_seed(seed, 2_000, |rng, _| exponential_ns(rng, 6 * MS));
        assert!(long.burn() < 0.25, "{}", long.burn());
        let rare = of_seed(seed, 500, |rng, _| exponential_ns(rng, 100 * MS));
        assert!(rare.burn() < 0.002, "seed {seed}: {}", rare.burn());
        let bursts = of_seed(seed, 2_000, bursty);
        assert!(bursts.parked_share() < 0.2, "{}", bursts.parked_share());
        assert!(bursts.burn() < 0.25, "{}", bursts.burn());
    }
}

#[test]
fn no_sequence_of_gaps_costs_more_than_the_bound() {
    let price_ns = WAKE_UP_PRICE.as_nanos() as f64;
    for seed in 0..50 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut rule = SpinLimit::new(WAKE_UP_PRICE);
        let (mut cost_ns, mut hindsight_ns) = (0.0, 0.0);
        for _ in 0..2_000 {
            // One who knows the limit: just above it, as short as can be, or anything.
            let limit_ns = rule.limit().as_nanos() as u64;
            let gap_ns = match rng.next_u64() % 4 {
                0 | 1 => limit_ns + 1,
                2 => 1,
                _ => exponential_ns(&mut rng, 3 * MS),
            };
            cost_ns += (gap_ns.min(limit_ns)) as f64;
            cost_ns += if gap_ns > limit_ns { price_ns } else { 0.0 };
            hindsight_ns += (gap_ns as f64).min(price_ns);
            let most_ns = 2.25 * hindsight_ns + 4.0 * price_ns + 1e3;
            assert!(cost_ns <= most_ns, "seed {seed}: {cost_ns} of {most_ns}");
            rule.observe(Duration::from_nanos(gap_ns));
        }
    }
}

#[test]
fn it_follows_a_change_of_the_gaps_within_some_gaps() {
    let mut rule = SpinLimit::new(WAKE_UP_PRICE);
    let after = |rule: &mut SpinLimit, gap_ns: u64, gaps: u32| {
        for _ in 0..gaps {
            rule.observe(Duration::from_nanos(gap_ns));
        }
        rule.limit()
    };
    assert_eq!(rule.limit(), WAKE_UP_PRICE);
    assert!(after(&mut rule, 50 * US, 1) >= Duration::from_micros(50));
    assert!(after(&mut rule, 20 * MS, 100) < Duration::from_micros(60));
    assert!(after(&mut rule, 50 * US, 20) >= Duration::from_micros(50));
}

/// The steps of a wait, a microsecond each, until the worker parks or `at_most`.
fn steps(policy: Waiting, at_most: u32) -> Vec<Step> {
    let mut waiter = Waiter::new(policy);
    let each = (0..at_most).map(|round| waiter.step(round, 1 + u64::from(round) * US));
    let mut parked = false;
    each.take_while(|step| !std::mem::replace(&mut parked, *step == Step::Park))
        .collect()
}

#[test]
fn each_policy_takes_its_steps() {
    let count = |policy, step| {
        steps(policy, 200)
            .into_iter()
            .filter(|s| *s == step)
            .count()
    };
    assert_eq!(steps(Waiting::Park, 200), [Step::Park]);
    assert_eq!(count(Waiting::Spin, Step::Pause(16)), 196);
    assert_eq!(count(Waiting::SpinThenYield, Step::Yield), 194);
    let former = steps(Waiting::YieldThenPark, 200);
    assert_eq!(former.len(), 33);
    let pauses: Vec<Step> = [1, 2, 4, 8, 16, 32].map(Step::Pause).to_vec();
    assert_eq!(former[..6], pauses);
    let limited = steps(Waiting::ALL[3], 200);
    assert_eq!((limited.len(), limited.last()), (51, Some(&Step::Park)));
    let first = steps(Waiting::ALL[4], 9_999).len() as u128;
    assert_eq!(first - 1, WAKE_UP_PRICE.as_micros(), "nothing learnt yet");
}

#[test]
fn a_wait_is_as_long_as_from_its_first_step_to_work() {
    let mut waiter = Waiter::new(Waiting::ALL[4]);
    assert!(!waiter.waits() && waiter.needs_clock());
    waiter.step(0, 100);
    // Woken for nothing: it spins anew, but the gap goes on.
    waiter.step(0, 20 * MS);
    assert!(waiter.waits());
    waiter.found(30 * MS + 100);
    assert!(!waiter.waits());
    let mut expected = SpinLimit::new(WAKE_UP_PRICE);
    expected.observe(Duration::from_millis(30));
    assert_eq!(waiter.learnt, Some(expected));
}

#[test]
fn policies_are_read_as_they_are_written() {
    for policy in Waiting::ALL {
        assert_eq!(policy.to_string().parse(), Ok(policy));
    }
    let limit = Duration::from_nanos(20_500);
    let other = Waiting::SpinThenPark { limit };
    assert_eq!(other.to_string(), "spin-then-park:20.5us");
    assert_eq!("spin-then-park:20.5us".parse(), Ok(other));
    for (text, error) in [
        ("sleep", "'sleep' is no waiting policy"),
        ("park:5us", "park takes no time"),
        ("adaptive:5", "'5' is no time from 1us to 1s"),
        ("adaptive:2s", "'2s' is no time from 1us to 1s"),
    ] {
        let refused = text.parse::<Waiting>().unwrap_err();
        assert_eq!(refused.to_string(), error);
    }
}

#[test]
fn spinning_in_vain_is_not_kept_up() {
    // (gaps, the highest burn); the last three were not looked at when the rule was made.
    let cases: [(Gaps, f64); 6] = [
        (|_, _| 5 * MS, 0.0005),
        (|_, _| 20 * MS, 0.0002),
        (|rng, _| exponential_ns(rng, 20 * MS), 0.001),
        (|rng, _| (7e6 * (0.8 + 0.4 * unit(rng))) as u64, 0.0005),
        (|rng, _| exponential_ns(rng, 12 * MS), 0.002),
        // One gap of 25 is short: those are worth some spinning.
        (
            |rng, at| match at % 25 {
                0 => 30 * US,
                _ => exponential_ns(rng, 15 * MS),
            },
            0.011,
        ),
    ];
    for (case, (gaps, highest)) in cases.into_iter().enumerate() {
        for seed in 0..50 {
            let burn = of_seed(seed, 2_000, gaps).burn();
            assert!(burn <= highest, "case {case}, seed {seed}: {burn}");
        }
    }
}
