//! What holds of any text of JSON, beside what `serde_json` reads in it: for the tests, for the target in `fuzz/`, and for the replay of
//! its corpus.

use serde_json::Value;
use trialwise_json::{Column, Kind, Sizes, Step, columns, long_lists, numbers};

/// Lists of any length whose entries are short, with blocks inside.
pub(crate) const EVERY: Sizes = Sizes { least: 0, longest_entry: 40, block: 30 };
/// Brackets that open, at most: `serde_json` reads 127 levels.
const MAX_OPEN: usize = 120;

/// Nothing panics, and what is found is what `serde_json` reads.
///
/// That refuses `NaN`, and numbers beyond the range of doubles: of such a text nothing more is asked.
pub(crate) fn documents(bytes: &[u8]) {
    let found = (long_lists(bytes, EVERY), columns(bytes), numbers(bytes));
    let open = bytes.iter().filter(|byte| matches!(byte, b'[' | b'{')).count();
    if open > MAX_OPEN || [&b"NaN"[..], b"Inf"].iter().any(|word| bytes.windows(3).any(|part| part == *word))
    {
        return;
    }
    let document = match serde_json::from_slice::<Value>(bytes) {
        Ok(document) => document,
        Err(error) if error.to_string().starts_with("number out of range") => return,
        Err(error) => {
            assert!(found.0.is_none() && found.1.is_none() && found.2.is_none(), "{error}");
            return;
        }
    };
    for list in found.0.iter().flatten() {
        let expected = at(&document, &list.path).as_array().expect("a list");
        assert_eq!(&entries(bytes, list.begin, list.end), expected);
        assert_eq!(list.length, expected.len());
        for (first, begin) in &list.blocks {
            assert_eq!(entries_from(bytes, *begin, list.end), expected[*first..]);
        }
    }
    if let Some(found) = found.1 {
        let rows = document.as_array().expect("a list");
        for column in &found {
            assert_eq!(column.kinds.len(), rows.len());
            rows.iter().enumerate().for_each(|(row, entry)| check(column, row, cell(entry, &column.path)));
        }
    }
    if let Some(found) = found.2 {
        let expected = document.as_array().expect("a list");
        assert_eq!(found.values.len(), expected.len());
        for (value, number) in found.values.iter().zip(expected) {
            assert!(number.as_f64().map_or(number.is_null() && value.is_nan(), |number| number == *value));
        }
    }
}

fn entries(bytes: &[u8], begin: usize, end: usize) -> Vec<Value> {
    serde_json::from_slice(&bytes[begin..end]).expect("a list")
}

/// The entries of a list from one that begins at `begin`.
fn entries_from(bytes: &[u8], begin: usize, end: usize) -> Vec<Value> {
    serde_json::from_slice(&[b"[", &bytes[begin..end]].concat()).expect("entries")
}

/// What stands at a path of a document.
fn at<'a>(document: &'a Value, path: &[Step]) -> &'a Value {
    path.iter().fold(document, |value, step| match step {
        Step::Key(key) => &value[key],
        Step::Place(place) => &value[place],
    })
}

/// What an entry has in a column of that path.
fn cell<'a>(entry: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(entry, |value, key| value.as_object()?.get(key))
}

/// A column has the value of a row.
fn check(column: &Column, row: usize, value: Option<&Value>) {
    let kind = column.kinds[row];
    let is = |expected: Kind| assert_eq!(kind, expected as u8, "{value:?} at {:?}", column.path);
    match value {
        None => is(Kind::Absent),
        Some(Value::Null) => is(Kind::Null),
        Some(Value::Bool(value)) => is(if *value { Kind::True } else { Kind::False }),
        Some(Value::Number(number)) => {
            let value = number.as_f64().expect("a double");
            // What is beyond 64 bits, and -0, are doubles for `serde_json`, though they may be written as whole numbers.
            let is_whole = !number.is_f64() || kind == Kind::Whole as u8 && value.fract() == 0.0;
            is(if is_whole { Kind::Whole } else { Kind::Double });
            assert_eq!(column.values[row], value);
        }
        Some(Value::String(text)) => {
            is(Kind::Text);
            assert_eq!(&column.texts[column.codes[row] as usize], text);
        }
        Some(Value::Array(entries)) if entries.iter().all(Value::is_number) => {
            is(Kind::Numbers);
            let range = column.bounds[row] as usize..column.bounds[row + 1] as usize;
            let expected: Option<Vec<f64>> = entries.iter().map(Value::as_f64).collect();
            assert_eq!(Some(column.inner[range].to_vec()), expected);
        }
        Some(Value::Array(_)) => is(Kind::List),
        Some(Value::Object(_)) => is(Kind::Object),
    }
}
