use super::*;
use crate::fake_tree::{FakeProcess, FakeTree, ms};

#[test]
fn threads_are_followed_with_and_without_open_files() {
    let tree = FakeTree::new();
    let mut files = TaskFiles {
        allowance: 1,
        ..tree.task_files()
    };
    let mut reader = ThreadReader::new(100);
    for (case, threads) in [
        ("first", &[(100, 5, 0, 1), (101, 6, 0, 1)][..]),
        ("both ran", &[(100, 7, 0, 1), (101, 8, 0, 1)]),
        (
            "ended and started",
            &[(100, 9, 0, 1), (102, 1, 0, 1), (103, 2, 0, 1)],
        ),
        (
            "replaced, same count",
            &[(100, 9, 0, 1), (102, 4, 0, 1), (104, 7, 0, 1)],
        ),
    ] {
        tree.process(FakeProcess::ANY.threads(threads));
        let samples = reader.read(&mut files, threads.len() as u64).unwrap();
        let found = samples.iter().map(|s| (s.tid, s.times.cpu.0.as_nanos()));
        let expected = threads.iter().map(|t| (t.0, u128::from(t.1)));
        assert!(found.eq(expected), "{case}: {samples:?}");
    }
}

#[test]
fn open_files_stay_within_the_allowance_and_are_returned() {
    let tree = FakeTree::new();
    let threads = [(100, 1, 0, 1), (101, 1, 0, 1), (102, 1, 0, 1)];
    tree.process(FakeProcess::ANY.threads(&threads));
    let mut files = TaskFiles {
        allowance: 2,
        ..tree.task_files()
    };
    let mut reader = ThreadReader::new(100);
    reader.read(&mut files, 3).unwrap();
    assert_eq!(files.allowance, 0);
    tree.process(FakeProcess::ANY.threads(&threads[2..]));
    reader.read(&mut files, 1).unwrap();
    reader.close(&mut files);
    assert_eq!(files.allowance, 2);
}

#[test]
fn without_schedstat_stat_and_status_are_used() {
    let tree = FakeTree::new();
    let line = "101 (a) b) R 1 1 1 0 -1 0 0 0 0 0 30 20 9 9 20 0 2 0 77 0 0\n";
    let tree = tree.files(&[
        ("proc/100/task/101/stat", line),
        (
            "proc/100/task/101/status",
            "Name:\ta\nvoluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n",
        ),
    ]);
    assert_eq!(Source::of(tree.root()), Source::Stat);
    let mut files = TaskFiles {
        source: Source::Stat,
        ..tree.task_files()
    };
    let samples = ThreadReader::new(100).read(&mut files, 1).unwrap();
    let expected = TaskTimes {
        context_switches: Some(42),
        ..cpu_only(ms(500))
    };
    assert_eq!(samples[0].times, expected);
}

#[test]
fn zero_schedstat_counts_as_unsupported() {
    let source = |text: &str| {
        let tree = FakeTree::new().file("proc/self/schedstat", text);
        Source::of(tree.root())
    };
    assert_eq!(source("0 0 0\n"), Source::Stat);
    assert_eq!(source("330185 0 2\n"), Source::Schedstat);
}

#[test]
fn unknown_counter_makes_the_sum_unknown() {
    let unknown = TaskTimes {
        run_delay: None,
        ..ZERO
    };
    assert_eq!(plus(ZERO, unknown), unknown);
    assert_eq!(since(ZERO, unknown), unknown);
}

/// The slices of `schedstat` equal the switches of `status`, up to the switch
/// in progress.
#[test]
fn schedstat_slices_equal_context_switches() {
    let root = Root::machine();
    if Source::of(&root) == Source::Stat {
        return;
    }
    let sleeper = std::thread::spawn(|| {
        let root = Root::machine();
        let of = |file| root.text(format!("/proc/thread-self/{file}")).unwrap();
        let slices = || schedstat(&of("schedstat")).unwrap().context_switches;
        // On a slow machine a sleep may be over before it begins, without a
        // switch.
        for _ in 0..10_000 {
            std::thread::sleep(Duration::from_micros(50));
            if slices().unwrap() >= 50 {
                break;
            }
        }
        // Reads the thread's two files one after the other.
        (slices().unwrap(), switches(&of("status")).unwrap().unwrap())
    });
    let (slices, switches) = sleeper.join().unwrap();
    assert!(slices >= 50, "{slices}");
    assert!(switches + 1 >= slices, "{slices} {switches}");
}
