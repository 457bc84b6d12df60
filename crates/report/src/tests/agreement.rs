//! What a page says in several places is one thing, and what it cannot show it
//! says.

use super::pages::{chart, count, page, page_of};
use super::sample::picture::picture;
use super::sample::{Sample, found, nothing_valid, sweep};
use super::shown::{between, tally};
use crate::number::rate;
use plimsoll_model::{Estimate, LevelFinding, Phase, PictureSetting, Rate, WorkOf};

/// p99 goes from 1 to 4 ms over 100 to 300 requests per second, in a page with
/// a goal of 2 ms that is met at `rate`.
fn met_at(rate: Estimate) -> String {
    let mut sample = sweep();
    let template = sample.findings.levels.remove(0);
    let level = |(rate, us): (f64, f64)| {
        let mut level: LevelFinding = template.clone();
        level.offered_rps = rate;
        level.latency_us.as_mut().unwrap().p99 = us;
        level
    };
    sample.findings.levels = [(100.0, 1e3), (200.0, 2e3), (300.0, 4e3)].map(level).into();
    let mut goal = found("p99<2ms", rate.value, None);
    goal.rate_rps = Some(rate);
    sample.findings.capacity = vec![goal];
    page(&sample)
}

#[test]
fn a_ring_that_its_line_does_not_meet_says_so() {
    let is_off = |low: f64, value: f64, high: f64| {
        met_at(Estimate::within(value, low, high)).contains("line and ring disagree")
    };
    assert!(!is_off(150.0, 160.0, 250.0), "it does at 200");
    assert!(is_off(110.0, 120.0, 190.0), "below the limit all along");
    assert!(is_off(210.0, 220.0, 300.0), "above it all along");
    assert!(!is_off(50.0, 60.0, 90.0), "no line there");
    assert!(!is_off(110.0, 120.0, 400.0), "the line ends before");
}

#[test]
fn a_ring_has_the_interval_of_its_rate() {
    let page = met_at(Estimate::within(160.0, 150.0, 250.0));
    for size in ["wide", "narrow"] {
        let spans = count(chart(&page, "latency", size), "class=\"met-span p99\"");
        assert_eq!(spans, 3, "a bar and its two ends");
    }
    assert!(page.contains("The bar through it"));
    let alone = met_at(Estimate::alone(160.0));
    assert_eq!(count(&alone, "class=\"met-span"), 0);
    assert!(!alone.contains("The bar through it"));
    assert!(
        !alone.contains("line and ring disagree"),
        "nothing to hold it to"
    );
}

#[test]
fn no_trial_of_the_search_is_drawn_at_a_load_that_it_did_not_have() {
    let sample = sweep();
    let mut picture = picture(&sample);
    let most = sample.findings.levels.last().unwrap().offered_rps;
    for factor in [1.2, 1.5] {
        let mut trial = picture.trials[0].clone();
        trial.phase = Phase::Search;
        trial.invalid.clear();
        let rate = Rate::per_second(factor * most).unwrap();
        trial.setting = PictureSetting::Offer { rate };
        trial.p99_us = Some(5e3);
        picture.trials.push(trial);
    }
    let page = page_of(&sample, &picture, &[]);
    let drawn = chart(&page, "latency", "wide");
    let places = drawn.split("class=\"speck p99\"").skip(1);
    let mut places: Vec<&str> = places
        .map(|rest| &rest[..rest.find('>').unwrap()])
        .collect();
    assert_eq!(places.len(), 2);
    places.dedup();
    assert_eq!(places.len(), 2, "both at the end of the axis: {places:?}");
}

#[test]
fn work_per_cpu_second_is_that_of_the_level_table() {
    let sample = sweep();
    let mut picture = picture(&sample);
    picture.work_of = WorkOf::Service;
    let page = page_of(&sample, &picture, &[]);
    let measured = |l: &&LevelFinding| l.cpu_us_per_request.is_some();
    let levels = || sample.findings.levels.iter().filter(measured);
    let name = |l: &LevelFinding| crate::number::trimmed_pct(l.load_pct);
    let (first, last) = (levels().next().unwrap(), levels().next_back().unwrap());
    // 182.5 us a request.
    let title = format!(
        "<h2>A CPU-second does 5,479 requests at {} % load and 5,479 at {} % load</h2>",
        name(first),
        name(last)
    );
    assert!(page.contains(&title), "{title}");
    assert!(page.contains("of the service's own CPU time") || page.contains("service&#39;s own"));
}

#[test]
fn a_saturated_level_that_the_curve_leaves_out_is_in_its_tables() {
    let sample = sweep();
    let mut picture = picture(&sample);
    let last = picture.curve.pop().unwrap();
    let page = page_of(&sample, &picture, &[]);
    for (id, values) in [("cpu", "<td>91.0<td>-<td>-"), ("work", "<td>-<td>-")] {
        let table = between(&page, &format!("<section id=\"{id}\""), "</table>").unwrap();
        let row = format!("<td>100<td>91.0<td>{}{values}</tbody>", rate(last.rate_rps));
        assert!(
            table.replace(" class=\"dim\"", "").contains(&row),
            "{id}: {table}"
        );
    }
    assert!(page.contains("Not fitted: saturated levels"));
}

#[test]
fn a_level_has_one_name_in_all_tables() {
    let mut sample = sweep();
    // By chance more was asked in its windows than its share of the rated rate.
    let level = &mut sample.findings.levels[0];
    level.achieved_rps = level.achieved_rps.map(|rate| 1.2 * rate);
    let name = crate::number::trimmed_pct(level.load_pct);
    let page = page(&sample);
    for id in ["cpu", "work"] {
        let part = between(&page, &format!("<section id=\"{id}\""), "</section>").unwrap();
        let row = between(part, "<tbody", "</tr>").unwrap_or(part);
        assert!(row.contains(&format!(">{name}<")), "{id}: {row}");
    }
    let title = between(&page, "<h2>A CPU-second does", "</h2>").unwrap();
    assert!(title.contains(&format!("at {name} % load")), "{title}");
}

#[test]
fn the_top_of_a_page_says_when_many_trials_are_invalid() {
    let top = |sample: &Sample| {
        let page = page(sample);
        between(&page, "<h1>", "<div class=\"sentences")
            .unwrap()
            .to_owned()
    };
    let mut sample = sweep();
    assert!(!top(&sample).contains("invalid"), "3 of 34 are a few");
    sample.trials = tally(40, 9);
    let words = "9 of 40 trials are invalid, most often because the hypervisor took CPU time.";
    assert!(top(&sample).contains(words), "{}", top(&sample));
    assert!(top(&nothing_valid()).contains("1 of 1 trial is invalid"));
}

#[test]
fn without_a_valid_level_there_is_a_reason_in_place_of_the_chart_of_latency() {
    let page = page(&nothing_valid());
    assert!(!page.contains("data-chart=\"latency\""));
    assert!(page.contains("No chart of latency: no level has a valid trial"));
    assert!(!self::page(&sweep()).contains("No chart of latency"));
}
