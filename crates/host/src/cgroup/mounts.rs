//! Mounted cgroup hierarchies, from /proc/self/mountinfo (proc(5)).

use super::Cgroups;
use crate::mounts::lines;
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    /// The group at the top of the mount: not `/` in a container without its
    /// own cgroup namespace.
    pub(super) root: String,
    pub(super) point: String,
}

impl Mount {
    /// The directory of the group `name`, which is a path below the mount or an
    /// absolute path.
    pub(super) fn folder(&self, name: &str) -> String {
        let below = Path::new(name)
            .strip_prefix(&self.point)
            .ok()
            .and_then(Path::to_str)
            .unwrap_or(name);
        format!("{}/{}", self.point, below.trim_matches('/'))
    }

    /// Path below the mount of a group named as in /proc/self/cgroup. A group
    /// outside of the mounted subtree maps to the top of the mount.
    pub(super) fn below(&self, path: &str) -> String {
        let root = self.root.trim_end_matches('/');
        let below = match path.strip_prefix(root) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
            _ => "",
        };
        if below.split('/').any(|part| part == "..") {
            return String::new();
        }
        below.trim_matches('/').to_owned()
    }
}

/// Other file systems are ignored, whatever their lines contain.
pub(super) fn parse(mountinfo: &str) -> Cgroups {
    let mut found = Cgroups::default();
    for line in lines(mountinfo) {
        let mount = Mount {
            root: line.root,
            point: line.point,
        };
        match line.kind {
            // The first mount is the intended one; later ones show the same
            // tree.
            "cgroup2" => found.v2 = found.v2.or(Some(mount)),
            "cgroup" => {
                for controller in line.super_options.split(',') {
                    let name = controller.to_owned();
                    found.v1.entry(name).or_insert_with(|| mount.clone());
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(root: &str) -> Mount {
        Mount {
            root: root.to_owned(),
            point: "/sys/fs/cgroup".to_owned(),
        }
    }

    #[test]
    fn paths_are_relative_to_the_mount_root() {
        assert_eq!(mount("/").below("/a/b"), "a/b");
        assert_eq!(mount("/").below("/"), "");
        assert_eq!(mount("/docker/abc").below("/docker/abc"), "");
        assert_eq!(mount("/docker/abc").below("/docker/abc/x"), "x");
        assert_eq!(mount("/docker/abc").below("/docker/abcd"), "");
        assert_eq!(mount("/").below("/../../other"), "");
    }

    #[test]
    fn malformed_lines_are_ignored() {
        let table = "garbage\n- - -\n1 2 3 - cgroup2\n\
                     9 8 0:1 / /my\\040groups rw shared:1 master:2 - cgroup2 none rw\n\
                     9 8 0:1 / /again rw - cgroup2 none rw\n";
        let found = parse(table);
        assert_eq!(found.v2.unwrap().point, "/my groups");
        assert!(found.v1.is_empty());
    }
}
