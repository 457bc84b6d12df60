//! The pages of the lab: a question each, a short text, and the experiment that answers it on this
//! machine.

use super::scenario::Scenario;
use super::state::Button;

/// A page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    /// Its name in `--page`.
    pub(crate) letter: char,
    pub(crate) question: &'static str,
    /// Paragraphs.
    pub(crate) text: &'static [&'static str],
    /// The command that measures the answer, without the scenario's own flags.
    experiment: &'static [&'static str],
    /// Which flags of the scenario the command takes.
    takes: &'static [Flag],
    /// The job in place of the scenario's.
    pub(crate) job: Option<&'static str>,
    /// What can be pressed on it.
    pub(crate) buttons: &'static [Button],
}

/// A part of a scenario that is a flag of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flag {
    Load,
    Headroom,
    Budget,
    Job,
}

/// The job of the page about memory.
const MEMORY: &str = "memory";

pub(crate) const PAGES: [Page; 7] = [
    Page {
        letter: 'a',
        question: "Is CPU use work?",
        text: &[
            "Raise the load step by step and look at two lines: the work that is done, in percent of what this machine carries, and its CPU use.",
            "If CPU use were work, both would be one line. Where threads share a core, where clocks change, or where a hypervisor takes time, they are not.",
        ],
        experiment: &["sweep", "--quick"],
        takes: &[],
        job: None,
        buttons: &[Button::Measure],
    },
    Page {
        letter: 'b',
        question: "What does a batch job beside the service cost?",
        text: &[
            "Keep the load as it is and start a job that takes all the CPU time that it gets. Nothing restricts it.",
            "The service waits for CPUs that the job has, and each request costs more CPU time, because caches and cores are shared.",
        ],
        experiment: &["yield", "--quick", "--arms", "none"],
        takes: &[Flag::Load, Flag::Budget, Flag::Job],
        job: None,
        buttons: &[Button::Sysload, Button::Measure],
    },
    Page {
        letter: 'c',
        question: "What does the same job cost within a headroom?",
        text: &[
            "Now the job gets only what the service and a headroom leave. The law of `plimsoll side` decides once a second, and freezes the job when nothing is left. Start it, and watch p99 against that of page b.",
        ],
        experiment: &["yield", "--quick", "--arms", "none,plimsoll"],
        takes: &[Flag::Load, Flag::Budget, Flag::Job, Flag::Headroom],
        job: None,
        buttons: &[Button::Sideload, Button::Measure],
    },
    Page {
        letter: 'd',
        question: "How much headroom is enough?",
        text: &[
            "Less headroom gives more work to the job and less certainty to the service. Below some headroom, the knee, latency rises fast.",
            "Start the job within the headroom, move the headroom down, and watch p99.",
        ],
        experiment: &["yield", "--quick", "--curve"],
        takes: &[Flag::Load, Flag::Budget, Flag::Job],
        job: None,
        buttons: &[Button::Sideload, Button::Measure],
    },
    Page {
        letter: 'e',
        question: "How much work does a job get done in what is left?",
        text: &[
            "The job runs alone, then beside the service within the headroom. A command is timed both times until all its processes have ended; hashing is counted.",
            "The ratio is what the job gained, and the sum of both is what the machine did. The charts show the job beside the service alone.",
        ],
        experiment: &["yield", "--quick", "--arms", "plimsoll"],
        takes: &[Flag::Load, Flag::Budget, Flag::Job, Flag::Headroom],
        job: None,
        buttons: &[Button::Sideload, Button::Measure],
    },
    Page {
        letter: 'f',
        question: "Who pays when memory runs short?",
        text: &[
            "The job takes all memory that is left and writes it again and again; the service that is measured touches 256 MiB, the live one what --memory says. Without care the kernel takes pages of both.",
            "With memory.high the kernel takes pages of the job alone. Where there is no swap, nothing is taken from programs, and the job only uses the memory bus.",
        ],
        experiment: &["yield", "--quick", "--memory", "256MiB", "--job", MEMORY],
        takes: &[Flag::Load, Flag::Budget, Flag::Headroom],
        job: Some(MEMORY),
        buttons: &[Button::Sideload, Button::Sysload, Button::Measure],
    },
    Page {
        letter: 'g',
        question: "What does your own scenario cost and gain?",
        text: &[
            "The load, the job, the headroom and the budget of a file, or as they are set now. The budget is how much p99 may rise, p99+5% as a rule.",
        ],
        experiment: &["yield", "--arms", "none,weight,plimsoll"],
        takes: &[Flag::Load, Flag::Budget, Flag::Job, Flag::Headroom],
        job: None,
        buttons: &[Button::Save, Button::Measure],
    },
];

impl Page {
    pub(crate) fn of(letter: char) -> Option<Page> {
        PAGES.into_iter().find(|page| page.letter == letter)
    }

    /// Its place in [`PAGES`].
    pub(crate) fn place(letter: char) -> Option<usize> {
        PAGES.iter().position(|page| page.letter == letter)
    }

    /// Whether its command is about one load.
    pub(crate) fn takes_load(&self) -> bool {
        self.takes.contains(&Flag::Load)
    }

    /// The words of the command that measures the answer.
    pub(crate) fn words(&self, scenario: &Scenario) -> Vec<String> {
        let mut words: Vec<String> = self.experiment.iter().map(|&word| word.into()).collect();
        for flag in self.takes {
            words.push(scenario.word(*flag));
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::help;

    #[test]
    fn every_page_is_a_command_that_exists() {
        for page in PAGES {
            let words = page.words(&Scenario::default());
            let all = std::iter::once("plimsoll".to_owned()).chain(words);
            let all: Vec<_> = all.map(Into::into).collect();
            assert!(help::parsed(&all).is_ok(), "{}", page.letter);
            assert_eq!(Page::of(page.letter).unwrap().question, page.question);
        }
    }
}
