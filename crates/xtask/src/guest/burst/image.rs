//! The file systems of guests: the appliance's, and Debian's nginx with busybox.

use crate::cargo;
use crate::error::XtaskError;
use crate::guest::cpio::Archive;
use crate::guest::{add_program, debian, init};
use crate::tools::{BUSYBOX, NGINX, STRIP, output, place};
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// What virtio_net needs, in the order in which it is loaded.
pub(super) const MODULES: [&str; 3] = [
    "net/core/failover",
    "drivers/net/net_failover",
    "drivers/net/virtio_net",
];

/// A target of its own, because a static program needs other flags.
const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// Builds the appliance's program, which is static: libc6-dev has what it takes.
pub(super) fn build(workspace: &Workspace) -> Result<PathBuf, XtaskError> {
    let mut build = cargo::command();
    build
        .args(["build", "--quiet", "--release", "--target", TRIPLE])
        .args(["--package", "plimsoll-appliance"])
        .env(
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS",
            "-C target-feature=+crt-static",
        )
        .stderr(Stdio::inherit());
    output(&mut build)?;
    let folder = workspace.target.join(TRIPLE);
    Ok(folder.join("release/plimsoll-appliance"))
}

/// The kernel's modules, downloaded or cached, for a kernel of [`debian::kernel`].
fn modules(archive: &mut Archive, cache: &Path, kernel: &Path) -> Result<(), XtaskError> {
    for (at, path) in debian::modules(cache, kernel, &MODULES)?.iter().enumerate() {
        let bytes = std::fs::read(path).map_err(XtaskError::on(path))?;
        archive.file(Path::new(&format!("/modules/{at}.ko")), bytes)?;
    }
    Ok(())
}

fn stripped(program: &Path, slim: &Path) -> Result<Vec<u8>, XtaskError> {
    output(STRIP.command().arg("-o").args([slim, program]))?;
    std::fs::read(slim).map_err(XtaskError::on(slim))
}

/// One program, three modules.
pub(super) fn appliance(
    program: &Path,
    cache: &Path,
    kernel: &Path,
    image: &Path,
) -> Result<(), XtaskError> {
    let mut archive = Archive::default();
    for folder in ["/dev", "/proc", "/sys"] {
        archive.folder(Path::new(folder))?;
    }
    modules(&mut archive, cache, kernel)?;
    let slim = image.with_extension("slim");
    archive.file(Path::new("/init"), stripped(program, &slim)?)?;
    std::fs::write(image, archive.bytes()?).map_err(XtaskError::on(image))
}

/// nginx and busybox as Debian has them, started by a script; the appliance's program says what
/// the guest thinks of its CPU use.
pub(super) fn debian(
    program: &Path,
    cache: &Path,
    kernel: &Path,
    image: &Path,
) -> Result<(), XtaskError> {
    let mut archive = Archive::default();
    for folder in init::FOLDERS.into_iter().chain(["/srv"]) {
        archive.folder(Path::new(folder))?;
    }
    modules(&mut archive, cache, kernel)?;
    let slim = image.with_extension("slim");
    archive.file(Path::new("/bin/view"), stripped(program, &slim)?)?;
    for (tool, to) in [(BUSYBOX, "/bin/busybox"), (NGINX, "/bin/nginx")] {
        let from = place(tool)?;
        output(STRIP.command().arg("-o").args([&slim, &from]))?;
        add_program(&mut archive, &from, &slim, Path::new(to))?;
    }
    let configuration = nginx_configuration("80", "/run");
    for (path, text) in [
        ("/init", INIT),
        ("/etc/passwd", "root:x:0:0:root:/:/bin/sh\n"),
        ("/etc/group", "root:x:0:\n"),
        ("/etc/nginx.conf", &configuration),
        ("/run/srv/index.html", "hello\n"),
    ] {
        archive.file(Path::new(path), text.as_bytes().to_vec())?;
    }
    std::fs::write(image, archive.bytes()?).map_err(XtaskError::on(image))
}

/// The view's server says on the console that the guest serves; nginx does by then.
const INIT: &str = "\
#!/bin/busybox sh
set -e
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
for module in /modules/*; do insmod $module; done
ip link set lo up
ip address add 10.0.2.15/24 dev eth0
ip link set eth0 up
hostname guest
nginx -c /etc/nginx.conf
view 0.0.0.0:81 --cpu-log
";

/// As Debian's nginx is, with connections that stay open and no log. `folder` has `srv/index.html`
/// and all that it writes.
pub(super) fn nginx_configuration(listen: &str, folder: &str) -> String {
    format!(
        "user root;
worker_processes auto;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 256; }}
http {{
  access_log off;
  keepalive_timeout 3600;
  keepalive_requests 1000000;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{ listen {listen}; root {folder}/srv; default_type text/plain; }}
}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_valid_shell_and_loads_modules_before_the_network() {
        let file = std::env::temp_dir().join(format!("plimsoll-burst-{}", std::process::id()));
        std::fs::write(&file, INIT).unwrap();
        let ended = std::process::Command::new("sh")
            .arg("-n")
            .arg(&file)
            .output();
        std::fs::remove_file(&file).unwrap();
        let ended = ended.unwrap();
        assert!(ended.status.success(), "{ended:?}");
        let at = |what| INIT.find(what).unwrap();
        assert!(at("insmod") < at("eth0") && at("nginx -c") < at("view "));
    }
}
