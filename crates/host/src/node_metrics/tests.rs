use super::*;
use crate::fake_tree::FakeTree;
use proptest::prelude::*;

/// The same counters in the formats of /proc/stat and node_exporter.
const STAT: &str = "cpu  1500 300 70 90000 5 6 7 8 400 100\n\
                    cpu0 1000 200 50 60000 1 2 3 4 400 100\n\
                    cpu1 500 100 20 30000 4 4 4 4 0 0\nctxt 1500000\n";
const METRICS: &str = r#"
# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="user"} 10
node_cpu_seconds_total{cpu="0",mode="nice"} 2
node_cpu_seconds_total{mode="system",cpu="0"} 0.5
node_cpu_seconds_total{cpu="0",mode="idle"} 6e+02
node_cpu_seconds_total{cpu="0",mode="iowait"} 0.01
node_cpu_seconds_total{cpu="0",mode="irq"} 0.02
node_cpu_seconds_total{cpu="0",mode="softirq"} 0.03
node_cpu_seconds_total{cpu="0",mode="steal"} 0.04
node_cpu_seconds_total{cpu="1",mode="user"} 5
node_cpu_seconds_total{cpu="1",mode="nice"} 1 1395066363000
node_cpu_seconds_total{ cpu="1" , mode="system" , } 2.0e-1
node_cpu_seconds_total{cpu="1",mode="idle"} 300
node_cpu_seconds_total{cpu="1",mode="iowait"} 0.04
node_cpu_seconds_total{cpu="1",mode="irq"} 0.04
node_cpu_seconds_total{cpu="1",mode="softirq"} 0.04
node_cpu_seconds_total{cpu="1",mode="steal"} 0.04
node_cpu_guest_seconds_total{cpu="0",mode="user"} 4
node_cpu_guest_seconds_total{cpu="0",mode="nice"} 1
node_cpu_guest_seconds_total{cpu="1",mode="user"} 0
node_context_switches_total 1.5e+06
node_cpu_scaling_frequency_hertz{cpu="0"} NaN
node_uname_info{release="6 {} \"x\\",nodename="a,b=c"} 1
node_pressure_cpu_waiting_seconds_total 26.45127
process_max_fds +Inf
"#;

#[test]
fn node_exporter_and_proc_stat_agree() {
    let tree = FakeTree::new().file("proc/stat", STAT);
    let local = CpuTimes::read(tree.root()).unwrap().unwrap();
    let mut remote = NodeMetrics::parse(METRICS).unwrap();
    remote.cpu.at = local.at;
    assert_eq!(remote.cpu, local);
    let pressure = remote.pressure.unwrap();
    assert_eq!(pressure.cpu_some, Some(Duration::from_micros(26_451_270)));
    assert_eq!(pressure.io_some, None);
}

#[test]
fn missing_or_invalid_values_are_none_or_errors() {
    let parsed = |from: &str, to: &str| NodeMetrics::parse(&METRICS.replace(from, to));
    assert_eq!(parsed("node_pressure", "other").unwrap().pressure, None);
    let nan = parsed("1.5e+06", "NaN").unwrap();
    assert_eq!(nan.cpu.context_switches, None);
    let no_mode = NodeMetricsError::NoMode {
        cpu: 1,
        mode: "idle",
    };
    assert_eq!(parsed("} 300", "} NaN"), Err(no_mode));
    let no_cpus = NodeMetrics::parse("up 1\n");
    assert_eq!(no_cpus, Err(NodeMetricsError::NoCpus));
    let twice = NodeMetrics::parse(&format!("{METRICS}{METRICS}"));
    assert_eq!(twice, Err(NodeMetricsError::Twice { cpu: 0 }));
}

#[test]
fn invalid_lines_are_quoted_in_the_error() {
    for bad in [
        "<html>",
        "node_cpu_seconds_total{cpu=\"0\",mode=\"user\" 1",
        "node_cpu_seconds_total{cpu=\"0\",mode=\"user\"}",
        "node_cpu_seconds_total{cpu=\"0\"} 1",
        "node_cpu_seconds_total{cpu=\"x\",mode=\"user\"} 1",
        "node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} one",
    ] {
        let text = format!("{METRICS}{bad}\n");
        let message = NodeMetrics::parse(&text).unwrap_err().to_string();
        assert!(message.contains(bad), "{message}");
    }
}

#[test]
fn a_cpu_number_that_no_record_can_hold_is_refused() {
    let with = |cpu: &str| NodeMetrics::parse(&METRICS.replace(r#"cpu="1""#, cpu));
    let highest = with(r#"cpu="8191""#).unwrap();
    let cpus: plimsoll_model::CpuSet = highest.cpu.each.keys().copied().collect();
    let read: Result<plimsoll_model::CpuSet, _> = cpus.to_string().parse();
    assert_eq!(read, Ok(cpus));
    for above in [r#"cpu="8192""#, r#"cpu="4294967295""#] {
        let error = with(above).unwrap_err();
        assert!(matches!(error, NodeMetricsError::CpuNumber { .. }));
        let message = error.to_string();
        assert!(message.contains(above), "{message}");
        assert!(message.contains("above 8191"), "{message}");
    }
}

/// Each of these was a sum that a duration does not hold.
#[test]
fn impossible_times_are_refused_before_they_are_added() {
    let one = r#"node_cpu_seconds_total{cpu="1",mode="nice"} 1 1395066363000"#;
    for (from, to) in [
        (one, r#"node_cpu_seconds_total{cpu="1",mode="nice"} 1.8e19"#),
        (r#"mode="user"} 5"#, r#"mode="user"} 1.8e19"#),
        (r#"mode="steal"} 0.04"#, r#"mode="steal"} 1.8e19"#),
        (r#"mode="user"} 4"#, r#"mode="user"} +Inf"#),
        (r#"mode="idle"} 300"#, r#"mode="idle"} -1"#),
        ("seconds_total 26.45127", "seconds_total 1000000001"),
    ] {
        assert!(METRICS.contains(from));
        let error = NodeMetrics::parse(&METRICS.replace(from, to)).unwrap_err();
        assert!(matches!(error, NodeMetricsError::Time { .. }), "{error}");
        let message = error.to_string();
        assert!(
            message.contains("not within 0 to 1000000000 s"),
            "{message}"
        );
    }
    let all = METRICS
        .replace("} 300", "} 1e9")
        .replace("} 6e+02", "} 1e9");
    let all = NodeMetrics::parse(&all).unwrap().cpu.all;
    assert_eq!(all.idle.0.as_secs(), 2_000_000_000);
}

proptest! {
    #[test]
    fn arbitrary_text_does_not_panic(
        text in r#"(node_cpu_seconds_total\{?[a-z=",{}\\é ]{0,20}\}? [0-9eN.+-]{0,6}\n){0,3}"#
    ) {
        let _ = NodeMetrics::parse(&text);
    }
}
