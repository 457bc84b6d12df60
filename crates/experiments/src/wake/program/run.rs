//! Runs a program for the length of a trial.

use super::cluster::{AT_MOST, Cluster};
use super::parse::figures;
use super::{Program, ProgramFigure, ProgramPlan};
use plimsoll_control::Journal;
use plimsoll_engine::RunError;
use plimsoll_model::CpuSet;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Signal, kill_process_group};
use rustix::thread::{CpuSet as Mask, sched_setaffinity};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a raised stop may stay unseen.
const STOP_GRAIN: Duration = Duration::from_millis(50);

/// A program that can be run, and the server that was started for it.
#[derive(Debug)]
pub(in crate::wake) struct Ready {
    program: Program,
    cpus: CpuSet,
    /// The other CPUs of the run.
    others: CpuSet,
    database: Option<String>,
    cluster: Option<Cluster>,
}

/// Looks for the program, and starts a server if it needs one.
///
/// # Errors
/// It is not installed, or its server does not start.
pub(in crate::wake) fn prepare(
    plan: &ProgramPlan,
    all: &CpuSet,
    journal: &Journal,
) -> Result<Ready, RunError> {
    let program = plan.program;
    is_installed(program)?;
    let needs_server = program == Program::Pgbench && plan.database.is_none();
    let cluster = match needs_server {
        true => Some(restricted(&plan.cpus, || Cluster::start(journal))??),
        false => None,
    };
    let database = plan.database.clone();
    let database = database.or(cluster.as_ref().map(Cluster::database));
    Ok(Ready {
        program,
        cpus: plan.cpus.clone(),
        others: all.without(&plan.cpus),
        database,
        cluster,
    })
}

/// # Errors
/// There is no such program in PATH.
pub(in crate::wake) fn is_installed(program: Program) -> Result<(), RunError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path);
    match folders.any(|folder| folder.join(program.to_string()).is_file()) {
        true => Ok(()),
        false => Err(RunError::Usage(match program {
            Program::Schbench => "schbench is not in PATH; no distribution has it: build it with make from git.kernel.org/pub/scm/linux/kernel/git/mason/schbench.git".to_owned(),
            Program::Pgbench => "pgbench is not in PATH; it is in Debian's and Ubuntu's package postgresql (postgresql-contrib elsewhere)".to_owned(),
        })),
    }
}

impl Ready {
    fn command(&self, window: Duration) -> Command {
        let seconds = window.as_secs().max(1).to_string();
        let mut command = match &self.cluster {
            Some(cluster) => cluster.command("pgbench"),
            None => {
                let mut command = Command::new(self.program.to_string());
                command.process_group(0);
                command
            }
        };
        match self.program {
            // Few threads that sleep most of the time, as in the second row of IBM's table. With
            // -R it measures one wake-up a second, and a queue of its own.
            Program::Schbench => {
                command.args([
                    "-m", "1", "-t", "1", "-n", "0", "-s", "5000", "-r", &seconds,
                ]);
                if !self.others.is_empty() {
                    command.args(["-M", &self.others.to_string(), "-W", &self.cpus.to_string()]);
                }
                &mut command
            }
            Program::Pgbench => {
                let fixed = ["-S", "-n", "-R", "10", "-c", "1", "-T", &seconds];
                command.args(fixed).args(&self.database)
            }
        };
        command
    }

    /// The CPUs that all its threads may use. Of schbench, only the woken thread is on those of
    /// the gate.
    fn allowed(&self) -> CpuSet {
        match self.program {
            Program::Schbench => self.cpus.iter().chain(self.others.iter()).collect(),
            Program::Pgbench => self.cpus.clone(),
        }
    }

    /// The figures of one run; `None` when stopped.
    ///
    /// # Errors
    /// It cannot be started, fails, or prints something else.
    pub(in crate::wake) fn run(
        &self,
        window: Duration,
        stop: &AtomicBool,
    ) -> Result<Option<Vec<ProgramFigure>>, RunError> {
        let output = captured().map_err(|e| not_started(self.program, &e))?;
        let both = || output.try_clone().map(Stdio::from);
        let mut command = self.command(window);
        let start = || -> std::io::Result<Running> {
            let child = command.stdin(Stdio::null()).stdout(both()?).stderr(both()?);
            Ok(Running(child.spawn()?))
        };
        let mut running =
            restricted(&self.allowed(), start)?.map_err(|e| not_started(self.program, &e))?;
        let end = Instant::now() + window + AT_MOST;
        let status = loop {
            match running.0.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() > end => {
                    let (program, late) = (self.program, AT_MOST.as_secs());
                    return Err(RunError::Stuck(format!(
                        "{program} did not end within {late} s after its time"
                    )));
                }
                Ok(None) if stop.load(Ordering::Relaxed) => return Ok(None),
                Ok(None) => std::thread::sleep(STOP_GRAIN),
                Err(e) => return Err(not_started(self.program, &e)),
            }
        };
        let text = read(output).map_err(|e| not_started(self.program, &e))?;
        let failed = |why: String| {
            let mut lines = text.lines();
            let telling = lines.clone().find(|line| line.contains("error"));
            let last = telling.or(lines.next_back()).unwrap_or("nothing");
            RunError::Stuck(format!(
                "{}: {why} ({status}); it says: {last}",
                self.program
            ))
        };
        match status.success() {
            true => figures(self.program, &text).map(Some).map_err(failed),
            false => Err(failed("it failed".to_owned())),
        }
    }
}

/// A file without a name, for what a program prints.
pub(super) fn captured() -> std::io::Result<std::fs::File> {
    Ok(memfd_create("plimsoll-program", MemfdFlags::CLOEXEC)?.into())
}

/// The first MiB of it.
pub(super) fn read(mut file: std::fs::File) -> std::io::Result<String> {
    use std::io::{Read, Seek};
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(1 << 20).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn not_started(program: Program, error: &std::io::Error) -> RunError {
    RunError::Stuck(format!("{program} could not be run: {error}"))
}

/// How a program ends; `None` if it had to be killed after so long.
pub(super) fn status_within(
    command: &mut Command,
    at_most: Duration,
) -> std::io::Result<Option<ExitStatus>> {
    let end = Instant::now() + at_most;
    let mut running = Running(command.spawn()?);
    while Instant::now() < end {
        if let Some(status) = running.0.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(STOP_GRAIN);
    }
    Ok(None)
}

/// A program that leads a process group, and is killed, with all that it started, if it still runs when this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            let _ = kill_process_group(rustix::process::Pid::from_child(&self.0), Signal::KILL);
            // It may not have made its group yet.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

/// Does `work` on a thread of these CPUs: what it starts inherits them.
///
/// # Errors
/// The thread cannot be started, or may not run there.
fn restricted<T: Send>(cpus: &CpuSet, work: impl FnOnce() -> T + Send) -> Result<T, RunError> {
    let failed =
        |why: String| RunError::Stuck(format!("a program cannot be run on CPU {cpus}: {why}"));
    let mut mask = Mask::new();
    for cpu in cpus.iter().filter(|cpu| (*cpu as usize) < Mask::MAX_CPU) {
        mask.set(cpu as usize);
    }
    std::thread::scope(|scope| {
        let body = || sched_setaffinity(None, &mask).map(|()| work());
        let thread = std::thread::Builder::new().spawn_scoped(scope, body);
        let done = thread.map_err(|e| failed(e.to_string()))?.join();
        let done = done.map_err(|_| failed("its thread panicked".to_owned()))?;
        done.map_err(|e| failed(e.to_string()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_control::Journals;
    use plimsoll_host::Root;
    use std::os::fd::AsRawFd;

    /// With the programs of this machine, where it has them.
    #[test]
    fn pgbench_runs_on_a_temporary_server_that_is_removed() {
        if is_installed(Program::Pgbench).is_err() {
            eprintln!("left out: pgbench is not installed");
            return;
        }
        let cpus = plimsoll_host::own_allowed_cpus(&plimsoll_host::Root::machine()).unwrap();
        let plan = ProgramPlan {
            program: Program::Pgbench,
            cpus,
            database: None,
        };
        // As a shell leaves it behind: open in all programs that this one starts.
        let inherited = rustix::io::dup(std::io::stdin()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let journals = Journals::at(dir.path().join("plimsoll"));
        let journal = journals.open(&Root::machine()).unwrap();
        let ready = match prepare(&plan, &plan.cpus, &journal) {
            Ok(ready) => ready,
            Err(RunError::Usage(why)) if why.contains("initdb") => return,
            Err(other) => panic!("{other}"),
        };
        let folder = ready.database.clone().unwrap();
        let folder = folder.split_whitespace().next().unwrap();
        let folder = std::path::Path::new(folder.strip_prefix("host=").unwrap()).to_owned();
        assert_private(&folder);
        assert_apart(ready.cluster.as_ref().unwrap(), inherited.as_raw_fd());
        let entered = std::fs::read_dir(dir.path().join("plimsoll")).unwrap();
        let entered = entered.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
        let scratch = folder.parent().unwrap().to_string_lossy().into_owned();
        assert!(
            entered.collect::<String>().contains(&scratch),
            "a killed run leaves it to the next start"
        );
        let window = Duration::from_secs(1);
        let figures = ready.run(window, &AtomicBool::new(false)).unwrap().unwrap();
        let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
        assert_eq!(names, ["average", "stddev"]);
        assert!(figures[0].value > 0.0);
        let stopped = ready.run(Duration::from_secs(60), &AtomicBool::new(true));
        assert!(stopped.unwrap().is_none());
        drop(ready);
        assert!(!folder.parent().unwrap().exists());
    }

    /// The server's user gets neither root's environment nor its terminal.
    fn assert_apart(cluster: &Cluster, inherited: i32) {
        let said = |script: &str| {
            let mut command = cluster.command("/bin/sh");
            let output = command.args(["-c", script]).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let names = said("env | cut -d= -f1");
        let known = ["HOME", "LC_ALL", "PATH", "PWD", "OLDPWD", "SHLVL", "_"];
        assert!(names.lines().all(|name| known.contains(&name)), "{names}");
        let open = format!("test -e /proc/$$/fd/{inherited} && echo open");
        assert_eq!(said(&open), "");
        // The session, beside the process that leads it.
        let session = said("echo $$; read line </proc/self/stat; set -- $line; echo $6");
        let (process, session) = session.trim().split_once('\n').unwrap();
        assert_eq!(process, session);
        if rustix::process::geteuid().is_root() {
            assert_ne!(said("id -u").trim(), "0");
        }
    }

    /// Another user who connects to the server can run code as its user.
    fn assert_private(folder: &std::path::Path) {
        use std::os::unix::fs::{FileTypeExt, PermissionsExt};
        let mode = |path: &std::path::Path| {
            let about = std::fs::symlink_metadata(path).unwrap();
            about.permissions().mode() & 0o777
        };
        assert_eq!(mode(folder), 0o700);
        assert_eq!(mode(folder.parent().unwrap()) & 0o066, 0);
        let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
        let sockets: Vec<_> = entries
            .filter(|entry| entry.file_type().unwrap().is_socket())
            .collect();
        assert_eq!(sockets.len(), 1);
        assert_eq!(mode(&sockets[0].path()), 0o700);
        let rules = std::fs::read_to_string(folder.join("data/pg_hba.conf")).unwrap();
        let rules = rules.lines().filter(|line| !line.starts_with('#'));
        assert!(
            rules.clone().all(|line| !line.contains("trust")),
            "{rules:?}"
        );
    }

    #[test]
    fn a_database_that_is_not_there_is_named_by_the_program() {
        if is_installed(Program::Pgbench).is_err() {
            return;
        }
        let ready = Ready {
            program: Program::Pgbench,
            cpus: "0".parse().unwrap(),
            others: CpuSet::default(),
            database: Some("host=/nonexistent dbname=none".to_owned()),
            cluster: None,
        };
        let error = ready.run(Duration::from_secs(1), &AtomicBool::new(false));
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("pgbench") && error.contains("nonexistent"),
            "{error}"
        );
    }
}
