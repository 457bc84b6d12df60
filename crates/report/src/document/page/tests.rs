//! The command to run it again.

use super::*;

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
