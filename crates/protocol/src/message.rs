//! Messages: parts of a stream that count only as a whole, such as frames of video. A packet holds bytes of one message only, and
//! says of which.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use trialwise_units::Time;

/// Bytes that a packet has before its payload to say of which message that is.
pub const PART_BYTES: usize = 12;
/// A receiver remembers so many messages of which something is missing.
const MOST_PARTIAL: usize = 1024;

/// Of which message the payload of a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Number of the message.
    pub message: u32,
    /// Where in the message the payload begins.
    pub within: u32,
    /// Bytes of the message.
    pub size: u32,
}

/// A message of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its number; ascending, not necessarily without gaps.
    pub number: u32,
    /// Its bytes, at least one.
    pub size: u32,
    /// When it came into being.
    pub captured: Time,
    /// What has not been sent by then is not sent any more, and what is lost is not sent again; none for never.
    pub deadline: Option<Time>,
}

/// The messages of a sender that have not wholly arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Messages {
    /// Each with the offsets of its bytes.
    queue: VecDeque<(Range<u64>, Message)>,
    /// The first ones of so many have passed their deadline.
    expired: usize,
    abandoned: u64,
}

impl Messages {
    /// A message that begins at this offset.
    pub(crate) fn push(&mut self, start: u64, message: Message) {
        self.queue.push_back((start..start + u64::from(message.size), message));
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The message of this offset.
    fn at(&self, offset: u64) -> Option<(usize, &(Range<u64>, Message))> {
        let place = self.queue.partition_point(|(range, _)| range.end <= offset);
        self.queue.get(place).filter(|(range, _)| range.start <= offset).map(|found| (place, found))
    }

    /// Where the message of this offset ends.
    pub(crate) fn end_at(&self, offset: u64) -> Option<u64> {
        self.at(offset).map(|(_, (range, _))| range.end)
    }

    /// What a packet with payload from this offset on says.
    pub(crate) fn part_at(&self, offset: u64) -> Option<Part> {
        self.at(offset).map(|(_, (range, message))| Part {
            message: message.number,
            within: (offset - range.start) as u32,
            size: message.size,
        })
    }

    /// When the message of this offset came into being.
    pub(crate) fn captured_at(&self, offset: u64) -> Option<Time> {
        self.at(offset).map(|(_, (_, message))| message.captured)
    }

    /// Whether the deadline of the message of this offset has passed, as far as [`Self::expire`] has been told.
    pub(crate) fn is_expired_at(&self, offset: u64) -> bool {
        self.at(offset).is_some_and(|(place, _)| place < self.expired)
    }

    /// Takes note of the time; where the last message ends whose deadline has passed since it was told last. It counts as
    /// abandoned.
    pub(crate) fn expire(&mut self, now: Time) -> Option<u64> {
        let mut end = None;
        while let Some((range, message)) = self.queue.get(self.expired)
            && message.deadline.is_some_and(|deadline| deadline <= now)
        {
            end = Some(range.end);
            self.expired += 1;
            self.abandoned += 1;
        }
        end
    }

    /// Forgets what lies below this offset, of which everything has arrived or is abandoned.
    pub(crate) fn settle(&mut self, prefix: u64) {
        while self.queue.front().is_some_and(|(range, _)| range.end <= prefix) {
            self.queue.pop_front();
            self.expired = self.expired.saturating_sub(1);
        }
    }

    /// Messages abandoned since this was asked last.
    pub(crate) fn take_abandoned(&mut self) -> u64 {
        std::mem::take(&mut self.abandoned)
    }
}

/// A message of which the last missing byte has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    /// Number of the message.
    pub message: u32,
    /// Its bytes.
    pub size: u32,
    /// When that byte arrived, in nanoseconds of the receiver's clock.
    pub arrival: u64,
}

/// What a receiver knows of messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arriving {
    /// Bytes that are missing.
    partial: BTreeMap<u32, u32>,
    whole: VecDeque<Whole>,
}

impl Arriving {
    /// So many bytes of a message are new.
    pub(crate) fn on_part(&mut self, part: &Part, new: u64, arrival: u64) {
        if new == 0 {
            return;
        }
        let missing = self.partial.entry(part.message).or_insert(part.size);
        *missing = missing.saturating_sub(u32::try_from(new).unwrap_or(u32::MAX));
        if *missing == 0 {
            self.partial.remove(&part.message);
            self.whole.push_back(Whole { message: part.message, size: part.size, arrival });
        }
        // The oldest ones are not waited for any more: the sender has abandoned them, or was never one of ours.
        if self.partial.len() > MOST_PARTIAL {
            self.partial.pop_first();
        }
        if self.whole.len() > MOST_PARTIAL {
            self.whole.pop_front();
        }
    }

    /// The next message that has become whole.
    pub(crate) fn take_whole(&mut self) -> Option<Whole> {
        self.whole.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(milliseconds: u64) -> Time {
        Time::from_milliseconds(milliseconds)
    }

    fn message(number: u32, size: u32, deadline: u64) -> Message {
        Message { number, size, captured: at(0), deadline: Some(at(deadline)) }
    }

    #[test]
    fn an_offset_belongs_to_a_message() {
        let mut messages = Messages::default();
        messages.push(0, message(7, 100, 10));
        messages.push(100, message(9, 50, 20));
        let part = |within, number, size| Some(Part { message: number, within, size });
        assert_eq!((messages.part_at(99), messages.part_at(100)), (part(99, 7, 100), part(0, 9, 50)));
        assert_eq!((messages.end_at(149), messages.part_at(150)), (Some(150), None));
        messages.settle(149);
        assert_eq!((messages.part_at(99), messages.end_at(100)), (None, Some(150)));
    }

    #[test]
    fn a_deadline_passes_once() {
        let mut messages = Messages::default();
        messages.push(0, message(0, 100, 10));
        messages.push(100, message(1, 50, 20));
        assert_eq!(messages.expire(at(9)), None);
        assert_eq!((messages.expire(at(10)), messages.expire(at(11))), (Some(100), None));
        assert!(messages.is_expired_at(99) && !messages.is_expired_at(100));
        messages.settle(100);
        assert!(!messages.is_expired_at(100));
        assert_eq!(
            (messages.expire(at(20)), messages.take_abandoned(), messages.take_abandoned()),
            (Some(150), 2, 0)
        );
    }

    #[test]
    fn a_message_is_whole_once_its_last_byte_is_there() {
        let mut arriving = Arriving::default();
        let part = |message| Part { message, within: 0, size: 300 };
        arriving.on_part(&part(1), 200, 5);
        arriving.on_part(&part(2), 300, 6);
        arriving.on_part(&part(1), 0, 7);
        arriving.on_part(&part(1), 100, 8);
        let whole = |message, arrival| Some(Whole { message, size: 300, arrival });
        assert_eq!((arriving.take_whole(), arriving.take_whole()), (whole(2, 6), whole(1, 8)));
        assert_eq!(arriving.take_whole(), None);
    }

    #[test]
    fn what_never_becomes_whole_takes_no_more_and_more_memory() {
        let mut arriving = Arriving::default();
        (0..100_000).for_each(|message| arriving.on_part(&Part { message, within: 0, size: u32::MAX }, 1, 0));
        assert_eq!(arriving.partial.len(), MOST_PARTIAL);
    }
}
