//! Every recorded stream gives exactly the rows that were decoded from it independently.

#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use common::{Found, Owned, decode_all, double, recorded};
use serde_json::Value as Json;
use trialwise_streams::protocol::{Advance, Content, Damage, DamageKind, Decoder, Encoder, Event, Value};

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

/// Header, packets and their rows of a recorded binary stream.
fn encode_again(bytes: &[u8]) -> (Vec<u8>, usize) {
    let mut decoder = Decoder::default();
    let (mut rest, mut again, mut rows) = (bytes, Vec::new(), 0);
    let encoder = Encoder::new(Content::Binary);
    loop {
        let (taken, found) = decoder.advance(rest).unwrap();
        match decoder.event(found, rest) {
            Some(Event::Header(header)) => header.write(&mut again),
            Some(Event::Row(row)) => {
                let start = again.len();
                let values: Vec<_> = row.values().collect();
                encoder
                    .write_row(&mut again, row.schema, row.seq, row.timestamp, values.iter().copied())
                    .unwrap();
                // Not so the real client's infinity, and its deprecated type.
                if values.contains(&Value::Double(-2.0)) || row.schema.name == "vecapp_longs" {
                    again.splice(start.., rest[..taken].iter().copied());
                }
                rows += 1;
            }
            Some(Event::Damaged(damage)) => panic!("{damage:?}"),
            None if found == Advance::More => return (again, rows),
            None => {}
        }
        rest = &rest[taken..];
    }
}

#[test]
fn recorded_binary_streams_are_written_byte_for_byte() {
    let Some(folder) = recorded() else { return };
    let mut all = 0;
    for name in ["scalars", "vectors", "meta", "filters", "small3"] {
        let bytes = std::fs::read(folder.join(format!("{name}_binary.bin"))).unwrap();
        let (again, rows) = encode_again(&bytes);
        let body = |bytes: &[u8]| bytes.windows(2).position(|pair| pair == b"\n\n").unwrap();
        let (header, packets) = bytes.split_at(body(&bytes));
        let header = String::from_utf8(header.to_vec()).unwrap().replace(":long ", ":int32 ");
        assert_eq!(String::from_utf8_lossy(&again[..body(&again)]), header, "{name}");
        assert!(again[body(&again)..] == *packets, "{name}");
        all += rows;
    }
    assert_eq!(all, 392);
}
