//! What an init process does before it can serve.

use crate::{Failure, netlink};
use rustix::mount::{MountFlags, mount};
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

/// Modules of the kernel, which are loaded in the order of their names.
const MODULES: &str = "/modules";
const LINK: &str = "eth0";
/// The address that qemu's user network gives its guest.
const ADDRESS: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 0, 2, 15), 24);

pub(crate) fn prepare() -> Result<(), Failure> {
    for (kind, place) in [("proc", "/proc"), ("sysfs", "/sys")] {
        mount(kind, place, kind, MountFlags::empty(), None).map_err(Failure::of(place))?;
    }
    load_modules(Path::new(MODULES))?;
    netlink::bring_up("lo", None)?;
    netlink::bring_up(LINK, Some(ADDRESS))
}

fn load_modules(folder: &Path) -> Result<(), Failure> {
    let entries = fs::read_dir(folder).map_err(Failure::of(MODULES))?;
    let mut modules: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    modules.sort();
    for module in modules {
        let name = module.display().to_string();
        let bytes = fs::read(&module).map_err(Failure::of(&name))?;
        rustix::system::init_module(&bytes, c"").map_err(Failure::of(&name))?;
    }
    Ok(())
}
