//! The page with charts that a run leaves beside its record. A run that could
//! not write one has not failed.

use crate::failure::Failure;
use crate::output::write_whole;
use rustix::fs::OFlags;
use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Writes what `html` makes of a record beside it; a sentence says where it is
/// or why it is not.
pub(crate) fn beside(record: &Path, html: impl FnOnce() -> Result<String, Failure>) -> String {
    let page = record.with_extension("html");
    let shown = page.display();
    match write(record, &page, html) {
        Ok(()) => format!("Charts: {shown}"),
        Err(why) => format!("note: there are no charts at {shown}: {why}"),
    }
}

fn write(
    record: &Path,
    page: &Path,
    html: impl FnOnce() -> Result<String, Failure>,
) -> Result<(), String> {
    if page == record {
        return Err("the record has that name; make them with plimsoll report FILE -o".to_owned());
    }
    if !may_be_replaced(page)? {
        return Err(
            "there is another file; make them with plimsoll report FILE -o NAME.html".to_owned(),
        );
    }
    let sentence = |failure: Failure| failure.sentence().unwrap_or_default().to_owned();
    write_whole(page, &html().map_err(sentence)?).map_err(|e| e.to_string())
}

/// Whether nothing is there, or a page of an earlier part of the run.
fn may_be_replaced(page: &Path) -> Result<bool, String> {
    let mut begins = Vec::new();
    match fs::symlink_metadata(page) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(true),
        Err(e) => return Err(e.to_string()),
        Ok(about) if !about.is_file() => return Ok(false),
        Ok(_) => {}
    }
    // Another user may exchange it for a pipe meanwhile.
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let mut options = fs::OpenOptions::new();
    let options = options.read(true).custom_flags(flags.bits().cast_signed());
    match options.open(page) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(true),
        Err(e) => return Err(e.to_string()),
        Ok(file) => file
            .take(2000)
            .read_to_end(&mut begins)
            .map_err(|e| e.to_string())?,
    };
    Ok(String::from_utf8_lossy(&begins).contains(plimsoll_report::PAGE_MARK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_page_of_ours_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("run.html");
        assert_eq!(may_be_replaced(&page), Ok(true), "nothing is there");
        fs::write(&page, "<!doctype html><p>mine").unwrap();
        assert_eq!(may_be_replaced(&page), Ok(false));
        fs::write(&page, format!("<head>{}", plimsoll_report::PAGE_MARK)).unwrap();
        assert_eq!(may_be_replaced(&page), Ok(true));
        assert_eq!(may_be_replaced(folder.path()), Ok(false), "a folder");
    }

    #[test]
    fn a_pipe_or_a_link_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let [pipe, link] = ["pipe.html", "link.html"].map(|name| folder.path().join(name));
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        assert_eq!(may_be_replaced(&pipe), Ok(false));
        assert_eq!(may_be_replaced(&link), Ok(false));
    }
}
