//! The page of a yield run: made from findings that the tests of `report` have
//! too, because trials of a moment would find none of its cases.

use super::{Browser, FAINT, Folder, OVERLAPPING, fits, kept_to_itself, seen};
use crate::tests::shown::shown;
use plimsoll_report::Format;
use sample::Sample;
use serde_json::json;
use std::path::PathBuf;

#[path = "../../../../report/src/yields/tests/sample/mod.rs"]
#[allow(dead_code, reason = "a browser is shown a part of them")]
mod sample;

fn page(folder: &Folder, name: &str, sample: &Sample) -> PathBuf {
    let file = folder.path(name);
    let page = sample.with(Some(&sample.drawn), |document| {
        shown(document, Format::Html)
    });
    std::fs::write(&file, page).unwrap();
    file
}

#[test]
fn the_page_of_a_yield_run_draws_every_arm_in_every_chart() {
    let folder = Folder::new();
    let browser = Browser::start();
    let samples = [
        ("few.html", sample::sample()),
        ("all.html", sample::crowded()),
    ];
    for (name, sample) in samples {
        let file = page(&folder, name, &sample);
        let arms = sample.findings.arms.len() as f64;
        let beside = arms - 2.0;
        for width in [400, 900, 1600] {
            browser.resize(width, 1000);
            browser.open(&file);
            for (selector, marks) in [
                ("#paid .pt", beside),
                ("#paid .reach", 2.0 * beside),
                ("#paid .mark-name", beside),
                ("#paid .load-mark", 1.0),
                ("#paid .noise", 1.0),
                ("#latency .pt", 4.0 * (arms - 1.0)),
                ("#total .of-service", arms - 1.0),
                ("#total .of-job", arms - 1.0),
                ("#cause .of-wait", arms - 1.0),
                ("#time g.trial", sample.drawn.trials.len() as f64),
            ] {
                let found = seen(&browser, selector);
                assert_eq!(found, marks, "{name} {selector} at {width} px");
            }
            fits(&browser, width);
        }
        for scheme in ["light", "dark"] {
            browser.prefer(scheme);
            assert_eq!(browser.run(FAINT), json!([]), "{name} {scheme}");
        }
    }
    // An arm that is picked is shown in all charts.
    browser.click("#higher");
    let strays = "const at = document.documentElement.dataset.level;
        return [...document.querySelectorAll('[data-l]')]
            .filter(m => m.matches('.on') !== (m.dataset.l === at)).length";
    assert_eq!(browser.number(strays), 0.0);
    assert!(
        seen(&browser, ".pt.on") >= 5.0,
        "one mark and four latencies"
    );
    assert_eq!(browser.run(OVERLAPPING), json!([]));
    assert!(browser.print().starts_with("JVBERi0"), "that is %PDF-");
    kept_to_itself(&browser);
}

#[test]
fn the_pages_of_curves_and_steps_draw_every_headroom_and_every_slot() {
    let folder = Folder::new();
    let browser = Browser::start();
    let (two, stepped) = (sample::curve::two(), sample::step::stepped());
    let points: usize = two.findings.curve.iter().map(|c| c.points.len()).sum();
    let late = stepped.drawn.steps.iter().flat_map(|course| &course.slots);
    let late = late.filter(|slot| slot.is_late == Some(true)).count();
    let pages = [
        (
            page(&folder, "curve.html", &two),
            vec![
                ("#curve .pt", points),
                ("#curve .reach", points),
                ("#curve path.line", 2),
                ("#curve .knee", 2),
                ("#curve .load-mark", 1),
                // Two lines and two knees.
                ("#curve .mark-name", 4),
                ("#curve-gained .pt", points),
                ("#curve-gained path.line", 2),
            ],
        ),
        (
            page(&folder, "step.html", &stepped),
            vec![
                ("#slots .course", stepped.drawn.steps.len()),
                ("#slots .alone", stepped.drawn.steps.len()),
                ("#slots .late", late),
                ("#slots .knee", 2),
            ],
        ),
    ];
    for (file, expected) in &pages {
        for width in [400, 900, 1600] {
            browser.resize(width, 1000);
            browser.open(file);
            for (selector, marks) in expected {
                let found = seen(&browser, selector);
                assert_eq!(found, *marks as f64, "{selector} at {width} px");
            }
            fits(&browser, width);
        }
        for scheme in ["light", "dark"] {
            browser.prefer(scheme);
            assert_eq!(browser.run(FAINT), json!([]), "{} {scheme}", file.display());
        }
    }
    // The step's page is still open: each line has all slots.
    let corners = "return [...document.querySelectorAll('#slots svg.wide .course')]
        .map(line => line.getAttribute('d').split(/[ML]/).length - 1).join()";
    let each = stepped
        .drawn
        .steps
        .iter()
        .map(|course| course.slots.len().to_string());
    assert_eq!(browser.text(corners), each.collect::<Vec<_>>().join(","));
    kept_to_itself(&browser);
}
