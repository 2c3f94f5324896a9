//! What queues are written with: limits, and the link around them.

use trialwise_units::element::{Arguments, ElementError, Key, Takes};
use trialwise_units::{Bytes, Duration, Rate, Seed, Time};

use crate::error::SpecError;
use crate::packet::FULL_PACKET;
use crate::queue::{Limit, QueueSpec};

/// Limits as written; all that are given hold at once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LimitSpec {
    /// At most so many packets.
    pub packets: Option<u64>,
    /// At most so many bytes.
    pub bytes: Option<Bytes>,
    /// At most so many bandwidth-delay products, in bytes.
    pub bdp: Option<f64>,
}

/// What a queue must know of the link that it stands in.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// The bottleneck's rate, or the mean of a trace.
    pub rate: Rate,
    /// The round-trip time of the path without queues, where known: needed for limits in BDPs.
    pub round_trip: Option<Duration>,
    /// When the link starts.
    pub start: Time,
    /// From which the queue's seed derives.
    pub seed: Seed,
}

impl LimitSpec {
    pub(crate) const PACKETS: Key =
        Key { name: "packets", takes: Takes::Count, words: "Maximum number of packets." };
    pub(crate) const BYTES: Key =
        Key { name: "bytes", takes: Takes::Amount, words: "Maximum number of bytes." };
    pub(crate) const BDP: Key = Key {
        name: "bdp",
        takes: Takes::Number,
        words: "Maximum length in bandwidth-delay products (rate times round trip).",
    };

    /// Those that are given.
    pub(crate) fn read(arguments: &Arguments<'_>) -> Result<Self, ElementError> {
        let bytes = arguments.amount("bytes")?.map(|bytes| Bytes::new(bytes.get()));
        Ok(Self { packets: arguments.count("packets")?, bytes, bdp: arguments.number("bdp")? })
    }

    /// Those that are given, at least one.
    pub(crate) fn required(arguments: &Arguments<'_>) -> Result<Self, ElementError> {
        let limits = Self::read(arguments)?;
        if limits.is_given() {
            return Ok(limits);
        }
        Err(arguments.missing("a limit (packets, bytes or bdp)"))
    }

    /// These, or so many packets where none is given.
    pub(crate) fn or_packets(self, packets: u64) -> Self {
        if self.is_given() { self } else { Self { packets: Some(packets), ..self } }
    }

    /// These, or none where none is given.
    pub(crate) fn if_given(self) -> Option<Self> {
        self.is_given().then_some(self)
    }

    fn is_given(&self) -> bool {
        *self != Self::default()
    }

    /// The limits in packets and bytes; a BDP is at least one full packet.
    ///
    /// # Errors
    /// A limit in BDPs without a round-trip time.
    pub fn resolve(&self, surroundings: &Surroundings) -> Result<Limit, SpecError> {
        let product = self.bdp.map(|factor| bdp_bytes(factor, surroundings)).transpose()?;
        let unlimited = Limit::NONE.bytes;
        let bytes = self.bytes.unwrap_or(unlimited).min(product.unwrap_or(unlimited));
        let spares_one = product.is_some_and(|product| product <= bytes);
        Ok(Limit { packets: self.packets.unwrap_or(Limit::NONE.packets), bytes, spares_one })
    }
}

fn bdp_bytes(factor: f64, surroundings: &Surroundings) -> Result<Bytes, SpecError> {
    let round_trip = surroundings.round_trip.ok_or_else(|| ElementError::Missing {
        what: "a limit in bdp".to_owned(),
        missing: "a delay, from which the round-trip time follows",
        example: "packets=50",
    })?;
    let product = surroundings.rate.bytes_in(round_trip).get() as f64 * factor;
    Ok(Bytes::new(product.round() as u64).max(FULL_PACKET))
}

impl QueueSpec {
    /// Reads `--uplink-queue=NAME --uplink-queue-args=ARGUMENTS` of mm-link, `name=number` with times in
    /// milliseconds: its `codel` and `pie` are `codel-mahimahi` and `pie-mahimahi` here.
    ///
    /// # Errors
    /// What the queue with that name of ours would refuse.
    pub fn from_mahimahi(name: &str, arguments: &str) -> Result<Self, ElementError> {
        let name = match name {
            "codel" => "codel-mahimahi",
            "pie" => "pie-mahimahi",
            other => other,
        };
        let items = arguments.split(',').map(|item| match item.trim().split_once('=') {
            Some(("qdelay_ref", time)) => format!("target={time}ms"),
            Some((key @ ("target" | "interval" | "max_burst"), time)) => format!("{key}={time}ms"),
            _ => item.trim().to_owned(),
        });
        format!("{name}:{}", items.collect::<Vec<_>>().join(",")).parse()
    }
}
