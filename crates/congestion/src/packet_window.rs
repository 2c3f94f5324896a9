//! A window in packets that may be smaller than one: then packets are paced (Swift, SIGCOMM 2020, section 3.6).

use trialwise_units::{Bytes, Duration, Rate};

use crate::{BuildError, Context};

/// The window, between a minimum and the most that the path holds at its line rate in a long round trip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PacketWindow {
    packets: f64,
    minimum: f64,
    segment: f64,
    line: Rate,
    round_trip: Duration,
}

/// No window has more packets, so that a flow whose delay stays short cannot store increases without end.
const MOST: f64 = 1e6;

impl PacketWindow {
    /// As much as fills the path, for the controller called `name`.
    pub(crate) fn new(minimum: f64, context: &Context, name: &'static str) -> Result<Self, BuildError> {
        let (window, segment) = (context.path_window_for(name)? as f64, context.segment.get() as f64);
        let line = context.line_rate_for(name)?;
        Ok(Self {
            packets: window / segment,
            minimum,
            segment,
            line: Rate::from_bits_per_second(line as u64),
            round_trip: context.base_rtt_for(name)?,
        })
    }

    pub(crate) const fn packets(&self) -> f64 {
        self.packets
    }

    pub(crate) fn in_packets(&self, bytes: Bytes) -> f64 {
        bytes.get() as f64 / self.segment
    }

    /// The last round trip measured, before the first that of the empty path.
    pub(crate) const fn round_trip(&self) -> Duration {
        self.round_trip
    }

    pub(crate) fn measured(&mut self, round_trip: Duration) {
        self.round_trip = round_trip;
    }

    pub(crate) fn set(&mut self, packets: f64) {
        self.packets = packets.clamp(self.minimum, MOST);
    }

    pub(crate) fn add(&mut self, packets: f64) {
        self.set(self.packets + packets);
    }

    pub(crate) fn multiply(&mut self, factor: f64) {
        self.set(self.packets * factor);
    }

    /// Whole bytes, one at least: a packet may leave while less is in flight.
    pub(crate) fn bytes(&self) -> Bytes {
        let bytes = if self.packets < 1.0 { 1.0 } else { self.packets * self.segment };
        Bytes::new(bytes as u64)
    }

    /// The line rate, or below one packet what sends it in 1 / cwnd round trips.
    pub(crate) fn pacing_rate(&self) -> Rate {
        if self.packets >= 1.0 {
            return self.line;
        }
        let bits = 8.0 * self.segment * self.packets / self.round_trip.as_seconds();
        Rate::from_bits_per_second((bits.round() as u64).max(1)).min(self.line)
    }
}
