//! Flags that experiments share.

mod run;
mod server;
pub mod value;

pub use run::{RunArgs, any_seed};
pub use server::{Effort, FOR_A_SERVER};
pub(crate) use server::{LoadArgs, RequestArgs, URL_OR_RECORD, url_or_record};
