//! Traffic by time, from a CSV file.

use crate::failure::Failure;
use crate::record_file::read_table;
use plimsoll_study::sizing::Traffic;
use std::path::Path;

const TIME: &str = "time_s";
const RATE: &str = "rate_rps";
const WANTED: &str = "the first line names the columns, time_s,rate_rps";

/// A year of minutes takes this.
const MOST_BYTES: u64 = 20_000_000;

/// Reads a traffic file: a line with the names of the columns in either order,
/// then a row per moment. Blank lines and blanks around values are taken.
pub(super) fn read(path: &Path) -> Result<Traffic, Failure> {
    let bytes = read_table(path, "traffic", MOST_BYTES)?;
    parse(&bytes).map_err(|why| Failure::Mistake(format!("{}: {why}", path.display())))
}

fn parse(bytes: &[u8]) -> Result<Traffic, String> {
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!(
            "it is larger than {} MB; give fewer moments, such as one a minute",
            MOST_BYTES / 1_000_000
        ));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|_| "it is not text; save it as CSV in UTF-8".to_owned())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = (1..).zip(text.lines());
    let mut lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let (_, head) = lines.next().ok_or(format!("it is empty; {WANTED}"))?;
    let time_first = columns(head)?;
    let rows: Vec<(usize, f64, f64)> = lines
        .map(|(line, row)| moment(line, row, time_first))
        .collect::<Result<_, _>>()?;
    let moments: Vec<(f64, f64)> = rows.iter().map(|row| (row.1, row.2)).collect();
    Traffic::new(&moments).map_err(|error| {
        let row = error.moment().and_then(|moment| rows.get(moment - 1));
        let line = row.map_or_else(String::new, |row| format!("line {}: ", row.0));
        format!("{line}{error}")
    })
}

/// Whether the time comes first.
fn columns(head: &str) -> Result<bool, String> {
    let names: Vec<String> = head.split(',').map(|n| cell(n).to_lowercase()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    match names.as_slice() {
        [TIME, RATE] => Ok(true),
        [RATE, TIME] => Ok(false),
        [one] if one.contains([';', '\t']) => Err(format!(
            "its columns are not separated by commas; {WANTED}, and decimals have a point"
        )),
        _ => Err(format!(
            "its columns are '{}'; {WANTED}",
            shown(&names.join(","))
        )),
    }
}

fn moment(line: usize, row: &str, time_first: bool) -> Result<(usize, f64, f64), String> {
    let cells: Vec<&str> = row.split(',').map(cell).collect();
    let (time, rate) = match (cells.as_slice(), time_first) {
        ([time, rate], true) | ([rate, time], false) => (time, rate),
        _ => {
            return Err(format!(
                "line {line} has {} values for 2 columns; give a time and a rate, without separators within numbers",
                cells.len()
            ));
        }
    };
    let number = |name: &str, text: &str| {
        let number = text.parse::<f64>();
        number.map_err(|_| format!("line {line}: {name} is '{}'; give a number", shown(text)))
    };
    Ok((line, number(TIME, time)?, number(RATE, rate)?))
}

fn cell(text: &str) -> &str {
    text.trim().trim_matches('"').trim()
}

/// Text of a file, short and without what drives a terminal.
fn shown(text: &str) -> String {
    text.chars().take(40).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn columns_may_stand_in_either_order() {
        for text in [
            "time_s,rate_rps\n0,10\n60,20\n",
            "\u{feff}\"RATE_RPS\", time_s\r\n10, 0\r\n\r\n20,60",
        ] {
            let traffic = parse(text.as_bytes()).unwrap();
            assert_eq!(traffic.span(), Duration::from_secs(60), "{text}");
            assert_eq!(traffic.peak().get(), 20.0, "{text}");
        }
    }
}
