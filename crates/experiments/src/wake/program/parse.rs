//! What the programs print, as figures. Pure.

use super::{Program, ProgramFigure};

/// Wake-ups that show a p99: with fewer, the highest of all is below it with more than 5 %
/// (`ln 0.05 / ln 0.99`).
const FEWEST: u64 = 299;

/// The figures of a program's output, standard output and standard error together.
///
/// # Errors
/// A sentence: which line is missing.
pub(super) fn figures(program: Program, output: &str) -> Result<Vec<ProgramFigure>, String> {
    match program {
        Program::Schbench => schbench(output),
        Program::Pgbench => pgbench(output),
    }
}

fn figure(name: &str, unit: &str, value: Option<f64>) -> Result<ProgramFigure, String> {
    let value = value.filter(|value| value.is_finite());
    let value = value.ok_or_else(|| format!("its output has no {name}"))?;
    Ok(ProgramFigure {
        name: name.to_owned(),
        unit: unit.to_owned(),
        value,
    })
}

/// The last percentiles of wake-up latencies: newer versions print them while they run, too, and those
/// of requests after them; older ones print `Latency percentiles (usec)` once.
fn schbench(output: &str) -> Result<Vec<ProgramFigure>, String> {
    let is_wakeup = |line: &str| {
        let line = line.to_ascii_lowercase();
        let title = line.starts_with("wakeup latencies") || line.starts_with("latency percentiles");
        title && line.contains("percentiles")
    };
    let lines: Vec<&str> = output.lines().collect();
    let title = lines.iter().rposition(|line| is_wakeup(line));
    let title = title.ok_or("its output has no percentiles of wake-up latencies")?;
    let counted = lines[title]
        .split_once(" total samples")
        .and_then(|(before, _)| before.rsplit(['(', ' ']).next()?.parse::<u64>().ok());
    if let Some(few) = counted.filter(|counted| *counted < FEWEST) {
        return Err(format!(
            "it measured {few} wake-ups, and a p99 takes {FEWEST}; lengthen the trials with -z"
        ));
    }
    let rows = lines.get(title + 1..).unwrap_or_default();
    let rows = rows.iter().take_while(|line| line.starts_with(['\t', ' ']));
    let rows: Vec<&str> = rows
        .map(|line| line.trim().trim_start_matches("* "))
        .collect();
    // `99.0th: 13 (2 samples)`, and `99.0000th: 13` of older versions.
    let percentile = |wanted: f64| {
        let mut found = rows.iter().filter_map(|row| row.split_once("th:"));
        let (_, rest) = found.find(|(p, _)| p.trim().parse() == Ok(wanted))?;
        rest.split_whitespace().next()?.parse().ok()
    };
    let max = rows.iter().find_map(|row| {
        let (_, max) = row.split_once("max=")?;
        max.split_whitespace().next()?.parse().ok()
    });
    Ok(vec![
        figure("p50", "us", percentile(50.0))?,
        figure("p90", "us", percentile(90.0))?,
        figure("p99", "us", percentile(99.0))?,
        figure("max", "us", max)?,
    ])
}

fn pgbench(output: &str) -> Result<Vec<ProgramFigure>, String> {
    let after = |name: &str| {
        let line = output.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    Ok(vec![
        figure("average", "ms", after("latency average = "))?,
        figure("stddev", "ms", after("latency stddev = "))?,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(program: Program, output: &str) -> Result<Vec<f64>, String> {
        let figures = figures(program, output)?;
        Ok(figures.iter().map(|figure| figure.value).collect())
    }

    #[test]
    fn the_last_percentiles_of_schbench_count() {
        let output = "\
Wakeup Latencies percentiles (usec) runtime 10 (s) (80 total samples)
\t  50.0th: 99         (1 samples)
\t* 99.0th: 99         (1 samples)
\t  min=1, max=99
Wakeup Latencies percentiles (usec) runtime 20 (s) (1600 total samples)
\t  50.0th: 8          (45 samples)
\t  90.0th: 11         (62 samples)
\t* 99.0th: 31         (11 samples)
\t  99.9th: 80         (2 samples)
\t  min=1, max=655
Request Latencies percentiles (usec) runtime 20 (s) (160 total samples)
\t  50.0th: 7000       (45 samples)
\t  min=5000, max=9000
current rps: 8.00
";
        let wanted = vec![8.0, 11.0, 31.0, 655.0];
        assert_eq!(values(Program::Schbench, output), Ok(wanted));
    }

    #[test]
    fn a_p99_of_few_wake_ups_is_refused() {
        let output = "Wakeup Latencies percentiles (usec) runtime 8 (s) (8 total samples)\n\t  50.0th: 15 (2 samples)\n";
        let why = values(Program::Schbench, output).unwrap_err();
        assert!(why.contains("8 wake-ups") && why.contains("299"), "{why}");
    }

    #[test]
    fn older_versions_of_schbench_are_read() {
        let output = "\
Latency percentiles (usec)
\t50.0000th: 371
\t75.0000th: 500
\t90.0000th: 729
\t95.0000th: 800
\t*99.0000th: 889
\tmin=0, max=2197
";
        let wanted = vec![371.0, 729.0, 889.0, 2197.0];
        let output = output.replace("\t*99", "\t* 99");
        assert_eq!(values(Program::Schbench, &output), Ok(wanted));
    }

    #[test]
    fn pgbench_states_average_and_deviation() {
        let output = "\
scaling factor: 1
number of transactions actually processed: 101
latency average = 1.292 ms
latency stddev = 0.572 ms
rate limit schedule lag: avg 0.065 (max 0.221) ms
tps = 10.030 (without initial connection time)
";
        assert_eq!(values(Program::Pgbench, output), Ok(vec![1.292, 0.572]));
    }

    #[test]
    fn output_without_figures_is_refused() {
        for program in [Program::Schbench, Program::Pgbench] {
            for output in ["", "segmentation fault", "latency average = nan ms\n"] {
                assert!(values(program, output).is_err(), "{output}");
            }
        }
        let cut = "Wakeup Latencies percentiles (usec) runtime 10 (s)\n\t  50.0th: 8 (4 samples)\n";
        let why = values(Program::Schbench, cut).unwrap_err();
        assert!(why.contains("p90"), "{why}");
    }
}
