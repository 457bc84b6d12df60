//! What requests of the hash service use besides the CPU.

use crate::{Bytes, Share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// The heap that requests touch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryUse {
    /// Its size at full load, in whole pages of 4 KiB.
    #[serde(rename = "heap_bytes")]
    pub heap: Bytes,
    /// What a request touches on average, in whole pages.
    #[serde(rename = "touched_bytes")]
    pub touched: Bytes,
    /// The share of the touched pages that are also written.
    pub write_share: Share,
    /// The standard deviation of a page's position, as a share of the heap, above 0 and up to 1:
    /// small for a hot centre, 1 for nearly equal use.
    pub spread: f64,
}

/// The files that requests read and write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileUse {
    /// Where a folder for the files is made, which is removed with them at the end.
    pub dir: PathBuf,
    /// Their size together, in whole pages of 4 KiB.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// What a request reads or writes on average, in whole pages.
    #[serde(rename = "touched_bytes")]
    pub touched: Bytes,
    /// The share of the touched pages that are written instead of read.
    pub write_share: Share,
    /// What a request appends to a log, up to 1 MiB; 0 for no log.
    #[serde(rename = "log_bytes")]
    pub log: Bytes,
}

impl fmt::Display for MemoryUse {
    /// `512.0 MiB of memory, 256.0 KiB a request`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of memory, {} a request", self.heap, self.touched)
    }
}

impl fmt::Display for FileUse {
    /// `1.0 GiB of files, 64.0 KiB a request`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of files, {} a request", self.size, self.touched)
    }
}

#[cfg(test)]
mod tests {
    use crate::{CpuTime, HashService, Workload};

    #[test]
    fn what_it_uses_is_a_part_of_its_name() {
        let memory = super::MemoryUse {
            heap: crate::Bytes(512 << 20),
            touched: crate::Bytes(256 << 10),
            write_share: crate::Share::ZERO,
            spread: 0.25,
        };
        let service = HashService {
            mean_block: crate::Bytes(1 << 20),
            deviation_share: 0.25,
            request_cpu: CpuTime::ZERO,
            waiting: None,
            memory: Some(memory),
            files: None,
        };
        let name = Workload::Hash(service).to_string();
        assert_eq!(
            name,
            "hash service (SHA-1, 1.0 MiB blocks, 512.0 MiB of memory, 256.0 KiB a request)"
        );
    }
}
