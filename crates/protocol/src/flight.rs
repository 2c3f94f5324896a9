//! Packets in flight.

use std::collections::VecDeque;
use std::ops::Range;

use trialwise_congestion::Departed;
use trialwise_units::Time;

use crate::ranges::RangeSet;

/// A packet that has left.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) payload: Range<u64>,
    pub(crate) departed: Departed,
    pub(crate) is_application_limited: bool,
}

impl Packet {
    pub(crate) const fn length(&self) -> u64 {
        self.payload.end - self.payload.start
    }

    pub(crate) const fn sent(&self) -> Time {
        self.departed.sent()
    }
}

/// What has left and neither arrived nor been given up, by number. An answer costs the ranges that it has and the packets that it is
/// the first to name, however many are in flight.
#[derive(Debug, Default)]
pub(crate) struct Flight {
    /// From the oldest in flight on; `base` is its number.
    packets: VecDeque<Packet>,
    base: u64,
    /// Numbers above `base` that have arrived.
    arrived: RangeSet,
    /// Payload.
    bytes: u64,
}

impl Flight {
    /// Payload in flight.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// That of the oldest packet in flight, else of the next to leave.
    pub(crate) const fn oldest_number(&self) -> u64 {
        self.base
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.base + self.packets.len() as u64
    }

    pub(crate) fn oldest(&self) -> Option<&Packet> {
        self.packets.front()
    }

    pub(crate) fn newest(&self) -> Option<&Packet> {
        let number = (self.base..self.next_number()).rev().find(|number| !self.arrived.contains(*number))?;
        self.packets.get((number - self.base) as usize)
    }

    /// The packet of the next number leaves.
    pub(crate) fn push(&mut self, packet: Packet) {
        self.bytes += packet.length();
        self.packets.push_back(packet);
    }

    /// The application held the flow back when the last packet had left.
    pub(crate) fn limit_last(&mut self) {
        if let Some(packet) = self.packets.back_mut() {
            packet.is_application_limited = true;
        }
    }

    /// Takes out those of these numbers, which have arrived, and shows each.
    pub(crate) fn take(&mut self, numbers: &Range<u64>, mut show: impl FnMut(u64, &Packet)) {
        let end = numbers.end.min(self.next_number());
        let mut start = self.arrived.next_absent(numbers.start.max(self.base));
        while start < end {
            let new = self.arrived.gap_in(start..end);
            for number in new.clone() {
                let packet = &self.packets[(number - self.base) as usize];
                self.bytes -= packet.length();
                show(number, packet);
            }
            self.arrived.insert(new.clone());
            start = self.arrived.next_absent(new.end);
        }
    }

    /// Forgets what has arrived before the oldest in flight; to be called after [`Self::take`].
    pub(crate) fn settle(&mut self) {
        let oldest = self.arrived.next_absent(self.base);
        self.packets.drain(..(oldest - self.base) as usize);
        self.base = oldest;
        self.arrived.forget_below(oldest);
    }

    /// Gives up the oldest in flight.
    pub(crate) fn give_up_oldest(&mut self) -> Option<(u64, Packet)> {
        let packet = self.packets.pop_front()?;
        let number = self.base;
        self.bytes -= packet.length();
        self.base += 1;
        self.settle();
        Some((number, packet))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_in_flight_is_what_left_and_neither_arrived_nor_was_given_up(
            steps in prop::collection::vec((0_u8..4, 0_u64..40, 1_u64..12), 1..200),
        ) {
            let (mut flight, mut reference, mut next) = (Flight::default(), BTreeMap::new(), 0);
            for (step, start, length) in steps {
                match step {
                    0 | 1 => {
                        let (departed, is_application_limited) = (Departed::default(), false);
                        flight.push(Packet { payload: next..next + length, departed, is_application_limited });
                        reference.insert(next, length);
                        next += 1;
                    }
                    2 => {
                        let (mut shown, mut wanted) = (Vec::new(), Vec::new());
                        let numbers = next.saturating_sub(start)..next.saturating_sub(start) + length;
                        flight.take(&numbers, |number, packet| shown.push((number, packet.length())));
                        flight.settle();
                        for number in numbers {
                            wanted.extend(reference.remove(&number).map(|length| (number, length)));
                        }
                        prop_assert_eq!(shown, wanted);
                    }
                    _ => {
                        let found = flight.give_up_oldest().map(|(number, packet)| (number, packet.length()));
                        prop_assert_eq!(found, reference.pop_first());
                    }
                }
                prop_assert_eq!(flight.bytes(), reference.values().sum::<u64>());
                prop_assert_eq!(flight.next_number(), next);
                prop_assert_eq!(flight.is_empty(), reference.is_empty());
                let [oldest, newest] = [flight.oldest(), flight.newest()].map(|packet| packet.map(|packet| packet.payload.start));
                prop_assert_eq!((oldest, newest), (reference.keys().next().copied(), reference.keys().next_back().copied()));
                prop_assert_eq!(flight.oldest_number(), reference.keys().next().copied().unwrap_or(next));
            }
        }
    }
}
