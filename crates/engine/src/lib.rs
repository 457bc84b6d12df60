//! The engine of all experiments: the loop, the common trial, offered load,
//! sensors and calibration.
//!
//! An experiment gives a [`Planner`] and a [`Runner`]; [`conduct()`] asks the
//! planner for a trial, has the runner carry it out, and has it recorded, until
//! the plan is complete. A planner is a pure function of its plan and the trials
//! so far, so a run is resumed by asking again with the trials of its record,
//! and a planner is tested on trials that no machine ever ran.
//!
//! This crate knows no experiment, no flags and no output, and concludes
//! nothing.
//!
//! ```
//! use plimsoll_engine::order;
//!
//! // Odd passes mirror the pass before, so that drift does not look like load.
//! let first = order::visits(&[10, 20, 30], 7, 0);
//! let second: Vec<i32> = order::visits(&[10, 20, 30], 7, 1);
//! assert!(second.iter().eq(first.iter().rev()));
//! ```

mod background;
pub mod calibration;
mod conduct;
pub mod drain;
mod external;
mod observer;
mod offered;
pub mod order;
mod other_processes;
pub mod pace;
mod restart;
pub mod room;
mod sensors;
mod service;
mod silence;
mod site;
pub mod visits;
pub mod warm_up;
mod window;

pub use background::BackgroundJob;
pub use conduct::{Next, Outcome, Planner, RunError, Runner, conduct};
pub use external::ExternalLoad;
pub use observer::{Ended, Observer, ObserverCost, Progress, Quiet, Started};
pub use offered::OfferedLoad;
pub use sensors::{ServiceMeter, ServiceTarget, TrialSensors, stopped};
pub use silence::probe;
pub use site::{Site, in_this_process};
pub use window::{idle_trial, measure, this_thread};
