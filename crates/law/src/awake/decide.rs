//! The decision of one period.

use super::core::{CoreState, Terms};
use super::{AwakeSample, Change, HoldRule, KeepAwake, TaskCpus, Why};
use plimsoll_model::{CpuId, CpuSet, CpuTime, Share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// For how long burn that the budget allowed may be saved up.
const BUDGET_WINDOW: Duration = Duration::from_secs(10);

/// State between two decisions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AwakeState {
    /// Of the last sample.
    #[serde(rename = "at_ns", with = "plimsoll_model::Ns")]
    at: Duration,
    /// Of the last sample that had the tasks.
    #[serde(rename = "read_at_ns", with = "plimsoll_model::Ns")]
    read_at: Duration,
    /// The CPUs that are held.
    hold: CpuSet,
    /// By the first CPU of each core.
    cores: BTreeMap<CpuId, CoreState>,
    /// CPUs that may be changed now.
    writes_left: f64,
    /// Burn that the budget leaves, in seconds; negative over the budget.
    burn_left_s: f64,
}

/// What to do until the next sample.
#[derive(Debug, Clone, PartialEq)]
pub struct AwakeDecision {
    pub state: AwakeState,
    /// The CPUs to hold; released are all others.
    pub hold: CpuSet,
    /// How `hold` differs from that of the decision before.
    pub changes: Vec<Change>,
    /// Changes that wait for the bound on writes.
    pub deferred: u32,
}

/// A core and its CPUs that are online.
struct Unit {
    first: CpuId,
    cpus: CpuSet,
}

impl KeepAwake {
    pub fn start(&self) -> AwakeState {
        AwakeState {
            // As if saved up. Burn is not: then at no time more is burned than the budget of the
            // time since the start.
            writes_left: f64::MAX,
            ..AwakeState::default()
        }
    }

    /// Decides from its arguments alone.
    pub fn decide(&self, state: &AwakeState, sample: &AwakeSample) -> AwakeDecision {
        let mut next = state.clone();
        next.at = sample.at;
        self.refill(&mut next, state.at, sample);
        let mut changes = released_offline(&mut next, &sample.online);
        let mut deferred = 0;
        match &sample.tasks {
            Some(tasks) => {
                next.read_at = sample.at;
                let period = sample.at.saturating_sub(state.at);
                let wanted = self.follow(&mut next, sample, tasks, period);
                let (made, left) = within_writes(&mut next, wanted);
                changes.extend(made);
                deferred = left;
            }
            None => changes.extend(self.blind(&mut next)),
        }
        for change in changes.iter().filter(|change| !change.held) {
            self.note_release(&mut next, &change.cpus);
        }
        AwakeDecision {
            hold: next.hold.clone(),
            state: next,
            changes,
            deferred,
        }
    }

    /// Adds what may be changed and burnt for the time since `before`.
    fn refill(&self, next: &mut AwakeState, before: Duration, sample: &AwakeSample) {
        let elapsed = sample.at.saturating_sub(before).as_secs_f64();
        let rate = f64::from(self.writes_per_second);
        let most = rate.max(sample.online.len() as f64);
        next.writes_left = (next.writes_left + rate * elapsed).min(most);
        let allowed = self.budget.unwrap_or(Share::ONE).get() * sample.online.len() as f64;
        let most = allowed * BUDGET_WINDOW.as_secs_f64();
        let left = next.burn_left_s + allowed * elapsed;
        next.burn_left_s = left.min(most) - sample.burn.0.as_secs_f64();
    }

    /// Releases everything once the tasks have been unreadable for too long.
    fn blind(&self, next: &mut AwakeState) -> Vec<Change> {
        let blind = next.at.saturating_sub(next.read_at);
        if blind < self.blind_after || next.hold.is_empty() {
            return Vec::new();
        }
        vec![Change {
            cpus: std::mem::take(&mut next.hold),
            held: false,
            why: Why::Blind { blind },
        }]
    }

    /// The changes that the rule and the budget want, most urgent first.
    fn follow(
        &self,
        next: &mut AwakeState,
        sample: &AwakeSample,
        tasks: &TaskCpus,
        period: Duration,
    ) -> Vec<Change> {
        let (mut holds, mut releases) = (Vec::new(), Vec::new());
        for unit in self.units(&sample.online) {
            let terms = self.terms(&unit, period);
            let core = next.cores.entry(unit.first).or_default();
            core.observe(unit.has(&tasks.ran), sample.at, &terms);
            let missing = unit.cpus.without(&next.hold);
            let held = unit.cpus.and(&next.hold);
            let why = self.rule_wants(core, &unit, tasks, sample.at);
            match why {
                Some((true, why)) if !missing.is_empty() => {
                    let cost = terms.break_even.as_secs_f64() * unit.cpus.len() as f64;
                    if self.budget.is_none() || next.burn_left_s >= cost.min(self.savings(sample)) {
                        holds.push(change(missing, true, why));
                    }
                }
                Some((false, why)) if !held.is_empty() => releases.push(change(held, false, why)),
                _ => {}
            }
        }
        if self.budget.is_some() && next.burn_left_s < 0.0 && releases.is_empty() {
            releases.extend(self.over_budget(next, &sample.online));
        }
        holds.extend(releases);
        holds
    }

    /// The burn that a full budget window allows, in seconds.
    fn savings(&self, sample: &AwakeSample) -> f64 {
        let budget = self.budget.unwrap_or(Share::ONE).get();
        budget * sample.online.len() as f64 * BUDGET_WINDOW.as_secs_f64()
    }

    fn terms(&self, unit: &Unit, period: Duration) -> Terms {
        let break_even = self.price.break_even(unit.cpus.len());
        Terms {
            rule: self.rule,
            break_even: break_even.max(self.least_hold),
            least_hold: self.least_hold,
            period,
        }
    }

    /// Whether the rule wants a core held or released, if it wants either.
    fn rule_wants(
        &self,
        core: &CoreState,
        unit: &Unit,
        tasks: &TaskCpus,
        at: Duration,
    ) -> Option<(bool, Why)> {
        match self.rule {
            HoldRule::LastRan if unit.has(&tasks.last) => Some((true, Why::LastRanHere)),
            HoldRule::LastRan => Some((false, Why::TasksLeft)),
            _ if unit.has(&tasks.ran) => Some((true, Why::RunsHere)),
            _ if core.is_over(at) => {
                let (idle, hold) = (core.idle_for(at), core.hold);
                Some((false, Why::Idle { idle, hold }))
            }
            _ => None,
        }
    }

    /// Releases the core on which a followed task ran the longest time ago.
    fn over_budget(&self, next: &AwakeState, online: &CpuSet) -> Option<Change> {
        let units = self.units(online);
        let held = units.into_iter().filter(|unit| unit.has(&next.hold));
        let unit = held.min_by_key(|unit| {
            let ran_at = next.cores.get(&unit.first).and_then(|core| core.ran_at);
            (ran_at, std::cmp::Reverse(unit.first))
        })?;
        let over = Duration::try_from_secs_f64(-next.burn_left_s).unwrap_or_default();
        let why = Why::OverBudget {
            over: CpuTime(over),
        };
        Some(change(unit.cpus.and(&next.hold), false, why))
    }

    fn units(&self, online: &CpuSet) -> Vec<Unit> {
        let in_cores: CpuSet = self.cores.iter().flat_map(CpuSet::iter).collect();
        let alone = online.without(&in_cores);
        let alone = alone.iter().map(|cpu| (cpu, [cpu].into_iter().collect()));
        let cores = self.cores.iter();
        let cores = cores.filter_map(|core| Some((core.iter().next()?, core.and(online))));
        let all = cores.chain(alone);
        let all = all.filter(|(_, cpus)| !cpus.is_empty());
        all.map(|(first, cpus)| Unit { first, cpus }).collect()
    }

    fn note_release(&self, next: &mut AwakeState, cpus: &CpuSet) {
        let at = next.at;
        let mut firsts: Vec<CpuId> = Vec::new();
        for cpu in cpus.iter() {
            let core = self.cores.iter().find(|core| core.contains(cpu));
            firsts.push(core.and_then(|core| core.iter().next()).unwrap_or(cpu));
        }
        firsts.dedup();
        for first in firsts {
            if let Some(core) = next.cores.get_mut(&first) {
                core.release(at);
            }
        }
    }
}

impl Unit {
    fn has(&self, cpus: &CpuSet) -> bool {
        !self.cpus.and(cpus).is_empty()
    }
}

fn change(cpus: CpuSet, held: bool, why: Why) -> Change {
    Change { cpus, held, why }
}

/// CPUs that went offline need no write.
fn released_offline(next: &mut AwakeState, online: &CpuSet) -> Vec<Change> {
    let gone = next.hold.without(online);
    next.hold = next.hold.and(online);
    match gone.is_empty() {
        true => Vec::new(),
        false => vec![change(gone, false, Why::Offline)],
    }
}

/// Makes the changes that the bound on writes permits; returns them and how many wait.
fn within_writes(next: &mut AwakeState, wanted: Vec<Change>) -> (Vec<Change>, u32) {
    let (mut made, mut deferred) = (Vec::new(), 0);
    for change in wanted {
        let writes = change.cpus.len() as f64;
        if next.writes_left < writes {
            deferred += 1;
            continue;
        }
        next.writes_left -= writes;
        next.hold = match change.held {
            true => next.hold.iter().chain(change.cpus.iter()).collect(),
            false => next.hold.without(&change.cpus),
        };
        made.push(change);
    }
    (made, deferred)
}
