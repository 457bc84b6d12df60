//! This process' limit on open files: each connection is one.

use crate::LoadError;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::OnceLock;

/// What a run without connections needs, with some to spare: standard streams, record,
/// sensors. With less it fails anywhere, with advice that does not help.
const LEAST: u64 = 32;

/// The soft limit before it was raised.
static BEFORE: OnceLock<u64> = OnceLock::new();

/// Raises the soft limit to the hard one. Distributions keep the soft limit low for
/// programs that call select(2), which this one does not; what it starts gets
/// [`soft_before`].
///
/// # Errors
/// If the limit is too low for any run.
pub fn raise() -> Result<(), LoadError> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    if let Some(soft) = limit.current
        && limit.maximum != Some(soft)
        && setrlimit(Resource::Nofile, raised).is_ok()
    {
        let _ = BEFORE.set(soft);
    }
    suffice()
}

/// Checks that there are enough for a run without connections.
///
/// # Errors
/// If the limit is too low for any run.
pub fn suffice() -> Result<(), LoadError> {
    check(getrlimit(Resource::Nofile).current)
}

fn check(soft: Option<u64>) -> Result<(), LoadError> {
    match soft {
        Some(soft) if soft < LEAST => LoadError::mistake(format!(
            "this process may open only {soft} files, and a run needs at least {LEAST}; raise the \
             limit with: ulimit -n {LEAST} (as root, or by LimitNOFILE= of a service)"
        )),
        _ => Ok(()),
    }
}

/// The soft limit now; `None` if there is none.
pub fn soft() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// The soft limit for programs that are started; `None` if it is unchanged.
pub fn soft_before() -> Option<u64> {
    BEFORE.get().copied()
}

/// Sets the soft limit of this process, as far as the hard limit permits.
pub fn set_soft(soft: u64) {
    let limit = getrlimit(Resource::Nofile);
    let current = Some(limit.maximum.map_or(soft, |hard| soft.min(hard)));
    // A program that keeps the higher limit loses nothing.
    let _ = setrlimit(Resource::Nofile, Rlimit { current, ..limit });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_files_for_any_run_are_refused() {
        let refused = check(Some(20)).unwrap_err().to_string();
        assert!(refused.contains("only 20 files"), "{refused}");
        assert!(refused.contains("ulimit -n 32"), "{refused}");
        assert!(check(Some(32)).is_ok() && check(None).is_ok());
    }
}
