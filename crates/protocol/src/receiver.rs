//! The receiving end of one way.

use std::ops::Range;

use trialwise_congestion::{NOTE_BYTES, Note, Received, ReceiverHalf};
use trialwise_units::{Bytes, Ecn, Time};

use crate::frame::{
    ARRIVAL, Answer, Arrival, DATA_HEADER, Data, MAX_ANSWER_WITHOUT_ARRIVALS, MAX_ARRIVALS, MAX_RANGES, Pace,
    PacketCounts,
};
use crate::message::{Arriving, Whole};
use crate::ranges::RangeSet;

/// What has arrived. Whoever reads the socket asks for an answer with each batch of packets that came together, so that at low rates each
/// packet is acknowledged at once, and when [`Self::next_answer`] says so: after the time that data want between answers, so that at
/// high rates many are acknowledged together, or with a timer of the scheme's half.
#[derive(Debug, Default)]
pub struct Receiver {
    numbers: RangeSet,
    stream: RangeSet,
    largest: Option<(u64, u64)>,
    packets: PacketCounts,
    messages: Arriving,
    /// Packets that no answer has told of, and when the newest came.
    untold: u32,
    newest: u64,
    pace: Pace,
    /// Whether the half has something to tell.
    half_is_due: bool,
    /// When the last answer was due, or what it was given for came, if that was later; by our clock.
    answered: Option<u64>,
    /// Whether it told of several packets.
    told_several: bool,
    /// Numbers that arrived at once, and when: those that no answer has listed.
    arrivals: Vec<(Range<u64>, u64)>,
    /// The longest payload: the path carries answers of that length.
    longest: u64,
    half: Option<Box<dyn ReceiverHalf>>,
    /// The nanosecond of our clock that is the half's 0.
    origin: Option<u64>,
}

impl Receiver {
    /// The receiver of a scheme with this half, where it has one.
    pub fn new(half: Option<Box<dyn ReceiverHalf>>) -> Self {
        Self { half, ..Self::default() }
    }

    /// The opening has said which scheme it is; packets that came before it are unknown to the half.
    #[must_use]
    pub fn with_half_of(self, other: Self) -> Self {
        Self { half: other.half, ..self }
    }

    /// Whether it runs the half of a scheme.
    pub fn has_half(&self) -> bool {
        self.half.is_some()
    }

    /// A packet has arrived at this nanosecond of our clock, with this ECN field.
    pub fn on_data(&mut self, arrival: u64, data: &Data, ecn: Ecn) {
        self.packets.add(ecn);
        self.untold += 1;
        self.newest = arrival;
        let new = self.stream.insert(data.offset..data.offset + data.length);
        if let Some(part) = &data.part {
            self.messages.on_part(part, new, arrival);
        }
        if self.numbers.insert(data.number..data.number + 1) > 0 {
            self.list(arrival, data);
        }
        self.numbers.keep(MAX_RANGES);
        if self.largest.is_none_or(|(largest, _)| data.number > largest) {
            self.largest = Some((data.number, arrival));
        }
        self.tell_half(arrival, data, ecn);
    }

    fn tell_half(&mut self, arrival: u64, data: &Data, ecn: Ecn) {
        let Some(half) = &mut self.half else { return };
        let origin = *self.origin.get_or_insert(arrival);
        let arrival = Time::from_nanoseconds(arrival.saturating_sub(origin));
        let Data { number, length, next, .. } = *data;
        half.on_data(&Received { number, arrival, bytes: Bytes::new(length), ecn, next });
    }

    fn list(&mut self, arrival: u64, data: &Data) {
        self.pace = data.pace;
        self.longest = self.longest.max(data.length);
        if matches!(self.pace, Pace::Apart(_)) {
            return;
        }
        let last =
            self.arrivals.last_mut().filter(|(numbers, then)| *then == arrival && numbers.end == data.number);
        if let Some((numbers, _)) = last {
            numbers.end += 1;
        } else if !self.is_full() {
            self.arrivals.push((data.number..data.number + 1, arrival));
        }
    }

    /// Whether an answer that the path carries lists no more arrivals.
    fn is_full(&self) -> bool {
        let note = if self.has_half() { NOTE_BYTES } else { 0 };
        let facts = MAX_ANSWER_WITHOUT_ARRIVALS + note;
        let room = (self.longest as usize + DATA_HEADER).saturating_sub(facts) / ARRIVAL;
        self.arrivals.len() >= room.min(MAX_ARRIVALS)
    }

    /// When to ask for an answer, in nanoseconds of our clock; none where nothing has happened since the last.
    pub fn next_answer(&self) -> Option<u64> {
        if self.half_is_due {
            return Some(0);
        }
        let acknowledgement = (self.untold > 0).then(|| self.due());
        acknowledgement.into_iter().chain(self.next_timer()).min()
    }

    /// When what has come may be answered.
    fn due(&self) -> u64 {
        let is_full = matches!(self.pace, Pace::Listing(_)) && self.is_full();
        if is_full { 0 } else { self.after_pace().unwrap_or(0) }
    }

    /// When the time between answers is over.
    fn after_pace(&self) -> Option<u64> {
        Some(self.answered?.saturating_add(self.pace.span().nanoseconds()))
    }

    /// Whether packets that came together until this nanosecond of our clock are worth an answer, however late they are read.
    pub fn is_due(&self, arrival: u64) -> bool {
        self.next_answer().is_some_and(|time| time <= arrival)
    }

    /// Until when nobody needs to look for packets, as what comes is answered together anyway; none where the next one is to be
    /// answered at once.
    pub fn rests_until(&self) -> Option<u64> {
        let is_busy = matches!(self.pace, Pace::Apart(1..)) && (self.untold > 0 || self.told_several);
        self.after_pace().filter(|_| is_busy)
    }

    /// What to tell the sender at this nanosecond of our clock, if it is time and anything has arrived since the last answer.
    pub fn answer(&mut self, now: u64) -> Option<Answer> {
        self.run_half(now);
        self.next_answer().filter(|time| *time <= now)?;
        let (largest, arrival) = self.largest?;
        if self.untold > 0 {
            self.answered = Some(self.due().max(self.newest).min(now));
        }
        self.told_several = self.untold > 1;
        self.untold = 0;
        self.half_is_due = false;
        let ranges = self.numbers.descending().collect();
        let held = now.saturating_sub(arrival);
        let age = |then| u32::try_from((arrival + held).saturating_sub(then) / 1000).unwrap_or(u32::MAX);
        let listed = self.arrivals.drain(..);
        let arrivals = listed.map(|(numbers, then)| Arrival { numbers, age: age(then) }).collect();
        Some(Answer { largest, arrival, held, packets: self.packets, ranges, arrivals, note: self.note(now) })
    }

    fn next_timer(&self) -> Option<u64> {
        let timer = self.half.as_ref()?.next_timer()?;
        Some(self.origin?.saturating_add(timer.picoseconds().div_ceil(1000)))
    }

    /// Does what a timer of the half calls for, which is worth an answer.
    fn run_half(&mut self, now: u64) {
        if self.next_timer().is_some_and(|timer| timer <= now)
            && let (Some(half), Some(origin)) = (&mut self.half, self.origin)
        {
            half.on_timer(Time::from_nanoseconds(now - origin));
            self.half_is_due = true;
        }
    }

    fn note(&self, now: u64) -> Note {
        let since = |origin| Time::from_nanoseconds(now.saturating_sub(origin));
        self.half.as_ref().zip(self.origin).map_or(Note::EMPTY, |(half, origin)| half.note(since(origin)))
    }

    /// The next message that has become whole.
    pub fn take_whole(&mut self) -> Option<Whole> {
        self.messages.take_whole()
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
        Data { number, offset, length: 100, pace: Pace::default(), opening: None, next: None, part: None }
    }

    /// A full packet that asks for an answer each 50 ms.
    fn paced(number: u64) -> Data {
        Data { length: 1440, pace: Pace::Listing(50), ..data(number, 1440 * number) }
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
            arrivals: Vec::new(),
            note: Note::EMPTY,
        };
        assert_eq!(receiver.answer(15), Some(answer));
        assert_eq!(receiver.answer(16), None);
        assert_eq!(receiver.received(), 200);
        receiver.on_data(14, &data(5, 200), Ecn::NotCapable);
        assert_eq!(receiver.received(), 500);
    }

    #[test]
    fn answers_at_a_pace_list_arrivals() {
        let at = |milliseconds: u64| milliseconds * 1_000_000;
        let mut receiver = Receiver::default();
        receiver.on_data(at(1000), &paced(0), Ecn::NotCapable);
        let first = receiver.answer(at(1000)).unwrap();
        assert_eq!(first.arrivals, [Arrival { numbers: 0..1, age: 0 }]);
        // Two at once, one that was overtaken, a copy.
        for (milliseconds, number) in [(1010, 1), (1010, 2), (1020, 4), (1030, 3), (1040, 4)] {
            receiver.on_data(at(milliseconds), &paced(number), Ecn::NotCapable);
            assert_eq!((receiver.answer(at(milliseconds)), receiver.next_answer()), (None, Some(at(1050))));
        }
        let arrivals = [(1..3, 40), (4..5, 30), (3..4, 20)]
            .map(|(numbers, milliseconds)| Arrival { numbers, age: 1000 * milliseconds });
        let second = receiver.answer(at(1050)).unwrap();
        assert_eq!((second.largest, second.held, second.arrivals), (4, at(30), arrivals.to_vec()));
        assert_eq!((receiver.next_answer(), receiver.answer(at(1200))), (None, None));
        receiver.on_data(at(1300), &paced(5), Ecn::NotCapable);
        assert!(receiver.answer(at(1300)).is_some(), "nothing waits after a pause");
    }

    /// A packet whose answers are to be 150 us apart.
    fn fast(number: u64) -> Data {
        Data { pace: Pace::Apart(150), ..data(number, 100 * number) }
    }

    #[test]
    fn answers_that_are_kept_apart_tell_of_what_came_meanwhile() {
        let at = |microseconds: u64| microseconds * 1000;
        let mut receiver = Receiver::default();
        let mut answered = Vec::new();
        // A packet each 12 us for a while, as at 1 Gbit/s, then one each millisecond, as at 12 Mbit/s.
        let arrivals: Vec<u64> =
            (0..50).map(|step| 12 * step).chain((1..5).map(|step| 1000 * step)).collect();
        for (number, arrival) in (0..).zip(&arrivals) {
            while let Some(due) = receiver.next_answer().filter(|due| *due < at(*arrival)) {
                answered.push((due, receiver.answer(due).unwrap().largest));
            }
            receiver.on_data(at(*arrival), &fast(number), Ecn::NotCapable);
            let answer = receiver.answer(at(*arrival));
            answered.extend(answer.map(|answer| (at(*arrival), answer.largest)));
            // After the first packet nothing says that others follow closely.
            assert_eq!(receiver.rests_until().is_some(), (1..50).contains(&number), "{number}");
        }
        let fast = [(0, 0), (150, 12), (300, 25), (450, 37), (600, 49)];
        let slow = (1..5).map(|step| (1000 * step, 49 + step));
        let wanted: Vec<_> =
            fast.into_iter().chain(slow).map(|(microseconds, largest)| (at(microseconds), largest)).collect();
        assert_eq!(answered, wanted);
    }

    #[test]
    fn what_is_read_late_is_answered_as_if_it_had_been_read_when_it_came() {
        let at = |microseconds: u64| microseconds * 1000;
        let mut receiver = Receiver::default();
        // Nobody read for 20 ms, in which three packets came far apart, and then five together.
        let arrivals = [1000, 2000, 3000, 4000, 4040, 4080, 4120, 4160];
        let mut told = Vec::new();
        for (number, arrival) in (0..).zip(arrivals) {
            receiver.on_data(at(arrival), &fast(number), Ecn::NotCapable);
            if receiver.is_due(at(arrival)) {
                told.push(receiver.answer(at(20_000)).unwrap().largest);
            }
        }
        assert_eq!(told, [0, 1, 2, 3, 7]);
        receiver.on_data(at(4170), &fast(8), Ecn::NotCapable);
        assert!(!receiver.is_due(at(4170)));
        assert_eq!(receiver.answer(at(20_000)).map(|answer| answer.largest), Some(8), "it is late enough");
    }

    #[test]
    fn no_answer_is_longer_than_data_or_waits_for_more_than_a_second() {
        for (length, runs) in [(1440, 128), (520, 30), (100, 0)] {
            let mut receiver = Receiver::default();
            receiver.on_data(0, &Data { length, pace: Pace::Listing(u16::MAX), ..paced(0) }, Ecn::NotCapable);
            receiver.answer(0).unwrap();
            for number in 1_u64.. {
                let data = Data { length, pace: Pace::Listing(u16::MAX), ..paced(2 * number) };
                receiver.on_data(1000 * number, &data, Ecn::NotCapable);
                let next = receiver.next_answer().unwrap();
                assert!(next == 0 || next == 1_000_000_000);
                if let Some(answer) = receiver.answer(1000 * number) {
                    assert_eq!(answer.arrivals.len(), runs);
                    break;
                }
            }
        }
    }

    #[test]
    fn old_ranges_are_left_out() {
        let mut receiver = Receiver::default();
        (0..100).for_each(|step| receiver.on_data(step, &data(2 * step, 0), Ecn::NotCapable));
        let answer = receiver.answer(0).unwrap();
        assert_eq!((answer.ranges.len(), answer.ranges[0].clone()), (MAX_RANGES, 198..199));
    }
}
