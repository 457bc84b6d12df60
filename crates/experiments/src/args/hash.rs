//! Flags of the hash service's memory and files.

use super::value::{share_of, size};
use clap::Args;
use plimsoll_model::{Bytes, FileUse, HashService, MemoryUse, Share};
use std::path::PathBuf;

/// The heading of flags of the hash service.
pub const FOR_THE_HASH_SERVICE: &str = "For the hash service";

/// 64 pages: enough to see when a neighbour takes caches or bandwidth, and hashing prevails.
const MEMORY_TOUCHED: Bytes = Bytes(256 << 10);

/// A request that changes some of what it reads, as services do.
const MEMORY_WRITES: f64 = 0.3;

/// 68 % of the accesses go to the first quarter.
const MEMORY_SPREAD: f64 = 0.25;

const FILE_SIZE: Bytes = Bytes(1 << 30);

/// 16 pages.
const FILE_TOUCHED: Bytes = Bytes(64 << 10);

/// What requests to the hash service use besides the CPU. Not with a server or a resumed run.
#[derive(Debug, Args)]
#[command(next_help_heading = FOR_THE_HASH_SERVICE)]
pub struct HashArgs {
    /// Requests also touch a heap of this size with random contents, such as 512MiB; half of it without load, all of it at --rated. The nearer to its beginning, the hotter.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<Bytes>,

    /// What a request touches of it on average, in pages of 4 KiB (default: 256KiB).
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "memory", hide_short_help = true)]
    pub memory_touched: Option<Bytes>,

    /// The share of these pages that are also written (default: 30%).
    #[arg(long, value_name = "SHARE", value_parser = share_of, requires = "memory", hide_short_help = true)]
    pub memory_writes: Option<Share>,

    /// The standard deviation of positions as a share of the heap: low for a hot centre, 100% for nearly equal use (default: 25%).
    #[arg(long, value_name = "SHARE", value_parser = spread, requires = "memory", hide_short_help = true)]
    pub memory_spread: Option<Share>,

    /// Requests also read files, made in this folder for the run and removed after it.
    #[arg(long, value_name = "DIR")]
    pub files: Option<PathBuf>,

    /// The size of the files together (default: 1GiB).
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "files", hide_short_help = true)]
    pub file_size: Option<Bytes>,

    /// What a request reads or writes of them on average, in pages of 4 KiB (default: 64KiB).
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "files", hide_short_help = true)]
    pub file_touched: Option<Bytes>,

    /// The share of these pages that are written instead of read (default: 0%).
    #[arg(long, value_name = "SHARE", value_parser = share_of, requires = "files", hide_short_help = true)]
    pub file_writes: Option<Share>,

    /// What a request appends to a log beside the files, up to 1MiB (default: no log).
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "files", hide_short_help = true)]
    pub file_log: Option<Bytes>,
}

impl HashArgs {
    /// `service` with the memory and the files that were asked for.
    pub fn of(&self, service: HashService) -> HashService {
        let default_share = |share| Share::new(share).unwrap_or(Share::ZERO);
        let memory = self.memory.map(|heap| MemoryUse {
            heap,
            touched: self.memory_touched.unwrap_or(MEMORY_TOUCHED.min(heap)),
            write_share: self.memory_writes.unwrap_or(default_share(MEMORY_WRITES)),
            spread: self.memory_spread.map_or(MEMORY_SPREAD, Share::get),
        });
        let size = self.file_size.unwrap_or(FILE_SIZE);
        let files = self.files.as_ref().map(|dir| FileUse {
            dir: dir.clone(),
            size,
            touched: self.file_touched.unwrap_or(FILE_TOUCHED.min(size)),
            write_share: self.file_writes.unwrap_or(Share::ZERO),
            log: self.file_log.unwrap_or_default(),
        });
        HashService {
            memory,
            files,
            ..service
        }
    }
}

fn spread(text: &str) -> Result<Share, String> {
    share_of(text)
        .ok()
        .filter(|share| share.get() > 0.0)
        .ok_or_else(|| "give a share of the heap above 0% and up to 100%, such as 25%".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches};
    use plimsoll_model::CpuTime;

    fn of(flags: &[&str]) -> Result<HashService, clap::Error> {
        let command = HashArgs::augment_args(Command::new("test").no_binary_name(true));
        let args = HashArgs::from_arg_matches(&command.try_get_matches_from(flags)?)?;
        Ok(args.of(HashService {
            mean_block: Bytes(1),
            deviation_share: 0.0,
            request_cpu: CpuTime::ZERO,
            waiting: None,
            memory: None,
            files: None,
        }))
    }

    #[test]
    fn without_flags_it_only_hashes() {
        let service = of(&[]).unwrap();
        assert_eq!((service.memory, service.files), (None, None));
    }

    #[test]
    fn flags_have_defaults_and_no_more_than_there_is() {
        let service = of(&["--memory", "512M", "--files", "/tmp", "--file-size", "8K"]).unwrap();
        let memory = service.memory.unwrap();
        assert_eq!(
            (memory.heap, memory.touched),
            (Bytes(512 << 20), MEMORY_TOUCHED)
        );
        let files = service.files.unwrap();
        assert_eq!(
            (files.size, files.touched, files.log),
            (Bytes(8192), Bytes(8192), Bytes(0))
        );
    }

    #[test]
    fn nonsense_is_a_usage_error() {
        for bad in [
            &["--memory", "0"][..],
            &["--memory", "0M"],
            &["--memory", "much"],
            &["--memory", "1K"],
            &["--memory-touched", "4K"],
            &["--file-size", "1G"],
            &["--memory", "1G", "--memory-writes", "101%"],
            &["--memory", "1G", "--memory-spread", "0%"],
            &["--files", "/tmp", "--file-log", "0"],
        ] {
            assert!(of(bad).is_err(), "{bad:?}");
        }
    }
}
