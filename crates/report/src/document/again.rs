//! The command to run it again, for the page.

use super::Run;
use crate::markup::{El, el, shortened};
use plimsoll_model::shell_word;

/// The command to run it again. The seed puts what was visited into the same
/// order, and is named where the command has none.
pub(super) fn again(run: &Run<'_>) -> Option<El> {
    let command = without_output(run.record.command_line);
    let seeded = command.iter().any(|word| word.starts_with("--seed"));
    let seed = run.order_of.filter(|_| !seeded).map(|what| {
        let words = format!(
            "With --seed {} the {what} come in the same order again.",
            run.seed
        );
        el("p").class("hint").with(words)
    });
    (!command.is_empty()).then(|| {
        let command = el("pre").with(el("code").with(shortened(&shell(&command), 600)));
        el("div")
            .with(el("h3").with("To run it again"))
            .with(command)
            .with(seed)
    })
}

/// A command without the file that it wrote: no file is written over, so beside
/// its record the same words would only be refused. An import has to name one,
/// so it names another. What comes after `--` is another's command.
fn without_output(command: &[String]) -> Vec<String> {
    let own = command.iter().position(|word| word == "--");
    let (own, others) = command.split_at(own.unwrap_or(command.len()));
    let mut kept = Vec::with_capacity(command.len());
    let mut words = own.iter();
    while let Some(word) = words.next() {
        if word == "-o" || word == "--output" {
            words.next();
        } else if !word.starts_with("--output=") && !word.starts_with("-o") {
            kept.push(word.clone());
        }
    }
    if kept.get(1).is_some_and(|word| word == "import") {
        kept.extend(["-o", "again.plimsoll"].map(str::to_owned));
    }
    kept.extend_from_slice(others);
    kept
}

fn shell(command: &[String]) -> String {
    let words: Vec<String> = command.iter().map(|word| shell_word(word)).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
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
}
