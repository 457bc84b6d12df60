//! The first target as a command: started before the run, ended with all its processes after it.

use crate::experiment::Machine;
use plimsoll_control::{AtEnd, CgroupLayout, Group, Mechanism};
use plimsoll_engine::RunError;
use plimsoll_host::{Listeners, Pid, Root, listeners};
use plimsoll_load::copies;
use plimsoll_load::http::HttpLoad;
use plimsoll_model::{Copies, CpuSet, HttpService, ServiceAt, Workload, shell_word, shown_url};
use std::collections::BTreeSet;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// How soon after its start the server must answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);
/// Between two attempts.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(50);

/// A server that this run has started. Dropping it ends its processes.
#[derive(Debug)]
pub(super) struct Server {
    group: Group,
    child: Child,
}

/// What is started, and where it answers.
pub(super) struct Wanted<'w> {
    pub(super) command: &'w [String],
    pub(super) http: &'w HttpService,
    /// The CPUs that it is restricted to.
    pub(super) cpus: Option<&'w CpuSet>,
}

impl Server {
    /// Starts the command and waits until it answers.
    ///
    /// # Errors
    /// The program is missing, something else answers already, or the command ends or does not
    /// answer in time.
    pub(super) fn start(wanted: &Wanted<'_>, machine: &Machine) -> Result<Server, RunError> {
        copies::check(&Copies {
            command: wanted.command.to_vec(),
            timeout: ANSWERS_WITHIN,
        })?;
        let url = shown_url(&wanted.http.url);
        let client = client(wanted.http, machine)?;
        // No request is sent to find out: it may hold secrets that are not for who has the port.
        let is_taken = match has_port(&machine.root, &client)? {
            Port::Free => false,
            Port::Taken => true,
            Port::Elsewhere => client.probe().is_ok(),
        };
        if is_taken {
            return Err(RunError::Usage(format!(
                "{url} answers before the command is started, so another server would be \
                 measured; stop that one, or leave the command out"
            )));
        }
        let mut server = Server::spawn(wanted, machine)?;
        let began = Instant::now();
        while let Err(error) = server.answers(&client, machine)? {
            let name = written(wanted.command);
            if let Some(status) = server.ended()? {
                return Err(RunError::Usage(format!(
                    "the command {name} ended ({status}) before {url} answered; run it by hand to \
                     see what it says, and keep it in the foreground"
                )));
            }
            if began.elapsed() > ANSWERS_WITHIN {
                return Err(RunError::Usage(format!(
                    "{} s after the command {name} was started, {error}",
                    ANSWERS_WITHIN.as_secs()
                )));
            }
            machine.check_not_stopped()?;
            std::thread::sleep(BETWEEN_ATTEMPTS);
        }
        match server.ended()? {
            None => Ok(server),
            Some(status) => Err(RunError::Usage(format!(
                "the command {} ended ({status}) and left a server behind, whose processes cannot \
                 be followed; keep it in the foreground, such as with nginx -g 'daemon off;'",
                written(wanted.command)
            ))),
        }
    }

    /// Whether it answers. Only a process that this run has started gets a request: it may hold
    /// secrets, another server would be measured, and any user may have taken the port meanwhile.
    fn answers(
        &mut self,
        client: &HttpLoad,
        machine: &Machine,
    ) -> Result<Result<(), String>, RunError> {
        let mut listens = false;
        let mut own = self.group.processes()?;
        // It may have moved itself, or what it started, out of the cgroup.
        own.push(self.pid());
        own.extend(self.group.escaped()?);
        for address in client.addresses() {
            match listeners(&machine.root, *address)? {
                Listeners::NotListening => continue,
                Listeners::OtherHost => {}
                Listeners::Found(pids) if pids.iter().any(|pid| own.contains(pid)) => {}
                Listeners::Found(pids) => {
                    return Ok(Err(format!(
                        "another process ({}) listens there, and not the command; stop that one",
                        pids.first().copied().unwrap_or_default()
                    )));
                }
                Listeners::Hidden { .. } | Listeners::HolderInvisible => {
                    return Ok(Err(
                        "a process that is not visible from here listens there, which \
                                   may not be the command; start the server by hand, and name it \
                                   with --service-pid"
                            .to_owned(),
                    ));
                }
            }
            listens = true;
        }
        if !listens {
            return Ok(Err("nothing listens there".to_owned()));
        }
        Ok(client.probe().map(drop).map_err(|error| error.to_string()))
    }

    fn spawn(wanted: &Wanted<'_>, machine: &Machine) -> Result<Server, RunError> {
        let layout = CgroupLayout::find(&machine.root)?.keeping_orphans();
        let mut needs = BTreeSet::from([Mechanism::Kill]);
        if wanted.cpus.is_some() {
            needs.insert(Mechanism::CpuSet);
        }
        let journal = machine.journal()?;
        // A kernel may refuse a cgroup that seemed permitted.
        let mut group = Group::make(&layout, &needs, journal, AtEnd::Kill).or_else(|_| {
            let by_tree = layout.clone().without_cgroups();
            Group::make(&by_tree, &needs, journal, AtEnd::Kill)
        })?;
        if let Some(cpus) = wanted.cpus {
            group.set_cpus(cpus)?;
        }
        let (program, args) = wanted.command.split_first().ok_or_else(no_program)?;
        let gate = &machine.helpers.gate;
        let child = group.start(gate, program.as_ref(), args, |command| {
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
        })?;
        Ok(Server { group, child })
    }

    fn ended(&mut self) -> Result<Option<std::process::ExitStatus>, RunError> {
        self.child.try_wait().map_err(|error| {
            RunError::Stuck(format!("the command could not be waited for: {error}"))
        })
    }

    /// The process of the command.
    pub(super) fn pid(&self) -> Pid {
        self.child.id()
    }

    /// The target as it is looked up: by the process of the command.
    pub(super) fn target(&self, workload: &Workload) -> Workload {
        let mut target = workload.clone();
        if let Workload::Http(http) = &mut target {
            http.service = ServiceAt::Pid(self.pid());
        }
        target
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A drop cannot return errors; what is left stays in the journal for the next start.
        if self.group.kill().is_ok() {
            let _ = self.child.wait();
        }
    }
}

/// What is known of the port before the command starts.
enum Port {
    Free,
    Taken,
    /// Another host.
    Elsewhere,
}

fn has_port(root: &Root, client: &HttpLoad) -> Result<Port, RunError> {
    let mut port = Port::Free;
    for address in client.addresses() {
        match listeners(root, *address)? {
            Listeners::NotListening => {}
            Listeners::OtherHost => port = Port::Elsewhere,
            Listeners::Found(_) | Listeners::Hidden { .. } | Listeners::HolderInvisible => {
                return Ok(Port::Taken);
            }
        }
    }
    Ok(port)
}

fn client(http: &HttpService, machine: &Machine) -> Result<HttpLoad, RunError> {
    let cpus = plimsoll_host::own_allowed_cpus(&machine.root)?;
    Ok(HttpLoad::new(http, cpus)?)
}

fn no_program() -> RunError {
    RunError::Usage("the command after -- is empty; give a program and its arguments".to_owned())
}

/// As a shell would read it.
pub(super) fn written(command: &[String]) -> String {
    let words: Vec<String> = command.iter().map(|word| shell_word(word)).collect();
    words.join(" ")
}
