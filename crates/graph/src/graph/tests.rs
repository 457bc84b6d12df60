use super::*;
use proptest::prelude::*;

#[test]
fn bad_edges_are_named() {
    let refused = |weights: &[u32], edges: &[(u32, u32)]| {
        let error = JobGraph::new(weights, edges).unwrap_err();
        error.to_string()
    };
    assert_eq!(
        refused(&[], &[]),
        "the graph has no nodes; give at least one"
    );
    let unknown = "an edge names node 2, but the graph has 2 (numbered from 0)";
    assert_eq!(refused(&[1, 1], &[(0, 2)]), unknown);
    let descending = refused(&[1, 1], &[(1, 0)]);
    assert!(descending.contains("1 -> 0"), "{descending}");
    let own = JobGraph::sorted(&[1, 1], &[(0, 1), (1, 1)]).unwrap_err();
    assert_eq!(own, GraphError::Cycle { nodes: vec![1] });
}

#[test]
fn a_cycle_is_named_without_what_leads_to_it_or_away() {
    let edges = [(0, 1), (1, 2), (2, 3), (3, 1), (3, 4)];
    let GraphError::Cycle { mut nodes } = JobGraph::sorted(&[1; 5], &edges).unwrap_err() else {
        panic!("it has a cycle");
    };
    for pair in nodes.windows(2) {
        assert!(edges.contains(&(pair[0], pair[1])), "{nodes:?}");
    }
    nodes.sort_unstable();
    assert_eq!(nodes, [1, 2, 3]);
    let long: Vec<(u32, u32)> = (0..100).map(|i| (i, (i + 1) % 100)).collect();
    let sentence = JobGraph::sorted(&[1; 100], &long).unwrap_err().to_string();
    assert!(sentence.contains("-> ... form a cycle"), "{sentence}");
}

#[test]
fn an_edge_given_twice_counts_once() {
    let graph = JobGraph::new(&[1; 3], &[(0, 2), (1, 2), (0, 2)]).unwrap();
    assert_eq!((graph.edges(), graph.level_widths()), (2, vec![2, 1]));
}

/// Nodes, and edges between any two of them that go up after a shuffle.
fn shuffled() -> impl Strategy<Value = (Vec<u32>, Vec<(u32, u32)>)> {
    let order = (2..40u32).prop_flat_map(|n| Just((0..n).collect::<Vec<u32>>()).prop_shuffle());
    order.prop_flat_map(|order| {
        let n = order.len();
        let pairs = prop::collection::vec((0..n, 0..n), 0..80);
        pairs.prop_map(move |pairs| {
            let up = pairs.into_iter().filter(|(a, b)| a < b);
            (
                order.clone(),
                up.map(|(a, b)| (order[a], order[b])).collect(),
            )
        })
    })
}

proptest! {
    #[test]
    fn sorting_keeps_nodes_and_edges((order, edges) in shuffled()) {
        let weights: Vec<u32> = (0..order.len() as u32).collect();
        let (graph, former) = JobGraph::sorted(&weights, &edges).unwrap();
        let kept: Vec<u32> = graph.nodes().map(|n| graph.weight(n)).collect();
        prop_assert_eq!(&kept, &former, "the weight of each node is its former number");
        let both = |a: u32, b: &u32| (former[a as usize], former[*b as usize]);
        let mut again: Vec<(u32, u32)> = graph
            .nodes()
            .flat_map(|a| graph.successors(a).iter().map(move |b| both(a, b)))
            .collect();
        let mut wanted = edges;
        wanted.sort_unstable();
        wanted.dedup();
        again.sort_unstable();
        prop_assert_eq!(again, wanted);
    }

    #[test]
    fn both_directions_hold_the_same_edges((order, edges) in shuffled()) {
        let (graph, _) = JobGraph::sorted(&vec![1; order.len()], &edges).unwrap();
        for node in graph.nodes() {
            for &next in graph.successors(node) {
                prop_assert!(node < next && graph.level(node) < graph.level(next));
                prop_assert!(graph.predecessors(next).contains(&node));
            }
            prop_assert!(graph.predecessors(node).is_sorted());
        }
        let backward: usize = graph.nodes().map(|n| graph.predecessors(n).len()).sum();
        prop_assert_eq!(backward, graph.edges());
        prop_assert_eq!(graph.level_widths().iter().sum::<u32>(), graph.count());
    }
}
