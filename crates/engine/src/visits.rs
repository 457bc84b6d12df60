//! Visits of settings, pass after pass: a pure function of the run's plan and
//! the trials so far.

use crate::conduct::{Next, Planner, latency_times};
use crate::observer::Progress;
use crate::order::{derive, visits};
use plimsoll_model::{Phase, RunPlan, Trial, TrialSetting, TrialSpec, WarmUp};
use std::time::Duration;

/// Time of a trial outside of warm-up and window: starting threads, waiting for
/// the last answers, writing the record.
pub const AROUND: Duration = Duration::from_millis(150);

/// The trial of the next visit: pass after pass, each followed by repeats of its
/// invalid trials as long as the budget lasts. `None` when all are done.
pub fn graduated<S: TrialSetting, O>(
    run: &RunPlan,
    settings: &[(Phase, S)],
    trials: &[Trial<S, O>],
    seed: u64,
) -> Option<TrialSpec<S>> {
    for pass in 0..run.passes {
        let order = visits(settings, run.seed, pass);
        let tries = |(phase, setting): &(Phase, S)| {
            let (phase, setting) = (*phase, setting.clone());
            trials.iter().filter(move |t| {
                t.spec.phase == phase && t.spec.setting == setting && t.spec.pass == pass
            })
        };
        let visit = |(phase, setting): &(Phase, S), attempt| TrialSpec {
            pass,
            attempt,
            warm_up: run.warm_up,
            seed,
            ..TrialSpec::blank(*phase, setting.clone(), run.window)
        };
        if let Some(first) = order.iter().find(|at| tries(at).next().is_none()) {
            return Some(visit(first, 0));
        }
        for at in &order {
            let attempt = tries(at).count() as u32;
            let open = !tries(at).any(|t| t.verdict.is_valid());
            if open && attempt <= run.bounds.retries && retry_fits(run, settings, trials, pass) {
                return Some(visit(at, attempt));
            }
        }
    }
    None
}

/// Whether the budget has room for one more try besides the passes to come.
fn retry_fits<S: TrialSetting, O>(
    run: &RunPlan,
    settings: &[(Phase, S)],
    trials: &[Trial<S, O>],
    pass: u32,
) -> bool {
    let spent = spent(trials);
    let to_come = settings.len() as u32 * (run.passes - pass - 1) + 1;
    spent + to_come * typical(run, trials) <= run.budget
}

/// What the trials took of the budget; the warm-up of a service has time of its own.
fn spent<S, O>(trials: &[Trial<S, O>]) -> Duration {
    let counts = |t: &&Trial<S, O>| t.spec.phase != Phase::WarmUp;
    trials.iter().filter(counts).map(|t| t.took).sum()
}

/// The time of a trial at a graduated setting: the mean of those so far, or
/// what the plan says.
pub fn typical<'a, S: 'a, O: 'a>(
    run: &RunPlan,
    trials: impl IntoIterator<Item = &'a Trial<S, O>>,
) -> Duration {
    let levels: Vec<Duration> = trials
        .into_iter()
        .filter(|t| t.spec.phase.is_level())
        .map(|t| t.took)
        .collect();
    match levels.len() as u32 {
        0 => run.warm_up.min + run.window + AROUND,
        n => levels.iter().sum::<Duration>() / n,
    }
}

/// The trial without load before all others, if the plan wants one (again).
pub fn idle<S: TrialSetting, O>(
    run: &RunPlan,
    idle: S,
    trials: &[Trial<S, O>],
    seed: u64,
) -> Option<TrialSpec<S>> {
    let (before, _) = trials.split_at(plimsoll_study::loaded_from(trials));
    one_idle(run, idle, before.iter(), seed)
}

/// The trial without load after all others, likewise: a service may work on.
pub fn idle_again<S: TrialSetting, O>(
    run: &RunPlan,
    idle: S,
    trials: &[Trial<S, O>],
    seed: u64,
) -> Option<TrialSpec<S>> {
    let (_, after) = trials.split_at(plimsoll_study::loaded_from(trials));
    let idles = after.iter().filter(|t| t.spec.phase == Phase::Idle);
    one_idle(run, idle, idles, seed).filter(|_| !after.is_empty())
}

fn one_idle<'a, S: TrialSetting + 'a, O: 'a>(
    run: &RunPlan,
    idle: S,
    tried: impl Iterator<Item = &'a Trial<S, O>>,
    seed: u64,
) -> Option<TrialSpec<S>> {
    let tried: Vec<&Trial<S, O>> = tried.collect();
    let wanted = match tried.last() {
        None => !run.idle.is_zero(),
        Some(last) => !last.verdict.is_valid() && tried.len() <= run.bounds.retries as usize,
    };
    wanted.then(|| TrialSpec {
        attempt: tried.len() as u32,
        warm_up: WarmUp::NONE,
        seed,
        ..TrialSpec::blank(Phase::Idle, idle, run.idle)
    })
}

/// How many visits were made at least once.
pub fn visited<S, O>(trials: &[Trial<S, O>]) -> usize {
    let is_first = |t: &&Trial<S, O>| t.spec.phase.is_level() && t.spec.attempt == 0;
    trials.iter().filter(is_first).count()
}

/// How far a run is that visits so many settings, and has trials of this length to
/// make before them.
pub fn progress<S: TrialSetting, O>(
    run: &RunPlan,
    settings: usize,
    trials: &[Trial<S, O>],
    before: Duration,
) -> Progress {
    let done = visited(trials);
    let visits = settings * run.passes as usize;
    let first_tries = typical(run, trials) * visits.saturating_sub(done) as u32 + before;
    Progress {
        done,
        visits,
        left: first_tries + repeats(run, trials, first_tries),
    }
}

/// The time of repeats that are due: one for each visit that has no valid trial
/// yet, as far as the budget has room for them next to the `first_tries` to
/// come. How many of them fail again is unknown.
pub fn repeats<S: TrialSetting, O>(
    run: &RunPlan,
    trials: &[Trial<S, O>],
    first_tries: Duration,
) -> Duration {
    let same = |a: &Trial<S, O>, b: &Trial<S, O>| {
        a.spec.phase == b.spec.phase
            && a.spec.setting == b.spec.setting
            && a.spec.pass == b.spec.pass
    };
    let is_last_try = |(at, t): &(usize, &Trial<S, O>)| {
        t.spec.phase.is_level() && !trials[at + 1..].iter().any(|later| same(later, t))
    };
    let is_due = |t: &Trial<S, O>| !t.verdict.is_valid() && t.spec.attempt < run.bounds.retries;
    let last_tries = trials.iter().enumerate().filter(is_last_try);
    let due = last_tries.filter(|(_, t)| is_due(t)).count();
    let spent = spent(trials);
    let room = run.budget.saturating_sub(spent + first_tries);
    (typical(run, trials) * due as u32).min(room)
}

/// The times of a trial in microseconds, and in words.
pub type TimesOf<S, O> = fn(&Trial<S, O>) -> (Vec<f64>, String);

/// The planner of experiments that only visit settings: an idle machine if there
/// is a setting for it, then every setting once in each pass.
#[derive(Debug, Clone)]
pub struct VisitPlanner<'p, S, O> {
    /// What every run has.
    pub run: &'p RunPlan,
    /// The setting of the idle machine, if it is measured.
    pub idle: Option<S>,
    /// The settings.
    pub settings: Vec<S>,
    /// A setting in words.
    pub words: fn(&S) -> String,
    /// The place of a setting on the x axis of charts.
    pub x: fn(&S) -> Option<f64>,
    /// See [`Planner::times`].
    pub times: TimesOf<S, O>,
}

impl<'p, S: TrialSetting, O> VisitPlanner<'p, S, O> {
    /// Visits `settings`; their names, and their places on the x axis.
    pub fn of(
        run: &'p RunPlan,
        settings: Vec<S>,
        words: fn(&S) -> String,
        x: fn(&S) -> Option<f64>,
    ) -> Self {
        VisitPlanner {
            run,
            idle: None,
            settings,
            words,
            x,
            times: latency_times,
        }
    }

    fn idle(&self, trials: &[Trial<S, O>], seed: u64) -> Option<TrialSpec<S>> {
        idle(self.run, self.idle.clone()?, trials, seed)
    }
}

impl<S: TrialSetting, O> Planner for VisitPlanner<'_, S, O> {
    type Setting = S;
    type Outcome = O;

    fn next(&self, trials: &[Trial<S, O>]) -> Next<S> {
        let seed = derive(self.run.seed, trials.len() as u64);
        if let Some(spec) = self.idle(trials, seed) {
            return Next::Trial(spec);
        }
        let visit = |setting: &S| (Phase::Level { level: None }, setting.clone());
        let settings: Vec<(Phase, S)> = self.settings.iter().map(visit).collect();
        graduated(self.run, &settings, trials, seed).map_or(Next::Done, Next::Trial)
    }

    fn progress(&self, trials: &[Trial<S, O>]) -> Progress {
        let idle_left = self
            .idle(trials, 0)
            .map_or(Duration::ZERO, |idle| idle.window);
        progress(self.run, self.settings.len(), trials, idle_left)
    }

    fn describe(&self, spec: &TrialSpec<S>) -> String {
        (self.words)(&spec.setting)
    }

    fn x(&self, setting: &S) -> Option<f64> {
        (self.x)(setting)
    }

    fn times(&self, trial: &Trial<S, O>) -> (Vec<f64>, String) {
        (self.times)(trial)
    }
}
