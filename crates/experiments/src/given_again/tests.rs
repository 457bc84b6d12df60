//! What has to be given again, and what may be.

use super::*;
use std::time::Duration;

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn plan(url: &str, headers: &[(&str, &str)], body: &str) -> Plan {
    let mut http = HttpService::get(url, 1, Duration::from_secs(1));
    http.headers = headers.iter().map(|(n, v)| pair(n, v)).collect();
    http.body = body.into();
    Plan::blank(Workload::Http(http))
}

fn http(plan: &Plan) -> &HttpService {
    match &plan.workload {
        Workload::Http(http) => http,
        other => panic!("{other:?}"),
    }
}

fn headers(given: &[(&str, &str)]) -> GivenAgain {
    GivenAgain {
        headers: given.iter().map(|(n, v)| pair(n, v)).collect(),
        ..GivenAgain::default()
    }
}

fn url(given: &str) -> GivenAgain {
    GivenAgain {
        url: Some(given.to_owned()),
        ..GivenAgain::default()
    }
}

fn body(given: &str) -> GivenAgain {
    GivenAgain {
        body: Some(given.into()),
        ..GivenAgain::default()
    }
}

#[track_caller]
fn refused(plan: &Plan, given: GivenAgain, words: &str) {
    let error = supply(plan, given).unwrap_err().to_string();
    assert!(error.contains(words), "{error}");
}

#[test]
fn a_plan_without_secrets_comes_back_with_them() {
    let given = [
        ("Accept", "text/html"),
        ("Cookie", "a=1"),
        ("X-Key", "swordfish"),
        ("Cookie", "b=2"),
    ];
    let asked = plan("http://h/?k=v", &given, "swordfish");
    let recorded = asked.without_secrets();
    let missing =
        " 'http://h/?k=VALUE' -H 'Cookie: VALUE' -H 'X-Key: VALUE' -H 'Cookie: VALUE' -d BODY";
    assert_eq!(flags_to_resume(&recorded), missing);
    refused(&recorded, GivenAgain::default(), &format!("with{missing}"));
    refused(&recorded, url("http://h/?k=v"), "with -H 'Cookie");
    let again = GivenAgain {
        body: Some(b"swordfish".to_vec()),
        url: Some("http://h/?k=v".to_owned()),
        ..headers(&given)
    };
    assert_eq!(supply(&recorded, again).unwrap(), (asked, Vec::new()));
}

#[test]
fn what_is_secret_may_be_new_and_the_rest_must_match() {
    let old = plan("http://h/", &[("Accept", "*/*"), ("X-Api-Key", "old")], "");
    let with = |name, value| supply(&old, headers(&[(name, value)]));
    assert_eq!(with("accept", "*/*").unwrap(), (old.clone(), vec![]));
    refused(
        &old,
        headers(&[("Accept", "text/html")]),
        "no header Accept",
    );
    refused(&old, headers(&[("Cookie", "a")]), "no header Cookie or one");
    // An older record, or one that was asked to keep it.
    let (renewed, _) = with("X-Api-Key", "new").unwrap();
    assert_eq!(http(&renewed).headers[1], pair("X-Api-Key", "new"));
    refused(&old, body("x"), "no body or another");
    refused(
        &old,
        url("http://h/b"),
        "the URL is http://h/b and was http://h/",
    );
    let kept = plan("http://h/?size=1", &[], "");
    refused(&kept, url("http://h/?size=2"), "other values in its query");
    assert!(supply(&kept, url("http://h/?size=1")).is_ok());
    let metrics = GivenAgain {
        node_metrics: Some("http://n/".to_owned()),
        ..GivenAgain::default()
    };
    refused(&old, metrics, "no --node-metrics");
}

#[test]
fn a_body_of_another_length_is_told() {
    let recorded = plan("http://h/", &[], "12345").without_secrets();
    let (_, notes) = supply(&recorded, body("123")).unwrap();
    assert!(notes[0].contains("3 bytes and had 5"), "{notes:?}");
    assert!(supply(&recorded, body("54321")).unwrap().1.is_empty());
}

#[test]
fn headers_that_an_early_version_left_out_are_asked_for() {
    let mut recorded = plan("http://h/", &[], "");
    if let Workload::Http(http) = &mut recorded.workload {
        http.omitted_headers = vec!["Cookie".to_owned()];
    }
    assert_eq!(flags_to_resume(&recorded), " -H 'Cookie: VALUE'");
    refused(&recorded, GivenAgain::default(), "with -H 'Cookie: VALUE'");
    let (whole, _) = supply(&recorded, headers(&[("cookie", "a")])).unwrap();
    assert_eq!(http(&whole).headers, [pair("Cookie", "a")]);
}

#[test]
fn node_exporter_is_asked_for_with_its_query() {
    let mut asked = plan("http://h/", &[], "");
    if let Workload::Http(http) = &mut asked.workload {
        http.service = ServiceAt::NodeMetrics("http://n/m?key=swordfish".to_owned());
    }
    let recorded = asked.without_secrets();
    let flags = " --node-metrics 'http://n/m?key=VALUE'";
    refused(&recorded, GivenAgain::default(), flags);
    let again = GivenAgain {
        node_metrics: Some("http://n/m?key=swordfish".to_owned()),
        ..GivenAgain::default()
    };
    assert_eq!(supply(&recorded, again).unwrap().0, asked);
}
