use super::*;
use plimsoll_model::{CapacityStatus, Doubt, Findings};
use std::fmt::Write as _;

const GRAVITON3: &str = include_str!("../../../plimsoll/tests/data/graviton3-netty.csv");

/// A table of rates with these rows.
fn table(rows: &str) -> String {
    format!("rate_rps,cpu_pct,latency_us\n{rows}")
}

fn about() -> About {
    About {
        name: "Graviton 3".to_owned(),
        cpus: Some(8),
        threads_per_core: None,
        note: None,
        plimsoll_version: "0".to_owned(),
    }
}

fn imported(text: &str) -> Imported {
    let table = Table::read(text.as_bytes()).unwrap();
    table.run(about()).unwrap()
}

/// The plan and the trials of a table of rates.
fn rate_rows(text: &str) -> (Plan, Vec<Trial>) {
    match imported(text).rows {
        ImportedRows::Rates(plan, trials) => (*plan, trials),
        ImportedRows::Copies(plan, _) => panic!("{plan:?}"),
    }
}

/// What follows from a table of rates.
fn findings(text: &str) -> Findings {
    let (plan, trials) = rate_rows(text);
    plimsoll_study::findings(&plan, &trials)
}

/// The rates of a table, in its order.
fn rates(text: &str) -> Vec<f64> {
    let (_, trials) = rate_rows(text);
    trials.iter().map(|t| t.asked().get()).collect()
}

/// What is wrong with these rows below a good header and one good row.
fn wrong(row: &str) -> String {
    refused(table(&format!("1000,10,500\n{row}\n")).as_bytes())
}

/// What is wrong with a whole table.
fn refused(bytes: &[u8]) -> String {
    Table::read(bytes).unwrap_err().to_string()
}

#[test]
fn each_row_becomes_a_trial_with_its_values() {
    let (_, trials) = rate_rows(GRAVITON3);
    assert_eq!(trials.len(), 15);
    let trial = &trials[5];
    assert!((trial.achieved().get() / 296_473.0 - 1.0).abs() < 1e-9);
    assert_eq!(trial.window, Duration::from_secs(1));
    assert_eq!(trial.machine.cpu.unwrap().busy_share(), Share::new(0.46));
    let p99 = trial.work.latency.quantile(0.99).unwrap();
    assert!((p99.as_secs_f64() / 1267e-6 - 1.0).abs() < 1e-3);
    assert!(trial.verdict.is_valid());
    assert_eq!(trial.service, None, "its own CPU time is unknown");
}

#[test]
fn latencies_are_stated_as_the_table_has_them() {
    let levels = findings(GRAVITON3).levels;
    let stated: Vec<f64> = levels
        .iter()
        .filter_map(|l| Some(l.latency_us.as_ref()?.p99))
        .collect();
    let given = GRAVITON3.lines().skip(1);
    let given: Vec<f64> = given
        .map(|row| row.rsplit(',').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(stated, given);
    // Of repeated rows each quantile is one of them, even if they share a bin of
    // the histogram.
    let repeated = table("1000,10,70001.5\n1000,10,70003\n1000,10,500.25\n2000,20,600\n");
    let levels = findings(&repeated).levels;
    let latency = levels[0].latency_us.as_ref().unwrap();
    assert_eq!((latency.p50, latency.p99), (70_003.0, 70_003.0));
    assert_eq!(levels[1].latency_us.as_ref().unwrap().p50, 600.0);
}

#[test]
fn rows_whose_cpu_use_falls_as_the_rate_rises_are_named() {
    let pooled = findings(GRAVITON3).cpu_pooled;
    let seen: Vec<(f64, f64)> = pooled
        .iter()
        .map(|p| (p.rate_rps, p.measured_cpu_pct.round()))
        .collect();
    assert_eq!(seen.len(), 2, "{pooled:?}");
    assert!((seen[0].0 - 147_919.0).abs() < 1.0 && (seen[1].0 - 197_237.0).abs() < 1.0);
    assert_eq!((seen[0].1, seen[1].1), (23.0, 22.0));
    assert!(pooled.iter().all(|p| (p.fitted_cpu_pct - 22.5).abs() < 0.2));
    let rising = table("1000,10,500\n2000,20,600\n3000,20,700\n");
    assert_eq!(findings(&rising).cpu_pooled, []);
}

#[test]
fn the_published_rule_does_not_end_within_the_published_table() {
    let findings = findings(GRAVITON3);
    assert_eq!(findings.levels.len(), 15);
    let rated = findings.rated.unwrap();
    assert!((rated.rate_rps - 736_860.0).abs() < 1e-6);
    let capacity = &findings.capacity[0];
    assert_eq!(capacity.status, CapacityStatus::NotReached);
    let light = findings.light_load.unwrap();
    assert!(
        (light.p99_us / 1181.0 - 1.0).abs() < 1e-3,
        "latency below 20 % CPU use"
    );
}

#[test]
fn a_table_of_copies_gives_the_published_efficiency() {
    let run = imported("copies,cpu_pct,seconds\n1,20,223\n4,51,225\n8,100,354\n");
    let ImportedRows::Copies(plan, trials) = run.rows else {
        panic!("{:?}", run.rows);
    };
    assert_eq!(plan.numbers, [1, 4, 8]);
    let copies = plimsoll_study::copies::findings(&plan, &trials).copies;
    assert!((copies[2].efficiency_ratio.unwrap().value - 0.63).abs() < 0.001);
    assert_eq!(copies[2].cpu_pct, Some(100.0));
}

#[test]
fn the_machine_is_the_given_one_and_not_this_one() {
    let provenance = imported(GRAVITON3).provenance;
    assert_eq!(provenance.hostname.as_deref(), Some("Graviton 3"));
    assert_eq!(provenance.topology.online.len(), 8);
    assert_eq!((provenance.cpu_model, provenance.kernel), (None, None));
}

#[test]
fn columns_in_any_order_marks_blanks_quotes_and_line_ends_are_taken() {
    let plain = rates(&table("1000,10,500\n2000,20,600\n"));
    for text in [
        "latency_us,rate_rps,cpu_pct\n500,1000,10\n600,2000,20\n",
        "\u{feff}rate_rps,cpu_pct,latency_us\r\n1000,10,500\r\n2000,20,600",
        " Rate_RPS , CPU_pct,latency_us\n\n1000 ,\"10\", 5e2\n\n2000,20.0,600\n\n",
    ] {
        assert_eq!(rates(text), plain, "{text}");
    }
}

#[test]
fn rows_out_of_order_stay_in_the_order_they_were_measured() {
    let (plan, trials) = rate_rows(&table("2000,20,600\n1000,10,500\n3000,30,700\n"));
    let asked: Vec<f64> = trials.iter().map(|t| t.asked().get()).collect();
    assert_eq!(asked, [2000.0, 1000.0, 3000.0]);
    assert!(plan.levels.is_sorted());
}

#[test]
fn repeated_rows_at_a_rate_are_repeated_trials() {
    let rows = "1000,10,500\n2000,20,600\n1000,12,510\n1000,12,510\n";
    let (plan, trials) = rate_rows(&table(rows));
    let passes: Vec<u32> = trials.iter().map(|t| t.spec.pass).collect();
    assert_eq!(passes, [0, 0, 1, 2]);
    assert_eq!((plan.levels.len(), plan.run.passes), (2, 3));
    let levels = plimsoll_study::findings(&plan, &trials).levels;
    assert_eq!(levels[0].trials, 3);
}

#[test]
fn rates_that_nearly_agree_keep_levels_of_their_own_in_their_order() {
    let mut text = table("");
    for i in 0..250 {
        writeln!(text, "{},1,500", 0.001 + f64::from(i) / 1e6).unwrap();
        writeln!(text, "{},90,500", 1e6 - f64::from(i)).unwrap();
    }
    let (plan, trials) = rate_rows(&text);
    assert_eq!(plan.levels.len(), 500);
    assert_eq!(plan.levels.last().map(|l| l.pct()), Some(100.0));
    let mut trials: Vec<&Trial> = trials.iter().collect();
    trials.sort_by(|a, b| a.asked().get().total_cmp(&b.asked().get()));
    let level = |t: &Trial| match t.spec.phase {
        Phase::Level { level } => level,
        _ => None,
    };
    assert!(trials.is_sorted_by(|a, b| level(a) < level(b)));
    assert!(trials.iter().all(|t| level(t).is_some()));
}

#[test]
fn a_low_rate_is_exact() {
    let (_, trials) = rate_rows(&table("0.37,10,500\n12.5,20,600\n"));
    for (trial, rate) in trials.iter().zip([0.37, 12.5]) {
        assert!((trial.achieved().get() / rate - 1.0).abs() < 1e-9);
    }
}

#[test]
fn an_invalid_value_is_shown_with_its_line_and_the_valid_range() {
    for (row, words) in [
        ("fast,20,500", "rate_rps|'fast'|requests per second"),
        ("2000,,500", "cpu_pct|empty|percent"),
        ("NaN,20,500", "rate_rps|'NaN'|requests per second"),
        ("2000,NaN,500", "cpu_pct|'NaN'|percent"),
        ("2000,20,inf", "latency_us|'inf'|microseconds"),
        ("-2000,20,500", "rate_rps|'-2000'|above 0"),
        ("0,20,500", "rate_rps|'0'|above 0"),
        ("2000,-1,500", "cpu_pct|'-1'|0 to 100"),
        ("2000,152,500", "cpu_pct|'152'|divide"),
        ("2000,20,0", "latency_us|'0'|above 0"),
        ("2000,20,1e12", "latency_us|'1e12'|an hour"),
        ("1e30,20,500", "rate_rps|'1e30'|1000000000"),
        ("2000,20%,500", "cpu_pct|'20%'|percent"),
        ("2000,20", "2 values|3 columns|one value per column"),
        ("2,000,20,500", "4 values|3 columns|separators"),
        ("\"2,000\",20,600", "rate_rps|'2,000'|without separators"),
    ] {
        let message = wrong(row);
        for word in ["line 3"].into_iter().chain(words.split('|')) {
            assert!(message.contains(word), "'{word}' is missing: {message}");
        }
    }
    let escape = wrong("\u{1b}[31mred,20,500");
    assert!(!escape.contains('\u{1b}'), "{escape}");
    assert!(wrong(&format!("{},20,500", "x".repeat(5000))).len() < 200);
}

#[test]
fn an_invalid_table_is_refused_with_the_way_out() {
    let good = "1000,10,500\n2000,20,600\n";
    let twice = "rate_rps,cpu_pct,latency_us,cpu_pct\n";
    let cases = [
        ("", "is empty"),
        ("\n \n\r\n", "is empty"),
        (good, "line 1 should name the columns"),
        ("rate_rps;cpu_pct;latency_us\n1000;10;500\n", "semicolons"),
        ("rate_rps\tcpu_pct\tlatency_us\n", "tabs"),
        ("rate_rps,cpu_pct,latency_us,colour\n", "'colour'"),
        ("rate_rps,cpu_pct,latency_us,copies\n", "'copies'"),
        ("rate_rps,cpu_pct\n", "'latency_us' is missing"),
        ("cpu_pct,seconds\n", "'copies' is missing"),
        (twice, "'cpu_pct' is there twice"),
        ("rate_rps,cpu_pct,latency_us\n", "no rows"),
        ("rate_rps,cpu_pct,latency_us\n1,10,500\n", "only one row"),
        ("rate_rps,cpu_pct,latency_us\n9,10,5\n9,10,5\n", "same load"),
        ("rate_rps,cpu_pct,latency_us\n1,0.1,5\n2,0.9,6\n", "percent"),
        ("\x7fELF\0\0\0", "not text"),
    ];
    let bytes = cases.map(|(text, words)| (text.as_bytes(), words));
    let others: [(&[u8], &str); 3] = [
        (b"rate_rps,cpu_pct,latency_us\n1000,\xff10,500\n", "line 2"),
        (b"\xff\xfer\0a\0", "UTF-16"),
        (&vec![b'1'; 20_000_000], "10 MB"),
    ];
    for (bytes, words) in bytes.into_iter().chain(others) {
        let message = refused(bytes);
        assert!(message.contains(words), "{words}: {message}");
    }
}

#[test]
fn copies_are_whole() {
    for bad in ["1.5", "0", "-1", "100000"] {
        let text = format!("copies,cpu_pct,seconds\n1,10,5\n{bad},20,6\n");
        let message = refused(text.as_bytes());
        assert!(
            message.contains("line 3") && message.contains("whole number"),
            "{message}"
        );
    }
}

#[test]
fn more_rows_than_memory_is_for_are_refused() {
    let mut text = table("");
    (1..=500).for_each(|rate| writeln!(text, "{rate},50,500").unwrap());
    let most = Table::read(text.as_bytes()).unwrap();
    assert!(most.run(about()).is_ok());
    text += "501,50,500\n";
    assert_eq!(Table::read(text.as_bytes()), Err(TableError::ManyRows(501)));
}

fn doubts(rows: &str) -> Vec<Doubt> {
    findings(&table(rows)).doubts
}

#[test]
fn contradicting_rows_and_likely_milliseconds_are_doubted() {
    let odd = doubts("1000,12,800\n2000,20,810\n2000,20,90000\n4000,41,950\n8000,83,2100\n");
    let [
        Doubt::ScatteredRows { rate_rps, .. },
        Doubt::KeptBeyond {
            broken_rps,
            kept_rps,
            ..
        },
    ] = odd[..]
    else {
        panic!("{odd:?}");
    };
    assert_eq!((rate_rps, broken_rps, kept_rps), (2000.0, 2000.0, 4000.0));
    assert_eq!(doubts("1000,12,800\n4000,41,950\n8000,83,2100\n"), []);
    let ms = doubts("1000,12,0.8\n4000,41,0.95\n8000,83,2.1\n");
    assert!(matches!(ms[..], [Doubt::ShortLatencies { .. }]), "{ms:?}");
}

#[test]
fn no_threshold_follows_from_a_cpu_use_that_falls_with_the_load() {
    let falling = "1000,90,800\n2000,60,850\n4000,30,900\n8000,13,9000\n";
    let findings = findings(&table(falling));
    let is_flat = |d: &Doubt| matches!(d, Doubt::FlatCpu { .. });
    assert!(findings.doubts.iter().any(is_flat), "{:?}", findings.doubts);
    assert!(findings.thresholds.is_empty());
}
