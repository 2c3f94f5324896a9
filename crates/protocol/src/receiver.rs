//! The receiving end of one way.

use trialwise_units::Ecn;

use crate::frame::{Answer, Data, MAX_RANGES, PacketCounts};
use crate::ranges::RangeSet;

/// What has arrived. Every call of [`Self::answer`] after data gives an answer: whoever reads the socket asks when it has
/// read a batch, so that at low rates each packet is acknowledged at once, and at high ones many together.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    numbers: RangeSet,
    stream: RangeSet,
    largest: Option<(u64, u64)>,
    packets: PacketCounts,
    is_due: bool,
}

impl Receiver {
    /// A packet has arrived at this nanosecond of our clock, with this ECN field.
    pub fn on_data(&mut self, arrival: u64, data: &Data, ecn: Ecn) {
        self.packets.add(ecn);
        self.is_due = true;
        self.stream.insert(data.offset..data.offset + data.length);
        self.numbers.insert(data.number..data.number + 1);
        self.numbers.keep(MAX_RANGES);
        if self.largest.is_none_or(|(largest, _)| data.number > largest) {
            self.largest = Some((data.number, arrival));
        }
    }

    /// What to tell the sender at this nanosecond of our clock, if anything has arrived since the last answer.
    pub fn answer(&mut self, now: u64) -> Option<Answer> {
        let (largest, arrival) = self.largest.filter(|_| std::mem::take(&mut self.is_due))?;
        let ranges = self.numbers.descending().collect();
        let held = now.saturating_sub(arrival);
        Some(Answer { largest, arrival, held, packets: self.packets, ranges })
    }

    /// The bytes that have arrived without a gap.
    pub fn received(&self) -> u64 {
        self.stream.prefix()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(number: u64, offset: u64) -> Data {
        Data { number, offset, length: 100, opening: None }
    }

    #[test]
    fn an_answer_tells_what_has_arrived_and_what_is_missing() {
        let mut receiver = Receiver::default();
        assert_eq!(receiver.answer(9), None);
        let came = [
            (10, 0, Ecn::NotCapable),
            (11, 1, Ecn::CongestionExperienced),
            (12, 4, Ecn::Capable1),
            (13, 3, Ecn::Capable0),
            (13, 3, Ecn::Capable1),
        ];
        for (arrival, number, ecn) in came {
            receiver.on_data(arrival, &data(number, 100 * number), ecn);
        }
        let ranges = vec![3..5, 0..2];
        let answer = Answer {
            largest: 4,
            arrival: 12,
            held: 3,
            packets: PacketCounts { all: 5, ect0: 1, ect1: 2, marked: 1 },
            ranges,
        };
        assert_eq!(receiver.answer(15), Some(answer));
        assert_eq!(receiver.answer(16), None);
        assert_eq!(receiver.received(), 200);
        receiver.on_data(14, &data(5, 200), Ecn::NotCapable);
        assert_eq!(receiver.received(), 500);
    }

    #[test]
    fn old_ranges_are_left_out() {
        let mut receiver = Receiver::default();
        (0..100).for_each(|step| receiver.on_data(step, &data(2 * step, 0), Ecn::NotCapable));
        let answer = receiver.answer(0).unwrap();
        assert_eq!((answer.ranges.len(), answer.ranges[0].clone()), (MAX_RANGES, 198..199));
    }
}
