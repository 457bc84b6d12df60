use super::*;

fn view(log: Vec<&str>) -> LabView<'_> {
    LabView {
        rating: "1,900/s",
        pages: vec![LabButton {
            message: "{\"page\":0}".to_owned(),
            label: "a".to_owned(),
            is_on: true,
        }],
        question: "Is CPU use work?",
        text: vec!["One.", "Two."],
        findings: None,
        buttons: Vec::new(),
        values: vec![("load", 60.0)],
        goal: LabButton {
            message: "{\"goal\":true}".to_owned(),
            label: "p95<75ms".to_owned(),
            is_on: false,
        },
        job: "burn: stopped".to_owned(),
        message: String::new(),
        figures: vec!["60/s of 60/s".to_owned()],
        charts: Vec::new(),
        log,
    }
}

#[test]
fn every_region_has_its_place_in_the_frame() {
    let frame = page(&[Slider {
        name: "load",
        most: 120.0,
        step: 5.0,
    }]);
    for (id, _) in regions(&view(Vec::new())) {
        // Values go to the sliders.
        if id != "values" {
            assert_eq!(frame.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
        }
    }
    assert!(frame.contains("connect-src &#39;self&#39;") && !frame.contains("http://"));
}

#[test]
fn lines_of_a_job_are_text() {
    let regions = regions(&view(vec!["<script>alert(1)</script>", "\u{1b}[31m"]));
    let log = &regions.iter().find(|(id, _)| *id == "log").unwrap().1;
    assert!(
        log.starts_with("<span>&lt;script&gt;") && !log.contains('\u{1b}'),
        "{log}"
    );
    assert_eq!(log.matches("<span>").count(), 2, "a line each: {log}");
}
