//! The pages with charts: what is drawn, what is said, and that names from
//! outside stay text.

use super::sample::picture::picture;
use super::sample::{
    Experiment, Sample, copies, imported, imported_copies, nothing_valid, sweep, without_cpu,
};
use super::shown::{between, has, is_snapshot, shown, tally};
use crate::Format;
use plimsoll_model::{CapacityNote, CapacityStatus, Doubt, Estimate, Workload};

/// The page with its percent signs as plain text.
pub(crate) fn page<P: Experiment>(sample: &Sample<P>) -> String {
    page_of(sample, &P::picture(sample), &["plimsoll", P::NAME])
}

pub(crate) fn page_of<P: Experiment>(
    sample: &Sample<P>,
    picture: &P::Picture,
    command: &[&str],
) -> String {
    let sample = Sample {
        command_line: command.iter().map(|w| (*w).to_owned()).collect(),
        ..sample.clone()
    };
    let page = sample.with(Some(picture), |document| shown(document, Format::Html));
    page.replace('\u{a0}', " ")
}

/// The part of a page that is a chart, in one of its sizes.
pub(crate) fn chart<'a>(page: &'a str, id: &str, size: &str) -> &'a str {
    // One with many points says so in its class.
    let begins = ["", " dense"].map(|c| format!("<svg class=\"{size}{c}\" data-chart=\"{id}\""));
    let from = begins.iter().find_map(|begins| page.find(begins));
    let from = from.unwrap_or_else(|| panic!("no {id}"));
    let to = page[from..].find("</svg>").unwrap();
    &page[from..from + to]
}

pub(crate) fn count(text: &str, what: &str) -> usize {
    text.matches(what).count()
}

#[test]
fn every_chart_of_a_sweep_has_all_points_in_both_sizes() {
    let sample = sweep();
    let page = page(&sample);
    let measured = |l: &&plimsoll_model::LevelFinding| l.latency_us.is_some();
    let levels = sample.findings.levels.iter().filter(measured).count();
    assert!(levels >= 3);
    for size in ["wide", "narrow"] {
        for (id, points) in [
            ("latency", 3 * levels),
            ("cpu", levels),
            ("work", levels),
            ("offered", 2 * levels),
        ] {
            let chart = chart(&page, id, size);
            assert_eq!(count(chart, "class=\"pt "), points, "{id} {size}");
            assert!(chart.contains("aria-label=\"") && chart.contains("<desc"));
        }
        let spectrum = chart(&page, "spectrum", size);
        assert_eq!(count(spectrum, "class=\"line level\""), levels);
        let line = chart(&page, "time", size);
        assert_eq!(
            count(line, "class=\"trial"),
            2 * sample.findings.levels.len()
        );
        assert_eq!(count(line, "class=\"trial bad"), 2, "the invalid ones");
        assert_eq!(count(line, ">H</text>"), 2, "their reason");
        assert_eq!(
            count(chart(&page, "growth", size), "class=\"pt growth\""),
            sample.findings.hints.len()
        );
    }
}

#[test]
fn the_goal_that_is_broken_first_decides_what_is_carried() {
    let headline = |sample: &Sample| {
        let page = page(sample);
        let (_, head) = page.split_once("<h1>").unwrap();
        between(head, "<span>", "</span>").unwrap().to_owned()
    };
    let mut sample = sweep();
    sample.findings.capacity.reverse();
    assert!(headline(&sample).contains("carries 8,410/s"), "not 8,900");
    assert!(!headline(&sample).contains("doubt"));
    // The text and its charts lead with the same goal, and name it.
    let text = sample.with_charts(100, crate::chart::Charset::Ascii);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    has(&text, &["Latency: p99<10ms is met up to 8,410/s"]);
    let first = text.find("within all goals, of which p99<10ms").unwrap();
    assert!(
        first < text.find("within the goal errors<0.1%").unwrap(),
        "{text}"
    );
    has(&text, &["achieved load, % of the rated rate"]);
    // One that is only known to be kept up to there decides nothing.
    sample.findings.capacity[0].status = CapacityStatus::NotReached;
    sample.findings.capacity[0].rate_rps = Some(Estimate::alone(8_000.0));
    assert!(headline(&sample).contains("carries 8,410/s"));
    sample.findings.capacity[0].status = CapacityStatus::Undecided;
    assert!(headline(&sample).ends_with("within p99&lt;10ms"));
    sample.findings.capacity.truncate(1);
    assert!(headline(&sample).ends_with("inconclusive"));
    sample.findings.capacity[0].status = CapacityStatus::Found;
    assert!(headline(&sample).ends_with("inconclusive, too few valid trials"));
    sample.findings.capacity[0].note = Some(CapacityNote::MissedAtLowest { lowest_rps: 500.0 });
    assert!(headline(&sample).ends_with("misses errors&lt;0.1% already at 500/s"));
    let mut doubted = sweep();
    doubted.findings.doubts = vec![Doubt::Trend { change_pct: 12.0 }];
    assert!(headline(&doubted).ends_with(", in doubt"));
}

/// The headings of a page, one a line.
pub(crate) fn titles(page: &str) -> String {
    let headings = page
        .split("<h")
        .filter(|part| part.starts_with(['1', '2', '3']));
    let text = |heading: &str| -> String {
        let (markup, _) = heading.split_once("</h").unwrap();
        let texts = markup
            .split('<')
            .filter_map(|part| Some(part.split_once('>')?.1));
        texts.collect()
    };
    headings.map(|heading| text(heading) + "\n").collect()
}

#[test]
fn the_titles_of_pages_are_as_in_the_file() {
    let mut out = String::new();
    for (name, sample) in [
        ("sweep", sweep()),
        ("sweep without CPU use", without_cpu()),
        ("nothing valid", nothing_valid()),
        ("table", imported()),
    ] {
        out += &format!("# {name}\n{}\n", titles(&page(&sample)));
    }
    for (name, sample) in [("copies", copies()), ("table of copies", imported_copies())] {
        out += &format!("# {name}\n{}\n", titles(&page(&sample)));
    }
    is_snapshot("tests/titles", usize::MAX, &out);
}

#[test]
fn the_load_line_is_marked_where_the_goal_is_met() {
    let page = page(&sweep());
    let latency = chart(&page, "latency", "wide");
    assert_eq!(
        count(latency, "class=\"load-mark p99\""),
        1,
        "in the colour of its percentile"
    );
    assert!(latency.contains("class=\"mark-name p99\""));
    assert_eq!(count(latency, "class=\"load-mark "), 1, "errors have none");
    assert_eq!(count(latency, "class=\"load-line\""), 1);
    assert_eq!(count(latency, "class=\"load-line other\""), 1);
    assert!(latency.contains(">goal: p99 &lt; 10ms<"));
    let kept = self::page(&imported());
    let kept = chart(&kept, "latency", "wide");
    assert_eq!(
        count(kept, "class=\"load-mark "),
        0,
        "never seen to reach it"
    );
    assert!(latency.contains("class=\"band p99\""));
}

#[test]
fn pages_stand_without_what_is_not_known() {
    fn stands<P: Experiment>(sample: &Sample<P>) {
        let whole = page(sample);
        let bare = page_of(sample, &P::Picture::default(), &[]);
        for page in [whole, bare] {
            assert!(page.contains("<h1>"), "{}", titles(&page));
            assert!(
                !page.contains("NaN") && !page.contains(">inf"),
                "{}",
                titles(&page)
            );
            assert_eq!(count(&page, "<section"), count(&page, "</section>"));
        }
    }
    for sample in [without_cpu(), nothing_valid(), imported()] {
        stands(&sample);
    }
    for sample in [copies(), imported_copies()] {
        stands(&sample);
    }
}

#[test]
fn a_table_and_copies_use_the_same_parts() {
    let table = page(&imported());
    let latency = chart(&table, "latency", "wide");
    let rows = imported().findings.levels.len();
    assert_eq!(count(latency, "class=\"pt "), rows, "one latency per row");
    assert!(
        !table.contains("data-chart=\"spectrum\""),
        "one number has none"
    );
    assert!(
        !table.contains("data-chart=\"time\""),
        "nor is it known when"
    );
    let copies_page = page(&copies());
    let work = chart(&copies_page, "work", "narrow");
    assert_eq!(count(work, "class=\"pt "), copies().findings.copies.len());
}

#[test]
fn a_disturbed_row_says_so_and_what_to_do() {
    let mut sample = copies();
    let sound = page(&sample);
    assert_eq!(count(&sound, "hollow\""), 0);
    let disturbed = &mut sample.findings.copies[1];
    (disturbed.trials, disturbed.efficiency_ratio) = (0, None);
    sample.trials = tally(7, 1);
    let page = page(&sample);
    assert!(
        page.contains("disturbed, most often because the hypervisor took CPU time. Run it again")
    );
    assert!(page.contains("disturbed: no valid trial"));
    let time = chart(&page, "latency", "narrow");
    assert_eq!(count(time, "class=\"pt p99 hollow\""), 1, "{time}");
    let text = sample.text(400);
    has(&text, &["Trials were disturbed, most often because"]);
}

pub(crate) const HOSTILE: &str =
    "</script><script>alert(1)</script><img src=x onerror=\"a()\">'\"&";

/// Asserts that hostile names in a sample are text in its page, whose elements are those of
/// `plain`.
pub(crate) fn is_inert<P: Experiment>(sample: &Sample<P>, plain: &Sample<P>) -> String {
    let command = ["plimsoll", HOSTILE];
    let hostile = page_of(sample, &P::picture(sample), &command);
    let plain = page(plain);
    for markup in ["<script", "</script", "<img", "<svg", "<section"] {
        assert_eq!(count(&hostile, markup), count(&plain, markup), "{markup}");
    }
    assert_eq!(count(&hostile, "onerror=\""), 0);
    assert!(!hostile.contains("secret-"), "secrets are hidden");
    let title = between(&hostile, "<title>", "</title>").unwrap();
    assert!(title.len() < 400, "a title is short");
    hostile
}

#[test]
fn hostile_names_stay_inert() {
    let mut sample = sweep();
    let hostile = HOSTILE.to_owned();
    let Workload::Http(http) = &mut sample.plan.workload else {
        panic!("the sample is of a server");
    };
    http.url = format!("http://h/{hostile}{}", "x".repeat(10_000));
    http.headers = vec![("Authorization".to_owned(), "Bearer secret-1".to_owned())];
    let machine = &mut sample.provenance;
    machine.hostname = Some(hostile.clone());
    machine.cpu_model = Some(hostile.clone());
    machine.mitigations.insert(hostile.clone(), hostile.clone());
    sample.findings.hints[0].counter = hostile;
    let page = is_inert(&sample, &sweep());
    // The long address stands in the page once, on demand, and in the JSON.
    assert!(page.contains(&"x".repeat(10_000)));
}

#[test]
fn two_hundred_levels_on_256_cpus_stay_below_a_megabyte() {
    let mut sample = sweep();
    let one = sample.findings.levels[1].clone();
    sample.findings.levels = (1..=200)
        .map(|i| {
            let mut level = one.clone();
            level.load_pct = f64::from(i) / 2.0;
            level.offered_rps = 123_456.789 * f64::from(i);
            level.achieved_rps = Some(level.offered_rps * 0.999);
            level.cpu_pct = Some(f64::from(i) / 2.13);
            level
        })
        .collect();
    sample.provenance.topology.online = (0..256).collect();
    sample.provenance.topology.allowed = (0..256).collect();
    let picture = picture(&sample);
    let page = page_of(&sample, &picture, &["plimsoll", "sweep"]);
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    let latency = chart(&page, "latency", "narrow");
    assert_eq!(count(latency, "class=\"pt "), 600);
}
