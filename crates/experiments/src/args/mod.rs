//! Flags that experiments share.

mod run;
mod server;
pub mod value;

pub use run::{RunArgs, any_seed};
pub use server::{ArrivalChoice, Effort, FOR_A_SERVER, hash_service};
pub(crate) use server::{LoadArgs, RequestArgs, URL_OR_RECORD, url_or_record};
