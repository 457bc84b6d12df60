use super::*;
use std::fs;

/// What is read where a generator has printed this, and written these files.
fn read_of(format: LoadFormat, printed: &str, files: &[(&str, &str)]) -> Result<Output, String> {
    let folder = tempfile::tempdir().unwrap();
    let stdout = folder.path().join("stdout");
    fs::write(&stdout, printed).unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    read(format, &folder.path().join("out"), &stdout)
}

fn us(output: &Output, q: f64) -> u128 {
    output.latency.quantile(q).unwrap().as_micros()
}

/// A quantile to the three digits of a histogram.
fn about(output: &Output, q: f64, us_wanted: f64) {
    let found = us(output, q) as f64;
    assert!(
        (found / us_wanted - 1.0).abs() < 2e-3,
        "{found} {us_wanted}"
    );
}

const K6: &str = r#"{"metrics": {
  "http_reqs": {"count": 2000, "rate": 200},
  "iterations": {"count": 1000, "rate": 100},
  "dropped_iterations": {"count": 7, "rate": 0.7},
  "http_req_failed": {"passes": 20, "fails": 1980, "value": 0.01},
  "http_req_duration": {"med": 9, "p(99)": 9, "p(99.9)": 9, "max": 9},
  "http_req_duration{expected_response:true}":
    {"avg": 0.2, "med": 0.15, "p(90)": 0.22, "p(99)": 3.9, "p(99.9)": 5.7, "max": 7.5}}}"#;

#[test]
fn a_summary_of_k6_has_good_answers_and_the_percentiles_that_it_states() {
    let output = read_of(LoadFormat::K6, "progress", &[("out", K6)]).unwrap();
    assert_eq!((output.completed, output.errors.status), (1980, 20));
    assert_eq!(
        (output.lasted, output.dropped),
        (Duration::from_secs(10), 14)
    );
    [(0.5, 150.0), (0.9, 220.0), (0.99, 3900.0), (0.999, 5700.0)]
        .into_iter()
        .for_each(|(q, wanted)| about(&output, q, wanted));
    assert!(output.quantiles.include(0.999) && !output.quantiles.include(0.95));
    let without = K6.replace("\"max\"", "\"min\"");
    let refused = read_of(LoadFormat::K6, "", &[("out", &without)]).unwrap_err();
    assert!(refused.contains("--summary-trend-stats"), "{refused}");
}

const WRK2: &str = "\
Running 20s test @ http://127.0.0.1:18281/
    Latency   827.71us  467.06us   1.93ms   60.71%
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    0.86ms
 99.000%    1.85ms
 99.900%    1.93ms
100.000%    1.93ms

  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       0.064     0.000000            1         1.00
       0.858     0.500000          998         2.00
       1.934     1.000000         1996          inf
#[Mean    =        0.828, StdDeviation   =        0.467]
#[Max     =        1.934, Total count    =         1996]
----------------------------------------------------------
  4001 requests in 20.00s, 328.86KB read
  Socket errors: connect 0, read 2, write 1, timeout 5
  Non-2xx or 3xx responses: 11
Requests/sec:    200.07
";

#[test]
fn what_wrk2_prints_has_counts_errors_and_percentiles() {
    let output = read_of(LoadFormat::Wrk2, WRK2, &[]).unwrap();
    assert_eq!(output.completed, 3990);
    let Errors {
        reset,
        timeout,
        status,
        ..
    } = output.errors;
    assert_eq!((reset, timeout, status), (3, 5, 11));
    assert_eq!(output.lasted, Duration::from_secs(20));
    assert_eq!(output.latency.count(), 1996);
    about(&output, 0.5, 860.0);
    about(&output, 0.99, 1850.0);
    assert!(output.quantiles.include(0.99) && output.quantiles.include(0.999));
    assert!(read_of(LoadFormat::Wrk2, "4001 requests in 20.00s, 1KB read", &[]).is_err());
}

const FORTIO: &str = r#"{"ActualDuration": 3000675823, "RetCodes": {"200": 400, "OK": 190, "503": 8, "-1": 2},
  "DurationHistogram": {"Count": 600, "Min": 0.00002, "Max": 0.0048, "Data": [
    {"Start": 0.00002, "End": 0.001, "Percent": 97.6, "Count": 586},
    {"Start": 0.002, "End": 0.0048, "Percent": 100, "Count": 14}]}}"#;

#[test]
fn a_result_of_fortio_counts_each_request_at_the_end_of_its_bucket() {
    let output = read_of(LoadFormat::Fortio, "", &[("out", FORTIO)]).unwrap();
    assert_eq!(output.completed, 590);
    assert_eq!((output.errors.status, output.errors.reset), (8, 2));
    about(&output, 0.5, 1000.0);
    about(&output, 0.99, 4800.0);
    assert_eq!(output.quantiles, Quantiles::All);
}

#[test]
fn logs_of_pgbench_have_each_transaction() {
    let printed = "duration: 4 s\nnumber of failed transactions: 1 (20.000%)\n";
    let logs = [
        (
            "out.17",
            "0 1 1000 0 1700000000 5 20\n0 2 skipped 0 1700000000 9 0\n",
        ),
        ("out.17.1", "1 1 3000 0 1700000000 7 0\n"),
        ("other.17", "1 1 9000000 0 1700000000 7 0\n"),
    ];
    let output = read_of(LoadFormat::Pgbench, printed, &logs).unwrap();
    assert_eq!((output.completed, output.errors.status), (2, 1));
    assert_eq!(output.dropped, 1);
    about(&output, 0.5, 1000.0);
    about(&output, 1.0, 3000.0);
    let refused = read_of(LoadFormat::Pgbench, printed, &[]).unwrap_err();
    assert!(refused.contains("--log-prefix={out}"), "{refused}");
}

#[test]
fn any_generator_may_print_a_line_of_json() {
    let line = r#"{"seconds": 2, "completed": 1000, "failed": 4, "latency_ms": {"50": 1, "99": 8, "99.9": 9, "100": 31}}"#;
    let output = read_of(LoadFormat::Json, &format!("starts\n{line}\n\n"), &[]).unwrap();
    assert_eq!((output.completed, output.errors.status), (1000, 4));
    about(&output, 0.99, 8000.0);
    about(&output, 1.0, 31_000.0);
    let counts = r#"{"seconds": 2, "completed": 3, "latency_counts_ms": [[1, 2], [4, 1]]}"#;
    let output = read_of(LoadFormat::Json, counts, &[]).unwrap();
    assert_eq!(output.latency.count(), 3);
    assert!(output.quantiles.include(0.123));
    for wrong in [
        "",
        "{}",
        r#"{"seconds": -1, "completed": 1, "latency_ms": {"100": 1}}"#,
        r#"{"seconds": 1, "completed": 1, "latency_ms": {"99": 1}}"#,
        r#"{"seconds": 1, "completed": 1, "latency_ms": {"p99": 1, "100": 1}}"#,
        r#"{"seconds": 1e300, "completed": 1, "latency_ms": {"100": 1}}"#,
        r#"{"seconds": 1, "completed": 1, "latency_ms": {"100": 1}, "p99": 1}"#,
        r#"{"seconds": 1, "completed": 9, "latency_ms": {"50": 3, "100": 1}}"#,
        r#"{"seconds": 1, "completed": 18446744073709551615, "failed": 9, "latency_ms": {"100": 1}}"#,
        r#"{"seconds": 1, "completed": 9, "latency_counts_ms": [[1, 2]]}"#,
        r#"{"seconds": 1, "completed": 2, "latency_counts_ms": [[1, 2]], "latency_ms": {"100": 9}}"#,
        r#"{"seconds": 1, "completed": 2, "latency_ms": {"100": 0}}"#,
        r#"{"seconds": 1, "completed": 0, "latency_ms": {"100": 1}}"#,
    ] {
        assert!(read_of(LoadFormat::Json, wrong, &[]).is_err(), "{wrong}");
    }
}

/// What becomes of a line where `rate` was asked for 2 s and the command ran for 2.5 s.
fn work(rate: f64, line: &str, format: LoadFormat) -> Result<Work, String> {
    let asked = LoadParameters {
        rate: plimsoll_model::Rate::per_second(rate).unwrap(),
        duration: Duration::from_secs(2),
        seed: 1,
    };
    let ran = Duration::from_millis(2500);
    read_of(LoadFormat::Json, line, &[])?.work(asked, ran, format)
}

#[test]
fn the_work_of_a_trial_is_what_was_asked_for() {
    let line = r#"{"seconds": 2, "completed": 150, "failed": 10, "latency_ms": {"100": 1}}"#;
    let done = work(100.0, line, LoadFormat::K6).unwrap();
    assert_eq!((done.intended, done.sent, done.completed), (200, 160, 150));
    let dropped = line.replace("\"failed\"", "\"dropped\": 90, \"failed\"");
    assert_eq!(work(100.0, &dropped, LoadFormat::K6).unwrap().intended, 250);
    let none =
        r#"{"seconds": 2, "completed": 0, "failed": 200, "latency_ms": {"50": 0, "100": 0}}"#;
    assert_eq!(
        work(100.0, none, LoadFormat::K6).unwrap().errors.status,
        200
    );
}

#[test]
fn more_than_was_asked_for_or_for_another_time_is_refused() {
    let line = r#"{"seconds": 2, "completed": 240, "latency_ms": {"100": 1}}"#;
    assert!(
        work(100.0, line, LoadFormat::K6)
            .unwrap_err()
            .contains("several")
    );
    assert!(work(100.0, line, LoadFormat::Json).is_ok(), "by chance");
    let three = line.replace("240", "600");
    assert!(work(100.0, &three, LoadFormat::Json).is_err());
    for seconds in ["1.5", "2.9"] {
        let other = line.replace("\"seconds\": 2", &format!("\"seconds\": {seconds}"));
        let refused = work(120.0, &other, LoadFormat::Json).unwrap_err();
        assert!(refused.contains("says that it sent"), "{refused}");
    }
    for (field, other, words) in [
        ("240,", "240, \"dropped\": 190,", "dropped 190"),
        ("\"100\": 1", "\"100\": 3000", "took 3.0 s"),
    ] {
        let other = line.replace(field, other);
        let refused = work(120.0, &other, LoadFormat::Json).unwrap_err();
        assert!(refused.contains(words), "{refused}");
    }
}
