//! Where the fields of an event are: the file `format` of a tracepoint.

use crate::error::Malformed;

/// A field of four bytes in the raw data of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    offset: usize,
}

const LINE: &str = "a field of four bytes with its offset";

impl Field {
    /// Finds a field by its name. Lines read
    /// `field:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;`.
    pub(super) fn find(format: &str, name: &'static str) -> Result<Field, Malformed> {
        let lines = format
            .lines()
            .filter_map(|line| line.trim().strip_prefix("field:"));
        for line in lines {
            let mut parts = line.split(';').map(str::trim);
            let declared = parts.next().and_then(|d| d.split_whitespace().last());
            if declared != Some(name) {
                continue;
            }
            let offset = parts.next().and_then(|p| p.strip_prefix("offset:"));
            let size = parts.next().and_then(|p| p.strip_prefix("size:"));
            let offset = offset.filter(|_| size == Some("4"));
            let offset = offset.and_then(|o| o.parse().ok());
            return match offset {
                Some(offset) => Ok(Field { offset }),
                None => Err(Malformed::new(LINE, line)),
            };
        }
        Err(Malformed::new(name, ""))
    }

    /// The field in the raw data of an event; `None` if they are too short.
    pub(super) fn read(self, raw: &[u8]) -> Option<u32> {
        let bytes = raw.get(self.offset..)?.first_chunk()?;
        Some(u32::from_ne_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAKING: &str = "name: sched_waking\nID: 375\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \nprint fmt: \"comm=%s pid=%d\", REC->comm, REC->pid\n";

    #[test]
    fn a_field_is_read_where_the_kernel_says() {
        let mut raw = [0; 28];
        raw[4..8].copy_from_slice(&7u32.to_ne_bytes());
        raw[24..28].copy_from_slice(&4711u32.to_ne_bytes());
        let field = Field::find(WAKING, "pid").unwrap();
        assert_eq!(field.read(&raw), Some(4711), "and not that of common_pid");
        assert_eq!(field.read(&raw[..27]), None);
        assert_eq!(field.read(&[]), None);
    }

    #[test]
    fn what_is_not_there_or_has_another_size_is_refused() {
        assert!(Field::find(WAKING, "target_cpu").is_err());
        assert!(Field::find(WAKING, "common_type").is_err());
        assert!(Field::find("\tfield:pid_t pid;\toffset:x;\tsize:4;", "pid").is_err());
        assert!(Field::find("", "pid").is_err());
    }
}
