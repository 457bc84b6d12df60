//! Bars of blocks: values one after another in little room.

use super::Charset;

const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const LETTERS: [char; 9] = [' ', '.', ':', '-', '=', '+', '*', '%', '#'];

/// One row of a bar that is `share` (0 to 1) of `rows` rows high; row 0 is
/// the lowest. A share above 0 is never invisible; `None` is a blank.
pub fn bar(share: Option<f64>, row: usize, rows: usize, charset: Charset) -> char {
    let Some(share) = share.filter(|share| share.is_finite()) else {
        return ' ';
    };
    let eighths = (share.clamp(0.0, 1.0) * 8.0 * rows as f64).round() as usize;
    let least = usize::from(share > 0.0);
    let here = eighths.max(least).saturating_sub(8 * row).min(8);
    charset.pick(BLOCKS, LETTERS)[here]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_high_as_their_share_and_a_little_is_seen() {
        let shares = [Some(0.0), Some(0.001), Some(0.5), Some(1.0), None];
        let row = |row, rows, charset| {
            let bars = shares.map(|share| bar(share, row, rows, charset));
            bars.iter().collect::<String>()
        };
        assert_eq!(row(0, 1, Charset::Unicode), " ▁▄█ ");
        assert_eq!(row(0, 1, Charset::Ascii), " .=# ");
        assert_eq!(row(1, 2, Charset::Unicode), "   █ ");
        assert_eq!(row(0, 2, Charset::Unicode), " ▁██ ");
        assert_eq!(bar(Some(f64::NAN), 0, 1, Charset::Ascii), ' ');
    }
}
