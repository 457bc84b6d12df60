//! What is recorded of headers, and what has to be given again.

use super::*;
use std::time::Duration;

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn plan(headers: &[(&str, &str)]) -> Plan {
    let mut http = HttpService::get("http://h/", 1, Duration::from_secs(1));
    http.headers = headers.iter().map(|(n, v)| pair(n, v)).collect();
    Plan::blank(Workload::Http(http))
}

fn headers(plan: &Plan) -> &[(String, String)] {
    match &plan.workload {
        Workload::Http(http) => &http.headers,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_header_needs_a_name() {
    assert_eq!(parse("Accept: a:b").unwrap(), pair("Accept", "a:b"));
    assert!(parse("nonsense").is_err());
    assert!(parse(": value").is_err());
}

#[test]
fn a_plan_is_recorded_without_secrets_and_comes_back_with_them() {
    let asked = plan(&[
        ("Accept", "text/html"),
        ("Cookie", "a=1"),
        ("Authorization", "Bearer swordfish"),
        ("Cookie", "b=2"),
    ]);
    let recorded = without_values(&asked);
    let json = serde_json::to_string(&recorded).unwrap();
    assert!(
        !json.contains("swordfish") && !json.contains("a=1"),
        "{json}"
    );
    assert_eq!(headers(&recorded), [pair("Accept", "text/html")]);
    let again = |given: &[(&str, &str)]| {
        let given = given.iter().map(|(n, v)| pair(n, v)).collect();
        supply_parsed(&recorded, given)
    };
    let refused = |given: &[(&str, &str)], names: &str| {
        let error = again(given).unwrap_err().to_string();
        assert!(
            error.contains(&format!("of these headers: {names};")),
            "{error}"
        );
    };
    refused(&[], "Cookie, Authorization, Cookie");
    let token = ("authorization", "Bearer other");
    refused(&[("Cookie", "a=1"), token], "Cookie");
    let whole = again(&[token, ("Cookie", "a=1"), ("Cookie", "b=2")]).unwrap();
    assert!(headers(&whole).contains(&pair("authorization", "Bearer other")));
    assert_eq!(headers(&whole).len(), 4);
    assert_eq!(flags_to_resume(&whole), "");
    assert!(flags_to_resume(&recorded).contains("-H 'Authorization: VALUE'"));
}

#[test]
fn a_header_that_the_recorded_requests_do_not_have_is_refused() {
    let recorded = plan(&[("Accept", "text/html"), ("X-Api-Key", "old")]);
    let with = |name, value| supply_parsed(&recorded, vec![pair(name, value)]);
    assert_eq!(with("accept", "text/html").unwrap(), recorded);
    for (name, value) in [("Accept", "*/*"), ("Cookie", "a")] {
        let error = with(name, value).unwrap_err().to_string();
        assert!(
            error.contains(&format!("no header {name} or one")),
            "{error}"
        );
    }
    // A record of an older version, or one that was asked to keep it.
    let renewed = with("X-Api-Key", "new").unwrap();
    assert_eq!(headers(&renewed)[1], pair("X-Api-Key", "new"));
}

#[test]
fn a_command_line_is_recorded_without_secrets_however_they_were_typed() {
    let text = "Authorization: Bearer swordfish".to_owned();
    for flag in ["", "-H", "-kH", "--header="] {
        let words = vec![format!("{flag}{text}"), "http://h/".to_owned()];
        let recorded = without_typed_values(words, std::slice::from_ref(&text));
        let expected = format!("{flag}Authorization: (hidden)");
        assert_eq!(recorded, [expected.as_str(), "http://h/"]);
    }
    let plain = "Accept: */*".to_owned();
    let recorded = without_typed_values(vec![plain.clone()], std::slice::from_ref(&plain));
    assert_eq!(recorded, [plain]);
}
