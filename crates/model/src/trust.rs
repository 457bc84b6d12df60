//! Which files and folders other users of a machine can write to, by owner and mode. Pure.

/// The bits of a mode by which a group, and all others, may write.
pub const GROUP_WRITES: u32 = 0o020;
pub const OTHERS_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Who owns a file and who may write to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileAccess {
    pub uid: u32,
    pub gid: u32,
    pub mode: u32,
    /// An access list names more users or groups. What they may do at most is in the bits of
    /// the group.
    pub has_acl: bool,
}

/// Who a process acts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActsFor {
    pub uid: u32,
    pub gid: u32,
    /// Who runs it as root by sudo(8), and so could do without a trick.
    pub caller: Option<u32>,
}

impl ActsFor {
    /// The bits by which users besides its owner may write to such a folder.
    pub fn others(self, folder: FileAccess) -> u32 {
        // A group of the user's own, by the rule of pam_umask(8), which lets it write. The group
        // of root has other members in places.
        let is_own_group = folder.gid == self.gid && self.gid == self.uid && self.uid != 0;
        match is_own_group && !folder.has_acl {
            true => OTHERS_WRITE,
            false => GROUP_WRITES | OTHERS_WRITE,
        }
    }

    pub fn trusts_owner(self, folder: FileAccess) -> bool {
        [Some(self.uid), Some(0), self.caller].contains(&Some(folder.uid))
    }

    /// Whether another user can rename what is in a folder, and put something else in its place.
    /// In a sticky folder only owners can.
    pub fn can_be_exchanged_in(self, folder: FileAccess) -> bool {
        let is_open = folder.mode & self.others(folder) != 0 && folder.mode & STICKY == 0;
        !self.trusts_owner(folder) || is_open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: ActsFor = ActsFor {
        uid: 1000,
        gid: 1000,
        caller: None,
    };
    const ROOT: ActsFor = ActsFor {
        uid: 0,
        gid: 0,
        caller: None,
    };
    const BY_SUDO: ActsFor = ActsFor {
        caller: Some(1000),
        ..ROOT
    };

    fn access(uid: u32, gid: u32, mode: u32) -> FileAccess {
        FileAccess {
            uid,
            gid,
            mode,
            has_acl: false,
        }
    }

    #[test]
    fn only_folders_in_which_nobody_else_renames_are_trusted() {
        for (folder, user, trusted) in [
            (access(0, 0, 0o755), ALICE, true),
            (access(1000, 1000, 0o775), ALICE, true),
            (access(0, 0, 0o1777), ALICE, true),
            (access(0, 0, 0o777), ALICE, false),
            (access(0, 8, 0o775), ALICE, false),
            (access(1001, 1001, 0o755), ALICE, false),
            (access(1001, 1001, 0o1777), ALICE, false),
            (access(0, 0, 0o755), ROOT, true),
            (access(0, 0, 0o775), ROOT, false),
            (access(1000, 1000, 0o755), ROOT, false),
            (access(1000, 1000, 0o755), BY_SUDO, true),
            (access(1001, 1001, 0o755), BY_SUDO, false),
            (access(1000, 1000, 0o777), BY_SUDO, false),
        ] {
            let found = user.can_be_exchanged_in(folder);
            assert_eq!(!found, trusted, "{folder:?} {user:?}");
        }
    }

    #[test]
    fn an_access_list_may_hide_behind_the_bits_of_an_own_group() {
        let listed = FileAccess {
            has_acl: true,
            ..access(1000, 1000, 0o775)
        };
        assert!(ALICE.can_be_exchanged_in(listed));
        // What it may grant is masked.
        let masked = FileAccess {
            mode: 0o755,
            ..listed
        };
        assert!(!ALICE.can_be_exchanged_in(masked));
    }
}
