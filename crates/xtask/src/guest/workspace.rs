//! The output of `cargo metadata`: the target directory and package names.

use crate::error::XtaskError;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) struct Workspace {
    target: PathBuf,
    /// Names by the package IDs of messages.
    names: BTreeMap<String, String>,
}

impl Workspace {
    /// Parses the output of `cargo metadata --no-deps --format-version=1`.
    ///
    /// # Errors
    ///
    /// If it has another form.
    pub(crate) fn read(metadata: &str) -> Result<Workspace, XtaskError> {
        let metadata = serde_json::from_str(metadata).unwrap_or_default();
        let workspace = parts(&metadata).map(|(target, names)| Workspace { target, names });
        workspace.ok_or_else(|| {
            XtaskError::Unexpected(
                "cargo metadata has no packages or no target directory: check its output"
                    .to_owned(),
            )
        })
    }

    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// The name of the package with this ID.
    pub(crate) fn package(&self, id: &str) -> Option<&str> {
        self.names.get(id).map(String::as_str)
    }

    #[cfg(test)]
    pub(crate) fn of(packages: &[&str]) -> Workspace {
        let names = packages.iter();
        Workspace {
            target: "/t".into(),
            names: names
                .map(|name| (format!("id of {name}"), (*name).to_owned()))
                .collect(),
        }
    }
}

fn parts(metadata: &Value) -> Option<(PathBuf, BTreeMap<String, String>)> {
    let mut names = BTreeMap::new();
    for package in metadata["packages"].as_array()? {
        let text = |key: &str| package[key].as_str().map(str::to_owned);
        names.insert(text("id")?, text("name")?);
    }
    Some((metadata["target_directory"].as_str()?.into(), names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_known_by_their_ids() {
        let metadata = r#"{"packages":[{"id":"path+file:///s/a#0.1.0","name":"a"}],
                           "target_directory":"/s/target"}"#;
        let workspace = Workspace::read(metadata).unwrap();
        assert_eq!(workspace.target(), Path::new("/s/target"));
        assert_eq!(workspace.package("path+file:///s/a#0.1.0"), Some("a"));
        assert_eq!(workspace.package("a"), None);
    }

    #[test]
    fn invalid_metadata_is_an_error() {
        for text in [
            "",
            "{}",
            r#"{"packages":[{"id":"a"}],"target_directory":"/t"}"#,
        ] {
            assert!(Workspace::read(text).is_err(), "{text}");
        }
    }
}
