//! Properties that hold for arbitrary samples and arbitrary machines.

use crate::rig::Rig;
use crate::{SECOND, TENTH, ours, unchanged};
use plimsoll_law::{
    Action, Entry, Guard, Headroom, Law, Plimsoll, PlimsollState, Reading, Sample, State, replay,
};
use plimsoll_model::{CpuTime, CpuUse};
use plimsoll_simulate::SharedSpec;
use proptest::prelude::*;
use std::time::Duration;

fn cpu(seconds: f64) -> CpuTime {
    CpuTime(Duration::from_secs_f64(seconds))
}

/// CPU time by mode, as fractions of what `cpus` have in `period`, ±10 %.
fn machine(cpus: u32, period: Duration) -> impl Strategy<Value = CpuUse> {
    let whole = f64::from(cpus) * period.as_secs_f64();
    let parts = prop::array::uniform8(0.0..1.0f64);
    // Idle is all, none, or a part; uniform values would rarely be either
    // extreme.
    let idle = prop_oneof![Just(0.0), Just(50.0), 0.0..8.0f64];
    (parts, idle, 0.9..1.1f64).prop_map(move |(mut parts, idle, jitter)| {
        parts[5] = idle;
        let sum: f64 = parts.iter().sum::<f64>().max(1e-9);
        let part = |i: usize| cpu(whole * jitter * parts[i] / sum);
        CpuUse {
            user: part(0),
            system: part(1),
            irq: part(2),
            softirq: part(3),
            iowait: part(4),
            idle: part(5),
            steal: part(6),
            guest: part(7),
            ..CpuUse::default()
        }
    })
}

fn reading() -> impl Strategy<Value = Reading> {
    prop_oneof![
        6 => Just(Reading::of(1.0, 2.0)),
        1 => Just(Reading::of(3.0, 2.0)),
        1 => Just(Reading::Unknown { why: "it did not answer".to_owned() }),
    ]
}

fn guards() -> impl Strategy<Value = Vec<Guard>> {
    let named = |reading| Guard {
        name: "p99_ms".to_owned(),
        reading,
    };
    prop::collection::vec(reading().prop_map(named), 0..3)
}

fn sample() -> impl Strategy<Value = Sample> {
    let size = (1..9u32, 50..1200u64).prop_map(|(cpus, ms)| (cpus, Duration::from_millis(ms)));
    size.prop_flat_map(|(cpus, period)| {
        let readable = prop::option::weighted(0.9, machine(cpus, period));
        let side = prop::option::weighted(0.9, 0.0..1.0f64);
        (Just((cpus, period)), readable, side, guards())
    })
    .prop_map(|((cpus, period), machine, side, guards)| {
        let busy = machine.map_or(period, |m| (m.user + m.system).0);
        Sample {
            period,
            cpus,
            machine,
            sideload: side.map(|part| CpuTime(busy.mul_f64(part))),
            guards,
            ..Sample::default()
        }
    })
}

fn law() -> impl Strategy<Value = Plimsoll> {
    (1.0..90.0f64).prop_map(|pct| Plimsoll::new(Headroom::pct(pct).unwrap()))
}

/// A state that the law can reach.
fn reached(law: &Plimsoll, samples: &[Sample]) -> (PlimsollState, Action) {
    let start = (PlimsollState::default(), Action::Frozen);
    samples.iter().fold(start, |(state, _), sample| {
        let (state, action, _) = law.decide(&state, sample);
        (state, action)
    })
}

/// What is free next to all but the sideload, minus the headroom.
fn room(law: &Plimsoll, sample: &Sample) -> Option<f64> {
    let whole = sample.period.as_secs_f64() * f64::from(sample.cpus);
    let machine = sample.machine?;
    let used = (machine.busy() + machine.steal).since(sample.sideload?);
    Some((1.0 - used.0.as_secs_f64() / whole - law.headroom().share().get()).max(0.0))
}

proptest! {
    #[test]
    fn share_is_bounded_by_free_cpu_and_by_the_growth_step(
        law in law(),
        past in prop::collection::vec(sample(), 0..30),
        now in sample(),
    ) {
        let (state, before) = reached(&law, &past);
        let (_, action, reason) = law.decide(&state, &now);
        let share = action.share().get();
        // A thaw starts at the floor.
        let step = law.step(now.period).get().max(0.05);
        prop_assert!(share <= before.share().get() + step + 1e-9);
        if let Some(room) = room(&law, &now) {
            prop_assert!(share <= room + 1e-9, "{share} of {room}: {reason}");
        } else {
            prop_assert!(share <= before.share().get(), "unknown, and it grew");
        }
    }

    #[test]
    fn a_full_machine_freezes_at_once(
        law in law(),
        past in prop::collection::vec(sample(), 0..30),
        mut now in sample(),
    ) {
        let (state, _) = reached(&law, &past);
        if let Some(machine) = &mut now.machine {
            machine.user = machine.user + machine.idle + machine.iowait;
            (machine.idle, machine.iowait) = (CpuTime::ZERO, CpuTime::ZERO);
            prop_assert_eq!(law.decide(&state, &now).1, Action::Frozen);
        }
    }

    #[test]
    fn more_idle_never_gives_less(
        law in law(),
        past in prop::collection::vec(sample(), 0..30),
        now in sample(),
        part in 0.0..1.0f64,
    ) {
        let (state, _) = reached(&law, &past);
        let mut idler = now.clone();
        if let Some(machine) = &mut idler.machine {
            for taken in [&mut machine.steal, &mut machine.irq] {
                let part = CpuTime(taken.0.mul_f64(part));
                machine.idle = machine.idle + part;
                *taken = taken.since(part);
            }
        }
        let (_, less, why_less) = law.decide(&state, &now);
        let (_, more, why_more) = law.decide(&state, &idler);
        // Floating-point sums differ in their last bit.
        let allowed = more.share().get() + 1e-9;
        prop_assert!(less.share().get() <= allowed, "{why_less} | {why_more}");
    }

    #[test]
    fn guard_over_or_missing_input_never_increases_the_share(
        law in law(),
        past in prop::collection::vec(sample(), 0..30),
        now in sample(),
        lost in 0..4,
    ) {
        let (state, before) = reached(&law, &past);
        let as_it_was = law.decide(&state, &now).1.share();
        let mut worse = now.clone();
        match lost {
            0 => worse.machine = None,
            1 => worse.sideload = None,
            2 => worse.machine = worse.machine.map(|_| CpuUse::default()),
            _ => worse.guards.push(Guard {
                name: "run_delay_ms".to_owned(),
                reading: Reading::of(2.0, 1.0),
            }),
        }
        // Losing the machine's counters may keep the current share, but never
        // increases it.
        let limit = match lost {
            3 => as_it_was,
            _ if as_it_was > before.share() => as_it_was,
            _ => before.share(),
        };
        prop_assert!(law.decide(&state, &worse).1.share() <= limit);
    }

    #[test]
    fn sideload_runs_if_cpu_is_available(
        past in prop::collection::vec(sample(), 0..60),
        load in 0.0..0.6f64,
        tenths in any::<bool>(),
        seed in 0..1000u64,
    ) {
        let period = if tenths { TENTH } else { SECOND };
        let mut rig = Rig::new(ours(), SharedSpec { seed, ..SharedSpec::default() }, period);
        let (state, action) = reached(&Plimsoll::new(Headroom::default()), &past);
        (rig.state, rig.action) = (State::Plimsoll(state), action);
        // The longest hold, the settling time, and growth over the whole
        // machine.
        rig.run(30.0 + 1.0 + 20.0 + 5.0, |_| load, unchanged);
        let room = 1.0 - load - 0.01 - 0.2;
        let share = rig.action.share().get();
        prop_assert!(share > room / 2.0, "{share} of {room}");
    }

    #[test]
    fn a_service_that_needs_the_cpu_gets_it_within_two_periods(
        headroom in 1.0..60.0f64,
        service_weight in 1.0..10_000.0f64,
        seed in 0..1000u64,
        phase in 0.0..1.0f64,
        load in 1.05..3.0f64,
        before in 0.0..0.3f64,
    ) {
        let spec = SharedSpec { seed, service_weight, sideload_weight: 100.0, ..SharedSpec::default() };
        let law = Law::Plimsoll(Plimsoll::new(Headroom::pct(headroom).unwrap()));
        let mut rig = Rig::new(law, spec, TENTH);
        rig.run(30.0, |_| before, unchanged);
        let steps = rig.run(0.2, |t| if t < 30.0 + phase / 10.0 { before } else { load }, unchanged);
        prop_assert_eq!(steps[1].action, Action::Frozen, "{:?}", steps);
    }

    #[test]
    fn replay_repeats_every_decision(
        law in law(),
        samples in prop::collection::vec(sample(), 1..60),
    ) {
        let law = Law::Plimsoll(law);
        let mut state = law.start();
        let begin = Entry::Begin { law: law.clone(), state: state.clone() };
        let mut lines = vec![begin.to_line().unwrap()];
        for sample in &samples {
            let next = law.decide(&state, sample);
            lines.push(Entry::of(sample, &next).to_line().unwrap());
            // Each state survives serialization.
            let text = serde_json::to_string(&next.state).unwrap();
            prop_assert_eq!(&serde_json::from_str::<State>(&text).unwrap(), &next.state);
            state = next.state;
        }
        prop_assert_eq!(replay(lines.iter().map(String::as_str)), Ok(samples.len()));
    }
}
