//! Which tests run in the guest, and the paths of their programs.

use crate::dist::Target;
use crate::error::XtaskError;
use crate::workspace::Workspace;
use serde_json::Value;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Suite {
    /// Cargo's name for it.
    package: &'static str,
    /// Test targets to run; `None` for all tests.
    only: Option<&'static [&'static str]>,
}

/// All tests that run in the guest, including ignored ones: a test that can
/// only pass there is marked `#[ignore = "needs the guest: cargo xtask
/// guest"]`. Tests have no source tree there, and run as root in the root of a
/// cgroup v2 tree.
const SUITES: &[Suite] = &[
    Suite::all("plimsoll-host"),
    Suite::all("plimsoll-control"),
    Suite::only("plimsoll", &["gate", "guest", "side", "side_guest"]),
];

/// Those that are cheap to build for arm64.
const ARM64: &[Suite] = &[Suite::all("plimsoll-control")];

/// The tests that run in a guest of this architecture.
pub(crate) fn of(target: Target) -> &'static [Suite] {
    match target {
        Target::X86 => SUITES,
        Target::Arm => ARM64,
    }
}

impl Suite {
    const fn all(package: &'static str) -> Suite {
        let only = None;
        Suite { package, only }
    }

    const fn only(package: &'static str, tests: &'static [&'static str]) -> Suite {
        let only = Some(tests);
        Suite { package, only }
    }

    fn includes(&self, built: &Built) -> bool {
        let is_wanted = match self.only {
            Some(tests) => tests.contains(&built.target.as_str()),
            None => true,
        };
        built.package == self.package && (is_wanted || !built.is_test)
    }
}

/// The requested suites of the list; all if none is named.
pub(crate) fn select(list: &[Suite], packages: &[String]) -> Result<Vec<Suite>, XtaskError> {
    if packages.is_empty() {
        return Ok(list.to_vec());
    }
    let find = |name: &String| {
        let found = list.iter().find(|suite| suite.package == name.as_str());
        found.copied().ok_or_else(|| {
            let known: Vec<&str> = list.iter().map(|suite| suite.package).collect();
            XtaskError::Usage(format!(
                "no tests of '{name}' run in the guest, only those of {} \
                 (crates/xtask/src/guest/suites.rs has the list)",
                known.join(", ")
            ))
        })
    };
    packages.iter().map(find).collect()
}

/// Arguments of the cargo calls that build `suites`. Features of dependencies
/// depend on the packages built together, so all suites are built like `cargo
/// test --workspace`, and named ones like `cargo test --package NAME`, to reuse
/// what those commands have built.
pub(crate) fn cargo_calls(suites: &[Suite], by_name: bool) -> Vec<Vec<&'static str>> {
    // Diagnostics and progress go to the terminal; standard output lists what
    // was built.
    let build = [
        "test",
        "--no-run",
        "--message-format=json-render-diagnostics",
    ];
    if !by_name {
        return vec![[&build[..], &["--workspace"]].concat()];
    }
    let call = |suite: &Suite| {
        let mut arguments = build.to_vec();
        arguments.extend(["--package", suite.package]);
        let tests = suite.only.unwrap_or_default();
        arguments.extend(tests.iter().flat_map(|test| ["--test", test]));
        arguments
    };
    suites.iter().map(call).collect()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Built {
    package: String,
    target: String,
    /// Its path, here and in the guest.
    pub(crate) program: PathBuf,
    /// The folder of its package, where cargo starts tests.
    pub(crate) folder: PathBuf,
    /// A test, rather than a program that tests start.
    pub(crate) is_test: bool,
}

#[cfg(test)]
impl Built {
    pub(crate) fn of(program: &str, folder: &str, is_test: bool) -> Built {
        Built {
            package: String::new(),
            target: String::new(),
            program: program.into(),
            folder: folder.into(),
            is_test,
        }
    }
}

/// The programs in cargo's messages that `suites` include.
pub(crate) fn built(
    messages: &str,
    workspace: &Workspace,
    suites: &[Suite],
) -> Result<Vec<Built>, XtaskError> {
    let mut all = Vec::new();
    for line in messages.lines().filter(|line| !line.is_empty()) {
        let message: Value = serde_json::from_str(line).map_err(|error| {
            XtaskError::Unexpected(format!("cargo's message cannot be read ({error}): {line}"))
        })?;
        // Libraries and build scripts have no program.
        if let Some(program) = message["executable"].as_str() {
            let built = artifact(&message, program, workspace).ok_or_else(|| {
                XtaskError::Unexpected(format!("cargo's message lacks fields: {line}"))
            })?;
            if suites.iter().any(|suite| suite.includes(&built)) {
                all.push(built);
            }
        }
    }
    Ok(all)
}

fn artifact(message: &Value, program: &str, workspace: &Workspace) -> Option<Built> {
    let manifest = Path::new(message["manifest_path"].as_str()?);
    Some(Built {
        package: workspace
            .package(message["package_id"].as_str()?)?
            .to_owned(),
        target: message["target"]["name"].as_str()?.to_owned(),
        program: program.into(),
        folder: manifest.parent()?.to_owned(),
        is_test: message["profile"]["test"].as_bool()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const LIST: &[Suite] = &[Suite::all("a"), Suite::only("b", &["guest"])];

    #[test]
    fn packages_are_selected_by_name_or_all() {
        assert_eq!(select(LIST, &[]).unwrap(), LIST);
        assert_eq!(select(LIST, &["b".to_owned()]).unwrap(), LIST[1..]);
        let error = select(SUITES, &["plimsoll-hots".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("plimsoll-host"), "{error}");
    }

    #[test]
    fn cargo_calls_match_the_usual_test_commands() {
        let ends = |by_name| -> Vec<String> {
            let calls = cargo_calls(LIST, by_name).into_iter();
            calls.map(|call| call[3..].join(" ")).collect()
        };
        assert_eq!(ends(false), ["--workspace"]);
        assert_eq!(ends(true), ["--package a", "--package b --test guest"]);
    }

    fn message(package: &str, target: &str, test: bool, program: Option<&str>) -> String {
        json!({
            "reason": "compiler-artifact",
            "package_id": format!("id of {package}"),
            "manifest_path": format!("/s/{package}/Cargo.toml"),
            "target": {"name": target},
            "profile": {"test": test},
            "executable": program,
        })
        .to_string()
    }

    #[test]
    fn suites_include_tests_and_their_programs() {
        let messages = [
            message("a", "a", false, None),
            message("a", "a", true, Some("/t/a-1")),
            message("b", "b", false, Some("/t/b")),
            message("b", "b", true, Some("/t/b-1")),
            message("b", "guest", true, Some("/t/guest-1")),
            message("c", "c", true, Some("/t/c-1")),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let workspace = Workspace::of(&["a", "b", "c"]);
        let found = built(&messages.join("\n"), &workspace, LIST).unwrap();
        let of = |name: &str, target: &str, built| Built {
            package: name.to_owned(),
            target: target.to_owned(),
            ..built
        };
        let expected = [
            of("a", "a", Built::of("/t/a-1", "/s/a", true)),
            of("b", "b", Built::of("/t/b", "/s/b", false)),
            of("b", "guest", Built::of("/t/guest-1", "/s/b", true)),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_message_of_another_kind_is_an_error() {
        for line in ["no json", r#"{"executable":"/t/p"}"#] {
            let error = built(line, &Workspace::of(&[]), LIST).unwrap_err();
            assert!(error.to_string().contains(line), "{error}");
        }
    }
}
