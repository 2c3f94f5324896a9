//! How many packets pass in a second of one core's time: delay, rate and droptail, alone and as a whole path.
//!
//! `cargo run --release -p trialwise-link --example speed`

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a program that measures and prints")]

use std::fs;
use std::time::Instant;

use trialwise_link::{Link, LinkSpec, Packet, SpecError};
use trialwise_units::{Bytes, Duration, Seed, Time};

const PACKETS: u64 = 5_000_000;

/// As large as what an emulator would keep of a packet.
#[derive(Clone)]
struct Full {
    _descriptor: [u64; 4],
}

impl Packet for Full {
    fn size(&self) -> Bytes {
        Bytes::new(1500)
    }
}

/// Offers 1.1 times 1 Gbit/s; the number of packets that were delivered or dropped.
fn offer(link: &mut Link<Full>) -> u64 {
    let gap = Duration::from_nanoseconds(12_000 * 10 / 11);
    let (mut now, mut left) = (Time::ZERO, 0);
    for number in 0..PACKETS {
        now += gap;
        link.push(now, Full { _descriptor: [number; 4] });
        while link.pop(now).is_some() {
            left += 1;
        }
    }
    left
}

/// Seconds that this thread has been on a processor (Linux), or else that have gone by: other programs must
/// not count.
fn processor_seconds(origin: Instant) -> f64 {
    let statistics = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = statistics.split(' ').next().and_then(|number| number.parse::<f64>().ok());
    nanoseconds.map_or_else(|| origin.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

fn main() -> Result<(), SpecError> {
    let origin = Instant::now();
    for pairs in [
        &[("delay", "28ms")][..],
        &[("rate", "1Gbit/s"), ("queue", "droptail:packets=4670")],
        &[("rate", "1Gbit/s"), ("queue", "droptail:packets=4670"), ("delay", "28ms")],
        &[("rate", "1Gbit/s"), ("queue", "droptail:packets=4670"), ("loss", "0.4%"), ("delay", "28ms")],
        &[("rate", "poisson:rate=1Gbit/s,length=10s"), ("queue", "droptail:packets=4670"), ("delay", "28ms")],
        &[("rate", "1Gbit/s"), ("queue", "codel"), ("delay", "28ms")],
        &[("rate", "1Gbit/s"), ("queue", "pie"), ("delay", "28ms")],
        &[("rate", "1Gbit/s"), ("queue", "fq_codel"), ("delay", "28ms")],
        &[("rate", "1Gbit/s"), ("queue", "red:packets=4670"), ("delay", "28ms")],
        &[("rate", "1Gbit/s"), ("queue", "dualpi2"), ("delay", "28ms")],
    ] {
        let spec = LinkSpec::from_pairs(pairs.iter().copied(), &|path| Err(format!("{path} is not read")))?;
        for (order, spec) in [("", spec.clone()), (" reversed", spec.reversed())] {
            let mut link = spec.build(Time::ZERO, Seed::new(1), None)?;
            let start = processor_seconds(origin);
            let left = offer(&mut link);
            let seconds = processor_seconds(origin) - start;
            let words: Vec<&str> = pairs.iter().map(|(_, value)| *value).collect();
            println!(
                "{:>6.2} million packets/s, {:>4.0} ns each, {left} of {PACKETS} left: {}{order}",
                PACKETS as f64 / seconds / 1e6,
                seconds / PACKETS as f64 * 1e9,
                words.join(" + ")
            );
        }
    }
    Ok(())
}
