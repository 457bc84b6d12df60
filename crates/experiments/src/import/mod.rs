//! `plimsoll import`: turns a table measured elsewhere into a run.
//!
//! [`Table::read`] reads the table; [`Table::run`] makes the plan, the trials and
//! the provenance of a run, so that all findings of a sweep apply to a table, too.
//! Each row is one trial with one number. The table does not say which latency
//! statistic it holds, how long a trial measured, or what disturbed it; these stay
//! unknown. Repeated rows at one load are repeated trials.

mod error;
mod table;

#[cfg(test)]
mod tests;

pub use error::TableError;
pub use table::Table;

use plimsoll_model::{
    CopiesPlan, CopiesSetting, CopiesTrial, CopiesWorkload, CpuPlan, CpuSet, CpuTime, CpuUse,
    GivenLatency, Goal, ImportedTable, LoadLevel, Phase, Plan, Provenance, Rate, RunPlan, Setting,
    Share, TableRows, Topology, Trial, TrialSpec, Workload,
};
use std::collections::BTreeMap;
use std::time::Duration;
use table::Row;

/// What a user says about a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// What was measured: the machine, as a rule.
    pub name: String,
    /// Its CPUs, where they are known.
    pub cpus: Option<u32>,
    /// How many threads each of its cores has, where that is known: the first
    /// copies are then taken to have run on cores of their own.
    pub threads_per_core: Option<u32>,
    /// Where the table comes from.
    pub note: Option<String>,
    /// The version of Plimsoll that imports it.
    pub plimsoll_version: String,
}

/// A run made from a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The plan that would give such trials, and a trial per row, in the
    /// table's order.
    pub rows: ImportedRows,
    /// What machine it is, as far as was said.
    pub provenance: Provenance,
}

/// The rows of a table as trials.
#[derive(Debug, Clone, PartialEq)]
pub enum ImportedRows {
    /// A table of rates: the trials of a sweep.
    Rates(Box<Plan>, Vec<Trial>),
    /// A table of copies: the trials of a run of copies.
    Copies(Box<CopiesPlan>, Vec<CopiesTrial>),
}

/// A row is at least this many requests, so that its window is long enough to
/// express its rate exactly.
const FEWEST_REQUESTS: f64 = 1000.0;

impl Table {
    /// The run whose trials are this table's rows.
    ///
    /// # Errors
    ///
    /// The CPUs do not make whole cores.
    pub fn run(&self, about: About) -> Result<Imported, TableError> {
        let mut provenance = Provenance {
            plimsoll_version: about.plimsoll_version,
            hostname: Some(about.name.clone()),
            ..Provenance::default()
        };
        let cpus: CpuSet = (0..about.cpus.unwrap_or(0)).collect();
        let cores = cores(&cpus, about.threads_per_core)?;
        provenance.topology = Topology {
            online: cpus.clone(),
            allowed: cpus.clone(),
            cores: about.threads_per_core.map(|_| cores.len() as u32),
            threads_per_core: about.threads_per_core,
            ..Topology::default()
        };
        let table = ImportedTable {
            name: about.name,
            rows: self.kind,
            cpus: about.cpus,
            threads_per_core: about.threads_per_core,
            note: about.note,
            latencies: match self.kind {
                TableRows::Rates => self.rows.iter().map(given).collect(),
                TableRows::Copies => Vec::new(),
            },
        };
        let run = RunPlan {
            cpus: CpuPlan {
                service: cpus,
                cores,
                ..CpuPlan::default()
            },
            ..RunPlan::blank()
        };
        let rows = match self.kind {
            TableRows::Rates => of_rates(table, run, &self.rows)?,
            TableRows::Copies => of_copies(table, run, &self.rows),
        };
        Ok(Imported { rows, provenance })
    }
}

fn rate(row: &Row) -> Rate {
    Rate::per_second(row.load).unwrap_or(Rate::ZERO)
}

fn given(row: &Row) -> GivenLatency {
    GivenLatency {
        rate: rate(row),
        latency: row.time,
    }
}

/// The CPUs of each core, as Linux numbers them on most machines: one thread
/// of every core first. None where that is not known.
fn cores(cpus: &CpuSet, threads: Option<u32>) -> Result<Vec<CpuSet>, TableError> {
    let Some(threads) = threads else {
        return Ok(Vec::new());
    };
    let n = cpus.len() as u32;
    if n == 0 || !n.is_multiple_of(threads) {
        return Err(TableError::Cores { cpus: n, threads });
    }
    let cores = n / threads;
    let core = |first: u32| (0..threads).map(|thread| first + thread * cores).collect();
    Ok((0..cores).map(core).collect())
}

fn of_rates(table: ImportedTable, run: RunPlan, rows: &[Row]) -> Result<ImportedRows, TableError> {
    let levels = levels(rows)?;
    let mut visits = Visits::default();
    let trials = rows.iter().map(|row| {
        let level = levels.get(&row.load.to_bits()).copied();
        let pass = visits.next(row.load);
        let setting = Setting::offer(rate(row));
        let requests = row.load.round().max(FEWEST_REQUESTS);
        let window = Duration::from_secs_f64(requests / row.load);
        let mut trial: Trial = blank(Phase::Level { level }, setting, pass, window);
        let requests = requests as u64;
        trial.work.intended = requests;
        trial.work.sent = requests;
        trial.work.completed = requests;
        trial.work.latency.record_many(row.time, requests);
        used(&mut trial, &run.cpus.service, row.cpu);
        trial
    });
    let trials: Vec<Trial> = trials.collect();
    let mut plan = Plan::blank(Workload::Imported(table));
    plan.run = RunPlan {
        passes: visits.most(),
        ..run
    };
    plan.goals = vec![Goal::default()];
    plan.levels = levels.values().copied().collect();
    // The best there is: the table does not say whether the service or the plan
    // ended there.
    let highest = rows.iter().max_by(|a, b| a.load.total_cmp(&b.load));
    plan.calibration.rated = highest.map(rate);
    Ok(ImportedRows::Rates(Box::new(plan), trials))
}

fn of_copies(table: ImportedTable, run: RunPlan, rows: &[Row]) -> ImportedRows {
    let mut visits = Visits::default();
    let trials = rows.iter().map(|row| {
        let copies = row.load as u32;
        let pass = visits.next(row.load);
        let phase = Phase::Level { level: None };
        let setting = CopiesSetting::Copies { copies };
        let mut trial: CopiesTrial = blank(phase, setting, pass, row.time);
        trial.outcome.copy_times = vec![row.time; copies as usize];
        used(&mut trial, &run.cpus.service, row.cpu);
        trial
    });
    let trials: Vec<CopiesTrial> = trials.collect();
    let plan = CopiesPlan {
        workload: CopiesWorkload::Imported(table),
        numbers: visits
            .0
            .keys()
            .map(|load| f64::from_bits(*load) as u32)
            .collect(),
        run: RunPlan {
            passes: visits.most(),
            ..run
        },
    };
    ImportedRows::Copies(Box::new(plan), trials)
}

/// A level for each different rate, ascending with it: its share of the
/// highest, moved by as many tenths of a percent as it takes to differ from its
/// neighbours. The trial has the rate itself.
fn levels(rows: &[Row]) -> Result<BTreeMap<u64, LoadLevel>, TableError> {
    let mut rates: Vec<f64> = rows.iter().map(|row| row.load).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    let highest = rates.last().copied().unwrap_or(1.0);
    let mut tenths: Vec<f64> = rates
        .iter()
        .map(|rate| (1000.0 * rate / highest).round())
        .collect();
    // Down from the top, which stays 100 %, then up from 0.1 % where that went
    // below: a thousand fit.
    let mut limit = f64::INFINITY;
    for level in tenths.iter_mut().rev() {
        *level = level.min(limit);
        limit = *level - 1.0;
    }
    let mut limit = 1.0;
    for level in &mut tenths {
        *level = level.max(limit);
        limit = *level + 1.0;
    }
    let named = rates.iter().zip(tenths);
    Ok(named
        .filter_map(|(rate, tenths)| Some((rate.to_bits(), LoadLevel::percent(tenths / 10.0)?)))
        .collect())
}

/// How often each load was there before. Loads above 0 sort by their bits as they
/// do by value.
#[derive(Default)]
struct Visits(BTreeMap<u64, u32>);

impl Visits {
    fn next(&mut self, load: f64) -> u32 {
        let seen = self.0.entry(load.to_bits()).or_default();
        *seen += 1;
        *seen - 1
    }

    fn most(&self) -> u32 {
        self.0.values().copied().max().unwrap_or(0)
    }
}

/// A valid trial with nothing in it.
fn blank<S, O: Default>(phase: Phase, setting: S, pass: u32, window: Duration) -> Trial<S, O> {
    let spec = TrialSpec {
        pass,
        ..TrialSpec::blank(phase, setting, window)
    };
    // When it was measured is not known either.
    let mut trial = Trial::begun(spec, 0);
    trial.took = window;
    trial.steady = true;
    trial
}

/// Puts CPU use into a trial: as much CPU time as the known CPUs have, or as
/// one has, which gives the same share.
fn used<S, O>(trial: &mut Trial<S, O>, cpus: &CpuSet, cpu: Share) {
    let all = trial.window * (cpus.len().max(1) as u32);
    let busy = all.mul_f64(cpu.get());
    let use_ = CpuUse {
        user: CpuTime(busy),
        idle: CpuTime(all.saturating_sub(busy)),
        ..CpuUse::default()
    };
    trial.machine.service_cpus = cpus.clone();
    trial.machine.service_cpu = Some(use_);
    trial.machine.cpu = Some(use_);
}
