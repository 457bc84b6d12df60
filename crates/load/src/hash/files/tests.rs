use super::*;
use plimsoll_model::Share;
use std::path::Path;

fn files(dir: &Path, size: u64) -> FileUse {
    FileUse {
        dir: dir.to_owned(),
        size: Bytes(size),
        touched: Bytes(PAGE),
        write_share: Share::ZERO,
        log: Bytes(100),
    }
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn files_have_no_names_so_that_none_is_left_after_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let made = Files::made(&files(dir.path(), LEAST_OF_FILE + 3 * PAGE)).unwrap();
    assert!(names(dir.path()).is_empty());
    let lengths = made.parts.iter().map(|file| file.metadata().unwrap().len());
    assert_eq!(lengths.collect::<Vec<_>>(), [LEAST_OF_FILE, 3 * PAGE]);
}

#[test]
fn a_page_is_written_and_read_back_in_any_file() {
    let dir = tempfile::tempdir().unwrap();
    let made = Files::made(&files(dir.path(), LEAST_OF_FILE + 3 * PAGE)).unwrap();
    let new = [7; PAGE as usize];
    for page in [0, LEAST_OF_FILE / PAGE - 1, LEAST_OF_FILE / PAGE + 2] {
        let mut read = [0; PAGE as usize];
        let touch = |writes| Touch { page, writes };
        made.touch(touch(false), &mut read, &new).unwrap();
        assert_ne!(read, new, "random at first");
        made.touch(touch(true), &mut read, &new).unwrap();
        made.touch(touch(false), &mut read, &new).unwrap();
        assert_eq!(read, new);
    }
}

#[test]
fn the_log_is_rotated_and_does_not_grow_beyond_two_files() {
    let dir = tempfile::tempdir().unwrap();
    let entry = vec![1; MOST_OF_LOG.0 as usize];
    let file = || tempfile_in(dir.path()).unwrap();
    let log = Log::begun([file(), file()], MOST_OF_LOG.0);
    let length = |nth: usize| log.files[nth].metadata().unwrap().len();
    for _ in 0..32 {
        log.append(&entry).unwrap();
    }
    assert_eq!((length(0), length(1)), (LOG_LIMIT, 0));
    for _ in 0..33 {
        log.append(&entry).unwrap();
    }
    assert_eq!((length(0), length(1)), (MOST_OF_LOG.0, LOG_LIMIT));
}

#[test]
fn too_large_files_are_refused_with_what_there_is() {
    let dir = tempfile::tempdir().unwrap();
    let refused = check_files(&files(dir.path(), u64::MAX / 2)).unwrap_err();
    assert!(matches!(refused, LoadError::Mistake(_)));
    let text = refused.to_string();
    assert!(
        text.contains("need") && text.contains("--file-size"),
        "{text}"
    );
    assert!(names(dir.path()).is_empty());
}

#[test]
fn a_folder_that_cannot_be_written_to_is_refused() {
    // Not even root can make files in /proc.
    for dir in ["/proc", "/dev/null", "/nowhere/at/all"] {
        let refused = Files::made(&files(Path::new(dir), PAGE)).unwrap_err();
        let text = refused.to_string();
        assert!(text.contains(dir) && text.contains("--files"), "{text}");
    }
}

#[test]
fn the_first_error_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let made = Files::made(&files(dir.path(), PAGE)).unwrap();
    assert!(made.check().is_ok());
    made.failed(&io::Error::other("first"));
    made.failed(&io::Error::other("second"));
    let text = made.check().unwrap_err().to_string();
    assert!(text.contains("first") && !text.contains("second"), "{text}");
}
