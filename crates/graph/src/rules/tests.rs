use super::*;
use proptest::prelude::*;

fn rules(text: &str) -> Rules {
    text.parse().unwrap()
}

fn refused(text: &str) -> String {
    text.parse::<Rules>().unwrap_err().to_string()
}

const NODES: u32 = 100_000;

/// Whether the rule applies and what it draws: 0 if it does not apply.
fn draws(rules: &Rules, rule: Rule) -> Vec<f64> {
    let drawn = |node| f64::from(rules.draw(rule, node).unwrap_or(0));
    (0..NODES).map(drawn).collect()
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / n;
    let (ma, mb) = (mean(a), mean(b));
    let product = |x: &[f64], mx: f64, y: &[f64], my: f64| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum()
    };
    product(a, ma, b, mb) / (product(a, ma, a, ma) * product(b, mb, b, mb)).sqrt()
}

/// Four standard errors of a correlation of independent values, 1/sqrt(n) each: one of
/// the 30 pairs here is beyond in one of 500 sets of streams.
const CHANCE: f64 = 4.0 / 316.2;

const ALL: &str = "seed=0.3:4,fork=0.3:4,join=0.3:4,weight=0.3:4,prune=0.3";

#[test]
fn no_rule_says_anything_of_another() {
    let (here, there) = (rules(ALL), rules(&format!("{ALL},random-seed=1")));
    for (nth, a) in Rule::ALL.into_iter().enumerate() {
        for b in &Rule::ALL[nth..] {
            let same = correlation(&draws(&here, a), &draws(&here, *b));
            assert!(a == *b || same.abs() < CHANCE, "{a:?} {b:?}: {same}");
            let other = correlation(&draws(&here, a), &draws(&there, *b));
            assert!(other.abs() < CHANCE, "{a:?} {b:?}, other seed: {other}");
        }
    }
}

#[test]
fn neighbours_and_the_number_drawn_are_independent_too() {
    let all = rules("fork=0.5:9");
    let forks = draws(&all, Rule::Fork);
    for lag in [1, 2, 3, 16] {
        let r = correlation(&forks[lag..], &forks[..forks.len() - lag]);
        assert!(r.abs() < CHANCE, "lag {lag}: {r}");
    }
    // The number of those that apply, against the place of the next decision.
    let applies: Vec<f64> = forks
        .iter()
        .map(|n| f64::from(u8::from(*n > 0.0)))
        .collect();
    let numbers = draws(&rules("fork=1:9"), Rule::Fork);
    let r = correlation(&applies, &numbers);
    assert!(r.abs() < CHANCE, "{r}");
}

#[test]
fn a_probability_means_what_it_says() {
    for probability in [0.001, 0.01, 0.3, 0.5, 0.999] {
        let all = rules(&format!("weight={probability}:2-6"));
        let drawn = draws(&all, Rule::Weight);
        let applied = drawn.iter().filter(|n| **n > 0.0).count() as f64;
        let n = f64::from(NODES);
        let error = (probability * (1.0 - probability) / n).sqrt();
        let realised = applied / n;
        assert!(
            (realised - probability).abs() < 4.0 * error,
            "{probability}: {realised}"
        );
        for value in 2..=6 {
            let share = drawn.iter().filter(|n| **n == f64::from(value)).count() as f64 / applied;
            let error = (0.2 * 0.8 / applied).sqrt();
            assert!((share - 0.2).abs() < 4.0 * error, "{value}: {share}");
        }
    }
    assert_eq!(
        draws(&rules("fork=0:4"), Rule::Fork),
        vec![0.0; NODES as usize]
    );
    assert!(
        draws(&rules("fork=1:4"), Rule::Fork)
            .iter()
            .all(|n| *n > 0.0)
    );
}

#[test]
fn the_uses_are_those_of_the_draws() {
    let all = rules("nodes=20000,seed=0.2:1,fork=0.3:4,join=0.4:2-6,prune=0.1,weight=0.6:3");
    let generated = all.generate().unwrap();
    assert_eq!(generated.uses.len(), 5);
    for used in &generated.uses {
        let error = (used.configured * (1.0 - used.configured) / used.draws as f64).sqrt();
        let off = (used.realised - used.configured).abs();
        assert!(off < 4.0 * error && used.draws > 1000, "{used:?}");
    }
    let weight = generated.uses.last().unwrap();
    assert_eq!(
        (weight.rule, weight.draws, weight.cut),
        (Rule::Weight, 20_000, 0)
    );
    let fork = generated.uses.iter().find(|u| u.rule == Rule::Fork);
    assert!(fork.unwrap().cut > 0, "16 wide is not enough");
}

#[test]
fn without_rules_it_is_a_chain() {
    let chain = rules("nodes=5").generate().unwrap();
    assert_eq!(chain.graph.level_widths(), [1; 5]);
    assert_eq!((chain.graph.edges(), chain.uses.len()), (4, 0));
    let isolated = rules("nodes=5,prune=1").generate().unwrap().graph;
    assert_eq!((isolated.edges(), isolated.level_widths()), (0, vec![5]));
}

#[test]
fn bad_rules_are_refused_with_a_sentence() {
    assert_eq!(
        refused("fork=1.5:4"),
        "the probability of `fork` is 1.5; give one from 0 to 1"
    );
    assert!(refused("fork=-0.1").contains("-0.1"));
    assert!(refused("fork=NaN").contains("NaN"));
    assert!(refused("join=0.5:6-2").contains("6-2, which is inverted"));
    assert!(refused("fork=0.5:0").contains("1-0, which is inverted"));
    assert!(refused("prune=0.5:3").contains("takes no range"));
    assert!(refused("nodes=0").contains("`nodes=0`"));
    assert!(refused("width=0").contains("`width=0`"));
    assert!(refused("forks=0.5").contains("`forks=0.5` is no rule"));
    assert!(refused("fork").contains("`fork` is no rule"));
    assert!(refused("").contains("is no rule"));
    assert!(refused("fork=often").contains("write a probability"));
    assert!(refused("nodes=-1").contains("`nodes=-1` is no number"));
    assert!(refused("fork=0.1,fork=0.2").contains("twice"));
}

fn any_rules() -> impl Strategy<Value = Rules> {
    let ranges = prop::array::uniform4((0..5u32, 0..5u32));
    let chances = prop::array::uniform5(0.0..=1.0f64);
    let numbers = (1..300u32, 1..20u32, any::<u64>());
    (numbers, chances, ranges).prop_map(|((nodes, width, seed), chances, ranges)| {
        let mut rules = Rules::chain(nodes).unwrap().with_width(width).unwrap();
        for (nth, rule) in Rule::ALL.into_iter().enumerate() {
            let (min, more) = match rule {
                Rule::Prune => (1, 0),
                _ => ranges[nth.min(3)],
            };
            let chance = Chance::new(rule, chances[nth], min, min + more).unwrap();
            rules = rules.with(rule, chance);
        }
        rules.with_random_seed(seed)
    })
}

proptest! {
    #[test]
    fn text_comes_back_as_the_same_rules(rules in any_rules()) {
        prop_assert_eq!(rules.to_string().parse::<Rules>().unwrap(), rules);
    }

    #[test]
    fn graphs_have_their_nodes_and_keep_their_width(rules in any_rules()) {
        let graph = rules.generate().unwrap().graph;
        prop_assert_eq!(graph.count(), rules.nodes());
        prop_assert!(graph.edges() as u64 <= 2 * u64::from(graph.count()));
        // An edge goes from one row to the next, so it spans less than two rows.
        for node in graph.nodes() {
            for &next in graph.successors(node) {
                prop_assert!(node < next && next - node < 2 * rules.width);
            }
        }
        prop_assert_eq!(&rules.generate().unwrap().graph, &graph);
    }
}
