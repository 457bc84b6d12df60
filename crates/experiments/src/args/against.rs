//! Flags of experiments that measure two servers in turns.

use super::LoadArgs;
use super::value::{cgroup, pid};
use clap::Args;
use plimsoll_engine::RunError;
use plimsoll_host::Root;
use plimsoll_model::{ServiceAt, Workload};

/// The other server; the flags of requests are for both.
#[derive(Debug, Args)]
pub(crate) struct AgainstArgs {
    /// Another server, or the same under another setting, measured in turns (A B B A).
    #[arg(long, value_name = "URL")]
    pub(crate) against: Option<String>,

    /// The process of the other server, or of its VM (default: found by its listening socket).
    #[arg(
        long,
        value_name = "PID",
        value_parser = pid,
        allow_hyphen_values = true,
        requires = "against",
        conflicts_with = "against_cgroup"
    )]
    pub(crate) against_pid: Option<u32>,

    /// The cgroup of the other server, as a path below the cgroup mount.
    #[arg(long, value_name = "PATH", value_parser = cgroup, requires = "against")]
    against_cgroup: Option<String>,
}

/// Those that decide the plan: the URL may be given again, where a record hides it.
pub(crate) const FIXED_OF_AGAINST: &[&str] = &["against_pid", "against_cgroup"];

impl AgainstArgs {
    /// The other server, if there is one.
    ///
    /// # Errors
    /// A flag's value makes no sense.
    pub(crate) fn workload(
        &self,
        load: &LoadArgs,
        root: &Root,
    ) -> Result<Option<Workload>, RunError> {
        let Some(url) = &self.against else {
            return Ok(None);
        };
        let mut other = load.workload(Some(url), root)?;
        if let Workload::Http(http) = &mut other {
            http.service = match (self.against_pid, &self.against_cgroup) {
                (Some(pid), _) => ServiceAt::Pid(pid),
                (None, Some(path)) => ServiceAt::Cgroup(path.clone()),
                (None, None) => ServiceAt::Find,
            };
        }
        Ok(Some(other))
    }
}
