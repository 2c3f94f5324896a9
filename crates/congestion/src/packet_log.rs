//! What a driver without packet numbers of its own keeps, so that a controller is told of each packet.

use std::collections::VecDeque;

use trialwise_units::{Bytes, Time};

use crate::delivery::{Delivery, Departed};
use crate::{PacketOutcome, PacketReport, RateSample};

#[derive(Clone, Copy, Debug)]
struct Kept {
    departed: Departed,
    bytes: u64,
    is_reported: bool,
}

/// The packets in flight of one flow by number, and the reports of an event. Nothing is allocated once it has held a
/// window.
#[derive(Clone, Debug, Default)]
pub struct PacketLog {
    /// Number of the first in `packets`.
    base: u64,
    /// From the oldest in flight on.
    packets: VecDeque<Kept>,
    delivery: Delivery,
    arrivals: Vec<PacketReport>,
    losses: Vec<PacketReport>,
    sample: Option<RateSample>,
}

impl PacketLog {
    /// The number that the next packet will have.
    pub fn next_number(&self) -> u64 {
        self.base + self.packets.len() as u64
    }

    /// A packet leaves, and with it so much is in flight.
    pub fn on_sent(&mut self, now: Time, bytes: u64, in_flight: u64) {
        let departed = self.delivery.on_sent(now, bytes, in_flight);
        self.packets.push_back(Kept { departed, bytes, is_reported: false });
    }

    /// See [`Delivery::on_application_limited`].
    pub fn on_application_limited(&mut self, in_flight: u64) {
        self.delivery.on_application_limited(in_flight);
    }

    /// The number of the packet that was sent at this time, where no two were sent at once.
    pub fn number_of(&self, sent: Time) -> Option<u64> {
        let place = self.packets.binary_search_by_key(&sent, |kept| kept.departed.sent()).ok()?;
        Some(self.base + place as u64)
    }

    /// The packet of this number has arrived. Nothing is known of one that was never sent or has been reported.
    pub fn on_arrived(&mut self, now: Time, number: u64, arrival: Time) {
        self.arrivals.clear();
        self.sample = None;
        let place = number.checked_sub(self.base).and_then(|place| self.packets.get_mut(place as usize));
        if let Some(kept) = place.filter(|kept| !kept.is_reported) {
            kept.is_reported = true;
            self.delivery.on_delivered(now, kept.bytes);
            self.sample = self.delivery.sample(&kept.departed);
            self.arrivals.push(kept.report(number, PacketOutcome::Arrived(Some(arrival))));
        }
        self.forget();
    }

    /// All packets in flight below this number are deemed lost.
    pub fn on_lost_below(&mut self, end: u64) {
        self.losses.clear();
        while self.base < end
            && let Some(kept) = self.packets.pop_front()
        {
            if !kept.is_reported {
                self.delivery.on_lost(kept.bytes);
                self.losses.push(kept.report(self.base, PacketOutcome::Lost));
            }
            self.base += 1;
        }
        self.forget();
    }

    fn forget(&mut self) {
        while self.packets.front().is_some_and(|kept| kept.is_reported) {
            self.packets.pop_front();
            self.base += 1;
        }
    }

    /// What the last arrival reported.
    pub fn arrivals(&self) -> &[PacketReport] {
        &self.arrivals
    }

    /// What the last loss reported.
    pub fn losses(&self) -> &[PacketReport] {
        &self.losses
    }

    /// Of the last arrival.
    pub const fn sample(&self) -> Option<RateSample> {
        self.sample
    }
}

impl Kept {
    const fn report(&self, number: u64, outcome: PacketOutcome) -> PacketReport {
        PacketReport { number, sent: self.departed.sent(), bytes: Bytes::new(self.bytes), outcome }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u64) -> Time = Time::from_milliseconds;

    fn log() -> PacketLog {
        let mut log = PacketLog::default();
        (0..5).for_each(|number| log.on_sent(AT(number), 1000, 1000 * (number + 1)));
        log
    }

    #[test]
    fn a_packet_is_reported_once_with_its_departure() {
        let mut log = log();
        log.on_arrived(AT(20), 2, AT(12));
        let outcome = PacketOutcome::Arrived(Some(AT(12)));
        assert_eq!(
            log.arrivals(),
            [PacketReport { number: 2, sent: AT(2), bytes: Bytes::new(1000), outcome }]
        );
        assert!(log.sample().is_some());
        log.on_arrived(AT(21), 2, AT(12));
        assert_eq!((log.arrivals().len(), log.sample()), (0, None));
        assert_eq!((log.next_number(), log.number_of(AT(3)), log.number_of(AT(9))), (5, Some(3), None));
    }

    #[test]
    fn what_was_never_sent_is_not_reported() {
        let mut log = log();
        for number in [5, u64::MAX] {
            log.on_arrived(AT(20), number, AT(12));
            assert_eq!((log.arrivals().len(), log.sample()), (0, None));
        }
    }

    #[test]
    fn losses_are_what_has_not_arrived() {
        let mut log = log();
        log.on_arrived(AT(20), 1, AT(12));
        log.on_lost_below(4);
        let lost: Vec<_> = log.losses().iter().map(|report| (report.number, report.outcome)).collect();
        assert_eq!(lost, [0, 2, 3].map(|number| (number, PacketOutcome::Lost)));
        log.on_lost_below(u64::MAX);
        assert_eq!(log.losses().len(), 1);
        assert_eq!(log.next_number(), 5);
    }
}
