//! Instrumented in Rust: every sorted block is a sample of measurement point `block`.

use std::error::Error;
use std::time::{Duration, Instant};

use trialwise_streams::client::{Client, Point};
use trialwise_streams::config::{Config, Disposition};
use trialwise_streams::protocol::{FieldType, Value};

const BLOCKS: usize = 60;
const SIZE: u32 = 10_000;

/// Marsaglia's xorshift, as in blocks.h.
fn next_number(mut state: u32) -> u32 {
    state ^= state << 13;
    state ^= state >> 17;
    state ^ state << 5
}

fn run(point: &Point) -> Result<(), Box<dyn Error>> {
    let mut state = 1;
    for _ in 0..BLOCKS {
        let mut block: Vec<u32> = (0..SIZE)
            .map(|_| {
                state = next_number(state);
                state
            })
            .collect();
        let start = Instant::now();
        std::hint::black_box(&mut block).sort_unstable();
        let seconds = start.elapsed().as_secs_f64();
        point.inject(&[Value::UInt32(SIZE), Value::Double(seconds)])?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let Disposition::Run(config) = Config::from_environment("work", &mut arguments)? else {
        return Err("this example only measures".into());
    };
    let mut client = Client::new("work", &config)?;
    let point = client.point("block", &[("size", FieldType::UInt32), ("seconds", FieldType::Double)])?;
    client.start()?;
    run(&point)?;
    let report = client.close(Duration::from_secs(2));
    if report.finished { Ok(()) } else { Err(format!("samples were lost: {:?}", report.counters).into()) }
}
