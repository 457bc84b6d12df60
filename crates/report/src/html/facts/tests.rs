//! What is said of the machine and of the command.

use super::*;

#[test]
fn only_mitigations_that_this_cpu_needs_are_listed() {
    let mut provenance = Provenance::default();
    let shown = |p: &Provenance| mitigations(p).map(Html::into_string);
    assert_eq!(shown(&provenance), None);
    let mut add = |name: &str, state: &str| {
        let known = &mut provenance.mitigations;
        known.insert(name.to_owned(), state.to_owned());
        shown(&provenance).unwrap()
    };
    assert_eq!(add("mds", "Not affected"), "none needed");
    let one = add("spectre_v2", "Mitigation: Retpolines");
    assert!(one.contains("<summary>1 in effect</summary>"), "{one}");
    assert!(one.contains("<li>spectre_v2: Retpolines</li>"), "{one}");
    assert!(!one.contains("mds"), "{one}");
    let two = add("retbleed", "Vulnerable");
    assert!(two.contains(">1 in effect, 1 left open<"), "{two}");
    assert!(two.contains("retbleed: Vulnerable"), "{two}");
}

#[test]
fn a_command_to_run_again_names_no_file_that_is_there() {
    let again = |command: &str| {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        without_output(&words).join(" ")
    };
    for given in ["-o a.plimsoll", "--output a.plimsoll", "-oa", "--output=a"] {
        let command = format!("plimsoll sweep {given} --quick");
        assert_eq!(again(&command), "plimsoll sweep --quick");
    }
    let copies = "plimsoll sweep --copies 1 -- gcc -o a";
    assert_eq!(again(copies), copies, "not ours");
    assert_eq!(again("plimsoll sweep -o"), "plimsoll sweep");
    let import = again("plimsoll import -o a.plimsoll a.csv");
    assert_eq!(import, "plimsoll import a.csv -o again.plimsoll");
}

#[test]
fn a_command_can_be_pasted_into_a_shell() {
    let words = ["plimsoll", "sweep", "--goal", "p99<10ms", "it's", ""];
    let words = words.map(str::to_owned);
    assert_eq!(
        shell(&words),
        r"plimsoll sweep --goal 'p99<10ms' 'it'\''s' ''"
    );
}
