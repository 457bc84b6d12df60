//! Looks up the program of a command.
//!
//! The lookup uses the current directory before anything starts: copies run in
//! other directories, where `./build.sh` would not exist, and a mistyped name is
//! reported once instead of per copy.

use super::directories::{STDERR, WorkingDirectories};
use crate::LoadError;
use rustix::fs::{Access, access};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The environment variable with a copy's number.
const COPY: &str = "PLIMSOLL_COPY";

/// An existing program and its arguments.
#[derive(Debug)]
pub(super) struct Program {
    path: PathBuf,
    args: Vec<String>,
}

impl Program {
    /// Looks up the program of `command`.
    pub(super) fn find(command: &[String]) -> Result<Program, LoadError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Program::find_in(command, &path)
    }

    fn find_in(command: &[String], search: &OsStr) -> Result<Program, LoadError> {
        let Some((name, args)) = command.split_first() else {
            return LoadError::mistake(
                "no command was given to run copies of; give a program and its arguments",
            );
        };
        let path = if name.contains('/') {
            at_path(name)?
        } else {
            in_search_path(name, search)?
        };
        let args = args.to_vec();
        Ok(Program { path, args })
    }

    /// The command line of copy `i`, in its working directory.
    pub(super) fn command(
        &self,
        i: usize,
        directories: &WorkingDirectories,
    ) -> Result<Command, LoadError> {
        let mut command = Command::new(&self.path);
        command
            .args(&self.args)
            .env(COPY, i.to_string())
            .current_dir(directories.of(i))
            .stdin(Stdio::null())
            .stdout(directories.new_file(i, "stdout.txt")?)
            .stderr(directories.new_file(i, STDERR)?);
        Ok(command)
    }

    /// The error for a program that could not be started.
    pub(super) fn not_started(&self, source: std::io::Error) -> LoadError {
        let what = format!("{} could not be started", self.path.display());
        match Errno::from_io_error(&source) {
            Some(Errno::NOEXEC | Errno::NOENT | Errno::ACCESS) => LoadError::Mistake(format!(
                "{what}: {source}; a program must be made for this machine, and a script must \
                 begin with the path of an interpreter that is there, such as #!/bin/sh"
            )),
            _ => {
                let way_out = "see `ulimit -u`, pids.max of the cgroup, and free memory";
                LoadError::system(what, source, way_out)
            }
        }
    }
}

/// The program at a given path.
fn at_path(name: &str) -> Result<PathBuf, LoadError> {
    let shown = std::path::absolute(name).unwrap_or_else(|_| PathBuf::from(name));
    let path = shown.canonicalize().map_err(|error| {
        LoadError::Mistake(format!(
            "the command `{name}` was looked for at {} and cannot be opened: {error}; check the path",
            shown.display()
        ))
    })?;
    if path.is_dir() {
        return LoadError::mistake(format!(
            "{} is a directory, not a program; name a file in it",
            path.display()
        ));
    }
    if !is_executable(&path) {
        return Err(not_executable(&path));
    }
    Ok(shown)
}

/// The first program of that name in the directories of a search path.
fn in_search_path(name: &str, search: &OsStr) -> Result<PathBuf, LoadError> {
    let candidates: Vec<PathBuf> = std::env::split_paths(search)
        .filter_map(|dir| std::path::absolute(dir.join(name)).ok())
        .filter(|path| !name.is_empty() && path.is_file())
        .collect();
    let executable = candidates.iter().find(|path| is_executable(path));
    match (executable, candidates.first()) {
        (Some(path), _) => Ok(path.clone()),
        (None, Some(path)) => Err(not_executable(path)),
        (None, None) => LoadError::mistake(format!(
            "the command `{name}` was looked for in PATH ({}) and is not there; install it or \
             give its path",
            search.display()
        )),
    }
}

fn is_executable(path: &Path) -> bool {
    access(path, Access::EXEC_OK).is_ok()
}

fn not_executable(path: &Path) -> LoadError {
    let path = path.display();
    LoadError::Mistake(format!(
        "{path} is not executable; run `chmod +x {path}`, or put its interpreter before it"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn file(path: &Path, mode: u32) {
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn find(name: &str, search: &[&Path]) -> Result<PathBuf, String> {
        let search = std::env::join_paths(search).unwrap();
        let found = Program::find_in(&[name.to_owned()], &search);
        found.map(|p| p.path).map_err(|e| e.to_string())
    }

    #[test]
    fn a_name_finds_the_first_executable_file_in_the_search_path() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        file(&a.path().join("tool"), 0o644);
        file(&b.path().join("tool"), 0o755);
        fs::create_dir(a.path().join("other")).unwrap();
        assert_eq!(
            find("tool", &[a.path(), b.path()]),
            Ok(b.path().join("tool"))
        );
        let refused = find("tool", &[a.path()]).unwrap_err();
        assert!(refused.contains("tool is not executable"), "{refused}");
        let missing = find("other", &[a.path(), b.path()]).unwrap_err();
        let looked = format!("{}:{}", a.path().display(), b.path().display());
        assert!(missing.contains(&looked), "{missing}");
    }

    #[test]
    fn a_path_is_relative_to_the_current_directory() {
        let dir = tempfile::tempdir().unwrap();
        let tool = dir.path().join("tool");
        file(&tool, 0o755);
        assert_eq!(find(tool.to_str().unwrap(), &[]), Ok(tool));
        let missing = find("./surely/not/there", &[]).unwrap_err();
        let here = std::env::current_dir().unwrap();
        assert!(missing.contains(here.to_str().unwrap()), "{missing}");
        let directory = find(dir.path().to_str().unwrap(), &[]).unwrap_err();
        assert!(directory.contains("is a directory"), "{directory}");
    }

    #[test]
    fn no_command_is_a_mistake() {
        for none in [vec![], vec![String::new()]] {
            let refused = Program::find_in(&none, OsStr::new("/bin"));
            assert!(matches!(refused, Err(LoadError::Mistake(_))), "{none:?}");
        }
    }
}
