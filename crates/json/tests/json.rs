//! Long lists and columns beside what `serde_json` reads in the same text.

#[path = "common/oracles.rs"]
mod oracles;

use oracles::EVERY;
use proptest::collection::{hash_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use trialwise_json::{Sizes, Step, columns, long_lists, numbers};

fn documents() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        any::<f64>().prop_filter("finite", |value| value.is_finite()).prop_map(Value::from),
        "[a-c\"\\\\\n\u{1}é😀:]{0,5}".prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 60, 8, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..8).prop_map(Value::from),
            hash_map("[a-d\"\\\\é]{0,2}", inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn count(value: &Value, depth: usize) -> usize {
    let members = value.as_object().into_iter().flat_map(Map::values);
    depth.max(members.map(|member| count(member, depth + 1)).max().unwrap_or(depth))
}

proptest! {
    #[test]
    fn lists_are_where_they_are_said_to_be(document in documents(), pretty: bool) {
        let text = if pretty { serde_json::to_string_pretty(&document) } else { serde_json::to_string(&document) }
            .expect("a value can be written");
        prop_assert!(long_lists(text.as_bytes(), EVERY).is_some());
        oracles::documents(text.as_bytes());
    }

    #[test]
    fn what_is_no_json_has_no_lists(document in documents(), at: prop::sample::Index, byte: u8, cut: bool) {
        let mut text = serde_json::to_vec(&document).expect("a value can be written");
        let at = at.index(text.len());
        if cut { text.truncate(at); } else { text[at] = byte; }
        oracles::documents(&text);
    }

    #[test]
    fn columns_have_every_cell(entries in vec(documents(), 0..6), pretty: bool) {
        let list = Value::from(entries.clone());
        let text = if pretty { serde_json::to_string_pretty(&list) } else { serde_json::to_string(&list) }
            .expect("a value can be written");
        let found = columns(text.as_bytes());
        let plain = entries.iter().all(|entry| entry.is_object() && count(entry, 0) < 4);
        prop_assert_eq!(found.is_some(), entries.iter().all(Value::is_object) && found.is_some() || plain);
        oracles::documents(text.as_bytes());
        let keys: usize = entries.iter().filter_map(Value::as_object).map(Map::len).sum();
        let told = found.iter().flatten().filter(|column| column.path.len() == 1);
        let cells: usize = told.map(|column| column.kinds.iter().filter(|kind| **kind != 0).count()).sum();
        prop_assert_eq!(cells, if found.is_some() { keys } else { 0 });
    }
}

#[test]
fn the_outermost_list_with_short_entries_is_found() {
    let document = json!({"a": [{"b": [1, 2, 3]}], "c": [[4, 5], [6]]});
    let text = document.to_string();
    let sizes = Sizes { least: 4, longest_entry: 8, block: 100 };
    let found = long_lists(text.as_bytes(), sizes).expect("it is valid");
    let paths: Vec<&[Step]> = found.iter().map(|list| &list.path[..]).collect();
    let key = |key: &str| Step::Key(key.to_owned());
    assert_eq!(paths, [&[key("a"), Step::Place(0), key("b")][..], &[key("c")]]);
}

#[test]
fn what_may_be_read_in_two_ways_is_refused() {
    let whole = "9".repeat(301);
    let nested = "[".repeat(300) + &"]".repeat(300);
    for text in [
        r#"{"a": 1, "a": 2}"#,
        r#"{"a": 1, "\u0061": 2}"#,
        r#"["\ud800"]"#,
        r#"["\ud800\u0041"]"#,
        "{} {}",
        "[1, 2",
        "[01]",
        "[1.]",
        "[.5]",
        "[+1]",
        "[-NaN]",
        "[1,]",
        "[\"\t\"]",
        "",
        &format!("[{whole}]"),
        &nested,
    ] {
        assert_eq!(long_lists(text.as_bytes(), EVERY), None, "{text}");
    }
    assert_eq!(long_lists(b"[\"\xff\"]", EVERY), None);
    assert!(columns(br#"[{"a": 1, "a": 2}]"#).is_none());
}

#[test]
fn columns_of_very_different_entries_are_refused() {
    let entries: Vec<String> = (0..5000).map(|number| format!("{{\"{number}\":1}}")).collect();
    assert!(columns(format!("[{}]", entries.join(",")).as_bytes()).is_none());
}

#[test]
fn numbers_are_the_nearest_doubles() {
    let found = numbers(b"[1, -2.5e3, null, 0.1, 1E2]").expect("numbers");
    assert_eq!(found.values[..2], [1.0, -2500.0]);
    assert!(found.values[2].is_nan());
    assert_eq!(found.values[3..], [0.1, 100.0]);
    assert_eq!((found.nulls, found.are_whole), (1, false));
    assert!(numbers(b"[1, null]").is_some_and(|found| found.are_whole));
    assert!(numbers(b"[]").is_some_and(|found| found.values.is_empty()));
    for other in [&b"[1, true]"[..], b"[NaN]", b"[1e999]", b"[\"1\"]", b"[1", b"[1] 2", b"{}"] {
        assert!(numbers(other).is_none());
    }
}
