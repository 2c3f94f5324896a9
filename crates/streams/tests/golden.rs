//! Every recorded stream gives exactly the rows that were decoded from it independently.

#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use common::{Found, Owned, decode_all, double, recorded};
use serde_json::Value as Json;
use trialwise_streams::protocol::{Damage, DamageKind};

fn expected_value(json: &Json, field_type: &str) -> Owned {
    let element = match field_type.trim_matches(['[', ']']) {
        "real" | "float" => "double",
        element => element,
    };
    match json {
        Json::Array(items) => Owned::Vector(items.iter().map(|item| expected_value(item, element)).collect()),
        Json::Bool(value) => Owned::Bool(*value),
        Json::Object(object) => expected_bytes(object),
        Json::String(text) if element == "double" => double(match text.as_str() {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            other => panic!("{other} is no double"),
        }),
        Json::String(text) => Owned::Bytes(text.clone().into_bytes()),
        Json::Number(number) if element == "double" => double(number.as_f64().unwrap()),
        Json::Number(number) => Owned::Integer(number.as_i128().unwrap()),
        Json::Null => panic!("no value"),
    }
}

fn expected_bytes(object: &serde_json::Map<String, Json>) -> Owned {
    let (form, text) = object.iter().next().unwrap();
    let text = text.as_str().unwrap();
    Owned::Bytes(match form.as_str() {
        "base64" => STANDARD.decode(text).unwrap(),
        "bytes_hex" => {
            (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
        }
        other => panic!("unknown form {other}"),
    })
}

fn types_of(decoded: &Json, stream: u64) -> Vec<String> {
    let schemas = decoded["schemas_final"].as_array().unwrap();
    let schema = schemas.iter().find(|schema| schema["index"] == stream).unwrap();
    schema["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|field| field["type"].as_str().unwrap().to_owned())
        .collect()
}

fn expected_row(row: &Json, decoded: &Json) -> Found {
    let stream = row["schema"].as_u64().unwrap();
    let seq = row["seq"].as_i64().unwrap();
    if row.get("nul_byte_from_client_bug").is_some() {
        return Found::Damaged(Damage { kind: DamageKind::Nul, stream: Some(stream as u32), seq: Some(seq) });
    }
    let values = row["values"].as_array().unwrap().iter().zip(types_of(decoded, stream));
    let defines = row.get("defines_schema").map(|_| row["values"][2].as_str().unwrap().to_owned());
    Found::Row {
        stream: stream as u32,
        name: row["table"].as_str().unwrap().to_owned(),
        seq,
        timestamp: row["ts"].as_f64().unwrap().to_bits(),
        values: values.map(|(value, field_type)| expected_value(value, &field_type)).collect(),
        defines,
    }
}

#[test]
fn every_recorded_stream_gives_its_rows() {
    let Some(folder) = recorded() else { return };
    let manifest: Json =
        serde_json::from_slice(&std::fs::read(folder.join("MANIFEST.json")).unwrap()).unwrap();
    let (mut streams, mut rows, mut damaged) = (0, 0, 0);
    for vector in manifest["vectors"].as_array().unwrap() {
        let name = vector["stream"].as_str().unwrap();
        let decoded = std::fs::read(folder.join(vector["decoded"].as_str().unwrap())).unwrap();
        let decoded: Json = serde_json::from_slice(&decoded).unwrap();
        let found = decode_all(&std::fs::read(folder.join(name)).unwrap());
        let expected = decoded["rows"].as_array().unwrap();
        assert_eq!(found[0], Found::Header, "{name}");
        assert_eq!(found.len() - 1, expected.len(), "{name}");
        for (found, row) in found[1..].iter().zip(expected) {
            assert_eq!(found, &expected_row(row, &decoded), "{name}");
            damaged += usize::from(matches!(found, Found::Damaged(_)));
        }
        streams += 1;
        rows += expected.len();
    }
    println!("{streams} streams, {rows} rows of which {damaged} damaged");
    assert!(streams >= 17 && rows > 700 && damaged >= 2);
}
