//! The pages of the lab in batch form, with short times.

use crate::common::{Folder, has};

/// Flags that make a page short. The machine of the tests is never quiet: whatever else uses it counts.
const SHORT: &str =
    "--rated 400 --cpus 0 -z 100ms --no-html --max-slip 10s --max-other 100% --max-steal 100%";

fn page(letter: char, more: &str, words: &[&str]) {
    let folder = Folder::new();
    let ended = folder.run(format!(
        "demo --page {letter} --batch -- {SHORT} -o page.plimsoll {more}"
    ));
    assert_eq!(ended.code, Some(0), "{letter}: {}", ended.text());
    has(&ended.stdout, words);
    let json = folder.run("report page.plimsoll --format json").json();
    assert!(json["record"]["trials"].as_u64().unwrap() > 1, "{letter}");
    assert!(json["findings"].is_object(), "{letter}");
}

#[test]
fn every_page_measures_prints_and_keeps_a_record() {
    page(
        'a',
        "--levels 20,60 --trials 1",
        &["Is CPU use work?", "$ plimsoll sweep"],
    );
    for (letter, more, words) in [
        ('b', "", &["beside the service cost", "--arms none"][..]),
        ('c', "", &["within a headroom", "none,plimsoll"]),
        ('d', "--headrooms 10,40", &["headroom is enough", "--curve"]),
        ('e', "", &["in what is left", "plimsoll"]),
        ('f', "--arms none", &["memory runs short", "memory"]),
        ('g', "--arms none", &["own scenario", "none"]),
    ] {
        page(letter, &format!("--passes 1 {more}"), words);
    }
}
