//! Prints what an OML stream on standard input says: its header, every row, every damaged row.
//!
//! `cargo run --release -p trialwise-streams --example print_rows < recorded.bin`

#![expect(clippy::print_stdout, reason = "a program that reports")]

use std::io::{self, Read};

use trialwise_streams::protocol::{Event, Limits, StreamDecoder, Value};

fn text(value: Value<'_>) -> String {
    match value {
        Value::String(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
        Value::Vector(vector) => format!("{:?}", vector.iter().collect::<Vec<_>>()),
        other => format!("{other:?}"),
    }
}

fn print(event: Event<'_>) {
    match event {
        Event::Header(header) => println!("{header:#?}"),
        Event::Damaged(damage) => println!("damaged: {damage:?}"),
        Event::Row(row) => {
            let values: Vec<_> = row.values().map(text).collect();
            println!("{} {} {:.6} {}", row.schema.name, row.seq, row.timestamp, values.join(" "));
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut decoder = StreamDecoder::new(Limits::default());
    let mut piece = [0; 1 << 16];
    loop {
        let read = io::stdin().lock().read(&mut piece)?;
        decoder.push(&piece[..read]);
        if read == 0 {
            decoder.finish();
        }
        while let Some(event) = decoder.next_event()? {
            print(event);
        }
        if read == 0 {
            println!("{:?}", decoder.counters());
            return Ok(());
        }
    }
}
