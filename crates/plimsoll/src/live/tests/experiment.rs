//! The view of an experiment of its own kind, from its plan and trials alone.

use crate::live::draw::tests::screen;
use crate::live::state::Event;
use crate::output::{ColorChoice, Output};
use clap::{Args, FromArgMatches};
use plimsoll_control::{Gate, Journals};
use plimsoll_engine::{Next, Planner};
use plimsoll_experiments::lateness::WakeUps;
use plimsoll_experiments::sweep::Sweep;
use plimsoll_experiments::{Experiment, Helpers, Machine, TrialOf};
use plimsoll_host::Root;
use plimsoll_model::{HttpService, Plan, Trial, TrialSetting, Workload};
use std::path::Path;
use std::time::Duration;

#[test]
fn lateness_is_drawn_with_its_own_charts_and_words() {
    let command = <WakeUps as Experiment>::Args::augment_args(clap::Command::new("lateness"));
    let flags = ["lateness", "--sleeps", "100us,1ms", "--passes", "2"];
    let args = FromArgMatches::from_arg_matches(&command.get_matches_from(flags)).unwrap();
    let helpers = Helpers {
        gate: Gate::new("gate", []),
        worker: |_, _| Vec::new(),
        scheduler: Vec::new(),
    };
    let machine = Machine::new(Root::machine(), Journals::usual(), helpers, |_| {});
    let plan = WakeUps::prepare(&args, &machine).unwrap().plan;
    let planner = WakeUps::planner(&plan);
    let mut trials: Vec<TrialOf<WakeUps>> = Vec::new();
    while let Next::Trial(spec) = planner.next(&trials) {
        let mut trial = Trial::begun(spec, 0);
        // As many as show a p99.
        (0..299).for_each(|_| trial.work.count(Duration::from_micros(60)));
        trials.push(trial);
    }
    assert_eq!(trials.len(), 4, "each length twice");
    let last = trials.pop().unwrap();
    let output = Output::new(ColorChoice::Never, true, crate::help::command);
    let mut state = crate::live::state::<WakeUps>(&plan, Path::new("x"), &trials, &output);
    let started = Event::Started {
        trial: planner.announce(&last.spec),
        progress: planner.progress(&trials),
    };
    state.fold(started, Duration::ZERO);
    let shown = screen(&state, 100, 30);
    let what = planner.describe(&last.spec);
    for words in [
        "a thread that sleeps",
        "Lateness (log scale) by sleep, us",
        "now   sleeps of",
        &what,
        "p99 60us",
    ] {
        assert!(shown.contains(words), "'{words}' is missing:\n{shown}");
    }
    assert!(last.spec.setting.rate().is_none());
    let mut few = Trial::begun(last.spec, 0);
    few.work.count(Duration::from_micros(60));
    assert_eq!(planner.summarize(&few).measured, "");
}

#[test]
fn secrets_of_a_request_are_not_drawn() {
    let url = "http://h/?key=swordfish";
    let http = HttpService::get(url, 1, Duration::from_secs(1));
    let plan = Plan::blank(Workload::Http(http));
    let output = Output::new(ColorChoice::Never, true, crate::help::command);
    let state = crate::live::state::<Sweep>(&plan, Path::new("x"), &[], &output);
    let shown = screen(&state, 120, 40);
    assert!(shown.contains("GET http://h/?key=(hidden)"), "{shown}");
}
