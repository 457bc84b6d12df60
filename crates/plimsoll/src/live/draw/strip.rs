//! The plan as a strip: a cell per trial, part by part.

use super::put;
use crate::live::state::{Group, State};
use plimsoll_engine::Ended;
use plimsoll_report::Ink;
use plimsoll_report::chart::Charset;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// What a trial is to the strip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Valid,
    Invalid,
    Now,
    ToCome,
}

impl Mark {
    pub(super) const ALL: [Mark; 4] = [Mark::Valid, Mark::Invalid, Mark::Now, Mark::ToCome];

    /// The mark of a trial that has ended.
    pub(super) fn of(done: &Ended) -> Mark {
        match done.is_valid() {
            true => Mark::Valid,
            false => Mark::Invalid,
        }
    }

    pub(super) fn symbol(self, charset: Charset) -> &'static str {
        match self {
            Mark::Valid => charset.pick("■", "#"),
            Mark::Invalid => charset.pick("×", "x"),
            Mark::Now => charset.pick("▶", ">"),
            Mark::ToCome => charset.pick("·", "."),
        }
    }

    pub(super) fn ink(self) -> Ink {
        match self {
            Mark::Valid => Ink::Green,
            Mark::Invalid => Ink::Red,
            Mark::Now => Ink::Yellow,
            Mark::ToCome => Ink::Dim,
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Mark::Valid => "a valid trial",
            Mark::Invalid => "an invalid trial; it may be repeated",
            Mark::Now => "the current trial",
            Mark::ToCome => "a planned trial",
        }
    }
}

/// A part of the run and its trials.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    group: Group,
    marks: Vec<Mark>,
    begun: bool,
    /// Whether more trials will come, of unknown number.
    is_open: bool,
    /// Whether the first trials are left out.
    is_cut: bool,
    /// Whether only their number is shown.
    in_short: bool,
}

/// How many rows the strip takes, `most` at most.
pub(super) fn rows(state: &State, width: u16, most: u16) -> u16 {
    rows_of(&fitted(state, width, most), width).min(most)
}

pub(super) fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    let mut pen = Pen::at(area);
    for part in fitted(state, area.width, area.height) {
        part.draw(state.about.charset, &mut pen, buffer);
    }
}

/// The parts, cut down until they fit: what is over becomes a number, what
/// has not begun goes, and of what is under way the last trials stay.
fn fitted(state: &State, width: u16, most: u16) -> Vec<Part> {
    let mut parts = parts(state);
    let begun = parts.iter().rposition(|part| part.begun).unwrap_or(0);
    let fits = |parts: &[Part]| rows_of(parts, width) <= most;
    for over in 0..begun {
        if fits(&parts) {
            return parts;
        }
        parts[over].in_short = true;
    }
    while !fits(&parts) && parts.len() > begun + 1 {
        parts.pop();
    }
    while !fits(&parts) {
        let Some(part) = parts.get_mut(begun).filter(|part| !part.marks.is_empty()) else {
            break;
        };
        part.marks.remove(0);
        part.is_cut = true;
    }
    parts
}

/// The parts that have begun or are known to come.
fn parts(state: &State) -> Vec<Part> {
    let now = state.group_now();
    let begun = |group| now == Some(group) || state.done_in(group).next().is_some();
    let stages = state.about.stages.iter();
    let mut groups: Vec<Group> = stages.map(|stage| Group::of(stage.phase)).collect();
    if begun(Group::Confirmation) {
        groups.push(Group::Confirmation);
    }
    let latest = groups.iter().rposition(|group| begun(*group)).unwrap_or(0);
    let part = |(at, group): (usize, Group)| {
        let mut marks: Vec<Mark> = state.done_in(group).map(Mark::of).collect();
        marks.extend((now == Some(group)).then_some(Mark::Now));
        let is_levels = group == Group::Levels;
        if is_levels {
            marks.extend(std::iter::repeat_n(Mark::ToCome, levels_to_come(state)));
        }
        Part {
            group,
            marks,
            begun: begun(group),
            is_open: !is_levels && at >= latest && group != Group::Idle,
            is_cut: false,
            in_short: false,
        }
    };
    groups.into_iter().enumerate().map(part).collect()
}

/// First visits of levels that have not begun.
fn levels_to_come(state: &State) -> usize {
    let Some((progress, _)) = state.progress else {
        return 0;
    };
    let left = progress.visits.saturating_sub(progress.done);
    // `progress` was reported at the start of the current trial, or of the last
    // one.
    let is_first = |phase, attempt| Group::of(phase) == Group::Levels && attempt == 0;
    let includes_trial = match (&state.now, state.done.last()) {
        (Some(now), _) => is_first(now.trial.phase, now.trial.attempt),
        (None, Some(done)) => is_first(done.phase, done.attempt),
        (None, None) => false,
    };
    left.saturating_sub(usize::from(includes_trial))
}

impl Part {
    /// The cells behind the name, or their number.
    fn cells(&self, charset: Charset) -> Vec<(String, Ink)> {
        if self.in_short {
            return vec![(self.marks.len().to_string(), Ink::Plain)];
        }
        let more = |is_more: bool| is_more.then(|| (charset.pick("…", "~").to_owned(), Ink::Dim));
        let marks = self.marks.iter();
        let marks = marks.map(|mark| (mark.symbol(charset).to_owned(), mark.ink()));
        let cut = more(self.is_cut).into_iter();
        cut.chain(marks).chain(more(self.is_open)).collect()
    }

    /// Columns of the name, a blank and the cells.
    fn width(&self) -> usize {
        let cells = self.cells(Charset::Ascii);
        let cells: usize = cells.iter().map(|(text, _)| text.chars().count()).sum();
        self.group.name().chars().count() + 1 + cells
    }

    fn draw(&self, charset: Charset, pen: &mut Pen, buffer: &mut Buffer) {
        if pen.column + self.width() > usize::from(pen.area.width) && pen.column > 0 {
            pen.new_line();
        }
        pen.put(buffer, self.group.name(), Ink::Dim);
        pen.column += 1;
        for (text, ink) in self.cells(charset) {
            pen.put(buffer, &text, ink);
        }
        pen.column += 2;
    }
}

fn rows_of(parts: &[Part], width: u16) -> u16 {
    // Without height nothing is drawn.
    let nowhere = &mut Buffer::empty(Rect::ZERO);
    let mut pen = Pen::at(Rect::new(0, 0, width, 0));
    for part in parts {
        part.draw(Charset::Ascii, &mut pen, nowhere);
    }
    pen.row.saturating_add(1)
}

struct Pen {
    area: Rect,
    column: usize,
    row: u16,
}

impl Pen {
    fn at(area: Rect) -> Pen {
        Pen {
            area,
            column: 0,
            row: 0,
        }
    }

    fn new_line(&mut self) {
        self.column = 0;
        self.row = self.row.saturating_add(1);
    }

    /// Writes, on the next line where this one is full.
    fn put(&mut self, buffer: &mut Buffer, text: &str, ink: Ink) {
        let wide = text.chars().count();
        if self.column + wide > usize::from(self.area.width) {
            self.new_line();
        }
        if self.row < self.area.height {
            let row = Rect::new(self.area.x, self.area.y + self.row, self.area.width, 1);
            put(buffer, row, self.column as u16, text, ink);
        }
        self.column += wide;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::state::Event;
    use crate::live::tests::sample::{LEVELS, done, under_way};
    use std::time::Duration;

    fn shown(parts: &[Part]) -> Vec<(Group, usize, bool)> {
        let part = |p: &Part| (p.group, p.marks.len(), p.in_short);
        parts.iter().map(part).collect()
    }

    #[test]
    fn every_visit_has_a_cell_from_the_beginning() {
        let parts = parts(&under_way());
        let levels = &parts[2];
        assert_eq!(levels.marks.len(), 22);
        let count = |mark| levels.marks.iter().filter(|m| **m == mark).count();
        assert_eq!((count(Mark::Valid), count(Mark::Invalid)), (8, 1));
        assert_eq!((count(Mark::Now), count(Mark::ToCome)), (1, 12));
    }

    #[test]
    fn another_try_is_a_cell_of_its_own_and_takes_none_from_those_to_come() {
        let mut state = under_way();
        let clock = Duration::from_secs(41);
        state.fold(Event::Ended(done(LEVELS, 8_000.0, false)), clock);
        let mut again = done(LEVELS, 8_000.0, true);
        again.attempt = 1;
        // The planner is asked before each trial.
        if let Some((progress, _)) = &mut state.progress {
            progress.done = 10;
        }
        state.fold(Event::Ended(again), clock);
        assert_eq!(parts(&state)[2].marks.len(), 23);
    }

    #[test]
    fn the_current_part_is_shortened_last() {
        let state = under_way();
        let cells = |width, most| shown(&fitted(&state, width, most));
        let all = [
            (Group::Idle, 1, false),
            (Group::Calibration, 7, false),
            (Group::Levels, 22, false),
            (Group::Search, 0, false),
        ];
        assert_eq!(cells(100, 1), all);
        let short = [
            (Group::Idle, 1, true),
            (Group::Calibration, 7, true),
            (Group::Levels, 22, false),
        ];
        assert_eq!(cells(60, 1), short);
        let narrow = cells(40, 1);
        assert_eq!(narrow[2].0, Group::Levels);
        assert!((1..22).contains(&narrow[2].1), "{narrow:?}");
    }
}
