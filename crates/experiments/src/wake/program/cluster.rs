//! A temporary PostgreSQL server, removed when this is dropped.

use plimsoll_engine::RunError;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Where distributions put the programs of a server, with a folder for each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// A server in a folder of its own, at a socket in it.
#[derive(Debug)]
pub(super) struct Cluster {
    programs: PathBuf,
    folder: PathBuf,
    /// A server does not run as root.
    user: Option<(u32, u32)>,
}

impl Cluster {
    /// # Errors
    /// There is no server to start, or it does not start.
    pub(super) fn start() -> Result<Cluster, RunError> {
        let programs = programs().ok_or_else(|| {
            RunError::Usage("--workload pgbench takes a server, and initdb is not installed; it is in the package postgresql, or name a database with --database".to_owned())
        })?;
        let is_root = rustix::process::geteuid().is_root();
        let user = is_root.then(postgres_user).transpose()?;
        let folder = std::env::temp_dir().join(format!("plimsoll-pgbench-{}", std::process::id()));
        let failed = |e: std::io::Error| {
            RunError::Usage(format!(
                "{}: {e}; set TMPDIR to a folder of yours",
                folder.display()
            ))
        };
        std::fs::create_dir(&folder).map_err(failed)?;
        let cluster = Cluster {
            programs,
            folder: folder.clone(),
            user,
        };
        if let Some((uid, gid)) = user {
            std::os::unix::fs::chown(&folder, Some(uid), Some(gid)).map_err(failed)?;
        }
        let data = folder.join("data");
        let data = data.to_string_lossy();
        cluster.run(
            "initdb",
            &["-D", &data, "-A", "trust", "-U", "plimsoll", "-N"],
        )?;
        let options = format!("-c listen_addresses='' -k {}", folder.display());
        let log = folder.join("log");
        let log = log.to_string_lossy();
        cluster.run(
            "pg_ctl",
            &["-D", &data, "-l", &log, "-w", "-o", &options, "start"],
        )?;
        Ok(cluster)
    }

    /// As pgbench takes it.
    pub(super) fn database(&self) -> String {
        format!(
            "host={} user=plimsoll dbname=postgres",
            self.folder.display()
        )
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.current_dir(&self.folder).stdin(Stdio::null());
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        command
    }

    fn run(&self, program: &str, args: &[&str]) -> Result<(), RunError> {
        // pg_ctl leaves the server behind, which would hold a pipe open.
        let errors = self.folder.join("errors");
        let failed =
            |why: String| RunError::Usage(format!("{program} of PostgreSQL failed: {why}"));
        let file = std::fs::File::create(&errors).map_err(|e| failed(e.to_string()))?;
        let mut command = self.command(program);
        command.args(args).stdout(Stdio::null()).stderr(file);
        let status = command.status().map_err(|e| failed(e.to_string()))?;
        match status.success() {
            true => Ok(()),
            false => {
                let text = std::fs::read_to_string(&errors).unwrap_or_default();
                let last = text.lines().last().unwrap_or("no message");
                Err(failed(format!("{last} ({status})")))
            }
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let data = self.folder.join("data");
        let data = data.to_string_lossy();
        // Without a server there is nothing to stop.
        let _ = self.run("pg_ctl", &["-D", &data, "-m", "immediate", "-w", "stop"]);
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The folder with the programs of the newest version.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let found = versions.map(|entry| entry.path());
    let found = found.filter(|path| path.join("bin/initdb").exists());
    let newest = found.max_by_key(|path| number(path));
    let in_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|dir| dir.join("initdb").exists())
    };
    newest.map(|path| path.join("bin")).or_else(in_path)
}

/// User and group that the package makes for servers.
fn postgres_user() -> Result<(u32, u32), RunError> {
    let id = |flag: &str| -> Option<u32> {
        let output: Output = Command::new("id").args([flag, "postgres"]).output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse().ok()
    };
    id("-u").zip(id("-g")).ok_or_else(|| {
        RunError::Usage("root may not run a PostgreSQL server, and there is no user postgres; run as another user, or name a database with --database".to_owned())
    })
}
