use super::*;
use crate::{JobGraph, Shape};
use proptest::prelude::*;

fn built(pattern: Pattern) -> JobGraph {
    Shape::Pattern(pattern).build(u64::MAX).unwrap().graph
}

fn pattern() -> impl Strategy<Value = Pattern> {
    let dependence = prop::sample::select(Dependence::ALL.to_vec());
    (dependence, 1..20u32, 1..20u32, 1..8u32, 0.0..=1.0f64).prop_map(
        |(dependence, width, steps, radix, fraction)| Pattern {
            radix,
            fraction,
            ..Pattern::new(dependence, width, steps)
        },
    )
}

proptest! {
    #[test]
    fn edges_follow_the_closed_form(pattern in pattern()) {
        let graph = built(pattern);
        prop_assert_eq!(u64::from(graph.count()), pattern.nodes());
        match pattern.dependence {
            Dependence::Random => prop_assert!(graph.edges() as u64 <= pattern.edges()),
            _ => prop_assert_eq!(graph.edges() as u64, pattern.edges()),
        }
    }

    #[test]
    fn rows_are_levels_where_each_point_needs_another(pattern in pattern()) {
        let widths = built(pattern).level_widths();
        match pattern.dependence {
            Dependence::Trivial => prop_assert_eq!(widths, [pattern.width * pattern.steps]),
            _ => {
                let rows: Vec<u32> = (0..pattern.steps).map(|row| pattern.points(row)).collect();
                prop_assert_eq!(widths, rows);
            }
        }
    }
}

#[test]
fn the_needs_of_a_point_are_those_of_the_table() {
    let needs = |pattern: Pattern, row: u32, point: u32| {
        let mut needed = Vec::new();
        pattern.needs(row, point, |p| needed.push(p));
        needed.sort_unstable();
        needed
    };
    let of = |dependence| Pattern::new(dependence, 8, 5);
    assert_eq!(needs(of(Dependence::Stencil), 1, 0), [0, 1]);
    assert_eq!(needs(of(Dependence::Stencil), 1, 3), [2, 3, 4]);
    assert_eq!(needs(of(Dependence::Sweep), 2, 3), [2, 3]);
    // 1, 2, 4 and again 1.
    assert_eq!(needs(of(Dependence::Fft), 1, 3), [2, 3, 4]);
    assert_eq!(needs(of(Dependence::Fft), 3, 3), [3, 7]);
    assert_eq!(needs(of(Dependence::Fft), 4, 3), [2, 3, 4]);
    assert_eq!(needs(of(Dependence::Tree), 3, 5), [2]);
    assert_eq!(needs(of(Dependence::Nearest), 1, 0), [0, 1, 7]);
    assert_eq!(needs(of(Dependence::Spread), 1, 0), [0, 2, 5]);
    assert_eq!(needs(of(Dependence::Spread), 2, 0), [1, 3, 6]);
    assert_eq!(needs(of(Dependence::AllToAll), 1, 2).len(), 8);
}

#[test]
fn a_random_pattern_has_the_share_of_edges_that_is_asked_for() {
    let pattern = Pattern {
        radix: 5,
        fraction: 0.25,
        ..Pattern::new(Dependence::Random, 100, 101)
    };
    // One of its own and a quarter of four others, for 10,000 points: 20,000 edges with
    // a standard deviation of 87.
    let edges = built(pattern).edges() as i64;
    assert!((edges - 20_000).abs() < 350, "{edges}");
    let other = Pattern {
        random_seed: 1,
        ..pattern
    };
    assert_ne!(built(pattern), built(other));
}
