//! A job that hashes blocks.

use crate::hash::{Blocks, DEVIATION_SHARE, Data};
use plimsoll_model::{Bytes, CpuTime, HashService};
use std::io;

/// About 0.1 to 0.5 ms of CPU time: the resolution of the counters, and long compared with the
/// microsecond that counting takes.
const BLOCK: Bytes = Bytes(256 << 10);

pub(super) struct Shared(Data);

impl Shared {
    pub(super) fn prepare() -> Shared {
        Shared(Data::prepare())
    }

    pub(super) fn thread(&self, nth: u64) -> io::Result<impl FnMut() -> io::Result<u64> + Send> {
        let service = HashService {
            mean_block: BLOCK,
            deviation_share: DEVIATION_SHARE,
            request_cpu: CpuTime::ZERO,
            waiting: None,
            memory: None,
            files: None,
        };
        let blocks = Blocks::new(&service, nth).map_err(|e| io::Error::other(e.to_string()))?;
        let mut index = 0;
        Ok(move || {
            let block = blocks.of_request(index);
            index += 1;
            std::hint::black_box(self.0.digest(block));
            Ok(block.length())
        })
    }
}
