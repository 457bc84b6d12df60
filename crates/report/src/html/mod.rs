//! Charts and tables of the page as markup.

mod charts;
mod figure;

pub(crate) const STYLE: &str = concat!(
    include_str!("theme.css"),
    include_str!("style.css"),
    include_str!("charts.css"),
);

#[cfg(test)]
pub(crate) use charts::overlapping;
pub(crate) use charts::svg;
pub(crate) use figure::{Picker, grid, on_demand, one_chart, part, table};
