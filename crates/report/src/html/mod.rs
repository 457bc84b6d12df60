//! Charts of the page, from findings to drawings.

mod charts;
mod figure;

pub(crate) use crate::markup;

#[cfg(test)]
pub(crate) use charts::overlapping;
pub(crate) use charts::{
    Arms, Basis, Machine, View, arm_figures, arm_picks, capacities, cpu_overlay, figures, kept,
    latency_overlay, svg, work_overlay,
};
pub(crate) use figure::{Levels, grid, on_demand, one as one_chart, part, table};
