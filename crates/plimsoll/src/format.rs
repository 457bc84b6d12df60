//! Output formats: chosen by name, or by the extension of the output file.

use crate::failure::Failure;
use clap::ValueEnum;
use std::path::Path;

/// Formats of findings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table and sentences.
    #[default]
    Text,
    /// JSON, as the schemas in docs/schema describe.
    Json,
    /// One row per setting.
    Csv,
    /// A page with charts that opens in any browser, without a network.
    Html,
    /// Answers and tables for a pull request, as GitHub and GitLab render them.
    Markdown,
    /// What --require found, as JUnit's XML.
    Junit,
    /// What --require found, as annotations of GitHub Actions.
    Github,
}

/// Formats of a comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    /// Tables and sentences.
    #[default]
    Text,
    /// JSON, as docs/schema/compare.schema.json describes.
    Json,
    /// A page with charts that opens in any browser, without a network.
    Html,
    /// Answers and tables for a pull request, as GitHub and GitLab render them.
    Markdown,
    /// What --require found, as JUnit's XML.
    Junit,
    /// What --require found, as annotations of GitHub Actions.
    Github,
}

impl From<CompareFormat> for Format {
    fn from(format: CompareFormat) -> Format {
        match format {
            CompareFormat::Text => Format::Text,
            CompareFormat::Json => Format::Json,
            CompareFormat::Html => Format::Html,
            CompareFormat::Markdown => Format::Markdown,
            CompareFormat::Junit => Format::Junit,
            CompareFormat::Github => Format::Github,
        }
    }
}

/// Formats of a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanFormat {
    /// Sentences, and the snippet for Kubernetes.
    #[default]
    Text,
    /// JSON, as docs/schema/plan.schema.json describes.
    Json,
    /// A HorizontalPodAutoscaler for Kubernetes, in YAML.
    Hpa,
}

/// Formats of the answers of a self-test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SelftestFormat {
    /// A table and what it means.
    Text,
    /// JSON, with its unit in the name of each value.
    Json,
}

impl From<SelftestFormat> for plimsoll_report::Format {
    fn from(format: SelftestFormat) -> plimsoll_report::Format {
        match format {
            SelftestFormat::Text => plimsoll_report::Format::Text,
            SelftestFormat::Json => plimsoll_report::Format::Json,
        }
    }
}

impl Format {
    /// As it is typed.
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The form of the findings; `None` for those of the conditions alone.
    pub(crate) fn of_findings(self) -> Option<plimsoll_report::Format> {
        match self {
            Format::Text => Some(plimsoll_report::Format::Text),
            Format::Json => Some(plimsoll_report::Format::Json),
            Format::Csv => Some(plimsoll_report::Format::Csv),
            Format::Html => Some(plimsoll_report::Format::Html),
            Format::Markdown => Some(plimsoll_report::Format::Markdown),
            Format::Junit | Format::Github => None,
        }
    }
}

/// Extensions of output files and the names of their formats. Error messages list
/// those of a command in this order.
const EXTENSIONS: [(&str, &str); 9] = [
    ("html", "html"),
    ("yaml", "hpa"),
    ("json", "json"),
    ("csv", "csv"),
    ("txt", "text"),
    ("md", "markdown"),
    ("xml", "junit"),
    ("htm", "html"),
    ("yml", "hpa"),
];

/// The requested format of a command, else that of the file's extension; the
/// default without a file.
pub(crate) fn choose<F: ValueEnum + Default>(
    asked: Option<F>,
    file: Option<&Path>,
) -> Result<F, Failure> {
    let (None, Some(file)) = (&asked, file) else {
        return Ok(asked.unwrap_or_default());
    };
    let format = |(extension, name): (_, &str)| Some((extension, F::from_str(name, false).ok()?));
    let known = EXTENSIONS.into_iter().filter_map(format);
    let extension = file.extension().unwrap_or_default().to_string_lossy();
    let extension = extension.to_ascii_lowercase();
    if let Some((_, format)) = known.clone().find(|(known, _)| *known == extension) {
        return Ok(format);
    }
    let known: Vec<String> = known.map(|(known, _)| format!(".{known}")).collect();
    Err(Failure::Mistake(format!(
        "{} does not end in {}; name the file so, or give --format as well",
        file.display(),
        known.join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_of_the_file_chooses_the_format() {
        let chosen = |asked, file: &str| choose(asked, Some(Path::new(file)));
        for (asked, file, expected) in [
            (None, "a/b.HTML", Format::Html),
            (None, "b.htm", Format::Html),
            (None, "b.csv", Format::Csv),
            (Some(Format::Json), "b.csv", Format::Json),
        ] {
            assert_eq!(chosen(asked, file).unwrap(), expected, "{file}");
        }
        assert_eq!(choose::<Format>(None, None).unwrap(), Format::Text);
        for bad in ["b", "run.plimsoll", ""] {
            let error = chosen(None, bad).unwrap_err();
            let sentence = error.sentence().unwrap();
            assert!(
                sentence.contains(".html, .json, .csv, .txt, .md, .xml, .htm"),
                "{sentence}"
            );
        }
    }
}
