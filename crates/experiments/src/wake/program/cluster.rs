//! A temporary PostgreSQL server, removed when this is dropped, or by the next start if this process
//! is killed.
//!
//! Who can connect to a server can run code as its user. Its folder, and the socket in it, are that
//! user's alone, and the server asks the kernel who connects (`peer`).
//!
//! That user can exchange all that is in the folder, so root trusts nothing of it: all programs, the
//! client too, run as that user, in a session of their own (a terminal takes input from all of its
//! session), without root's environment, and without the descriptors that this process has inherited.

use super::run::{captured, read, status_within};
use plimsoll_control::{Journal, Scratch};
use plimsoll_engine::RunError;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Where distributions put the programs of a server, with a folder for each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// A program that takes longer is killed: who has the server's user can stop it.
pub(super) const AT_MOST: Duration = Duration::from_secs(60);

/// A server in a folder of its own, at a socket in it.
#[derive(Debug)]
pub(super) struct Cluster {
    programs: PathBuf,
    /// Belongs to the server's user.
    folder: PathBuf,
    /// A server does not run as root; nor does its client, which trusts the server.
    user: Option<(u32, u32)>,
    /// Who connects.
    client: String,
    _scratch: Scratch,
}

impl Cluster {
    /// # Errors
    /// There is no server to start, or it does not start.
    pub(super) fn start(journal: &Journal) -> Result<Cluster, RunError> {
        // What this process has opened itself is closed for others already.
        close_fds::set_fds_cloexec_threadsafe(3, &[]);
        let programs = programs().ok_or_else(|| {
            RunError::Usage("--workload pgbench takes a server, and initdb is not installed; it is in the package postgresql, or name a database with --database".to_owned())
        })?;
        let is_root = rustix::process::geteuid().is_root();
        let user = is_root.then(postgres_user).transpose()?;
        let scratch = Scratch::make(journal, &std::env::temp_dir(), "pgbench")?;
        let folder = scratch.path().join("db");
        own_folder(&scratch, user).map_err(|e| {
            RunError::Usage(format!(
                "{}: {e}; set TMPDIR to a folder of yours",
                folder.display()
            ))
        })?;
        let cluster = Cluster {
            programs,
            folder,
            user,
            client: match is_root {
                true => SERVERS.to_owned(),
                false => id(&["-un"]).unwrap_or_default(),
            },
            _scratch: scratch,
        };
        cluster.begin()?;
        cluster.run("pgbench", &["-i", "-q", "-s", "1", &cluster.database()])?;
        Ok(cluster)
    }

    fn begin(&self) -> Result<(), RunError> {
        let data = self.folder.join("data");
        let data = data.to_string_lossy();
        self.run(
            "initdb",
            &["-D", &data, "-A", "peer", "-U", &self.client, "-N"],
        )?;
        let options = format!(
            "-c listen_addresses='' -c unix_socket_permissions=0700 -k {}",
            self.folder.display()
        );
        let log = self.folder.join("log");
        let log = log.to_string_lossy();
        self.run(
            "pg_ctl",
            &["-D", &data, "-l", &log, "-w", "-o", &options, "start"],
        )
    }

    /// As pgbench takes it.
    pub(super) fn database(&self) -> String {
        let (folder, client) = (self.folder.display(), &self.client);
        format!("host={folder} user={client} dbname=postgres")
    }

    /// A program of PostgreSQL, which leads a session. It has to be started by a process that
    /// makes no group for it, else setsid(1) starts it in one process more.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("setsid");
        command.arg(self.programs.join(program));
        command.current_dir(&self.folder).stdin(Stdio::null());
        command
            .env_clear()
            .env("LC_ALL", "C")
            .env("HOME", &self.folder);
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        command
    }

    fn run(&self, program: &str, args: &[&str]) -> Result<(), RunError> {
        let failed =
            |why: String| RunError::Usage(format!("{program} of PostgreSQL failed: {why}"));
        // No pipe, which the server that pg_ctl leaves behind would hold open, and no file in a
        // folder that another user can write to.
        let messages = captured().map_err(|e| failed(e.to_string()))?;
        let stderr = messages.try_clone().map_err(|e| failed(e.to_string()))?;
        let mut command = self.command(program);
        command.args(args).stdout(Stdio::null()).stderr(stderr);
        let status = status_within(&mut command, AT_MOST).map_err(|e| failed(e.to_string()))?;
        match status {
            None => Err(failed(format!("it took more than {} s", AT_MOST.as_secs()))),
            Some(status) if status.success() => Ok(()),
            Some(status) => {
                let text = read(messages).unwrap_or_default();
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

/// The user that packages make for servers.
const SERVERS: &str = "postgres";

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

/// Makes the folder of a server in one that others only pass through.
fn own_folder(scratch: &Scratch, user: Option<(u32, u32)>) -> io::Result<()> {
    let folder = scratch.held().join("db");
    DirBuilder::new().mode(0o700).create(&folder)?;
    if let Some((uid, gid)) = user {
        chown(&folder, Some(uid), Some(gid))?;
        scratch.let_through()?;
    }
    Ok(())
}

/// What id(1) prints.
fn id(args: &[&str]) -> Option<String> {
    let output: Output = Command::new("id").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn postgres_user() -> Result<(u32, u32), RunError> {
    let id = |flag: &str| -> Option<u32> { id(&[flag, SERVERS])?.parse().ok() };
    id("-u").zip(id("-g")).ok_or_else(|| {
        RunError::Usage("root may not run a PostgreSQL server, and there is no user postgres; run as another user, or name a database with --database".to_owned())
    })
}
