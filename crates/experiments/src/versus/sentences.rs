//! What makes the figures unfit to decide, in sentences.

use super::document::words;
use super::findings::{Place, VersusDoubt};
use super::plan::Side;
use plimsoll_model::Estimate;
use plimsoll_report::estimate_us;

pub(super) fn sentence(doubt: &VersusDoubt) -> String {
    match doubt {
        VersusDoubt::Failures {
            side,
            failed,
            unfinished,
            of,
        } => format!(
            "{} failed {failed} of {of} requests and left {unfinished} without an answer: what these cost is not in the figures.",
            service(*side)
        ),
        VersusDoubt::NotCarried {
            side,
            trials,
            of,
            answered_rps,
        } => format!(
            "{} did not answer as many requests as were due in {trials} of {of} trials, and {answered_rps:.0}/s in all: give a lower --rate.",
            service(*side)
        ),
        VersusDoubt::NewConnections { requests } => format!(
            "A connection has {requests:.1} requests in each window: what a service does for a new one weighs more than under a steady load. Give fewer with -c, or a longer -z."
        ),
        VersusDoubt::InvalidTrials { side, base, new } => invalid_trials(*side, *base, *new),
        VersusDoubt::Uneven { all_pct } => format!(
            "CPU time of all trials by all answers differs by {all_pct:+.1} %, outside of the interval: few trials, or invalid ones, take far more than the others. More --passes, or a longer -z, shows more of them."
        ),
        VersusDoubt::FewPasses { passes, of } => format!(
            "Only {passes} of {of} passes have a valid trial of both services: the machine is too busy for a verdict."
        ),
        VersusDoubt::Restarted { side, pass } => format!(
            "{} was started anew before pass {pass}: it may be another program since; compare them in a new run.",
            service(*side)
        ),
        VersusDoubt::Bodies {
            base_bytes,
            new_bytes,
        } => format!(
            "Bodies of answers have {new_bytes:.0} bytes of the new service and {base_bytes:.0} of the base: they may not do the same."
        ),
        VersusDoubt::Connections { side, pct } => format!(
            "{}: {pct:.1} % of its requests waited because all of the client's connections were in use, which is part of their latency: give more with -c.",
            service(*side)
        ),
        VersusDoubt::WorkMoved { to, us } => work_moved(*to, *us),
        VersusDoubt::BackgroundWork { side, pct } => format!(
            "{} works while only the other one is loaded, {pct:.1} % as much as under load: it puts work off, has other clients, or work of its own, of which a higher --rate makes a smaller part.",
            service(*side)
        ),
        VersusDoubt::Cpus { base, new } => format!(
            "The new service runs on CPU {new} and the base on CPU {base}, which may be faster or slower: let both run on the same."
        ),
        VersusDoubt::Trend {
            figure,
            first_pct,
            second_pct,
        } => format!(
            "The difference of {} changes in the course of the run, {first_pct:+.1} % in its first half and {second_pct:+.1} % in its second: one service warms up, or slows down. --warm-up 30s, or more, loads both before they are measured.",
            words(*figure)
        ),
    }
}

fn invalid_trials(side: Side, base: (u64, u64), new: (u64, u64)) -> String {
    let ((of_base, all_base), (of_new, all_new)) = (base, new);
    let service = match side {
        Side::Base => "the base",
        Side::New => "the new service",
    };
    format!(
        "{of_new} of {all_new} trials of the new service are invalid, and {of_base} of {all_base} of the base: what {service} does in these, or has others do, is not in the figures."
    )
}

fn work_moved(to: Place, us: Estimate) -> String {
    let (more, us) = match us.value > 0.0 {
        true => ("more", us),
        false => ("less", us.negated()),
    };
    let us = estimate_us(Some(us));
    match to {
        Place::OtherProcesses => format!(
            "Outside of the service, in other processes and in the kernel, a request of the new one takes {us} {more} CPU time: work has moved, or, on busy CPUs, others had more or less of them."
        ),
        Place::BetweenWindows => format!(
            "Outside of the windows, in warm-ups and while the other one is loaded, the new service takes {us} {more} CPU time per request: one of the two puts work off, or pays for its rest between trials, of which -z 5s --passes 12 has a tenth."
        ),
    }
}

fn service(side: Side) -> &'static str {
    match side {
        Side::Base => "The base",
        Side::New => "The new service",
    }
}
