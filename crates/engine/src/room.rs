//! Whether there is room for what the hash service uses.

use crate::conduct::RunError;
use plimsoll_host::{Root, all_memory, available_memory, memory_left, own_swap};
use plimsoll_load::hash::check_files;
use plimsoll_model::{Bytes, HashService, Share};

/// Left to others: an eighth of what is available, and at least this. A machine that reclaims memory
/// measures that instead.
const LEAST_RESERVE: Bytes = Bytes(128 << 20);

const LEAST_OF_JOB: Bytes = Bytes(32 << 20);

/// Checks that memory and files of `service` fit into what there is.
///
/// # Errors
/// [`RunError::Usage`] if the heap is larger than the available memory or the limit of the own
/// cgroup less a reserve; [`RunError::Load`] if the files do not fit or their folder cannot be
/// written to.
pub fn check(service: &HashService, root: &Root) -> Result<(), RunError> {
    let heap = service.memory.map_or(Bytes(0), |memory| memory.heap);
    if let Some(available) = available_memory(root) {
        let reserve = LEAST_RESERVE.0.max(available.0 / 8);
        let most = Bytes(available.0.saturating_sub(reserve));
        if heap > most {
            return Err(RunError::Usage(format!(
                "--memory {heap} does not fit: {available} are available here, of which {} stay \
                 free for others; give up to {most}",
                Bytes(reserve)
            )));
        }
    }
    match &service.files {
        Some(files) => Ok(check_files(files)?),
        None => Ok(()),
    }
}

/// The memory that a job may have beside what is in use now, with a headroom free, a share of all,
/// and room for what a service in this process has in swap. Never less than what a small program
/// takes.
pub fn memory_beside(root: &Root, headroom: Share) -> Bytes {
    let available = available_memory(root).unwrap_or_default();
    let all = all_memory(root).total.max(available);
    let free = (all.0 as f64 * headroom.get()) as u64 + own_swap(root).0;
    Bytes(available.0.saturating_sub(free)).max(LEAST_OF_JOB)
}

/// How much more memory a job may take now. A sixteenth of all memory stays free for others, and so
/// does a quarter of swap: the kernel ends processes where both are used up.
pub fn left_to_job(root: &Root) -> Bytes {
    let all = all_memory(root);
    let reserve = LEAST_RESERVE.0.min(all.total.0 / 8).max(all.total.0 / 16);
    let swap = all.swap_free.0.saturating_sub(all.swap.0 / 4);
    let free = memory_left(root).unwrap_or_default();
    Bytes(free.0.saturating_add(swap).saturating_sub(reserve))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{CpuTime, FileUse, MemoryUse};

    fn service(heap: u64) -> HashService {
        HashService {
            mean_block: Bytes(1),
            deviation_share: 0.0,
            request_cpu: CpuTime::ZERO,
            waiting: None,
            memory: Some(MemoryUse {
                heap: Bytes(heap),
                touched: Bytes(4096),
                write_share: Share::ZERO,
                spread: 0.25,
            }),
            files: None,
        }
    }

    fn root_with(mem_available: &str) -> (tempfile::TempDir, Root) {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir(tree.path().join("proc")).unwrap();
        std::fs::write(tree.path().join("proc/meminfo"), mem_available).unwrap();
        let root = Root::at(tree.path());
        (tree, root)
    }

    #[test]
    fn a_heap_beyond_what_is_available_is_refused_with_what_there_is() {
        let (_tree, root) = root_with("MemAvailable:    1048576 kB\n");
        assert!(check(&service(800 << 20), &root).is_ok());
        let refused = check(&service(1000 << 20), &root).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "--memory 1000.0 MiB does not fit: 1.0 GiB are available here, of which 128.0 MiB stay \
             free for others; give up to 896.0 MiB"
        );
    }

    #[test]
    fn a_headroom_of_all_memory_stays_free_beside_a_job() {
        let (tree, root) = root_with("MemTotal: 1048576 kB\nMemAvailable: 524288 kB\n");
        let beside = |share| memory_beside(&root, Share::new(share).unwrap()).0 >> 20;
        assert_eq!((beside(0.0), beside(0.25), beside(0.9)), (512, 256, 32));
        std::fs::create_dir(tree.path().join("proc/self")).unwrap();
        std::fs::write(tree.path().join("proc/self/status"), "VmSwap: 102400 kB\n").unwrap();
        assert_eq!(beside(0.25), 156, "what the service has in swap comes back");
    }

    #[test]
    fn a_job_leaves_memory_and_swap_to_others() {
        let mib = |text: &str| {
            let (_tree, root) = root_with(text);
            left_to_job(&root).0 >> 20
        };
        let of = |available: u64, swap_free: u64| {
            mib(&format!(
                "MemTotal: {} kB\nMemAvailable: {} kB\nSwapTotal: {} kB\nSwapFree: {} kB\n",
                4096 << 10,
                available << 10,
                400 << 10,
                swap_free << 10
            ))
        };
        assert_eq!(of(1000, 100), 1000 - 256);
        assert_eq!(of(100, 400), 100 + 300 - 256);
        assert_eq!(of(256, 100), 0);
        assert_eq!(mib(""), 0, "unknown memory is none");
    }

    #[test]
    fn without_a_figure_nothing_is_refused() {
        let (_tree, root) = root_with("");
        assert!(check(&service(1 << 50), &root).is_ok());
    }

    #[test]
    fn files_are_checked_before_the_run() {
        let (_tree, root) = root_with("");
        let mut service = service(4096);
        service.files = Some(FileUse {
            dir: "/nowhere/at/all".into(),
            size: Bytes(4096),
            touched: Bytes(4096),
            write_share: Share::ZERO,
            log: Bytes(0),
        });
        let refused = check(&service, &root).unwrap_err().to_string();
        assert!(refused.contains("/nowhere/at/all"), "{refused}");
    }
}
