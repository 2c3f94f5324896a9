//! What a controller that decides at its own times lets leave until the next of them.

use trialwise_units::Bytes;

use crate::segments::MAXIMUM_WINDOW;

/// Payload that may leave beyond what is in flight. Acknowledgements let nothing leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quota {
    segment: u64,
    in_flight: u64,
    left: u64,
}

impl Quota {
    /// Nothing may leave but the packet that always may when nothing is in flight.
    pub(crate) const fn new(segment: Bytes) -> Self {
        Self { segment: segment.get(), in_flight: 0, left: 0 }
    }

    pub(crate) const fn segment(&self) -> u64 {
        self.segment
    }

    pub(crate) const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// What is in flight as an event has told it.
    pub(crate) const fn set_in_flight(&mut self, bytes: Bytes) {
        self.in_flight = bytes.get();
    }

    pub(crate) const fn on_sent(&mut self, bytes: Bytes, in_flight: Bytes) {
        self.in_flight = in_flight.get();
        self.left = self.left.saturating_sub(bytes.get());
    }

    pub(crate) const fn left(&self) -> u64 {
        self.left
    }

    /// So much may leave until this is said again.
    pub(crate) const fn set(&mut self, left: u64) {
        self.left = left;
    }

    pub(crate) const fn has_packet(&self) -> bool {
        self.left >= self.segment
    }

    pub(crate) fn window(&self) -> Bytes {
        let window = self.in_flight.saturating_add(self.left);
        Bytes::new(window.clamp(self.segment, (MAXIMUM_WINDOW as u64).max(self.segment)))
    }
}
