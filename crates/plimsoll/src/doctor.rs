//! `plimsoll doctor`: what can be measured on this machine.

use crate::failure::Failure;
use crate::output::Output;
use plimsoll_host::Root;

pub(crate) fn run(output: &Output) -> Result<(), Failure> {
    let root = Root::machine();
    let provenance = plimsoll_host::provenance(&root, env!("CARGO_PKG_VERSION"));
    let requirements = plimsoll_host::requirements(&root);
    let text = plimsoll_report::doctor(
        &provenance,
        &requirements,
        output.text_width(),
        output.colour,
    );
    output.print(&text)
}
