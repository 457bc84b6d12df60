//! Restricts running threads to chosen CPUs, and gives them theirs back.
//!
//! A thread that a placed one starts inherits its CPUs, so it is placed, too: it gets back what the
//! thread had that it comes from.

use crate::error::ControlError;
use crate::idle::{Hands, Held, Knob, Machine};
use crate::journal::Journal;
use crate::tasks::ProcessKey;
use plimsoll_host::{HostError, Pid, Tid};
use plimsoll_model::CpuSet;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Threads that run on chosen CPUs until this is dropped. One that gets others meanwhile keeps
/// them.
#[derive(Debug)]
pub struct PlacedTasks {
    cpus: CpuSet,
    journal: Journal,
    hands: Arc<dyn Hands>,
    placed: BTreeMap<(Pid, Tid), Held>,
}

impl PlacedTasks {
    pub fn on(cpus: &CpuSet, journal: &Journal) -> PlacedTasks {
        PlacedTasks::by(cpus, journal, Arc::new(Machine))
    }

    fn by(cpus: &CpuSet, journal: &Journal, hands: Arc<dyn Hands>) -> PlacedTasks {
        PlacedTasks {
            cpus: cpus.clone(),
            journal: journal.clone(),
            hands,
            placed: BTreeMap::new(),
        }
    }

    /// Places the threads that are new among these; what ended is forgotten.
    ///
    /// # Errors
    /// This user may not, or the journal cannot be written.
    pub fn follow(&mut self, threads: &[(Pid, Tid)]) -> Result<(), ControlError> {
        self.placed.retain(|thread, _| threads.contains(thread));
        for &(pid, tid) in threads {
            if self.placed.contains_key(&(pid, tid)) {
                continue;
            }
            let Some(thread) = key(&self.journal, tid)? else {
                continue;
            };
            let inherited = self.former_of(pid);
            let taken = Held::take_or_inherit(
                Knob::TaskCpus { thread },
                self.cpus.to_string(),
                inherited.as_deref(),
                &self.journal,
                &self.hands,
            );
            match taken {
                Ok(held) => drop(self.placed.insert((pid, tid), held)),
                // It has ended meanwhile.
                Err(ControlError::NoIdleFile { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// What a thread of this process had before, or else any placed thread.
    fn former_of(&self, pid: Pid) -> Option<String> {
        let of_process = self.placed.range((pid, 0)..=(pid, Tid::MAX));
        let all = of_process.chain(&self.placed).map(|(_, held)| held);
        all.flat_map(Held::former).next().map(str::to_owned)
    }
}

fn key(journal: &Journal, tid: Tid) -> Result<Option<ProcessKey>, HostError> {
    ProcessKey::now(journal.root(), tid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Journals, Running};
    use plimsoll_host::{Root, allowed_cpus};
    use std::process::{Child, Command};

    /// A process with one thread, and the CPUs that it may use.
    struct Sleeper(Child);

    impl Sleeper {
        fn start() -> Sleeper {
            Sleeper(Command::new("sleep").arg("60").spawn().unwrap())
        }

        fn thread(&self) -> (Pid, Tid) {
            (self.0.id(), self.0.id())
        }

        fn cpus(&self) -> CpuSet {
            allowed_cpus(&Root::machine(), self.0.id()).unwrap()
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    fn journals() -> (tempfile::TempDir, Journals) {
        let dir = tempfile::tempdir().unwrap();
        let journals = Journals::at(dir.path().join("journals"));
        (dir, journals)
    }

    fn first_of(cpus: &CpuSet) -> CpuSet {
        cpus.iter().take(1).collect()
    }

    #[test]
    fn threads_get_back_what_they_had_and_heirs_what_their_origin_had() {
        let (_dir, journals) = journals();
        let journal = journals.open(&Root::machine()).unwrap();
        let (one, heir, moved_on) = (Sleeper::start(), Sleeper::start(), Sleeper::start());
        let all = one.cpus();
        let pool = first_of(&all);
        let mut placed = PlacedTasks::on(&pool, &journal);
        placed.follow(&[one.thread(), moved_on.thread()]).unwrap();
        assert_eq!((one.cpus(), moved_on.cpus()), (pool.clone(), pool.clone()));
        // As if `one` had started it.
        crate::schedule::set_affinity(heir.0.id(), &pool).unwrap();
        let threads = [one.thread(), heir.thread(), moved_on.thread()];
        placed.follow(&threads).unwrap();
        crate::schedule::set_affinity(moved_on.0.id(), &all).unwrap();
        let ended = Pid::MAX / 2;
        placed
            .follow(&[&threads[..], &[(ended, ended)]].concat())
            .unwrap();
        drop(placed);
        assert_eq!(
            (one.cpus(), heir.cpus(), moved_on.cpus()),
            (all.clone(), all.clone(), all)
        );
    }

    #[test]
    fn threads_of_a_killed_run_are_given_back_by_the_repair() {
        let (_dir, journals) = journals();
        let root = Root::machine();
        let own = journals.open(&root).unwrap();
        let one = Sleeper::start();
        let all = one.cpus();
        let key = key(&own, one.0.id()).unwrap().unwrap();
        let pool = first_of(&all);
        crate::schedule::set_affinity(one.0.id(), &pool).unwrap();
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let dead = format!(
            r#"{{"journal":1,"owner":{{"pid":{},"started":5}},"boot_id":"{}","pid_namespace":null}}"#,
            Pid::MAX / 2,
            boot.trim()
        );
        let set = format!(
            r#"{{"change":{{"nth":1,"change":{{"idle_knob_set":{{"knob":{{"task_cpus":{{"thread":{{"pid":{},"started":{}}}}}}},"former":"{all}","ours":"{pool}"}}}}}}}}"#,
            key.pid, key.started
        );
        std::fs::write(own.dir().join("77-5-abc.jsonl"), format!("{dead}\n{set}\n")).unwrap();
        let repaired = journals.repair(&root, Running::Leave).unwrap();
        assert_eq!(one.cpus(), all, "{repaired:?}");
    }
}
