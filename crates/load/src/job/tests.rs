use super::*;
use std::io::pipe;
use std::time::Duration;

fn is_counted_until_its_parent_is_gone(job: CountedJob) {
    let counts = Counts::new(2).unwrap();
    assert_eq!(counts.bytes().unwrap(), 0);
    let file = counts.file().unwrap();
    let (until, held) = pipe().unwrap();
    let left = || Bytes(16 << 20);
    let running = std::thread::spawn(move || run(&job, 2, &file, &left, until));
    let has_both = || {
        let mut slots = [0; 16];
        counts.file().unwrap().read_exact_at(&mut slots, 0).unwrap();
        slots[..8] != [0; 8] && slots[8..] != [0; 8]
    };
    while !has_both() {
        assert!(!running.is_finished());
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(held);
    running.join().unwrap().unwrap();
    let done = counts.bytes().unwrap();
    assert!(done > 0);
    assert_eq!(counts.bytes().unwrap(), done, "nothing goes on");
}

#[test]
fn work_is_counted_while_running_and_ends_with_the_parent() {
    let dir = tempfile::tempdir().unwrap();
    is_counted_until_its_parent_is_gone(CountedJob::Burn);
    let most = Some(Bytes(16 << 20));
    is_counted_until_its_parent_is_gone(CountedJob::Memory { most });
    let dir = dir.path().to_owned();
    is_counted_until_its_parent_is_gone(CountedJob::Disk { dir });
}
