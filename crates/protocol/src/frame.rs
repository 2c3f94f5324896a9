//! What stands in a datagram. All numbers are big-endian.
//!
//! ```text
//! every frame   kind u8 · way and when the next is due u8 · two of u8 or one of u16 · flow u32 · session u64        (16 bytes)
//! data          [pace u16] number u64 · offset u64 · [opening, where offset = 0 on the opener's way]
//!               [of a message: message u32 · within it u32 · its size u32] · payload
//! answer        [arrivals u8 · ranges u8] largest u64 · its arrival u64 (ns) · held u64 (ns)
//!               packets u32 · with ECT(0) u32 · with ECT(1) u32 · with CE u32 · ranges × (from u32 · length u32)
//!               arrivals × (from u16 · length u16 · age u32 (us)) · note, to the end, at most 64 bytes
//! close         nothing more: the session has ended
//! ```
//! The way is 0 from the opener of the connection and 1 towards it, for data; an answer has the way of what it acknowledges.
//! Packets are counted modulo 2^32, those of each ECN field apart as in RFC 9000, section 19.3.2. A range of an answer starts `from` below the largest number and goes down for `length` numbers.
//!
//! A pace with the highest bit says how many microseconds answers keep between them ([`Pace::Apart`]). Data with any other that is not 0 ask for an answer each so many
//! milliseconds, and for the arrival of each packet since the last answer (as RFC 8888 has it): packets of consecutive numbers that arrived at once, from `from`
//! below the largest number upwards, and how long before the answer.
//!
//! Above the lowest bit, data say when the sender's next packet is due: 1 at once, 1 more for each millisecond, 127 for 126 ms or more, 0 where
//! it does not say. The note is what the receiver's half of a scheme has written ([`Note`]); most schemes have none.

use std::ops::Range;

use trialwise_congestion::{NOTE_BYTES, Note};
use trialwise_units::{Duration, Ecn};

use crate::message::Part;
use crate::opening::{OPENING_BYTES, Opening};

/// Bytes before the payload of a data frame without an opening.
pub const DATA_HEADER: usize = COMMON + 16;
/// An answer has no more ranges than this; older ones are left out.
pub const MAX_RANGES: usize = 32;
/// Nor more runs of arrivals.
pub const MAX_ARRIVALS: usize = 128;
/// The longest answer.
pub const MAX_ANSWER: usize = MAX_ANSWER_WITHOUT_ARRIVALS + ARRIVAL * MAX_ARRIVALS + NOTE_BYTES;
/// The longest without arrivals and note.
pub const MAX_ANSWER_WITHOUT_ARRIVALS: usize = COMMON + ANSWER_FACTS + RANGE * MAX_RANGES;
/// A run of arrivals.
pub const ARRIVAL: usize = 8;

const COMMON: usize = 16;
/// What an answer says beside ranges, and a range.
const ANSWER_FACTS: usize = 40;
const RANGE: usize = 8;
/// The latest time of the next packet that is said, and the unit, in nanoseconds.
const LATEST_NEXT: u64 = 126;
const NEXT_UNIT: u64 = 1_000_000;
/// Of a pace that is not in milliseconds.
const APART: u16 = 1 << 15;
const DATA: u8 = 0xd1;
/// Data of a message.
const PART: u8 = 0xd2;
const ANSWER: u8 = 0xa1;
const CLOSE: u8 = 0xc1;

/// Which way data go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// From the opener.
    Out,
    /// Towards the opener.
    Back,
}

/// The name of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// A random number of the program that opened it.
    pub session: u64,
    /// Its place among that program's connections.
    pub flow: u32,
}

/// When data are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As soon as the receiver has read, but at least so many microseconds after the last answer, up to [`Pace::MAX_APART`].
    Apart(u16),
    /// Each so many milliseconds, up to [`Pace::MAX_LISTING`], with the arrival of each packet.
    Listing(u16),
}

impl Default for Pace {
    fn default() -> Self {
        Self::Apart(0)
    }
}

impl Pace {
    /// The longest time between answers that tell one arrival, in microseconds.
    pub const MAX_APART: u16 = APART - 1;
    /// The longest time between others, in milliseconds.
    pub const MAX_LISTING: u16 = 1000;

    /// The time between answers.
    pub fn span(self) -> Duration {
        match self {
            Self::Apart(microseconds) => Duration::from_microseconds(u64::from(microseconds)),
            Self::Listing(milliseconds) => {
                Duration::from_milliseconds(u64::from(milliseconds.min(Self::MAX_LISTING)))
            }
        }
    }

    const fn to_wire(self) -> u16 {
        match self {
            Self::Apart(0) => 0,
            Self::Apart(microseconds) => APART | microseconds,
            Self::Listing(milliseconds) => milliseconds,
        }
    }

    const fn from_wire(wire: u16) -> Self {
        match wire {
            0 => Self::Apart(0),
            wire if wire & APART != 0 => Self::Apart(wire & Self::MAX_APART),
            wire => Self::Listing(wire),
        }
    }
}

/// The facts of a data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Of the packet.
    pub number: u64,
    /// Of the first byte of the payload.
    pub offset: u64,
    /// Payload.
    pub length: u64,
    /// When to answer.
    pub pace: Pace,
    /// What the first packet says to the other end.
    pub opening: Option<Opening>,
    /// In how much time the sender's next packet is due, where it says so; on the wire whole milliseconds, rounded up, up to 126.
    pub next: Option<Duration>,
    /// Of which message the payload is, where it is of one.
    pub part: Option<Part>,
}

/// Packets that have arrived, copies too, and those of each ECN field (RFC 9000, section 19.3.2); each modulo 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// With any field.
    pub all: u32,
    /// With ECT(0).
    pub ect0: u32,
    /// With ECT(1).
    pub ect1: u32,
    /// With congestion experienced.
    pub marked: u32,
}

impl PacketCounts {
    /// Counts a packet with this field.
    pub const fn add(&mut self, ecn: Ecn) {
        self.all = self.all.wrapping_add(1);
        match ecn {
            Ecn::NotCapable => {}
            Ecn::Capable0 => self.ect0 = self.ect0.wrapping_add(1),
            Ecn::Capable1 => self.ect1 = self.ect1.wrapping_add(1),
            Ecn::CongestionExperienced => self.marked = self.marked.wrapping_add(1),
        }
    }

    /// What has come since `earlier`; none where these are not later, or where the fields add up to more than all: then some are no
    /// count of packets.
    pub fn since(self, earlier: Self) -> Option<Self> {
        let all = self.all.wrapping_sub(earlier.all);
        let ect0 = self.ect0.wrapping_sub(earlier.ect0);
        let ect1 = self.ect1.wrapping_sub(earlier.ect1);
        let marked = self.marked.wrapping_sub(earlier.marked);
        let capable = u64::from(ect0) + u64::from(ect1) + u64::from(marked);
        (all <= i32::MAX as u32 && capable <= u64::from(all)).then_some(Self { all, ect0, ect1, marked })
    }
}

/// Packets that arrived at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Their numbers.
    pub numbers: Range<u64>,
    /// Microseconds from then to the answer.
    pub age: u32,
}

/// What has arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The largest number that has arrived.
    pub largest: u64,
    /// When it did, in nanoseconds of the receiver's clock.
    pub arrival: u64,
    /// Nanoseconds from then to this answer.
    pub held: u64,
    /// Packets that have arrived in all.
    pub packets: PacketCounts,
    /// Numbers that have arrived, highest range first.
    pub ranges: Vec<Range<u64>>,
    /// When each packet since the last answer arrived, in that order, where data ask for it.
    pub arrivals: Vec<Arrival>,
    /// What the receiver's half of the scheme says.
    pub note: Note,
}

impl Answer {
    /// Bytes of its frame.
    pub fn frame_length(&self) -> usize {
        let arrivals = self.arrivals.len().min(MAX_ARRIVALS);
        COMMON
            + ANSWER_FACTS
            + RANGE * self.ranges.len().min(MAX_RANGES)
            + ARRIVAL * arrivals
            + self.note.len()
    }
}

/// A whole frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Payload.
    Data(Way, Data),
    /// An acknowledgement.
    Answer(Way, Answer),
    /// The session has ended.
    Close,
}

impl Frame {
    /// Reads a datagram; none for what is no frame of ours.
    pub fn read(bytes: &[u8]) -> Option<(Name, Self)> {
        let mut reader = Reader(bytes);
        let [kind, way] = reader.take()?;
        let (way, next) = (if way & 1 == 0 { Way::Out } else { Way::Back }, time_until_next(way >> 1));
        let [first, second] = reader.take()?;
        let name = Name { flow: u32::from_be_bytes(reader.take()?), session: reader.word()? };
        let frame = match kind {
            DATA | PART => {
                let pace = Pace::from_wire(u16::from_be_bytes([first, second]));
                Self::Data(way, Data { next, ..reader.data(way, pace, kind == PART)? })
            }
            ANSWER => Self::Answer(way, reader.answer(usize::from(first), usize::from(second))?),
            CLOSE => Self::Close,
            _ => return None,
        };
        Some((name, frame))
    }
}

/// Writes the header of a data frame at the front of `buffer`, and gives the length of the whole frame.
pub fn write_data(buffer: &mut [u8], name: Name, way: Way, data: &Data) -> usize {
    let way = way as u8 | next_of(data.next) << 1;
    let kind = if data.part.is_some() { PART } else { DATA };
    let mut writer = Writer::begin(buffer, kind, way, data.pace.to_wire().to_be_bytes(), name);
    writer.put(&data.number.to_be_bytes());
    writer.put(&data.offset.to_be_bytes());
    if let Some(opening) = &data.opening {
        writer.put(&opening.to_bytes());
    }
    if let Some(Part { message, within, size }) = data.part {
        for word in [message, within, size] {
            writer.put(&word.to_be_bytes());
        }
    }
    writer.length + data.length as usize
}

/// Writes an answer, and gives its length.
pub fn write_answer(buffer: &mut [u8], name: Name, way: Way, answer: &Answer) -> usize {
    let ranges = &answer.ranges[..answer.ranges.len().min(MAX_RANGES)];
    let arrivals = &answer.arrivals[..answer.arrivals.len().min(MAX_ARRIVALS)];
    let counts = [arrivals.len() as u8, ranges.len() as u8];
    let mut writer = Writer::begin(buffer, ANSWER, way as u8, counts, name);
    for word in [answer.largest, answer.arrival, answer.held] {
        writer.put(&word.to_be_bytes());
    }
    let PacketCounts { all, ect0, ect1, marked } = answer.packets;
    for count in [all, ect0, ect1, marked] {
        writer.put(&count.to_be_bytes());
    }
    for range in ranges {
        let below = answer.largest + 1 - range.end;
        let clamp = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        writer.put(&clamp(below).to_be_bytes());
        writer.put(&clamp(range.end - range.start).to_be_bytes());
    }
    for Arrival { numbers, age } in arrivals {
        // What is too far away for its number to be written is not told of.
        let below = u16::try_from(answer.largest - numbers.start);
        let length = below.map_or(0, |_| u16::try_from(numbers.end - numbers.start).unwrap_or(u16::MAX));
        writer.put(&below.unwrap_or(u16::MAX).to_be_bytes());
        writer.put(&length.to_be_bytes());
        writer.put(&age.to_be_bytes());
    }
    writer.put(&answer.note);
    writer.length
}

/// Writes the end of a session, and gives its length.
pub fn write_close(buffer: &mut [u8], name: Name) -> usize {
    Writer::begin(buffer, CLOSE, Way::Out as u8, [0; 2], name).length
}

fn next_of(next: Option<Duration>) -> u8 {
    next.map_or(0, |span| span.nanoseconds().div_ceil(NEXT_UNIT).min(LATEST_NEXT) as u8 + 1)
}

fn time_until_next(said: u8) -> Option<Duration> {
    Some(Duration::from_nanoseconds(NEXT_UNIT * u64::from(said.checked_sub(1)?)))
}

struct Writer<'a> {
    buffer: &'a mut [u8],
    length: usize,
}

impl<'a> Writer<'a> {
    fn begin(buffer: &'a mut [u8], kind: u8, way: u8, counts: [u8; 2], name: Name) -> Self {
        let mut writer = Self { buffer, length: 0 };
        writer.put(&[kind, way]);
        writer.put(&counts);
        writer.put(&name.flow.to_be_bytes());
        writer.put(&name.session.to_be_bytes());
        writer
    }

    fn put(&mut self, bytes: &[u8]) {
        self.buffer[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn word(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }

    fn quarter(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    fn half(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    fn data(&mut self, way: Way, pace: Pace, has_part: bool) -> Option<Data> {
        let (number, offset) = (self.word()?, self.word()?);
        let opens = way == Way::Out && offset == 0;
        let opening = if opens { Some(Opening::from_bytes(&self.take::<OPENING_BYTES>()?)?) } else { None };
        let part = if has_part { Some(self.part()?) } else { None };
        let length = self.0.len() as u64;
        offset.checked_add(length)?;
        (number < u64::MAX).then_some(Data { number, offset, length, pace, opening, next: None, part })
    }

    fn part(&mut self) -> Option<Part> {
        Some(Part { message: self.half()?, within: self.half()?, size: self.half()? })
    }

    fn answer(&mut self, arrivals: usize, ranges: usize) -> Option<Answer> {
        let mut answer = Answer {
            largest: self.word()?,
            arrival: self.word()?,
            held: self.word()?,
            packets: PacketCounts {
                all: self.half()?,
                ect0: self.half()?,
                ect1: self.half()?,
                marked: self.half()?,
            },
            ranges: Vec::with_capacity(ranges),
            arrivals: Vec::with_capacity(arrivals),
            note: Note::EMPTY,
        };
        for _ in 0..ranges {
            let below = u64::from(self.half()?);
            let length = u64::from(self.half()?);
            let end = answer.largest.checked_add(1)?.checked_sub(below)?;
            answer.ranges.push(end.checked_sub(length)?..end);
        }
        for _ in 0..arrivals {
            let start = answer.largest.checked_sub(u64::from(self.quarter()?))?;
            let numbers = start..start.checked_add(u64::from(self.quarter()?))?;
            answer.arrivals.push(Arrival { numbers, age: self.half()? });
        }
        answer.note = Note::new(self.0)?;
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::opening::Task;

    const NAME: Name = Name { session: 7, flow: 3 };

    fn opening() -> Opening {
        Opening {
            task: Task::Answer { request: 200, response: 10_000 },
            mtu: 1500,
            congestion: "copa".into(),
        }
    }

    proptest! {
        #[test]
        fn data_are_read_as_written(number in 0..u64::MAX, offset in 0_u64..1 << 40, length in 0_u64..1400, apart: bool, pace in 0..=Pace::MAX_APART, back: bool, next in 0_u8..128, part: Option<[u32; 3]>) {
            let way = if back { Way::Back } else { Way::Out };
            let opening = (offset == 0 && !back).then(opening);
            let part = part.map(|[message, within, size]| Part { message, within, size });
            let pace = if apart || pace == 0 { Pace::Apart(pace) } else { Pace::Listing(pace) };
            let data = Data { number, offset, length, pace, opening, next: time_until_next(next), part };
            let mut buffer = [0; 1500];
            let written = write_data(&mut buffer, NAME, way, &data);
            prop_assert_eq!(Frame::read(&buffer[..written]), Some((NAME, Frame::Data(way, data))));
        }

        #[test]
        fn answers_are_read_as_written(words: [u32; 6], steps in prop::collection::vec((1_u64..9, 1_u64..9), 1..40), ages in prop::collection::vec((1_u64..9, any::<u32>()), 0..140), note in prop::collection::vec(any::<u8>(), 0..=NOTE_BYTES)) {
            let mut end = 10_000;
            let mut ranges = Vec::new();
            for (gap, length) in steps {
                ranges.push(end - length..end);
                end -= length + gap;
            }
            let [held, arrival, ..] = words.map(u64::from);
            let [.., all, ect0, ect1, marked] = words;
            let packets = PacketCounts { all, ect0, ect1, marked };
            let arrivals = ages.into_iter().map(|(length, age)| Arrival { numbers: 9_000..9_000 + length, age }).collect();
            let note = Note::new(&note).unwrap();
            let mut answer = Answer { largest: 9_999, arrival, held, packets, ranges, arrivals, note };
            let mut buffer = [0; MAX_ANSWER];
            let written = write_answer(&mut buffer, NAME, Way::Back, &answer);
            prop_assert_eq!(written, answer.frame_length());
            answer.ranges.truncate(MAX_RANGES);
            answer.arrivals.truncate(MAX_ARRIVALS);
            prop_assert_eq!(Frame::read(&buffer[..written]), Some((NAME, Frame::Answer(Way::Back, answer))));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..120), kind in prop::sample::select(vec![DATA, PART, ANSWER, CLOSE])) {
            let mut bytes = bytes;
            if let Some(first) = bytes.first_mut() {
                *first = kind;
            }
            let _ = Frame::read(&bytes);
        }
    }

    #[test]
    fn counts_go_on_beyond_their_largest_number_and_back_never() {
        let of = |all, ect0, ect1, marked| PacketCounts { all, ect0, ect1, marked };
        let mut counts = of(u32::MAX, 0, u32::MAX - 1, 1);
        let earlier = counts;
        for ecn in [Ecn::Capable1, Ecn::CongestionExperienced, Ecn::Capable0, Ecn::NotCapable, Ecn::Capable1]
        {
            counts.add(ecn);
        }
        assert_eq!(counts, of(4, 1, 0, 2));
        assert_eq!(counts.since(earlier), Some(of(5, 1, 2, 1)));
        assert_eq!(counts.since(counts), Some(PacketCounts::default()));
        // An answer that another has overtaken, and one of a receiver that counts more marks than packets.
        assert_eq!(earlier.since(counts), None);
        assert_eq!(of(10, 0, 0, 11).since(PacketCounts::default()), None);
        assert_eq!(of(10, u32::MAX, u32::MAX, u32::MAX).since(PacketCounts::default()), None);
    }

    #[test]
    fn when_the_next_is_due_is_rounded_up() {
        let read = |microseconds| time_until_next(next_of(Some(Duration::from_microseconds(microseconds))));
        for (said, milliseconds) in
            [(0, 0), (1, 1), (20_000, 20), (20_001, 21), (126_000, 126), (1 << 40, 126)]
        {
            assert_eq!(read(said), Some(Duration::from_milliseconds(milliseconds)), "{said}");
        }
        assert_eq!(time_until_next(next_of(None)), None);
    }

    #[test]
    fn a_note_that_is_too_long_is_none() {
        let answer = Answer { largest: 3, note: Note::new(&[7; NOTE_BYTES]).unwrap(), ..Answer::default() };
        let mut buffer = [0; MAX_ANSWER + 1];
        let written = write_answer(&mut buffer, NAME, Way::Out, &answer);
        assert!(Frame::read(&buffer[..written]).is_some());
        assert_eq!(Frame::read(&buffer[..=written]), None);
    }

    #[test]
    fn the_first_data_carry_the_opening() {
        let mut buffer = [0; 200];
        let data = Data {
            number: 0,
            offset: 0,
            length: 5,
            pace: Pace::default(),
            opening: Some(opening()),
            next: None,
            part: None,
        };
        let written = write_data(&mut buffer, NAME, Way::Out, &data);
        assert_eq!(written, DATA_HEADER + OPENING_BYTES + 5);
        assert_eq!(Frame::read(&buffer[..DATA_HEADER + 10]), None);
    }
}
