use super::*;
use proptest::prelude::*;

fn built(text: &str) -> JobGraph {
    let shape: Shape = text.parse().unwrap();
    shape.build(u64::MAX).unwrap().graph
}

fn refused(text: &str) -> String {
    match text.parse::<Shape>() {
        Ok(shape) => shape.build(1 << 30).unwrap_err().to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_name_builds_and_comes_back_as_text() {
    for name in Shape::names() {
        let shape: Shape = name.parse().unwrap();
        let graph = shape.build(1 << 30).unwrap().graph;
        assert_eq!(u64::from(graph.count()), shape.nodes(), "{name}");
        assert!(graph.edges() as u64 <= shape.edges_at_most(), "{name}");
        assert_eq!(shape.to_string().parse::<Shape>().unwrap(), shape);
    }
}

#[test]
fn load_bursts_begin_and_end_as_a_chain_and_are_dense_between() {
    let graph = built("load-bursts");
    let widths = graph.level_widths();
    assert_eq!(graph.count(), 64);
    assert!(
        widths.starts_with(&[1, 1]) && widths.ends_with(&[1, 1]),
        "{widths:?}"
    );
    let single = widths.iter().filter(|width| **width == 1).count();
    let widest = widths.iter().max().copied().unwrap();
    assert!(single >= 5 && widest >= 8, "{widths:?}");
    let weights: Vec<u32> = graph.nodes().map(|node| graph.weight(node)).collect();
    assert!((1..=3).all(|weight| weights.contains(&weight)));
}

#[test]
fn chains_are_chains() {
    for name in ["short-chains", "interleaved-chains"] {
        let graph = built(name);
        let at_most_one = |node| {
            let (before, after) = (graph.predecessors(node), graph.successors(node));
            before.len() <= 1 && after.len() <= 1
        };
        assert!(graph.nodes().all(at_most_one), "{name}");
        let ends = graph.nodes().filter(|n| graph.successors(*n).is_empty());
        let mean = f64::from(graph.count()) / ends.count() as f64;
        assert!((1.8..3.2).contains(&mean), "{name}: {mean}");
    }
}

#[test]
fn each_job_needs_as_many_as_asked_for() {
    for dependencies in 0..=5 {
        let shape = Shape::with_dependencies(1000, dependencies);
        let graph = shape.build(u64::MAX).unwrap().graph;
        let needs = |node| graph.predecessors(node).len() as u32;
        let (first, rest) = (0..Shape::WIDTH, Shape::WIDTH..1000);
        assert!(first.into_iter().all(|node| needs(node) == 0));
        assert!(rest.into_iter().all(|node| needs(node) == dependencies));
        assert_eq!(graph.edges() as u64, shape.edges_at_most());
    }
}

#[test]
fn ten_million_nodes_say_what_they_need() {
    let shape: Shape = "independent:nodes=10000000".parse().unwrap();
    assert_eq!(shape.bytes_to_build(), 160_000_000);
    let error = shape.build(100 << 20).unwrap_err().to_string();
    let wanted =
        "independent:nodes=10000000 needs 153 MiB while it is built, and 100 MiB are allowed";
    assert!(error.starts_with(wanted), "{error}");
    assert!(refused("all-to-all:width=100000,steps=2").contains("more than 4294967295"));
    assert!(refused("stencil:width=4294967295,steps=4294967295").contains("more than 4294967295"));
    assert!(refused("fft:width=4294967295,steps=2").contains("more than 4294967295"));
    let dependent = "dependent:nodes=4000000000,dependencies=1";
    assert!(refused(dependent).contains("MiB are allowed"));
}

#[test]
fn a_million_nodes_are_built() {
    assert_eq!(
        built("dependent:nodes=1000000,dependencies=3").edges(),
        2_999_808
    );
    assert_eq!(built("tries:nodes=1000000").count(), 1_000_000);
}

#[test]
fn bad_shapes_are_refused_with_a_sentence() {
    assert!(refused("stencils").starts_with("no graph is called `stencils`; choose from load-"));
    let key = "`stencil` has no `radix`; it takes width, steps";
    assert_eq!(refused("stencil:radix=3"), key);
    assert!(refused("stencil:").contains("has no ``"));
    assert!(refused("stencil:width=0").contains("`width=0` is no number in 1 to"));
    assert!(refused("stencil:width").contains("`width` is no number"));
    assert!(refused("random:fraction=1.5").contains("no number in 0 to 1"));
    assert!(refused("fork=2:4").contains("the probability of `fork`"));
    let row = "a job needs 65 of a row of 64; take at most as many as the row has";
    assert_eq!(refused("dependent:dependencies=65"), row);
    let empty = Shape::Pattern(Pattern::new(crate::Dependence::Stencil, 0, 5));
    assert_eq!(empty.build(1).unwrap_err(), GraphError::Empty.into());
    assert_eq!(
        Shape::independent(0).build(1).unwrap_err(),
        GraphError::Empty.into()
    );
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[a-z:=,0-9.-]{0,40}") {
        let _ = text.parse::<Shape>();
    }

    #[test]
    fn all_sizes_come_back_as_text(nodes in 1..u32::MAX, dependencies in 0..9u32, width in 9..99u32) {
        let shapes = [
            Shape::Preset { preset: Preset::Tries, nodes },
            Shape::Independent { nodes },
            Shape::Dependent { nodes, dependencies, width },
        ];
        for shape in shapes {
            prop_assert_eq!(shape.to_string().parse::<Shape>().unwrap(), shape);
        }
    }
}
