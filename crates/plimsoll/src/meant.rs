//! What is meant by what was typed: the workload and the plan, with
//! everything looked up that a plan needs to know of this machine.

use crate::args::{HeaderArgs, HttpArgs, SweepArgs};
use crate::failure::Failure;
use plimsoll_experiment::sweep::{Effort, Place, Request, Tolerance};
use plimsoll_host::Root;
use plimsoll_load::hash;
use plimsoll_model::{
    Copies, CpuSet, CpuTime, HttpService, LoadLevel, Plan, ServiceAt, Workload, counted, for_count,
};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// What one request to the hash service is calibrated to cost.
const HASH_REQUEST: CpuTime = CpuTime(Duration::from_millis(1));

/// Enough for 100,000 requests a second of a millisecond each.
const CONNECTIONS: u32 = 128;

const HTTP_TIMEOUT: Duration = Duration::from_secs(10);
const COPIES_TIMEOUT: Duration = Duration::from_secs(3600);

/// The plan of the sweep that is asked for, and where it runs. A server is
/// asked once, and the hash service calibrated, on the way.
pub(crate) fn plan(args: &SweepArgs, root: &Root) -> Result<(Plan, Place), Failure> {
    let allowed = allowed_cpus(args.cpus.as_ref(), root)?;
    let workload = workload(args, &allowed)?;
    let copies = match &workload {
        Workload::Copies(_) => numbers_of_copies(args.levels.as_deref(), allowed.len())?,
        Workload::Hash(_) | Workload::Http(_) | Workload::Imported(_) => Vec::new(),
    };
    let place = Place::of(&workload, root)?;
    let request = Request {
        effort: if args.quick {
            Effort::Quick
        } else {
            Effort::Full
        },
        goals: args.goals.clone(),
        arrivals: args.arrivals.into(),
        levels: args.levels.clone(),
        copies,
        trials: args.trials,
        window: args.duration,
        precision: args.precision,
        restart: args.swept.restart.clone(),
        rated: args.rated,
        cpus: place.cpus(root, args.cpus.as_ref(), args.http.service_cpus.as_ref()),
        tolerance: Tolerance {
            slip: args.max_slip,
            steal: args.max_steal,
            other: args.max_other,
        },
        interrupts: place.interrupts(root),
        seed: args.seed.unwrap_or_else(any_seed),
        workload,
    };
    Ok((request.plan(), place))
}

/// The CPUs that were asked for, if this process may use them all; else all
/// that it may use.
pub(crate) fn allowed_cpus(asked: Option<&CpuSet>, root: &Root) -> Result<CpuSet, Failure> {
    let allowed = plimsoll_host::own_allowed_cpus(root).map_err(|e| Failure::Run(e.to_string()))?;
    let Some(asked) = asked else {
        return Ok(allowed);
    };
    let missing = asked.without(&allowed);
    if missing.is_empty() {
        Ok(asked.clone())
    } else {
        Err(Failure::Mistake(format!(
            "CPU {missing} is not for this process to use; choose --cpus from {allowed}"
        )))
    }
}

fn workload(args: &SweepArgs, cpus: &CpuSet) -> Result<Workload, Failure> {
    // Not for the parser to refuse: its usage line would name the URL as well.
    if let (true, Some(url)) = (args.copies, &args.url) {
        return Err(Failure::Mistake(format!(
            "--copies runs a command and takes no URL, but '{url}' was given too; leave it out: plimsoll sweep --copies -- CMD; or load the server: plimsoll sweep URL"
        )));
    }
    if args.copies {
        return Ok(Workload::Copies(Copies {
            command: args.command.clone(),
            timeout: args.timeout.unwrap_or(COPIES_TIMEOUT),
        }));
    }
    let mut workload = service(
        args.url.as_deref(),
        &args.http,
        &args.header,
        args.timeout,
        cpus,
    )?;
    if let (Workload::Http(http), Some(url)) = (&mut workload, &args.swept.node_metrics) {
        http.service = ServiceAt::NodeMetrics(url.clone());
    }
    Ok(workload)
}

/// A server at an address, or the hash service on `cpus`.
pub(crate) fn service(
    url: Option<&str>,
    http: &HttpArgs,
    header: &HeaderArgs,
    timeout: Option<Duration>,
    cpus: &CpuSet,
) -> Result<Workload, Failure> {
    match url {
        Some(url) => Ok(Workload::Http(HttpService {
            timeout: timeout.unwrap_or(HTTP_TIMEOUT),
            ..http_service(url, http, header.parsed()?)?
        })),
        None => {
            let first = cpus.iter().next().unwrap_or(0);
            Ok(Workload::Hash(hash::calibrate(HASH_REQUEST, first)?))
        }
    }
}

fn http_service(
    url: &str,
    args: &HttpArgs,
    headers: Vec<(String, String)>,
) -> Result<HttpService, Failure> {
    let body = match args.data.as_deref() {
        None => Vec::new(),
        Some(data) => match data.strip_prefix('@') {
            None => data.as_bytes().to_vec(),
            Some(path) => std::fs::read(path).map_err(|e| {
                Failure::Mistake(format!("--data: the file '{path}' cannot be read: {e}; check the name and its permissions, or leave out the @ to send the text itself"))
            })?,
        },
    };
    let default_method = if args.data.is_some() { "POST" } else { "GET" };
    Ok(HttpService {
        url: url.to_owned(),
        method: args.method.clone().unwrap_or(default_method.to_owned()),
        headers,
        omitted_headers: Vec::new(),
        body,
        connections: args.connections.unwrap_or(CONNECTIONS),
        timeout: HTTP_TIMEOUT,
        expected_status: args.expect_status,
        insecure: args.insecure,
        service: service_at(args),
    })
}

fn service_at(args: &HttpArgs) -> ServiceAt {
    if let Some(pid) = args.service_pid {
        ServiceAt::Pid(pid)
    } else if let Some(path) = &args.service_cgroup {
        ServiceAt::Cgroup(path.clone())
    } else {
        ServiceAt::Find
    }
}

/// Every number from 1 to one per CPU, or those given.
fn numbers_of_copies(levels: Option<&[LoadLevel]>, cpus: usize) -> Result<Vec<u32>, Failure> {
    let Some(levels) = levels else {
        return Ok((1..=cpus as u32).collect());
    };
    let mut numbers: Vec<u32> = levels
        .iter()
        .map(|level| {
            let number = level.pct();
            let fits = number.fract() == 0.0 && (1.0..=cpus as f64).contains(&number);
            fits.then_some(number as u32).ok_or_else(|| {
                Failure::Mistake(format!(
                    "--levels: '{number}' is no number of copies; there {} {}, and each copy has one of its own",
                    for_count(cpus, "is", "are"),
                    counted(cpus, "CPU", "CPUs")
                ))
            })
        })
        .collect::<Result<_, _>>()?;
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

/// A seed that nobody chose. It is in the record, so the run can be repeated.
pub(crate) fn any_seed() -> u64 {
    // RandomState is seeded by the system; six digits are easier to pass on.
    RandomState::new().build_hasher().finish() % 1_000_000
}

/// `plimsoll-runs/<time>-<command>.plimsoll`, in UTC.
pub(crate) fn default_output(command: &str, now: SystemTime) -> PathBuf {
    let seconds = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |d| d.as_secs());
    PathBuf::from(format!("plimsoll-runs/{}-{command}.plimsoll", utc(seconds)))
}

/// `20261121-154500` from seconds since 1970.
fn utc(seconds: u64) -> String {
    let (year, month, day) = civil(seconds / 86_400);
    let of_day = seconds % 86_400;
    format!(
        "{year:04}{month:02}{day:02}-{:02}{:02}{:02}",
        of_day / 3600,
        of_day / 60 % 60,
        of_day % 60
    )
}

/// `2026-11-21` from seconds since 1970.
pub(crate) fn date(seconds: u64) -> String {
    let (year, month, day) = civil(seconds / 86_400);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Year, month and day, so many days after the first of 1970.
fn civil(days: u64) -> (u64, u64, u64) {
    // Howard Hinnant, "chrono-compatible low-level date algorithms":
    // civil_from_days, for days from 1970 on.
    let z = days + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_names_carry_the_time() {
        assert_eq!(utc(0), "19700101-000000");
        assert_eq!(utc(951_782_400), "20000229-000000");
        assert_eq!(utc(1_795_275_900), "20261121-154500");
    }

    #[test]
    fn numbers_of_copies_are_whole_and_have_a_cpu_each() {
        let levels = |list: &[f64]| -> Vec<LoadLevel> {
            list.iter()
                .map(|n| LoadLevel::percent(*n).unwrap())
                .collect()
        };
        assert_eq!(numbers_of_copies(None, 3).unwrap(), [1, 2, 3]);
        let given = numbers_of_copies(Some(&levels(&[4.0, 1.0, 4.0])), 4);
        assert_eq!(given.unwrap(), [1, 4]);
        for bad in [5.0, 1.5] {
            assert!(numbers_of_copies(Some(&levels(&[bad])), 4).is_err());
        }
    }
}
