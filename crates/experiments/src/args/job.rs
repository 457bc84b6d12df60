//! The names of jobs whose work is counted.

use super::value::size;
use plimsoll_model::CountedJob;

/// A job of this name: `burn`, `memory`, `memory:2GiB`, `disk`, `disk:DIR`. `None` if it is a command.
///
/// # Errors
/// A size that is none, as a sentence.
pub fn counted_job(text: &str) -> Result<Option<CountedJob>, String> {
    let (name, of) = match text.split_once(':') {
        Some((name, of)) => (name, Some(of)),
        None => (text, None),
    };
    Ok(match (name, of) {
        ("burn", None) => Some(CountedJob::Burn),
        ("memory", of) => Some(CountedJob::Memory {
            most: of.map(size).transpose()?,
        }),
        ("disk", of) => Some(CountedJob::Disk {
            dir: of.unwrap_or(".").into(),
        }),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Bytes;

    #[test]
    fn jobs_have_names_and_all_else_is_a_command() {
        let most = Some(Bytes(2 << 30));
        let disk = |dir: &str| Some(CountedJob::Disk { dir: dir.into() });
        for (text, job) in [
            ("burn", Some(CountedJob::Burn)),
            ("memory", Some(CountedJob::Memory { most: None })),
            ("memory:2GiB", Some(CountedJob::Memory { most })),
            ("disk", disk(".")),
            ("disk:/mnt/a:b", disk("/mnt/a:b")),
            ("make -j2", None),
            ("burn:2", None),
        ] {
            assert_eq!(counted_job(text), Ok(job), "{text}");
        }
        assert!(counted_job("memory:much").is_err());
    }
}
