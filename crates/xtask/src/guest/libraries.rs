//! Shared libraries of a program, from the output of ldd(1).

use crate::error::XtaskError;
use std::path::{Path, PathBuf};

/// Absolute paths of the libraries and the loader that `program` needs; none
/// for a static program. Fails if one of them is not on this machine.
pub(crate) fn libraries(program: &Path, ldd_output: &str) -> Result<Vec<PathBuf>, XtaskError> {
    let mut found = Vec::new();
    for line in ldd_output.lines().map(str::trim) {
        let (name, place) = line.split_once(" => ").unwrap_or((line, line));
        // The load address follows the path.
        let place = place.rsplit_once(" (").map_or(place, |(path, _)| path);
        if place == "not found" {
            return Err(XtaskError::Library {
                program: program.to_owned(),
                library: name.to_owned(),
            });
        }
        // An entry without a path is the kernel's own (linux-vdso), or a
        // message.
        if place.starts_with('/') {
            found.push(PathBuf::from(place));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(output: &str) -> Result<Vec<PathBuf>, XtaskError> {
        libraries(Path::new("/t/prog"), output)
    }

    #[test]
    fn libraries_and_the_loader_are_found() {
        let output = "\tlinux-vdso.so.1 (0x00007ffc2b5f2000)\n\
                    \tlibgcc_s.so.1 => /lib/x86_64-linux-gnu/libgcc_s.so.1 (0x00007f3e4d2a0000)\n\
                    \tlibodd.so => /opt/a (b)/libodd.so (0x00007f3e4d2a0000)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f3e4d6c8000)\n";
        let expected = [
            "/lib/x86_64-linux-gnu/libgcc_s.so.1",
            "/opt/a (b)/libodd.so",
            "/lib64/ld-linux-x86-64.so.2",
        ];
        assert_eq!(of(output).unwrap(), expected.map(PathBuf::from));
    }

    #[test]
    fn a_static_program_needs_none() {
        for output in ["\tstatically linked\n", "\tnot a dynamic executable\n"] {
            assert!(of(output).unwrap().is_empty(), "{output}");
        }
    }

    #[test]
    fn missing_library_is_named_with_its_program() {
        let error = of("\tlibx.so.1 => not found\n").unwrap_err().to_string();
        assert!(error.contains("libx.so.1") && error.contains("/t/prog"));
    }
}
