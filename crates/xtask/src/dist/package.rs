//! The tarball, the Debian package, and the checksums of both and of what is in them.

use crate::dist::build::Places;
use crate::dist::{Made, Target};
use crate::error::XtaskError;
use crate::tools::{DPKG_DEB, GZIP, SHA256SUM, TAR, output};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of the tarball, and where Debian wants them.
const PLACES: [(&str, &str); 9] = [
    ("plimsoll", "usr/bin/plimsoll"),
    ("man/man1", "usr/share/man/man1"),
    (
        "completions/plimsoll.bash",
        "usr/share/bash-completion/completions/plimsoll",
    ),
    (
        "completions/_plimsoll",
        "usr/share/zsh/vendor-completions/_plimsoll",
    ),
    (
        "completions/plimsoll.fish",
        "usr/share/fish/vendor_completions.d/plimsoll.fish",
    ),
    (
        "plimsoll.cdx.json",
        "usr/share/doc/plimsoll/plimsoll.cdx.json",
    ),
    ("README.md", "usr/share/doc/plimsoll/README.md"),
    ("LICENSE-MIT", "usr/share/doc/plimsoll/copyright"),
    ("LICENSE-APACHE", "usr/share/doc/plimsoll/LICENSE-APACHE"),
];

pub(super) fn pack(
    places: &Places,
    target: Target,
    made_at: &str,
    program: &Path,
    bill: &str,
) -> Result<Made, XtaskError> {
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("plimsoll-{version}-{}", target.triple());
    let folder = places.target.join("dist").join(target.triple());
    // What an earlier version made is not to be handed out.
    let _ = fs::remove_dir_all(&folder);
    let tree = folder.join(&name);
    fill(&tree, places, target, program, bill)?;
    let tar = format!("{name}.tar.gz");
    tarball(&folder, &name, &tar, made_at)?;
    let deb = format!("plimsoll_{version}_{}.deb", target.debian());
    debian(&folder, &tree, target, &deb, made_at)?;
    let checksums = checksums(&folder, &[tar, deb])?;
    Ok(Made {
        program: tree.join("plimsoll"),
        folder,
        checksums,
    })
}

/// The folder that becomes the tarball.
fn fill(
    tree: &Path,
    places: &Places,
    target: Target,
    program: &Path,
    bill: &str,
) -> Result<(), XtaskError> {
    for folder in ["man/man1", "completions"] {
        let folder = tree.join(folder);
        fs::create_dir_all(&folder).map_err(XtaskError::on(&folder))?;
    }
    copy(program, &tree.join("plimsoll"))?;
    for name in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        copy(&places.root.join(name), &tree.join(name))?;
    }
    write(&tree.join("plimsoll.cdx.json"), bill)?;
    let pages = tree.join("man/man1");
    output(target.command(program).args(["man", "--dir"]).arg(pages))?;
    for (shell, file) in [
        ("bash", "plimsoll.bash"),
        ("zsh", "_plimsoll"),
        ("fish", "plimsoll.fish"),
    ] {
        let script = output(target.command(program).args(["completions", shell]))?;
        write(&tree.join("completions").join(file), &script)?;
    }
    let files: Vec<String> = files(tree, Path::new(""))?;
    write(&tree.join("SHA256SUMS"), &checksums(tree, &files)?)
}

/// The files in a folder by their paths from `root`, in order.
fn files(root: &Path, below: &Path) -> Result<Vec<String>, XtaskError> {
    let folder = root.join(below);
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).map_err(XtaskError::on(&folder))? {
        let path = below.join(entry.map_err(XtaskError::on(&folder))?.file_name());
        if root.join(&path).is_dir() {
            found.extend(files(root, &path)?);
        } else {
            found.push(path.to_string_lossy().into_owned());
        }
    }
    found.sort();
    Ok(found)
}

fn checksums(folder: &Path, files: &[String]) -> Result<String, XtaskError> {
    output(
        SHA256SUM
            .command()
            .current_dir(folder)
            .arg("--")
            .args(files),
    )
}

/// With one owner, one time and one order, so that two builds give the same bytes.
fn tarball(folder: &Path, name: &str, tar: &str, made_at: &str) -> Result<(), XtaskError> {
    let mut plain = TAR.command();
    plain
        .current_dir(folder)
        .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
        .args(["--mode=u=rwX,go=rX", "--format=ustar"])
        .arg(format!("--mtime=@{made_at}"))
        .args(["--use-compress-program", "gzip -9n", "-cf", tar, name]);
    output(&mut plain).map(drop)
}

fn debian(
    folder: &Path,
    tree: &Path,
    target: Target,
    deb: &str,
    made_at: &str,
) -> Result<(), XtaskError> {
    let root = folder.join("deb");
    for (from, to) in PLACES {
        let from = tree.join(from);
        let to = root.join(to);
        if from.is_dir() {
            for page in files(&from, Path::new(""))? {
                copy(&from.join(&page), &to.join(&page))?;
                output(GZIP.command().arg("-9n").arg(to.join(page)))?;
            }
        } else {
            copy(&from, &to)?;
        }
    }
    write(&root.join("DEBIAN/control"), &control(target))?;
    let mut modes = Command::new("chmod");
    output(modes.args(["-R", "u=rwX,go=rX"]).arg(&root))?;
    let mut pack = DPKG_DEB.command();
    pack.env("SOURCE_DATE_EPOCH", made_at)
        .args(["--root-owner-group", "-Zxz", "--build"])
        .args([&root, &folder.join(deb)]);
    output(&mut pack)?;
    fs::remove_dir_all(&root).map_err(XtaskError::on(&root))
}

fn control(target: Target) -> String {
    format!(
        "Package: plimsoll\n\
         Version: {}\n\
         Architecture: {}\n\
         Section: admin\n\
         Priority: optional\n\
         Maintainer: {}\n\
         Description: how much load a machine or service carries within an SLO\n \
         Measures the highest rate that meets an SLO and the CPU use there, runs batch\n \
         work in the headroom that is left, and reports what the service pays for it.\n",
        env!("CARGO_PKG_VERSION"),
        target.debian(),
        "the Plimsoll authors <plimsoll@plimsoll.invalid>",
    )
}

fn copy(from: &Path, to: &Path) -> Result<(), XtaskError> {
    parents(to)?;
    fs::copy(from, to).map(drop).map_err(XtaskError::on(from))
}

fn write(path: &Path, text: &str) -> Result<(), XtaskError> {
    parents(path)?;
    fs::write(path, text).map_err(XtaskError::on(path))
}

fn parents(path: &Path) -> Result<(), XtaskError> {
    let folder: PathBuf = path.parent().map(Path::to_owned).unwrap_or_default();
    fs::create_dir_all(&folder).map_err(XtaskError::on(&folder))
}
