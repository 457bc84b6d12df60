//! Sorting by a number.

/// Sorts by a number as [`f64::total_cmp`] does, so that equal ones keep their order.
///
/// The order is found by one function for all types: a sort of its own for each of them made the
/// program larger by some 100 KB.
///
/// ```
/// let mut pairs = [("b", 2.0), ("a", 1.0), ("c", 2.0)];
/// plimsoll_model::sort_by_number(&mut pairs, |pair| pair.1);
/// assert_eq!(pairs.map(|pair| pair.0), ["a", "b", "c"]);
/// ```
pub fn sort_by_number<T>(items: &mut [T], number: impl Fn(&T) -> f64) {
    let numbers: Vec<f64> = items.iter().map(number).collect();
    let mut places = places(&numbers);
    for at in 0..items.len() {
        while places[at] != at {
            let place = places[at];
            items.swap(at, place);
            places.swap(at, place);
        }
    }
}

/// For each number its place once they are sorted.
fn places(numbers: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|a, b| numbers[*a].total_cmp(&numbers[*b]));
    let mut places = vec![0; numbers.len()];
    for (place, at) in order.into_iter().enumerate() {
        places[at] = place;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sorts_as_the_standard_library_does() {
        for length in 0..60_u32 {
            for step in [1, 7, 31, 59] {
                let number = |at: u32| f64::from(at * step % 61 % 9) - 4.0;
                let mut items: Vec<(u32, f64)> = (0..length).map(|at| (at, number(at))).collect();
                let mut expected = items.clone();
                expected.sort_by(|a, b| a.1.total_cmp(&b.1));
                sort_by_number(&mut items, |item| item.1);
                assert_eq!(items, expected);
            }
        }
    }
}
