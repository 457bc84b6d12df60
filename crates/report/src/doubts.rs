//! What is odd about the figures themselves, in a sentence each with the way out.

mod connections;

pub use connections::connections_of;

use crate::number::{self, Written, per_second, time_us};
use crate::sentence::Sentence;
use crate::table::Ink;
use plimsoll_model::{Doubt, Estimate, FlatBecause, Goal, counted};

/// More loads than these are for programs.
const MOST_SCATTERED_SHOWN: usize = 3;

pub(crate) fn sentences(doubts: &[Doubt]) -> Vec<Sentence> {
    let is_scattered = |doubt: &&Doubt| matches!(doubt, Doubt::ScatteredRows { .. });
    let scattered = doubts
        .iter()
        .filter(is_scattered)
        .take(MOST_SCATTERED_SHOWN);
    let others = doubts.iter().filter(|doubt| !is_scattered(doubt));
    let each = scattered.chain(others);
    each.map(|doubt| Ink::Yellow.says(sentence(doubt)))
        .collect()
}

pub(crate) fn sentence(doubt: &Doubt) -> String {
    match *doubt {
        Doubt::ShortLatencies { most_us } => short_latencies(most_us),
        Doubt::ScatteredRows {
            rate_rps,
            least_us,
            most_us,
        } => scattered(rate_rps, least_us, most_us),
        Doubt::KeptBeyond {
            goal,
            broken_rps,
            kept_rps,
        } => kept_beyond(goal, broken_rps, kept_rps),
        Doubt::FasterBeyond {
            slow_load_pct,
            slow_p99_us,
            fast_load_pct,
            fast_p99_us,
        } => faster_beyond((slow_load_pct, slow_p99_us), (fast_load_pct, fast_p99_us)),
        Doubt::Connections { .. }
        | Doubt::CpuLeft { .. }
        | Doubt::Unserved { .. }
        | Doubt::Closed { .. } => connections::sentence(doubt),
        Doubt::BusyGenerator { rate_rps, cpus } => busy_generator(rate_rps, cpus),
        Doubt::Clustered { goal } => clustered(goal),
        Doubt::Shifted { goal, change_pct } => shifted(goal, change_pct),
        Doubt::Trend { change_pct } => trend(change_pct),
        Doubt::SlowTrials { rate_rps, ratio } => slow_trials(rate_rps, ratio),
        Doubt::CostlyTrials {
            rate_rps,
            trials,
            of,
            ratio,
        } => costly_trials(rate_rps, (trials, of), ratio),
        Doubt::UnlikeTrials { rate_rps, rps } => unlike_trials(rate_rps, rps),
        Doubt::BodyLengths { rate_rps, bytes } => body_lengths(rate_rps, bytes),
        Doubt::UnlikeFirstAnswer { bytes } => unlike_first_answer(bytes),
        Doubt::CpuTimeVaries { by_pct } => cpu_time_varies(by_pct),
        Doubt::RisesLate { goal } => rises_late(goal),
        Doubt::GeneratorPauses {
            goal,
            longest_us,
            without_rps,
        } => paused(goal, longest_us, without_rps),
        Doubt::Disturbed { trials, of } => disturbed(trials, of),
        Doubt::WorksOn { cpu_pct } => works_on(cpu_pct),
        Doubt::FlatCpu { cpu_pct, because } => flat_cpu(cpu_pct, because),
        Doubt::UnclearCpu {
            at_low_pct,
            at_half_pct,
        } => unclear_cpu(at_low_pct, at_half_pct),
    }
}

fn unlike_first_answer([first_bytes, light_bytes]: [f64; 2]) -> String {
    format!(
        "The first answer had {first_bytes:.0} B, answers at light load have {light_bytes:.0} B on \
         average: if these are errors sent with a good status, the figures are those of errors; \
         --expect-body TEXT counts them as errors."
    )
}

fn busy_generator(rate_rps: f64, [used, all]: [f64; 2]) -> String {
    format!(
        "The load command used {used:.2} of its {} at {}, and how late it sends is not known: there, or \
         already below, the limit may be the generator and not the service. Give it more threads, or \
         more CPUs with --cpus.",
        counted(all as usize, "CPU", "CPUs"),
        per_second(rate_rps)
    )
}

fn short_latencies(most_us: f64) -> String {
    format!(
        "No latency is above {}, too short for answers over a network: if the table is in \
         milliseconds, multiply by 1000 and import it again.",
        time_us(most_us)
    )
}

fn scattered(rate_rps: f64, least_us: f64, most_us: f64) -> String {
    format!(
        "At {} the rows say {} and {}, too far apart for chance: check them.",
        per_second(rate_rps),
        time_us(least_us),
        time_us(most_us)
    )
}

fn kept_beyond(goal: Goal, broken_rps: f64, kept_rps: f64) -> String {
    format!(
        "The rows contradict each other: {goal} is missed at {} but met at {}; check them before \
         acting on either.",
        per_second(broken_rps),
        per_second(kept_rps)
    )
}

fn unlike_trials(rate_rps: f64, [least, most]: [f64; 2]) -> String {
    format!(
        "Two valid trials at {} did at most {} and at least {}: the service or its machine changed \
         during the run, and what it carries now may be far from this; sweep again, longer or when \
         it is steady.",
        per_second(rate_rps),
        per_second(least),
        per_second(most)
    )
}

fn body_lengths(rate_rps: f64, [bytes, light_bytes]: [f64; 2]) -> String {
    format!(
        "Bodies of good answers have {bytes:.0} B on average at {} and {light_bytes:.0} B at light \
         load: errors sent with a good status may be among them, and count as good; \
         --expect-body TEXT counts them as errors.",
        per_second(rate_rps)
    )
}

/// Of two levels, each a load in percent and a p99 in microseconds.
fn faster_beyond(slow: (f64, f64), fast: (f64, f64)) -> String {
    let slow_at = number::trimmed_pct(slow.0);
    format!(
        "p99 is {} at {slow_at} % load and {} at {} %: something disturbed the trials at \
         {slow_at} %; sweep again before acting on either.",
        time_us(slow.1),
        time_us(fast.1),
        number::trimmed_pct(fast.0)
    )
}

fn clustered(goal: Goal) -> String {
    format!(
        "The service or its machine was faster or slower for minutes at a time: successive trials \
         near the limit of {goal} are alike. The interval holds for this run; sweep again at \
         another time before acting on it."
    )
}

fn shifted(goal: Goal, change_pct: f64) -> String {
    let way = way(change_pct);
    let by = number::pct(change_pct.abs());
    let then = next_time(change_pct > 0.0);
    format!(
        "What is carried within {goal} {way} by {by} % while it was searched for: the service or \
         its machine was not in a steady state. The interval does not cover that; sweep again, \
         {then}."
    )
}

/// What to do about a service that got faster, or slower, while it was measured.
fn next_time(was_faster: bool) -> &'static str {
    match was_faster {
        true => "with --warm-up if it compiles or caches as it runs",
        false => "and measure longer if it leaks",
    }
}

fn trend(change_pct: f64) -> String {
    let way = way(change_pct);
    let by = number::pct(change_pct.abs());
    let then = next_time(change_pct < 0.0);
    format!(
        "Mean latency at equal loads {way} by {by} % in the course of the levels: the service or \
         its machine was not in a steady state. Sweep again, {then}."
    )
}

fn way(change_pct: f64) -> &'static str {
    if change_pct < 0.0 { "fell" } else { "rose" }
}

fn slow_trials(rate_rps: f64, ratio: f64) -> String {
    let rate = number::per_second(rate_rps);
    format!(
        "Mean latency at {rate} was {ratio:.1} times as long in one trial as in another, and \
         trials at higher loads agree: the service or its machine has a slower state, which few \
         trials show. In that state it carries less."
    )
}

fn costly_trials(rate_rps: f64, (trials, of): (usize, usize), ratio: f64) -> String {
    let rate = number::per_second(rate_rps);
    format!(
        "{trials} of {of} trials near {rate} took {ratio:.1} times as much CPU time per request as \
         the others: the service or its machine has a slower state. In that state it carries less."
    )
}

fn cpu_time_varies(by_pct: f64) -> String {
    let by = number::pct(by_pct);
    format!(
        "CPU time per request near the capacity varied by \u{b1}{by} %, for minutes at a time: the \
         service or its machine was not in a steady state. The interval holds for this run; sweep \
         again at another time before acting on it."
    )
}

fn rises_late(goal: Goal) -> String {
    format!(
        "Trials that miss {goal} meet it at first and miss it at their end, as with a token \
         bucket: longer trials (--duration) would miss it at a lower load."
    )
}

fn paused(goal: Goal, longest_us: f64, without_rps: f64) -> String {
    format!(
        "Pauses of the generator, of up to {}, and the queues that they left at the service may be why {goal} was \
         missed: without them some {} may meet it. Sweep again when the machine is quieter.",
        time_us(longest_us),
        per_second(two_digits(without_rps))
    )
}

/// Rounded down.
fn two_digits(value: f64) -> f64 {
    let last = 10_f64.powf(value.log10().floor() - 1.0);
    (value / last).floor() * last
}

/// Why a doubt leaves no CPU threshold.
pub fn no_threshold(doubt: &Doubt) -> &'static str {
    match doubt {
        Doubt::UnclearCpu { .. } => {
            "CPU use at low and at half load differs by less than the noise"
        }
        Doubt::FlatCpu {
            because: FlatBecause::OtherLoad,
            ..
        } => "other processes use what CPU time the service leaves",
        _ => "CPU use hardly depends on the load",
    }
}

fn disturbed(trials: usize, of: usize) -> String {
    format!(
        "{trials} of {of} trials had more steal, other load or slip than the usual bounds permit: \
         the bounds were raised, so the figures are those of a disturbed machine."
    )
}

fn works_on(cpu_pct: [f64; 2]) -> String {
    let [before, after] = cpu_pct.map(number::pct);
    format!(
        "The service used {before} % of its CPUs before the load and {after} % after it, without \
         any: it works on after its answers, or polls for a while. Work that it puts off piles up \
         at a load that it seems to carry; look at its queues before acting on the capacity."
    )
}

fn flat_cpu(cpu_pct: f64, because: FlatBecause) -> String {
    let cpu = number::pct(cpu_pct);
    let why = match because {
        FlatBecause::Service => {
            "The service polls, or works on after its answers: its own CPU time hardly depends on \
             the load either."
        }
        FlatBecause::OtherLoad => {
            "Other processes use what the service leaves, whose own CPU time follows the load: \
             sweep again without them."
        }
        FlatBecause::LittleUse => {
            "The service itself uses little CPU time: a delay, a lock or another service limits it. \
             Scale on what that is."
        }
        FlatBecause::Unknown => {
            "The service polls, other processes use what it leaves, or the figure is of something \
             else."
        }
    };
    format!(
        "There is no scale-out threshold: CPU use hardly depends on the load, it is {cpu} % over \
         much of it. {why}"
    )
}

fn unclear_cpu(low: Estimate, half: Estimate) -> String {
    let pct = |cpu: Estimate| Written::pct(cpu).with_ends(" %");
    format!(
        "There is no scale-out threshold: CPU use at low and at half load, {} and {}, differs by \
         less than the noise. Sweep again for longer, without --quick.",
        pct(low),
        pct(half)
    )
}
