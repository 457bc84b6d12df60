//! The active profile of tuned, which may hold `/dev/cpu_dma_latency` (tuned(8), its
//! plugin `cpu`).

use crate::root::Root;

/// A profile, with what it asks of idle states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Profile {
    name: String,
    /// The value of `force_latency` of the profile or of one that it includes.
    force_latency: Option<String>,
}

impl Profile {
    /// What may be wrong with it. An index names another state on another CPU model: state 3
    /// was C1E on one server and is C6 on its successor.
    pub(super) fn concern(&self) -> Option<String> {
        let (name, force_latency) = (&self.name, self.force_latency.as_deref()?);
        Some(match force_latency.contains("cstate.id") {
            true => format!(
                "the tuned profile '{name}' names idle states by their index \
                 (force_latency={force_latency}), which is another state on another CPU model"
            ),
            false => format!("the tuned profile '{name}' sets force_latency={force_latency}"),
        })
    }
}

/// `None` if tuned is not installed, or no profile is active.
pub(super) fn active_profile(root: &Root) -> Option<Profile> {
    let name = root.line("/etc/tuned/active_profile")?;
    let force_latency = name
        .split_ascii_whitespace()
        .find_map(|name| force_latency(root, name, INCLUDES));
    Some(Profile {
        name,
        force_latency,
    })
}

/// How deeply profiles may include others: a bound, as they may include each other.
const INCLUDES: u32 = 8;

fn force_latency(root: &Root, profile: &str, depth: u32) -> Option<String> {
    // A name is a folder, and no path.
    if depth == 0 || profile.contains('/') {
        return None;
    }
    // The user's first; the last is where newer versions have their own.
    let folders = [
        "/etc/tuned",
        "/etc/tuned/profiles",
        "/usr/lib/tuned",
        "/usr/lib/tuned/profiles",
    ];
    let text = folders
        .iter()
        .find_map(|folder| root.text(format!("{folder}/{profile}/tuned.conf")).ok())?;
    let value = |key: &str| {
        let lines = text.lines().filter_map(|line| line.split_once('='));
        let mut values = lines.filter(|(name, _)| name.trim() == key);
        values.next().map(|(_, value)| value.trim().to_owned())
    };
    value("force_latency").or_else(|| {
        let included = value("include")?;
        let mut included = included.split(',').map(str::trim);
        included.find_map(|profile| force_latency(root, profile, depth - 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_tree::FakeTree;

    fn concern(tree: FakeTree) -> Option<String> {
        active_profile(tree.root())?.concern()
    }

    #[test]
    fn an_index_of_an_included_profile_is_a_concern() {
        let active = |name: &str| FakeTree::new().file("etc/tuned/active_profile", name);
        assert_eq!(concern(FakeTree::new()), None);
        assert_eq!(concern(active("gone\n")), None);
        let base = "[cpu]\nforce_latency = cstate.id_no_zero:1|3\n";
        let tree = active("db\n")
            .file(
                "usr/lib/tuned/profiles/db/tuned.conf",
                "[main]\ninclude=base\n",
            )
            .file("usr/lib/tuned/base/tuned.conf", base);
        let found = concern(tree).unwrap();
        assert!(
            found.contains("'db'") && found.contains("cstate.id_no_zero:1|3"),
            "{found}"
        );
        let plain = active("db\n").file("etc/tuned/db/tuned.conf", "force_latency=99\n");
        assert!(concern(plain).unwrap().ends_with("sets force_latency=99"));
        let cycle = active("db\n").file("etc/tuned/db/tuned.conf", "include=db\n");
        assert_eq!(concern(cycle), None);
        let path = active("../x\n").file("etc/x/tuned.conf", "force_latency=1\n");
        assert_eq!(concern(path), None);
    }
}
