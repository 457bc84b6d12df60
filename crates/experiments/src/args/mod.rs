//! Flags that experiments share.

mod run;
mod server;
pub mod value;

pub use run::{RunArgs, any_seed};
pub use server::{ArrivalChoice, FOR_A_SERVER, HeaderArgs, ServerArgs};
pub(crate) use server::{url_or_record, workload};
