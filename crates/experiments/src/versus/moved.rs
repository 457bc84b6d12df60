//! CPU time that a request costs and the figure does not have: in other processes, or outside of the
//! windows. Pure.

use super::experiment::VersusTrial;
use super::findings::{ComparedFigure, FigureFound, Place, VersusDoubt};
use super::plan::Side;
use super::study::Pass;
use plimsoll_model::Estimate;
use plimsoll_study::pairs::{self, Pair};

/// So much of the CPU time of the base may be taken elsewhere without a doubt.
const MOVED: f64 = 0.03;
/// The part of a warm-up in which requests were sent: connections are opened first, for a time that is not known.
const OFFERED: [f64; 2] = [1.0, 0.0];

pub(super) fn doubts(passes: &[Pass<'_>], figures: &[FigureFound]) -> Vec<VersusDoubt> {
    let Some(cpu) = figures.iter().find(|f| f.figure == ComparedFigure::Cpu) else {
        return Vec::new();
    };
    let limit = MOVED * cpu.base_us.value;
    let beyond = |us: Option<Estimate>| us.filter(|us| is_beyond(us, limit));
    let outside = beyond(outside_us(passes)).map(|us| VersusDoubt::WorkMoved {
        to: Place::OtherProcesses,
        us,
    });
    let between = match OFFERED.map(|offered| beyond(between_us(passes, offered))) {
        [Some(us), Some(other)] if us.value * other.value > 0.0 => Some(VersusDoubt::WorkMoved {
            to: Place::BetweenWindows,
            us,
        }),
        _ => None,
    };
    outside.into_iter().chain(between).collect()
}

fn is_beyond(us: &Estimate, limit: f64) -> bool {
    us.interval()
        .is_some_and(|(low, high)| low > limit || high < -limit)
}

/// By how much more the machine takes for an answer of the new service, without the service and the generator.
pub(super) fn outside_us(passes: &[Pass<'_>]) -> Option<Estimate> {
    difference(passes, |pass, side| {
        let trial = pass.of(side);
        let of_machine = trial.machine.cpu.as_ref()?.busy().0.as_secs_f64();
        let known = trial.service.as_ref()?.cpu.0 + trial.generator_cpu?.0;
        us_per_answer(of_machine - known.as_secs_f64(), trial)
    })
}

/// By how much more the new service takes in its trial and in that of the base, without its requests, which in
/// this part of the warm-up take what those of the window take. What its connections take is the same for both.
pub(super) fn between_us(passes: &[Pass<'_>], offered: f64) -> Option<Estimate> {
    difference(passes, |pass, side| {
        let trial = pass.of(side);
        let all = trial.outcome.own_cpu?.0 + pass.of(side.other()).outcome.other_cpu?.0;
        let in_window = trial.service.as_ref()?.cpu.0.as_secs_f64();
        let loaded = 1.0 + offered * trial.warm_up.div_duration_f64(trial.machine.window);
        us_per_answer(all.as_secs_f64() - in_window * loaded, trial)
    })
}

fn us_per_answer(seconds: f64, trial: &VersusTrial) -> Option<f64> {
    let answers = trial.sensed_answers();
    (answers > 0.0).then(|| 1e6 * seconds / answers)
}

/// From the base to the new service, over the passes that show it.
fn difference(
    passes: &[Pass<'_>],
    of: impl Fn(&Pass<'_>, Side) -> Option<f64>,
) -> Option<Estimate> {
    let pair = |pass: &Pass<'_>| {
        let (base, new) = (of(pass, Side::Base)?, of(pass, Side::New)?);
        Some(Pair { base, new })
    };
    pairs::difference(&passes.iter().filter_map(pair).collect::<Vec<_>>())
}
