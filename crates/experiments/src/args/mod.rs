//! Flags that experiments share.

mod against;
mod hash;
mod job;
pub(crate) mod offered_rate;
pub(crate) mod phases;
mod run;
mod server;
pub mod value;

pub(crate) use against::{AgainstArgs, FIXED_OF_AGAINST};
pub use hash::{FOR_THE_HASH_SERVICE, HashArgs};
pub use job::counted_job;
pub use run::{RunArgs, allowed_cpus, any_seed};
pub use server::{ArrivalChoice, Effort, FOR_A_SERVER, hash_service};
pub(crate) use server::{
    FIXED_OF_SERVER, LoadArgs, RequestArgs, URL_OR_RECORD, WarmUpArgs, url_or_record,
};
