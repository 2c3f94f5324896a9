//! Rows of three int32 decoded in one second on one core, in text and in binary.
//!
//! `cargo run --release -p trialwise-streams --example decode_speed`

#![expect(clippy::print_stdout, reason = "a program that reports")]

use std::hint::black_box;
use std::time::Instant;

use trialwise_streams::protocol::{Advance, Content, Decoder, Encoder, Event, Header, Schema, Value};

const ROWS: i32 = 1_000_000;
const REPEATS: usize = 7;

fn stream(content: Content, schema: &Schema) -> Vec<u8> {
    let schemas = vec![schema.clone()];
    let header = Header {
        protocol: 5,
        domain: "d".into(),
        start_time: Some(0),
        schemas,
        content,
        ..Header::default()
    };
    let mut bytes = Vec::new();
    header.write(&mut bytes);
    let encoder = Encoder::new(content);
    for row in 0..ROWS {
        let values = [Value::Int32(row), Value::Int32(-row), Value::Int32(row.wrapping_mul(row))];
        let written =
            encoder.write_row(&mut bytes, schema, i64::from(row), f64::from(row) * 1e-6, values.into_iter());
        written.expect("values of the schema");
    }
    bytes
}

/// Decodes all rows and adds their values; returns rows and sum.
fn decode(mut bytes: &[u8]) -> (u64, i64) {
    let mut decoder = Decoder::default();
    let mut sum = 0;
    loop {
        let (taken, found) = decoder.advance(bytes).expect("a good header");
        if let Some(Event::Row(row)) = decoder.event(found, bytes) {
            for value in row.values() {
                if let Value::Int32(value) = value {
                    sum += i64::from(value);
                }
            }
        }
        if found == Advance::More {
            return (decoder.counters().rows, sum);
        }
        bytes = &bytes[taken..];
    }
}

fn main() {
    let schema: Schema = "1 app_m a:int32 b:int32 c:int32".parse().expect("a schema");
    for (name, content) in [("text", Content::Text), ("binary", Content::Binary)] {
        let bytes = stream(content, &schema);
        let mut rates: Vec<f64> = (0..REPEATS)
            .map(|_| {
                let start = Instant::now();
                let (rows, _) = black_box(decode(black_box(&bytes)));
                rows as f64 / start.elapsed().as_secs_f64() / 1e6
            })
            .collect();
        rates.sort_by(f64::total_cmp);
        println!(
            "{name}: {:.1} million rows/s (median of {REPEATS}, {:.1} to {:.1}), {:.0} bytes/row",
            rates[REPEATS / 2],
            rates[0],
            rates[REPEATS - 1],
            bytes.len() as f64 / f64::from(ROWS)
        );
    }
}
