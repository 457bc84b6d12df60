//! How a curve over headrooms reads, and how it is drawn.

use super::sample::curve::{curve, two};
use super::*;
use crate::html::overlapping;
use crate::tests::pages::{chart, count, page};
use crate::tests::shown::has;
use plimsoll_model::Estimate;
use proptest::prelude::*;

#[test]
fn a_curve_in_json_keeps_to_the_schema() {
    let good = curve().json();
    schema().accepts(&good);
    let points = &good["findings"]["curve"][0]["points"];
    assert_eq!(points[2]["headroom_pct"], 20.0);
    assert_eq!(points[2]["work_gained_share"]["value"], 0.19);
    assert_eq!(good["plan"]["sideload"]["headrooms_share"][1], 0.1);
}

#[test]
fn its_charts_have_a_point_for_each_headroom_and_mark_the_knee() {
    for (sample, arms) in [(curve(), 1), (two(), 2)] {
        let page = page(&sample);
        let points: usize = sample.findings.curve.iter().map(|c| c.points.len()).sum();
        for size in ["wide", "narrow"] {
            for id in ["curve", "curve-gained"] {
                let chart = chart(&page, id, size);
                assert_eq!(count(chart, "class=\"pt "), points, "{id} {size}");
                assert_eq!(count(chart, "class=\"reach "), points, "{id} {size}");
                assert_eq!(count(chart, "class=\"line m"), arms, "{id} {size}");
                assert_eq!(count(chart, ">quota-10ms</text>"), 1, "{id} {size}");
                assert_eq!(count(chart, "load-mark best open"), 1, "{id} {size}");
                assert!(chart.contains("aria-label=\"") && chart.contains("<desc"));
            }
            let paid = chart(&page, "curve", size);
            assert_eq!(count(paid, "class=\"knee "), arms, "{size}");
            assert_eq!(count(paid, "class=\"band "), arms, "{size}");
            assert_eq!(count(paid, ">knee: 14.6 %</text>"), 1, "{size}");
            assert_eq!(count(paid, "class=\"goal budget\""), 1, "{size}");
        }
        assert_eq!(overlapping(&page), Vec::<String>::new());
        // Charts of arms that are compared once have nothing to show.
        for id in ["paid", "latency", "total", "cause"] {
            assert!(!page.contains(&format!("<section id=\"{id}\"")), "{id}");
        }
    }
}

#[test]
fn each_headroom_can_be_picked_and_that_to_take_is_picked_first() {
    let sample = two();
    let page = page(&sample);
    let (_, picker) = page.split_once("<select id=\"level\"").unwrap();
    let (picker, _) = picker.split_once("</select>").unwrap();
    assert_eq!(count(picker, "<option"), sample.findings.tried().count());
    has(picker, &["selected>quota-10ms, 20 % headroom<"]);
    // What stands under a chart is of the one that is picked.
    assert!(
        page.contains("quota-10ms, 20 % headroom: p99 changes by +0.8 % (-0.7 to 2.3); within")
    );
    let at = sample.findings.arms.len() + 2;
    let mark = format!("data-l=\"{at}\"");
    assert!(count(chart(&page, "curve", "wide"), &mark) >= 1, "{mark}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn no_name_stands_on_another_whatever_the_curve(
        changes in prop::collection::vec((-40.0..900.0f64, 0.0..80.0f64), 10),
        knees in prop::collection::vec(0.0..50.0f64, 2),
        noise in prop::option::of(0.1..60.0f64),
    ) {
        let mut sample = two();
        sample.findings.noise_floor_pct = noise;
        for (curve, at) in sample.findings.curve.iter_mut().zip(&knees) {
            curve.knee.headroom_pct = Some(Estimate::within(*at, at - 2.0, at + 2.0));
        }
        let points = sample.findings.curve.iter_mut().flat_map(|c| &mut c.points);
        for (point, (change, reach)) in points.zip(&changes) {
            let moved = point.found.latency_change_pct.as_mut().unwrap();
            moved.p99 = Some(Estimate::within(*change, change - reach, change + reach));
        }
        let page = page(&sample);
        prop_assert_eq!(overlapping(&page), Vec::<String>::new());
        for size in ["wide", "narrow"] {
            let paid = chart(&page, "curve", size);
            prop_assert_eq!(count(paid, "class=\"mark-name"), 4, "{}", size);
        }
    }
}
