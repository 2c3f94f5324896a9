//! How many packets pass in a second of one core: delay, rate and droptail, alone and as a whole path.
//!
//! `cargo run --release -p trialwise-link --example speed`

#![expect(clippy::print_stdout, reason = "a program that prints what it measures")]

use std::time::Instant;

use trialwise_link::{Link, LinkSpec, Packet, SpecError};
use trialwise_units::{Bytes, Duration, Seed, Time};

const PACKETS: u64 = 5_000_000;

/// As large as what an emulator would keep of a packet.
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

fn main() -> Result<(), SpecError> {
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
    ] {
        let spec = LinkSpec::from_pairs(pairs.iter().copied())?;
        for (order, spec) in [("", spec.clone()), (" reversed", spec.reversed())] {
            let mut link = spec.build(Time::ZERO, Seed::new(1), None)?;
            let start = Instant::now();
            let left = offer(&mut link);
            let seconds = start.elapsed().as_secs_f64();
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
