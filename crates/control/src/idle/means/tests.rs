use super::*;

fn state(index: u32, name: &str, latency_us: u64) -> IdleState {
    IdleState {
        index,
        name: name.to_owned(),
        latency: Duration::from_micros(latency_us),
        residency: Duration::ZERO,
        usage: 0,
        time: Duration::ZERO,
        above: None,
        below: None,
        rejected: None,
        disabled: false,
    }
}

/// A server with all that there is.
fn metal() -> Facts {
    Facts {
        setup: IdleSetup {
            driver: Some("intel_idle".to_owned()),
            governor: Some("menu".to_owned()),
        },
        states: vec![state(0, "POLL", 0), state(1, "C1", 2), state(2, "C6", 170)],
        is_guest: false,
        resume_latency: Write::Permitted,
        disable: Write::Permitted,
        dma_latency: Write::Permitted,
        halt_poll: Write::Absent,
        forbidden: CpuSet::default(),
        has_idle_class: true,
    }
}

fn guest(driver: Option<&str>, governor: &str) -> Facts {
    Facts {
        setup: IdleSetup {
            driver: driver.map(str::to_owned),
            governor: Some(governor.to_owned()),
        },
        states: match driver {
            Some(_) => vec![state(0, "POLL", 0), state(1, "haltpoll idle", 1)],
            None => Vec::new(),
        },
        is_guest: true,
        halt_poll: Write::Permitted,
        ..metal()
    }
}

fn us(n: u64) -> ResumeLatency {
    ResumeLatency::at_most(Duration::from_micros(n))
}

/// The means that work, in order.
fn working(facts: &Facts, limit: ResumeLatency) -> Vec<IdleMeans> {
    let all = IdleMeans::BY_PREFERENCE.into_iter();
    all.filter(|means| facts.why_not(*means, limit).is_none())
        .collect()
}

#[test]
fn means_follow_driver_governor_and_limit() {
    use IdleMeans::{DisableStates, DmaLatency, HaltPoll, ResumeLatency as Limit, Spinner};
    let poll = ResumeLatency::PollOnly;
    let all = [Limit, DisableStates, Spinner, DmaLatency];
    let single = Facts {
        states: vec![state(0, "WFI", 1)],
        ..metal()
    };
    let no_root = Facts {
        resume_latency: Write::Denied,
        disable: Write::Denied,
        dma_latency: Write::Denied,
        ..metal()
    };
    let halts = guest(Some("haltpoll"), "haltpoll");
    let cases: [(&str, &Facts, ResumeLatency, &[IdleMeans]); 10] = [
        ("a server", &metal(), us(5), &all),
        ("a server that polls", &metal(), poll, &all),
        ("above every state", &metal(), us(170), &[]),
        ("no limit", &metal(), ResumeLatency::NoLimit, &[]),
        ("one state", &single, us(5), &[Spinner]),
        ("no permission", &no_root, us(5), &[Spinner]),
        (
            "haltpoll, n/a",
            &halts,
            poll,
            &[Limit, Spinner, HaltPoll, DmaLatency],
        ),
        ("haltpoll, a limit", &halts, us(5), &[Spinner, HaltPoll]),
        ("no driver", &guest(None, "haltpoll"), poll, &[Spinner]),
        (
            "a guest with menu",
            &guest(Some("haltpoll"), "menu"),
            poll,
            &all,
        ),
    ];
    for (case, facts, limit, expected) in cases {
        assert_eq!(working(facts, limit), expected, "{case}");
    }
}

#[test]
fn reasons_name_what_is_in_the_way() {
    let reason = |facts: &Facts, means, limit| facts.why_not(means, limit).unwrap();
    let none = guest(None, "menu");
    let halts = guest(Some("haltpoll"), "haltpoll");
    let no_cpu = Facts {
        forbidden: "3".parse().unwrap(),
        ..none.clone()
    };
    let off = Facts {
        states: vec![IdleState {
            disabled: true,
            ..state(2, "C6", 170)
        }],
        ..metal()
    };
    let limit = IdleMeans::ResumeLatency;
    for (facts, means, within, expected) in [
        (&none, limit, us(5), "no idle driver"),
        (&halts, limit, us(5), "the deepest says 1us"),
        (
            &halts,
            IdleMeans::DisableStates,
            us(0),
            "heeds no limit but n/a",
        ),
        (&metal(), limit, us(170), "longer than 170us to leave"),
        (
            &metal(),
            IdleMeans::HaltPoll,
            us(5),
            "governor is not haltpoll",
        ),
        (&metal(), IdleMeans::Spinner, us(200), "none is needed"),
        (&no_cpu, IdleMeans::Spinner, us(5), "may not run on CPU 3"),
        (&off, limit, us(5), "one idle state in use"),
    ] {
        let why = reason(facts, means, within);
        assert!(why.contains(expected), "{means}: {why}");
    }
    let denied = Facts {
        resume_latency: Write::Denied,
        ..metal()
    };
    let why = reason(&denied, limit, us(5));
    assert!(why.contains("root may, where /sys is writable"), "{why}");
}

#[test]
fn this_machine_gets_a_reason_for_each_means_that_does_not_work() {
    let root = Root::machine();
    let cpus = own_allowed_cpus(&root).unwrap();
    let all = choose_means(&root, &cpus, ResumeLatency::PollOnly).unwrap();
    let means: Vec<IdleMeans> = all.iter().map(|one| one.means).collect();
    assert_eq!(means, IdleMeans::BY_PREFERENCE);
    for one in all {
        let why = one.why_not.unwrap_or_default();
        assert!(!why.ends_with('.'), "{}: {why}", one.means);
    }
}
