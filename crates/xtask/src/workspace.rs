//! The output of `cargo metadata`: folders and package names.

use crate::error::XtaskError;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    /// Names by the package IDs of messages.
    names: BTreeMap<String, String>,
}

impl Workspace {
    /// Parses the output of `cargo metadata --no-deps --format-version=1`.
    pub(crate) fn read(metadata: &str) -> Result<Workspace, XtaskError> {
        let metadata = serde_json::from_str(metadata).unwrap_or_default();
        parts(&metadata).ok_or_else(|| {
            let message = "cargo metadata has no packages or no target directory: check its output";
            XtaskError::Unexpected(message.to_owned())
        })
    }

    /// The name of the package with this ID.
    pub(crate) fn package(&self, id: &str) -> Option<&str> {
        self.names.get(id).map(String::as_str)
    }

    #[cfg(test)]
    pub(crate) fn of(packages: &[&str]) -> Workspace {
        let names = packages
            .iter()
            .map(|name| (format!("id of {name}"), (*name).to_owned()));
        Workspace {
            root: "/s".into(),
            target: "/t".into(),
            names: names.collect(),
        }
    }
}

fn parts(metadata: &Value) -> Option<Workspace> {
    let mut names = BTreeMap::new();
    for package in metadata["packages"].as_array()? {
        let text = |key: &str| package[key].as_str().map(str::to_owned);
        names.insert(text("id")?, text("name")?);
    }
    Some(Workspace {
        root: metadata["workspace_root"].as_str()?.into(),
        target: metadata["target_directory"].as_str()?.into(),
        names,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_known_by_their_ids() {
        let metadata = r#"{"packages":[{"id":"path+file:///s/a#0.1.0","name":"a"}],
                           "workspace_root":"/s","target_directory":"/s/target"}"#;
        let workspace = Workspace::read(metadata).unwrap();
        assert_eq!(workspace.target, PathBuf::from("/s/target"));
        assert_eq!(workspace.package("path+file:///s/a#0.1.0"), Some("a"));
        assert_eq!(workspace.package("a"), None);
    }

    #[test]
    fn invalid_metadata_is_an_error() {
        for text in [
            "",
            "{}",
            r#"{"packages":[{"id":"a"}],"workspace_root":"/s","target_directory":"/t"}"#,
            r#"{"packages":[],"target_directory":"/t"}"#,
        ] {
            assert!(Workspace::read(text).is_err(), "{text}");
        }
    }
}
