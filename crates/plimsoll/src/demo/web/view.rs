//! The state of the lab as its page.

use super::message::Message;
use crate::demo::charts::{latencies, loads};
use crate::demo::pages::PAGES;
use crate::demo::state::{Button, MOST_HEADROOM, MOST_LOAD, STEP, State};
use crate::demo::words;
use plimsoll_report::lab::{LabButton, LabView, Slider};

/// Lines of the log that are sent.
const LINES: usize = 100;

pub(super) fn sliders() -> [Slider; 2] {
    [("load", MOST_LOAD), ("headroom", MOST_HEADROOM)].map(|(name, most)| Slider {
        name,
        most,
        step: STEP,
    })
}

pub(super) fn of(state: &State) -> LabView<'_> {
    let last = state.last();
    let figures = last.map(|last| {
        let job = words::job_work(last);
        let pressure = words::pressure(last, true);
        vec![
            words::rates(last),
            words::latencies(last),
            format!("{job}  {pressure}"),
        ]
    });
    let charts = match state.seconds.is_empty() {
        true => Vec::new(),
        false => [Some(loads(state)), latencies(state)]
            .into_iter()
            .flatten()
            .collect(),
    };
    let skipped = state.log.len().saturating_sub(LINES);
    let measuring = words::measuring(state, "");
    LabView {
        rating: &state.about.rating,
        pages: pages(state),
        question: state.page().question,
        text: state.page().text.to_vec(),
        findings: state.findings(),
        buttons: buttons(state),
        values: vec![
            ("load", state.knobs.load_pct),
            ("headroom", state.knobs.headroom_pct),
        ],
        goal: LabButton {
            message: Message::Goal(!state.knobs.goal).json(),
            label: format!("load follows the goal {}", words::goal(state)),
            is_on: state.knobs.goal,
        },
        job: words::job(state),
        message: match (state.message(), measuring) {
            (Some(message), _) => message.to_owned(),
            (None, measuring) => measuring.unwrap_or_default(),
        },
        figures: figures.unwrap_or_default(),
        charts,
        log: state
            .log
            .iter()
            .skip(skipped)
            .map(|(_, line)| line.as_str())
            .collect(),
    }
}

fn pages(state: &State) -> Vec<LabButton> {
    let pages = PAGES.iter().enumerate();
    pages
        .map(|(place, page)| LabButton {
            message: Message::Page(place).json(),
            label: page.letter.to_string(),
            is_on: page.letter == state.page().letter,
        })
        .collect()
}

/// The page's own, the two of the job, and those of the lab.
fn buttons(state: &State) -> Vec<LabButton> {
    let mut all = vec![Button::Sideload, Button::Sysload, Button::OtherJob];
    all.push(Button::Save);
    let own = state.page().buttons.iter().copied();
    all.extend(
        own.filter(|button| !all.contains(button))
            .collect::<Vec<_>>(),
    );
    let mut buttons: Vec<LabButton> = all
        .into_iter()
        .map(|button| LabButton {
            message: Message::Press(button).json(),
            label: words::button(state, button).to_owned(),
            is_on: false,
        })
        .collect();
    let plain = |message: Message, label: &str| LabButton {
        message: message.json(),
        label: label.to_owned(),
        is_on: false,
    };
    if state.measuring.is_some() {
        buttons.push(plain(Message::Back, "stop measuring"));
    }
    if state.has_findings() {
        buttons.push(plain(Message::Findings, "text or findings"));
    }
    buttons.push(plain(Message::Reset, "reset"));
    buttons.push(plain(Message::Quit, "quit"));
    buttons
}
