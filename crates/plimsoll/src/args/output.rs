//! Where findings go: the format by its name, or by the ending of a file.

use clap::ValueEnum;
use std::path::Path;

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table and sentences.
    Text,
    /// JSON, as the schemas in docs/schema describe.
    Json,
    /// One row per level, or per arm.
    Csv,
    /// A page with charts that opens in any browser, without a network.
    Html,
}

/// How a comparison is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    /// Tables and sentences.
    Text,
    /// JSON, as docs/schema/compare.schema.json describes.
    Json,
    /// A page with charts that opens in any browser, without a network.
    Html,
}

/// How a plan is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanFormat {
    /// Sentences, and the snippet for Kubernetes.
    Text,
    /// JSON, as docs/schema/plan.schema.json describes.
    Json,
    /// A HorizontalPodAutoscaler for Kubernetes, in YAML.
    Hpa,
}

/// What the documents of a format are drawn as.
macro_rules! drawn_as {
    ($format:ident: $($variant:ident),+) => {
        impl From<$format> for plimsoll_report::Format {
            fn from(format: $format) -> plimsoll_report::Format {
                match format {
                    $($format::$variant => plimsoll_report::Format::$variant,)+
                }
            }
        }
    };
}

drawn_as!(Format: Text, Json, Csv, Html);
drawn_as!(CompareFormat: Text, Json, Html);

/// A format that has an ending.
pub(crate) trait Ending: Copy + Sized + 'static {
    /// Ending and format, those that are named in messages first.
    const ENDINGS: &'static [(&'static str, Self)];

    /// The format that was asked for, else the one that the file's name ends
    /// in, else text.
    ///
    /// # Errors
    /// A sentence, if the name tells none.
    fn of(asked: Option<Self>, file: Option<&Path>, text: Self) -> Result<Self, String> {
        match (asked, file) {
            (Some(asked), _) => Ok(asked),
            (None, None) => Ok(text),
            (None, Some(file)) => by_ending(file),
        }
    }
}

fn by_ending<F: Ending>(file: &Path) -> Result<F, String> {
    let ending = file.extension().unwrap_or_default().to_string_lossy();
    let ending = ending.to_ascii_lowercase();
    let known = F::ENDINGS.iter().find(|(name, _)| *name == ending);
    known.map(|(_, format)| *format).ok_or_else(|| {
        let endings: Vec<String> = F::ENDINGS.iter().map(|(e, _)| format!(".{e}")).collect();
        format!(
            "{} does not end in {}; name the file so, or give --format as well",
            file.display(),
            endings.join(", ")
        )
    })
}

impl Ending for Format {
    const ENDINGS: &'static [(&'static str, Format)] = &[
        ("html", Format::Html),
        ("json", Format::Json),
        ("csv", Format::Csv),
        ("txt", Format::Text),
        ("htm", Format::Html),
    ];
}

impl Ending for CompareFormat {
    const ENDINGS: &'static [(&'static str, CompareFormat)] = &[
        ("html", CompareFormat::Html),
        ("json", CompareFormat::Json),
        ("txt", CompareFormat::Text),
        ("htm", CompareFormat::Html),
    ];
}

impl Ending for PlanFormat {
    const ENDINGS: &'static [(&'static str, PlanFormat)] = &[
        ("yaml", PlanFormat::Hpa),
        ("json", PlanFormat::Json),
        ("txt", PlanFormat::Text),
        ("yml", PlanFormat::Hpa),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_as_its_name_ends() {
        let of = |asked, file: &str| Format::of(asked, Some(Path::new(file)), Format::Text);
        assert_eq!(of(None, "a/b.HTML"), Ok(Format::Html));
        assert_eq!(of(None, "b.csv"), Ok(Format::Csv));
        assert_eq!(of(Some(Format::Json), "b.csv"), Ok(Format::Json));
        assert_eq!(Format::of(None, None, Format::Text), Ok(Format::Text));
        for bad in ["b", "run.plimsoll", ""] {
            assert!(of(None, bad).unwrap_err().contains(".html, .json"), "{bad}");
        }
    }
}
