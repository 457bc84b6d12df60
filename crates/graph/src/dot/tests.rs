use super::*;
use crate::Rules;
use proptest::prelude::*;

fn refused(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn the_part_that_is_read() {
    let text = r#"
        // A comment, and
        # a line of the preprocessor, and /* this */
        strict digraph "two words" {
            rankdir = LR; node [shape=box, color="red"]
            graph [label="weights"]; edge [weight=5];
            a -> "b c" -> d [label=x, weight=2]
            a -> d; ; -1.5 -> a
            "b c" [weight=7][label="3"]; d [label="4",]
            /* over
               lines */ "quo\"te" [label="no number"];
        }"#;
    let read = read(text).unwrap();
    assert_eq!(read.names, ["-1.5", "a", "b c", "d", "quo\"te"]);
    let weights: Vec<u32> = read.graph.nodes().map(|n| read.graph.weight(n)).collect();
    assert_eq!(weights, [1, 1, 7, 4, 1]);
    assert_eq!(read.graph.successors(1), [2, 3]);
    assert_eq!(read.graph.edges(), 4);
}

#[test]
fn what_is_not_read_is_one_sentence_with_its_line() {
    let cases = [
        ("", "line 1: expected `digraph`, found the end of the file"),
        (
            "<html>",
            "line 1: HTML labels are not read; write a quoted text",
        ),
        ("a,b\n1,2\n", "line 1: expected `digraph`, found `a`"),
        (
            "graph { a -- b }",
            "line 1: an undirected graph has no order of jobs; write `digraph` and `->`",
        ),
        (
            "digraph {\na -- b }",
            "line 2: an undirected graph has no order of jobs; write `digraph` and `->`",
        ),
        (
            "digraph {\n a -> b",
            "line 2: expected a node, an edge or `}`, found the end of the file",
        ),
        ("digraph { a -> }", "line 1: expected a node, found `}`"),
        (
            "digraph {\n subgraph x { a } }",
            "line 2: subgraphs are not read; list each edge",
        ),
        (
            "digraph { a:n -> b }",
            "line 1: ports are not read; name the node alone",
        ),
        (
            "digraph { a [label=<b>] }",
            "line 1: HTML labels are not read; write a quoted text",
        ),
        (
            "digraph {\n\n\"a }",
            "line 3: the quoted text is not closed",
        ),
        ("digraph { /* a }", "line 1: the comment is not closed"),
        ("digraph { a-b }", "line 1: '-' is no part of DOT"),
        ("digraph { a ! b }", "line 1: '!' is no part of DOT"),
        ("digraph { a / b }", "line 1: '/' is no part of DOT"),
        (
            "digraph {\n a [weight=-3] }",
            "line 2: the weight \"-3\" is no whole number up to 4294967295",
        ),
        (
            "digraph { node [weight=3]; a }",
            "line 1: a weight for all nodes is not read; give each node its own",
        ),
        ("digraph { node }", "line 1: expected `[`, found `}`"),
        (
            "digraph { a [weight 3] }",
            "line 1: expected `=`, found `3`",
        ),
        (
            "digraph { a } b",
            "line 1: expected the end of the file, found `b`",
        ),
        (
            "digraph { a -> b -> c -> b }",
            "nodes b -> c -> b form a cycle; remove one of its edges",
        ),
        (
            "digraph { a -> a }",
            "nodes a -> a form a cycle; remove one of its edges",
        ),
        ("digraph { }", "the graph has no nodes; give at least one"),
    ];
    for (text, sentence) in cases {
        assert_eq!(refused(text), sentence, "{text}");
    }
}

proptest! {
    #[test]
    fn a_graph_comes_back_from_its_text(
        (nodes, width, seed) in (1..200u32, 1..12u32, any::<u64>()),
        [s, f, j, p, w] in prop::array::uniform5(0.0..=1.0f64),
    ) {
        let rules = format!(
            "nodes={nodes},width={width},random-seed={seed},seed={s}:2,fork={f}:3,join={j}:1-4,prune={p},weight={w}:0-5"
        );
        let graph = rules.parse::<Rules>().unwrap().generate().unwrap().graph;
        let again = read(&Dot(&graph).to_string()).unwrap();
        prop_assert_eq!(&again.graph, &graph);
        let names: Vec<String> = graph.nodes().map(|n| n.to_string()).collect();
        prop_assert_eq!(again.names, names);
    }

    #[test]
    fn no_text_makes_it_panic(text in "(digraph \\{)?[a-c0-9\"\\\\/*#<>\\-=;,:\\[\\]{} \n]{0,60}") {
        let _ = read(&text);
    }

    #[test]
    fn words_in_any_order_do_not_either(
        words in prop::collection::vec(prop::sample::select(vec![
            "a", "b", "->", "[", "]", "weight", "=", "3", ";", "node", "\"x\"", "\n", ",", "label",
        ]), 0..30)
    ) {
        let _ = read(&format!("digraph {{ {} }}", words.join(" ")));
    }
}
