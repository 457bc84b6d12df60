//! Taking, keeping and giving back, on fake trees and on this machine.

mod fake;
mod guest;
mod machine;
