//! The names that stand in a chart: of lines, of loads not to be exceeded, of
//! goals and of the marks where they are met. None stands on another.

use super::draw::{Drawing, FONT, Plot, line, load_mark, text};
use super::layout::{Area, BOLD, Wish, apart, free, rows, width_of};
use super::scale::Scale;
use crate::html::markup::el;

/// What a drawing with names above its plot has there, for one row of them
/// under the name of the axis and over a mark at the top of the plot.
pub(super) const HEAD: f64 = 38.0;
/// Where the lowest row stands above the plot.
const LOWEST: f64 = 12.0;
/// Height of a row of names above the plot.
const ROW: f64 = 15.0;
/// What parts two names of a row.
const GAP: f64 = 10.0;

/// The name of a line at its right end.
pub(super) struct EndLabel<'a> {
    pub(super) y: f64,
    pub(super) class: &'a str,
    pub(super) text: &'a str,
}

/// A load that is not to be exceeded.
#[derive(Debug, Clone)]
pub(super) struct LoadLine {
    pub(super) at: f64,
    pub(super) between: Option<(f64, f64)>,
    pub(super) name: String,
    /// Whether its goal is the one that the report leads with.
    pub(super) leads: bool,
}

/// The limit of a goal as a level line.
pub(super) struct GoalLine {
    pub(super) y: f64,
    /// That of the line that it is about.
    pub(super) class: &'static str,
    pub(super) name: String,
}

/// A place where a line meets its goal.
pub(super) struct MetMark {
    pub(super) at: (f64, f64),
    /// The ends of the rate's interval, where it has one.
    pub(super) between: Option<(f64, f64)>,
    pub(super) class: String,
    /// Which line it is; empty where there is but one.
    pub(super) name: String,
}

/// What names of loads want, in the row above the plot.
fn wishes(lines: &[LoadLine], at: impl Fn(f64) -> f64) -> Vec<Wish> {
    let wish = |line: &LoadLine| Wish {
        at: at(line.at),
        // That of the goal that leads is bold.
        size: width_of(&line.name, FONT) * if line.leads { BOLD } else { 1.0 },
        rank: u8::from(!line.leads),
    };
    lines.iter().map(wish).collect()
}

/// How much higher a drawing has to be for the names of these loads, beyond
/// the one row that every drawing has, if `room` is its width.
pub(super) fn extra_head(lines: &[LoadLine], room: f64) -> f64 {
    let rows = rows(&wishes(lines, |at| at), room, GAP);
    ROW * rows.into_iter().max().unwrap_or(0) as f64
}

impl Drawing {
    /// How much room the names of loads have, from the plot's left edge on.
    fn name_room(&self) -> f64 {
        self.width - 2.0 - self.plot.left
    }

    /// Names at the right end of lines, each in its line's colour.
    pub(super) fn end_labels(&mut self, labels: &[EndLabel<'_>]) {
        let wishes: Vec<Wish> = labels
            .iter()
            .map(|label| Wish {
                at: label.y,
                size: FONT + 2.0,
                rank: 0,
            })
            .collect();
        let placed = apart(&wishes, self.plot.top - 6.0, self.plot.bottom + 6.0, 1.0);
        for (label, y) in labels.iter().zip(placed) {
            if let Some(y) = y {
                let class = format!("name {}", label.class);
                self.put(text((self.plot.right + 8.0, y + 4.0), &class, label.text));
            }
        }
    }

    /// Upright lines with their names above the plot, in as many rows as they
    /// need: [`extra_head`] says how many that are.
    pub(super) fn load_lines(&mut self, lines: &[LoadLine], scale: &Scale) {
        let Plot { top, bottom, .. } = self.plot;
        for load in lines {
            let x = scale.at(load.at);
            if let Some((low, high)) = load.between {
                let (low, high) = (scale.at(low), scale.at(high));
                let stretch = el("rect")
                    .class("load-band")
                    .num("x", low)
                    .num("y", top)
                    .num("width", (high - low).max(1.0))
                    .num("height", bottom - top);
                self.put(stretch);
            }
            self.put(line((x, top), (x, bottom), load.class("load-line")));
        }
        let wishes = wishes(lines, |at| scale.at(at));
        let row_of = rows(&wishes, self.name_room(), GAP);
        for row in 0..=row_of.iter().copied().max().unwrap_or(0) {
            let here = || (0..lines.len()).filter(|i| row_of[*i] == row);
            let of_row: Vec<Wish> = here().map(|i| wishes[i]).collect();
            let placed = apart(&of_row, self.plot.left, self.width - 2.0, GAP);
            for (i, at) in here().zip(placed) {
                let (Some(at), false) = (at, lines[i].name.is_empty()) else {
                    continue;
                };
                let class = lines[i].class("load-name mid");
                self.put(text(
                    (at, top - LOWEST - ROW * row as f64),
                    class,
                    &lines[i].name,
                ));
            }
        }
    }

    /// The marks where lines meet their goals.
    pub(super) fn marks(&mut self, marks: &[MetMark]) {
        for mark in marks {
            if let Some((low, high)) = mark.between {
                let class = format!("met-span {}", mark.class);
                let y = mark.at.1;
                self.put(line((low, y), (high, y), &class));
                for end in [low, high] {
                    self.put(line((end, y - 5.0), (end, y + 5.0), &class));
                }
            }
            self.put(load_mark(mark.at, &mark.class));
            self.taken.push(Area::around(mark.at, 15.0, 9.5));
        }
    }

    /// The names of the lines at the marks where they meet their goals: after
    /// the names of goals, which are longer and have fewer places.
    pub(super) fn mark_names(&mut self, marks: &[MetMark], better_free: &[Area]) {
        for MetMark {
            at, class, name, ..
        } in marks.iter().filter(|m| !m.name.is_empty())
        {
            let width = BOLD * width_of(name, FONT);
            let (x, y) = *at;
            // Beside the ring above or below its bar; else a little further off.
            let beside =
                |(aside, down): (f64, f64)| [(x + aside, y + down), (x - aside - width, y + down)];
            let near = [(11.0, -9.0), (11.0, 18.0), (17.0, 4.0)];
            let further = (1..=16).flat_map(|i| {
                let down = 4.0 * f64::from(i);
                [11.0, 24.0, 40.0, 58.0].into_iter().flat_map(move |aside| {
                    [(aside, -9.0 - down), (aside, 18.0 + down), (aside, 4.0)]
                })
            });
            let near: Vec<(f64, f64)> = near.into_iter().flat_map(beside).collect();
            let further: Vec<(f64, f64)> = further.flat_map(beside).collect();
            let class = format!("mark-name {class}");
            let put = self.label(&near, &class, name, width, better_free);
            if !put {
                self.label(&further, &class, name, width, better_free);
            }
        }
    }

    /// The level lines of goals; their names come later, over all lines.
    pub(super) fn goal_lines(&mut self, goals: &[GoalLine]) {
        let Plot { left, right, .. } = self.plot;
        for goal in goals {
            let class = format!("goal {}", goal.class);
            self.put(line((left, goal.y), (right, goal.y), &class));
        }
    }

    /// The names of goals, above or below their lines.
    pub(super) fn goal_names(&mut self, goals: &[GoalLine], better_free: &[Area]) {
        let Plot { left, right, .. } = self.plot;
        for goal in goals {
            let width = width_of(&goal.name, FONT);
            let last = right - 6.0 - width;
            let at = |part: u32| left + 6.0 + f64::from(part) / 8.0 * (last - left - 6.0);
            // Beside its line from the left end on; else beyond the marks on it.
            let row = |away: f64| (0..=8).map(move |part| (at(part), goal.y + away));
            let near: Vec<(f64, f64)> = [-5.0, 13.0].into_iter().flat_map(row).collect();
            let further = (1..=16)
                .flat_map(|i| [-5.0, 13.0].map(|y: f64| y + y.signum() * 4.0 * f64::from(i)));
            let further: Vec<(f64, f64)> = further.flat_map(row).collect();
            // Its own line is beside it; those of others are better not crossed.
            let others = goals.iter().filter(|other| other.y != goal.y);
            let lines = others.map(|other| Area {
                left,
                right,
                top: other.y - 1.0,
                bottom: other.y + 1.0,
            });
            let avoided: Vec<Area> = better_free.iter().copied().chain(lines).collect();
            let class = format!("goal-name {}", goal.class);
            let put = self.label(&near, &class, &goal.name, width, &avoided);
            if !put {
                self.label(&further, &class, &goal.name, width, &avoided);
            }
        }
    }

    /// A text at the first of these places, from where it runs to the right,
    /// that is free; whether there is one.
    fn label(
        &mut self,
        wishes: &[(f64, f64)],
        class: &str,
        words: &str,
        width: f64,
        better_free: &[Area],
    ) -> bool {
        let areas = wishes.iter().map(|at| Area::of_text(*at, width, FONT));
        let within = |a: &Area| {
            a.left >= self.plot.left + 1.0
                && a.right <= self.plot.right - 1.0
                && a.top >= self.plot.top
                && a.bottom <= self.plot.bottom
        };
        let (areas, wishes): (Vec<Area>, Vec<&(f64, f64)>) =
            areas.zip(wishes).filter(|(a, _)| within(a)).unzip();
        let place = free(&areas, &self.taken, better_free);
        if let Some(i) = place {
            // What is written down is rounded to tenths of a pixel.
            self.taken.push(areas[i].wider_by(0.2));
            self.put(text(*wishes[i], class, words));
        }
        place.is_some()
    }
}

impl LoadLine {
    /// The class of a part of it: those of goals that do not lead are weaker.
    fn class(&self, leading: &'static str) -> &'static str {
        match (leading, self.leads) {
            ("load-line", false) => "load-line other",
            ("load-name mid", false) => "load-name other mid",
            (class, _) => class,
        }
    }
}

/// Places along lines that names had better leave free.
pub(super) fn along(points: &[(f64, f64)]) -> Vec<Area> {
    let spot = |at: (f64, f64)| Area::around(at, 3.0, 3.0);
    let between = points.windows(2).flat_map(|pair| {
        let (dx, dy) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        let steps = (dx.abs().max(dy.abs()) / 6.0).ceil().clamp(1.0, 200.0) as u32;
        let part = move |i: u32| f64::from(i) / f64::from(steps);
        (0..steps).map(move |i| (pair[0].0 + part(i) * dx, pair[0].1 + part(i) * dy))
    });
    between.chain(points.last().copied()).map(spot).collect()
}
