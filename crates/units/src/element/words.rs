//! Known words, and the nearest of them to one that is not known.

use super::ElementError;

/// `, did you mean …`, when a word is near.
pub(super) fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |word| format!(", did you mean `{word}`?"))
}

/// The error that says a word is unknown.
pub fn unknown(what: impl Into<String>, found: &str, known: Vec<&'static str>) -> ElementError {
    let nearest = nearest(found, &known);
    ElementError::UnknownWord { what: what.into(), found: found.to_owned(), nearest, known }
}

/// The known word with the smallest edit distance, at most a third of its length.
fn nearest(found: &str, known: &[&'static str]) -> Option<&'static str> {
    let near = known.iter().map(|word| (edit_distance(found, word), *word));
    let near = near.filter(|(distance, word)| *distance <= word.len().div_ceil(3));
    near.min_by_key(|(distance, _)| *distance).map(|(_, word)| word)
}

/// Insertions, deletions and substitutions from one word to the other (Levenshtein), by rows.
fn edit_distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, letter) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, other) in to.iter().enumerate() {
            let substituted = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = substituted.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_edits() {
        let pairs =
            [("kitten", "sitting", 3), ("", "ab", 2), ("codel", "codel", 0), ("drptail", "droptail", 1)];
        for (from, to, distance) in pairs {
            assert_eq!(edit_distance(from, to), distance, "{from} {to}");
        }
    }

    #[test]
    fn only_near_words_are_offered() {
        assert_eq!(nearest("drptail", &["droptail", "drophead"]), Some("droptail"));
        assert_eq!(nearest("sfq", &["droptail", "drophead"]), None);
    }
}
