//! Guarantees of a record, tested on real files.

mod access;
mod any;
mod crash;
mod damage;
mod documented;
mod legacy;
mod messages;
mod old;
mod round_trip;
mod sample;
