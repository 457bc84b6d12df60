use super::*;
use crate::{Preset, Rules, Shape};
use proptest::prelude::*;

fn workers(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap()
}

/// Graphs by rules of all kinds.
fn graph() -> impl Strategy<Value = JobGraph> {
    let numbers = (1..150u32, 1..12u32, 0..1000u64);
    let chances = prop::array::uniform5(0.0..=1.0f64);
    (numbers, chances).prop_map(|((nodes, width, key), [s, f, j, p, w])| {
        let text = format!(
            "nodes={nodes},width={width},random-seed={key},seed={s}:2,fork={f}:3,join={j}:1-4,prune={p},weight={w}:0-5"
        );
        text.parse::<Rules>().unwrap().generate().unwrap().graph
    })
}

/// Nobody runs before its predecessors, nor more jobs at once than there are workers.
fn is_feasible(graph: &JobGraph, list: &ListSchedule) -> bool {
    let end = |node: u32| list.start(node) + u64::from(graph.weight(node));
    let in_order = graph.nodes().all(|node| {
        graph
            .predecessors(node)
            .iter()
            .all(|p| end(*p) <= list.start(node))
    });
    let mut edges: Vec<(u64, i32)> = graph
        .nodes()
        .filter(|node| graph.weight(*node) > 0)
        .flat_map(|node| [(list.start(node), 1), (end(node), -1)])
        .collect();
    edges.sort_unstable();
    let mut running = 0;
    in_order
        && edges.iter().all(|(_, change)| {
            running += change;
            running <= list.workers().get() as i32
        })
}

/// The nodes that every other one reaches or is reached from.
fn partings_by_search(graph: &JobGraph) -> Vec<u32> {
    let count = graph.count() as usize;
    let mut reaches = vec![vec![false; count]; count];
    for node in graph.nodes().rev() {
        for &next in graph.successors(node) {
            let after = reaches[next as usize].clone();
            let row = &mut reaches[node as usize];
            row[next as usize] = true;
            row.iter_mut().zip(after).for_each(|(r, a)| *r |= a);
        }
    }
    let is_one = |node: &u32| {
        let at = *node as usize;
        (0..count).all(|other| other == at || reaches[at][other] || reaches[other][at])
    };
    graph.nodes().filter(is_one).collect()
}

proptest! {
    #[test]
    fn a_list_schedule_is_feasible_and_within_grahams_bound(graph in graph(), p in 1..9u32) {
        let list = ListSchedule::of(&graph, workers(p));
        prop_assert!(is_feasible(&graph, &list));
        let (bounds, shortest) = (list.bounds(), list.shortest());
        prop_assert!(shortest <= list.length());
        prop_assert!(bounds.shortest(list.workers()) <= shortest);
        prop_assert_eq!(partings(&graph), partings_by_search(&graph));
        // Graham: length <= T1/P + (1 - 1/P) T-infinity.
        let (total, path, p) = (bounds.total_work, bounds.critical_path, u64::from(p));
        prop_assert!(p * list.length() <= total + (p - 1) * path);
        // At least one worker is busy at any time, or all are on the critical path.
        prop_assert!(list.length() <= total);
    }

    #[test]
    fn one_worker_takes_all_the_work_and_many_take_the_critical_path(graph in graph()) {
        let one = ListSchedule::of(&graph, workers(1));
        prop_assert_eq!(one.length(), one.bounds().total_work);
        let many = ListSchedule::of(&graph, workers(graph.count()));
        prop_assert_eq!(many.length(), many.bounds().critical_path);
    }
}

#[test]
fn a_diamond_has_the_bounds_that_one_sees() {
    let graph = JobGraph::new(&[1, 1, 3, 1], &[(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
    let bounds = Bounds::of(&graph);
    assert_eq!((bounds.total_work, bounds.critical_path), (6, 5));
    let list = ListSchedule::of(&graph, workers(2));
    let starts: Vec<u64> = graph.nodes().map(|node| list.start(node)).collect();
    assert_eq!((starts, list.length()), (vec![0, 1, 1, 4], 5));
    assert_eq!(list.share_of_bound(0.9), 0.9);
}

#[test]
fn chains_between_bursts_keep_one_worker_busy() {
    let bursts = Shape::Preset {
        preset: Preset::LoadBursts,
        nodes: 64,
    };
    let graph = bursts.build(u64::MAX).unwrap().graph;
    let list = ListSchedule::of(&graph, workers(2));
    assert_eq!(list.bounds().shortest(workers(2)), 56);
    println!("{} {}", list.shortest(), list.length());
    assert!(list.shortest() > 56 && list.length() <= list.shortest() + 2);
    let one = ListSchedule::of(&graph, workers(1));
    assert_eq!((one.shortest(), one.length()), (112, 112));
}

#[test]
fn the_critical_path_goes_first() {
    // Three jobs of 2 and a chain of 4: starting with the short ones takes 6.
    let graph = JobGraph::new(&[2, 2, 2, 1, 1, 1, 1], &[(3, 4), (4, 5), (5, 6)]).unwrap();
    let list = ListSchedule::of(&graph, workers(2));
    assert_eq!((list.start(3), list.length(), list.shortest()), (0, 6, 5));
    let chain_first = ListSchedule::of(&graph, workers(3));
    assert_eq!(chain_first.length(), 4);
}

#[test]
fn the_stationary_load_keeps_eight_workers_busy() {
    let tries = Shape::Preset {
        preset: Preset::Tries,
        nodes: 256,
    };
    let graph = tries.build(u64::MAX).unwrap().graph;
    let list = ListSchedule::of(&graph, workers(8));
    assert_eq!(list.shortest(), 32);
    assert!(list.length() <= 34, "{}", list.length());
}
