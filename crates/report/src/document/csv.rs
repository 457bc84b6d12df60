//! The form for spreadsheets and plots.

/// A column: its name with the unit, and its value in a row.
pub(crate) type Column<T> = (&'static str, fn(&T) -> String);

/// A line per row under a head, in the form of RFC 4180.
pub(crate) fn table<T>(columns: &[Column<T>], rows: &[T]) -> String {
    let mut out = line(columns.iter().map(|(name, _)| (*name).to_owned()));
    for row in rows {
        out += &line(columns.iter().map(|(_, value)| value(row)));
    }
    out
}

fn line(fields: impl Iterator<Item = String>) -> String {
    let fields: Vec<String> = fields.map(|field| quoted(&field)).collect();
    fields.join(",") + "\r\n"
}

/// A field in quotes if it needs them.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// A number that is none has no form in CSV.
pub(crate) fn number(value: impl Into<Option<f64>>) -> String {
    let value = value.into().filter(|v| v.is_finite());
    value.map_or_else(String::new, |v| v.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_commas_and_quotes_ask_for_it() {
        for (given, written) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
        ] {
            assert_eq!(quoted(given), written);
        }
    }

    #[test]
    fn what_is_no_number_is_empty() {
        assert_eq!(number(f64::NAN), "");
        assert_eq!(number(None), "");
        assert_eq!(number(1e21), "1000000000000000000000");
        assert_eq!(number(0.1), "0.1");
    }
}
