//! The pages with charts in a real browser, opened from disk.

mod driver;
mod lab;
mod yields;

use crate::common::{Folder, short};
use driver::Browser;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const TABLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/data/graviton3-netty.csv"
);
/// A run whose levels all count, several trials each.
const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/nginx.plimsoll");
/// A row of the table each.
const ROWS: f64 = 15.0;

/// A page of a table of known rows.
fn of_table(folder: &Folder, more: &[&str]) -> PathBuf {
    let import = ["import", TABLE, "-o", "table.plimsoll", "--cpus", "16"];
    let ended = folder.run([&import[..], more].concat());
    ended.says(0, &["Charts: table.html"]);
    folder.path("table.html")
}

/// A page of a short sweep whose trials are all valid, and its findings.
fn of_sweep(folder: &Folder) -> (PathBuf, Value) {
    let ended = folder.run(short("--levels 20,50,80 -o run.plimsoll"));
    ended.says(0, &["Charts: run.html"]);
    (folder.path("run.html"), findings(folder))
}

/// A page of a record that is kept, and its findings.
fn of_record(folder: &Folder) -> (PathBuf, Value) {
    std::fs::copy(RECORD, folder.path("run.plimsoll")).unwrap();
    let report = "report run.plimsoll -o run.html";
    folder.run(report).says(0, &[]);
    (folder.path("run.html"), findings(folder))
}

fn findings(folder: &Folder) -> Value {
    let report = "report run.plimsoll --format json";
    folder.run(report).json()
}

/// How many elements are there and can be seen.
fn seen(browser: &Browser, selector: &str) -> f64 {
    browser.number(&format!(
        "return [...document.querySelectorAll('{selector}')].filter(e => e.getClientRects().length).length"
    ))
}

/// No console error, and nothing was asked for but the file itself.
fn kept_to_itself(browser: &Browser) {
    let severe = |entry: &&Value| entry["level"] == "SEVERE" || entry["level"] == "WARNING";
    let console = browser.log("browser");
    let errors: Vec<&Value> = console.iter().filter(severe).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    for entry in browser.log("performance") {
        let event: Value = serde_json::from_str(entry["message"].as_str().unwrap()).unwrap();
        let asked = &event["message"]["params"];
        // Chromium's own pages are none of ours.
        let ours = asked["documentURL"]
            .as_str()
            .is_some_and(|url| url.starts_with("file:"));
        if ours && event["message"]["method"] == "Network.requestWillBeSent" {
            let url = event["message"]["params"]["request"]["url"]
                .as_str()
                .unwrap()
                .to_owned();
            let inside = ["file://", "data:", "blob:"];
            assert!(inside.iter().any(|scheme| url.starts_with(scheme)), "{url}");
        }
    }
    let fetched = "return performance.getEntriesByType('resource').map(e => e.name)\
                   .filter(n => !n.startsWith('data:')).join()";
    assert_eq!(browser.text(fetched), "");
}

#[test]
fn the_page_of_a_run_draws_every_level_in_every_chart() {
    let folder = Folder::new();
    let (page, json) = of_sweep(&folder);
    let browser = Browser::start();
    draws_every_level(&browser, &page, &json, 3);
    // A level of one trial has no spread.
    assert_eq!(seen(&browser, "#latency path.band"), 0.0);
}

#[test]
fn the_page_of_a_kept_run_draws_every_level_against_cpu_use() {
    let folder = Folder::new();
    let (page, json) = of_record(&folder);
    let browser = Browser::start();
    draws_every_level(&browser, &page, &json, 11);
    assert_eq!(seen(&browser, "#latency path.band"), 3.0);
    assert_eq!(seen(&browser, "#cpu .pt"), 11.0);
    assert!(seen(&browser, "#work .pt") >= 2.0);
}

/// All but the charts of CPU use: a run of this moment may have no curve of it.
fn draws_every_level(browser: &Browser, page: &Path, json: &Value, levels: usize) {
    browser.resize(1600, 1000);
    browser.open(page);
    let found = json["findings"]["levels"].as_array().unwrap();
    let measured = found.iter().filter(|l| !l["latency_us"].is_null()).count();
    assert_eq!(measured, levels, "{found:#?}");
    let measured = measured as f64;
    for (selector, points) in [
        ("#latency .pt", 3.0 * measured),
        ("#offered .pt", 2.0 * measured),
        ("#spectrum .line.level", measured),
        ("#time g.trial", json["record"]["trials"].as_f64().unwrap()),
    ] {
        assert_eq!(seen(browser, selector), points, "{selector}");
    }
    let nameless = "return document.querySelectorAll('svg[role=img]:not([aria-label])').length";
    assert_eq!(browser.number(nameless), 0.0);
    for width in [400, 900, 1600] {
        browser.resize(width, 900);
        fits(browser, width);
    }
    kept_to_itself(browser);
}

#[test]
fn a_level_that_is_picked_anywhere_is_shown_in_all_charts() {
    let folder = Folder::new();
    let (page, _) = of_sweep(&folder);
    let browser = Browser::start();
    browser.resize(1600, 1000);
    browser.open(&page);
    // By the keyboard, in a chart that has the focus.
    browser.keys("#latency svg.wide", "\u{e011}");
    picked(&browser, 0);
    browser.keys("#latency svg.wide", "\u{e014}");
    picked(&browser, 1);
    // By buttons and list.
    browser.click("#higher");
    picked(&browser, 2);
    browser.click("#lower");
    picked(&browser, 1);
    browser.keys("#level", "20");
    picked(&browser, 0);
    // By pointing: right of the middle is the highest load.
    let right =
        browser.number("return document.querySelector('#offered svg.wide').clientWidth * 0.4");
    browser.point_at("#offered svg.wide", right as i32, 0);
    picked(&browser, 2);
    browser.run("document.querySelector('#latency details').open = true");
    browser.point_at("#latency tbody tr:nth-child(2) td", 0, 0);
    picked(&browser, 1);
    kept_to_itself(&browser);
}

/// Every chart shows this level, and no other.
fn picked(browser: &Browser, level: usize) {
    browser.wait_for(&format!(
        "return document.documentElement.dataset.level === '{level}'"
    ));
    let strays = browser.run(&format!(
        "const strays = [];
         for (const svg of document.querySelectorAll('svg[data-xs]')) {{
           const place = svg.dataset.xs.split(' ')[{level}];
           const cursor = svg.querySelector('.cursor');
           if (place === '-' ? cursor.matches('.on') : cursor.getAttribute('transform') !== `translate(${{place}} 0)`)
             strays.push(svg.dataset.chart);
         }}
         for (const mark of document.querySelectorAll('[data-l]'))
           if (mark.matches('.on') !== (mark.dataset.l === '{level}')) strays.push(mark.outerHTML);
         const name = document.querySelector('#level').selectedOptions[0].textContent;
         for (const told of document.querySelectorAll('[data-details]'))
           if (!told.textContent.startsWith(name)) strays.push(told.textContent);
         return strays"
    ));
    assert_eq!(strays, json!([]), "level {level}");
}

#[test]
fn the_page_reads_in_light_and_dark_and_on_a_phone() {
    let folder = Folder::new();
    let page = of_table(&folder, &[]);
    let browser = Browser::start();
    for width in [400, 900, 1600] {
        browser.resize(width, 900);
        browser.open(&page);
        fits(&browser, width);
        assert_eq!(seen(&browser, "#latency .pt"), ROWS, "{width} px");
        assert_eq!(
            seen(&browser, "#latency svg"),
            1.0,
            "one size of each: {width} px"
        );
    }
    for scheme in ["light", "dark"] {
        browser.prefer(scheme);
        let faint = browser.run(FAINT);
        assert_eq!(faint, json!([]), "{scheme}");
        let dark = browser.number("return luminance(getComputedStyle(document.body).backgroundColor);
             function luminance(c) { return c.match(/[0-9.]+/g).slice(0, 3).map(Number).reduce((a, b) => a + b) / 765; }");
        assert_eq!(dark < 0.5, scheme == "dark", "{scheme}: {dark}");
    }
    // The switch wins over the system.
    let background = "return getComputedStyle(document.body).backgroundColor";
    let before = browser.text(background);
    browser.click("#theme");
    assert_ne!(browser.text(background), before);
    browser.click("#theme");
    assert_eq!(browser.text(background), before);
    assert!(browser.print().starts_with("JVBERi0"), "that is %PDF-");
    kept_to_itself(&browser);
}

/// Nothing has to be scrolled sideways, and no text stands on another.
fn fits(browser: &Browser, width: u32) {
    let page = "document.documentElement";
    let wider = format!("return {page}.scrollWidth - {page}.clientWidth");
    assert!(browser.number(&wider) <= 0.0, "{width} px scroll sideways");
    assert_eq!(browser.run(OVERLAPPING), json!([]), "{width} px");
    let twice = "const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
                 return ids.filter((id, i) => ids.indexOf(id) !== i).join()";
    assert_eq!(browser.text(twice), "", "a name stands for one element");
}

const OVERLAPPING: &str = include_str!("browser/overlapping.js");
const FAINT: &str = include_str!("browser/faint.js");

#[test]
fn hostile_names_do_nothing_in_a_browser() {
    let folder = Folder::new();
    let name = "</script><script>window.hit=1</script><img src=http://127.0.0.1:9/ onerror=\"window.hit=2\">'\"";
    let page = of_table(&folder, &["--name", name, "--note", name]);
    let browser = Browser::start();
    browser.open(&page);
    assert_eq!(browser.run("return window.hit === undefined"), json!(true));
    assert_eq!(
        browser.run("return document.querySelectorAll('img').length"),
        json!(0)
    );
    assert_eq!(browser.run("return document.scripts.length"), json!(3));
    assert!(
        browser
            .text("return document.body.innerText")
            .contains(name)
    );
    kept_to_itself(&browser);
}

#[test]
fn the_findings_can_be_downloaded_from_the_page() {
    let folder = Folder::new();
    let page = of_table(&folder, &[]);
    let browser = Browser::start();
    let downloads = json!({"behavior": "allow", "downloadPath": folder.path("")});
    browser.devtools("Browser.setDownloadBehavior", &downloads);
    browser.open(&page);
    browser.click("#download");
    let file = folder.path("table.json");
    let began = Instant::now();
    let json: Value = loop {
        let read = std::fs::read_to_string(&file).ok();
        if let Some(json) = read.and_then(|text| serde_json::from_str(&text).ok()) {
            break json;
        }
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "no {}",
            file.display()
        );
        std::thread::sleep(Duration::from_millis(50));
    };
    let report = folder.run("report table.plimsoll --format json");
    assert_eq!(json, report.json());
}

#[test]
fn machines_are_compared_by_cpu_and_price() {
    let folder = Folder::new();
    for (record, cpus) in [("a.plimsoll", "16"), ("b.plimsoll", "32")] {
        let name = &record[..1];
        let flags = format!("-o {record} --cpus {cpus} --name {name} --no-html");
        folder.run(format!("import '{TABLE}' {flags}")).says(0, &[]);
        assert!(!folder.path("a.html").exists(), "--no-html");
    }
    let args = "compare a.plimsoll b.plimsoll -o both.html --price a=1 --price b=2 --goal p99<2x --goal p99<5ms";
    folder.run(args).says(0, &[]);
    let browser = Browser::start();
    for width in [400, 1600] {
        browser.resize(width, 900);
        browser.open(&folder.path("both.html"));
        assert_eq!(
            seen(&browser, "#capacities .pt"),
            6.0,
            "two machines, three measures"
        );
        for shows in ["machine", "cpu", "price"] {
            browser.click(&format!("input[data-shows={shows}]"));
            assert_eq!(seen(&browser, "#latency .pt"), 2.0 * ROWS, "{shows}");
            assert_eq!(seen(&browser, "#latency svg"), 1.0, "{shows}");
            assert_eq!(browser.run(OVERLAPPING), json!([]), "{shows} at {width} px");
        }
        fits(&browser, width);
        let heads = seen(&browser, "#thresholds thead") > 0.0;
        assert_eq!(heads, width > 600, "rows are cards on a phone");
        let wider = "const all = [...document.querySelectorAll('#thresholds .scroll')];
                     return all.filter(e => e.scrollWidth > e.clientWidth).length";
        assert_eq!(browser.number(wider), 0.0, "{width} px scroll sideways");
    }
    kept_to_itself(&browser);
}
