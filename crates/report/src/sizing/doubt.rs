//! What is in doubt about a plan, and why its smallest fleet is no smaller: in
//! sentences that the text and the manifest share.

use crate::number::{self, for_count, grouped, per_second};
use crate::sentence::words_if;
use crate::table::Ink;
use plimsoll_model::{Autoscaler, CpuFigure, FloorFrom, SizingCaution};

pub(super) fn floor(auto: &Autoscaler) -> Option<&'static str> {
    match auto.floor_from {
        FloorFrom::Asked => None,
        FloorFrom::Peak => Some(
            "The smallest fleet is that for the peak: a peak alone does not show how low traffic \
             gets. Give traffic by time (--traffic), or --floor, to let it shrink.",
        ),
        FloorFrom::Cheapest => Some(
            "The smallest fleet is the cheapest for this traffic. A smaller one needs a lower CPU \
             target at all times, because a lost instance is a larger part of it.",
        ),
        FloorFrom::NoFailures => {
            Some("No instance may be lost, so the target is right for any fleet, down to one.")
        }
    }
}

/// A sentence for each; what the one before has said is not said again.
pub(super) fn cautions(all: &[SizingCaution], least_instances: u32) -> Vec<String> {
    let is_below = |c: &SizingCaution| matches!(c, SizingCaution::BelowMeasured { .. });
    let first = all.iter().position(is_below);
    let each = all.iter().enumerate().map(|(i, one)| match *one {
        SizingCaution::BelowMeasured {
            figure, rate_rps, ..
        } if first != Some(i) => {
            let rate = per_second(rate_rps);
            format!("Nor is the {}, at {rate} per instance.", named(figure))
        }
        _ => caution(one, least_instances),
    });
    each.collect()
}

pub(super) fn ink(caution: &SizingCaution) -> Ink {
    match caution {
        SizingCaution::TooSteep { .. } => Ink::Red,
        SizingCaution::BelowMeasured { .. } | SizingCaution::WideCapacity { .. } => Ink::Yellow,
    }
}

fn named(figure: CpuFigure) -> &'static str {
    match figure {
        CpuFigure::Target => "CPU target",
        CpuFigure::AtPeak => "CPU use at the peak",
    }
}

fn caution(caution: &SizingCaution, least_instances: u32) -> String {
    match *caution {
        SizingCaution::BelowMeasured {
            figure,
            rate_rps,
            lowest_measured_rps,
        } => {
            let what = named(figure);
            format!(
                "The {what} is not measured: {} per instance is below {}, the lowest load whose CPU \
                 use was. It is interpolated between there and no load; sweep lower levels (--levels) to \
                 measure it.",
                per_second(rate_rps),
                per_second(lowest_measured_rps)
            )
        }
        SizingCaution::TooSteep { worst_load_ratio } => format!(
            "New instances come too late for this traffic: at the worst moment one runs at {} % of \
             its planned capacity. Raise --growth, or --floor.",
            number::trimmed_pct(100.0 * worst_load_ratio)
        ),
        SizingCaution::WideCapacity {
            half_width_pct,
            instances_at_high_end: n,
        } => {
            // What would not be fewer is no reason to know more closely.
            let enough = for_count(n, "instance is enough", "instances are enough");
            let saving = format!(": at its upper end {} {enough}", grouped(f64::from(n), 0));
            let saving = words_if(n < least_instances, &saving);
            format!(
                "The capacity of an instance is known to ±{half_width_pct:.0} %{saving}. Sweep longer \
                 for a narrower interval, without --quick or with --precision."
            )
        }
    }
}
