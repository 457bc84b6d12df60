use super::*;
use crate::Shape;

fn built(text: &str) -> JobGraph {
    text.parse::<Shape>()
        .unwrap()
        .build(u64::MAX)
        .unwrap()
        .graph
}

#[test]
fn each_node_and_edge_is_drawn_once_and_levels_are_rows() {
    let graph = built("load-bursts");
    let svg = picture(&graph).unwrap();
    assert_eq!(svg.matches("<circle").count(), 64);
    assert_eq!(svg.matches("<line").count(), graph.edges());
    let mut rows: Vec<&str> = svg
        .lines()
        .filter_map(|line| {
            line.strip_prefix("<circle")?
                .split("cy=\"")
                .nth(1)?
                .split('"')
                .next()
        })
        .collect();
    rows.sort_unstable();
    rows.dedup();
    assert_eq!(rows.len(), graph.level_widths().len());
    assert_eq!(svg, picture(&graph).unwrap());
}

#[test]
fn a_wide_level_takes_several_rows() {
    let rows = rows(&built("isolated:nodes=100"));
    let lengths: Vec<usize> = rows.iter().map(Vec::len).collect();
    assert_eq!(lengths, [32, 32, 32, 4]);
}

#[test]
fn siblings_stay_below_their_parents() {
    // Two trees whose nodes alternate.
    let edges = [(0, 3), (1, 2), (0, 5), (1, 4)];
    let graph = JobGraph::new(&[1; 6], &edges).unwrap();
    assert_eq!(rows(&graph), [vec![0, 1], vec![3, 5, 2, 4]]);
}

#[test]
fn a_picture_of_too_many_is_refused() {
    let error = picture(&built("independent:nodes=2001")).unwrap_err();
    let (nodes, edges) = (2001, 0);
    assert_eq!(error, SvgError::TooMany { nodes, edges });
    assert!(picture(&built("all-to-all:width=50,steps=2")).is_err());
}
