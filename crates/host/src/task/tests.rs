use super::*;
use crate::fake_tree::{FakeProcess, FakeTree};

fn read(reader: &mut ThreadReader, tree: &FakeTree, count: u64) -> Vec<(Tid, u64)> {
    let samples = reader.read(tree.root(), count, &mut 1).unwrap();
    let pairs = samples.iter().map(|s| (s.tid, s.times.cpu.0.as_nanos()));
    pairs.map(|(tid, ns)| (tid, ns as u64)).collect()
}

fn process(tree: &FakeTree, threads: &[(u32, u64, u64, u64)]) {
    tree.process(&FakeProcess {
        threads,
        ..FakeProcess::ANY
    });
}

#[test]
fn threads_start_and_end_with_and_without_open_files() {
    let tree = FakeTree::new();
    let mut reader = ThreadReader::new(Source::Schedstat, 100);
    process(&tree, &[(100, 5, 0, 1), (101, 6, 0, 1)]);
    assert_eq!(read(&mut reader, &tree, 2), [(100, 5), (101, 6)]);
    process(&tree, &[(100, 7, 0, 1), (101, 8, 0, 1)]);
    assert_eq!(read(&mut reader, &tree, 2), [(100, 7), (101, 8)]);
    process(&tree, &[(100, 9, 0, 1), (102, 1, 0, 1), (103, 2, 0, 1)]);
    assert_eq!(read(&mut reader, &tree, 3), [(100, 9), (102, 1), (103, 2)]);
}

#[test]
fn replaced_thread_is_found_with_unchanged_count() {
    let tree = FakeTree::new();
    let mut reader = ThreadReader::new(Source::Schedstat, 100);
    process(&tree, &[(100, 5, 0, 1), (101, 6, 0, 1)]);
    read(&mut reader, &tree, 2);
    process(&tree, &[(100, 5, 0, 1), (102, 7, 0, 1)]);
    assert_eq!(read(&mut reader, &tree, 2), [(100, 5), (102, 7)]);
}

#[test]
fn open_files_stay_within_the_allowance_and_are_returned() {
    let tree = FakeTree::new();
    process(&tree, &[(100, 1, 0, 1), (101, 1, 0, 1), (102, 1, 0, 1)]);
    let mut allowance = 2;
    let mut reader = ThreadReader::new(Source::Schedstat, 100);
    reader.read(tree.root(), 3, &mut allowance).unwrap();
    assert_eq!(allowance, 0);
    process(&tree, &[(102, 1, 0, 1)]);
    reader.read(tree.root(), 1, &mut allowance).unwrap();
    reader.close(&mut allowance);
    assert_eq!(allowance, 2);
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
    let mut reader = ThreadReader::new(Source::Stat, 100);
    let samples = reader.read(tree.root(), 1, &mut 9).unwrap();
    let expected = TaskTimes {
        cpu: CpuTime(Duration::from_millis(500)),
        run_delay: None,
        context_switches: Some(42),
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
fn garbage_names_the_file() {
    for bad in ["1 2\n", "1 2 x\n", "\n"] {
        let tree = FakeTree::new().file("proc/100/task/100/schedstat", bad);
        let mut reader = ThreadReader::new(Source::Schedstat, 100);
        let message = reader.read(tree.root(), 1, &mut 9).unwrap_err().to_string();
        assert!(message.contains("task/100/schedstat"), "{message}");
    }
}

#[test]
fn unknown_counter_makes_the_sum_unknown() {
    let unknown = TaskTimes {
        run_delay: None,
        ..TaskTimes::ZERO
    };
    assert_eq!(TaskTimes::ZERO.plus(unknown), unknown);
    assert_eq!(TaskTimes::ZERO.since(unknown), unknown);
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
        let of = |file| {
            Root::machine()
                .text(format!("/proc/thread-self/{file}"))
                .unwrap()
        };
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
