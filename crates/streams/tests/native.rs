//! Both halves of the native protocol over a connection that breaks anywhere: nothing lost, nothing doubled.

#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{Found, found, owned};
use proptest::prelude::*;
use trialwise_streams::native::{
    Frame, FrameDecoder, FrameError, MAX_FRAME, PREFACE, Receiver, ReceiverError, Request, RowDecoder,
    Sender, SenderError,
};
use trialwise_streams::protocol::{Content, Encoder, Header, Schema, Value, Vector};

const SESSION: [u8; 16] = *b"a session's name";

fn header() -> Header {
    let schemas = vec![Schema::metadata(), "1 a_m x:double s:string v:[bool]".parse().unwrap()];
    Header { protocol: 5, domain: "d".into(), content: Content::Binary, schemas, ..Header::default() }
}

fn header_text() -> Vec<u8> {
    let mut text = Vec::new();
    header().write(&mut text);
    text
}

/// A collector as far as the protocol goes: what it has in memory, and on disk.
#[derive(Default)]
struct Collector {
    received: Vec<Vec<u8>>,
    on_disk: usize,
    /// Safe frames are acknowledged in groups of so many.
    group: usize,
}

impl Collector {
    fn serve(&mut self, receiver: &mut Receiver, bytes: &[u8]) -> Result<(), ReceiverError> {
        receiver.push(bytes);
        loop {
            match receiver.next_request()? {
                None => break,
                Some(Request::Hello { session, base, header: given, .. }) => {
                    assert_eq!((session, given), (SESSION, header()));
                    assert!(base - 1 <= self.on_disk as u64, "a frame was forgotten before it was safe");
                    receiver.welcome(self.on_disk as u64, self.received.len() as u64);
                    receiver.ask(7);
                }
                Some(Request::Clock { asked, answered }) => assert_eq!((asked, answered), (7, 8)),
                Some(Request::Data { number, rows }) => {
                    assert_eq!(number, self.received.len() as u64 + 1);
                    self.received.push(rows.to_vec());
                }
                Some(Request::Bye { last }) => assert_eq!(last, self.received.len() as u64),
            }
        }
        self.on_disk = self.on_disk.max(self.received.len() / self.group * self.group);
        receiver.acknowledge(self.on_disk as u64);
        Ok(())
    }

    fn flush(&mut self, receiver: &mut Receiver) {
        self.on_disk = self.received.len();
        receiver.acknowledge(self.on_disk as u64);
    }

    /// Killed: what was not on disk is gone.
    fn restart(&mut self) {
        self.received.truncate(self.on_disk);
    }
}

fn payload(number: usize) -> Vec<u8> {
    vec![number as u8; number * 7 % 50]
}

/// Runs one connection until it idles or either direction has carried its `budget` of bytes. Bytes beyond are lost.
fn connect(
    sender: &mut Sender<usize>,
    collector: &mut Collector,
    budget: (usize, usize),
    safe: &mut Vec<usize>,
) {
    let mut receiver = Receiver::new();
    sender.connected(&header_text());
    let (mut up, mut down) = budget;
    loop {
        let piece: Vec<_> = sender.unsent().iter().copied().take(up.min(23)).collect();
        sender.advance(piece.len());
        up -= piece.len();
        collector.serve(&mut receiver, &piece).unwrap();
        if piece.is_empty() {
            collector.flush(&mut receiver);
        }
        let answer = receiver.take_output();
        let carried = &answer[..answer.len().min(down)];
        down -= carried.len();
        sender.receive(carried, |sent| safe.push(sent.note)).unwrap();
        if sender.asks_time() {
            sender.tell_time(8);
        }
        if carried.len() < answer.len() || (piece.is_empty() && answer.is_empty()) {
            break;
        }
    }
    sender.disconnected();
}

fn check(collector: &Collector, safe: &[usize], frames: usize) {
    assert_eq!(collector.received, (0..frames).map(payload).collect::<Vec<_>>());
    assert_eq!(safe, (0..frames).collect::<Vec<_>>());
}

fn sender_of(frames: usize) -> Sender<usize> {
    let mut sender = Sender::new(SESSION, b"token", 1 << 20);
    for number in 0..frames {
        assert_eq!(sender.push(&payload(number), number), number as u64 + 1);
    }
    sender
}

const UNLIMITED: (usize, usize) = (usize::MAX, usize::MAX);

#[test]
fn a_connection_cut_at_any_byte_either_way_loses_and_doubles_nothing() {
    let frames = 12;
    for restarts in [false, true] {
        for cut in 0..1200 {
            for budget in [(cut, usize::MAX), (usize::MAX, cut / 4)] {
                let mut collector = Collector { group: 3, ..Collector::default() };
                let (mut sender, mut safe) = (sender_of(frames), Vec::new());
                connect(&mut sender, &mut collector, budget, &mut safe);
                assert!(safe.len() <= collector.on_disk, "acknowledged before it was safe");
                if restarts {
                    collector.restart();
                }
                connect(&mut sender, &mut collector, UNLIMITED, &mut safe);
                check(&collector, &safe, frames);
                assert!(sender.is_empty() && sender.kept_bytes() == 0);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_series_of_broken_connections_and_restarts_ends_whole(
        breaks in prop::collection::vec((0_usize..400, 0_usize..120, any::<bool>(), 0_usize..4), 0..20),
        group in 1_usize..5,
    ) {
        let mut collector = Collector { group, ..Collector::default() };
        let (mut sender, mut safe, mut frames) = (sender_of(0), Vec::new(), 0);
        for (up, down, restarts, more) in breaks {
            for _ in 0..more {
                sender.push(&payload(frames), frames);
                frames += 1;
            }
            connect(&mut sender, &mut collector, (up, down), &mut safe);
            if restarts {
                collector.restart();
            }
        }
        connect(&mut sender, &mut collector, UNLIMITED, &mut safe);
        check(&collector, &safe, frames);
    }

    #[test]
    fn arbitrary_bytes_are_refused_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), framed in any::<bool>()) {
        let mut receiver = Receiver::new();
        if framed {
            receiver.push(&PREFACE);
        }
        receiver.push(&bytes);
        while let Ok(Some(_)) = receiver.next_request() {
            receiver.welcome(0, 0);
        }
        let mut sender = sender_of(2);
        sender.connected(&header_text());
        let _ = sender.receive(&bytes, |_| ());
    }

    #[test]
    fn a_changed_byte_never_passes(at in 0_usize..100, bit in 0_u8..8) {
        let mut bytes = Vec::new();
        Frame::Data { number: 9, rows: &[7; 60] }.write(&mut bytes);
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        let mut decoder = FrameDecoder::new();
        decoder.push(&bytes);
        prop_assert!(!matches!(decoder.next_frame(), Ok(Some(_))));
    }

    #[test]
    fn rows_arrive_exact(x in prop::num::f64::ANY, length in 0_usize..2000, bools in prop::collection::vec(any::<bool>(), 0..9)) {
        let schema: Schema = header().schemas.remove(1);
        let text = "é".repeat(length);
        let values = [Value::Double(x), Value::from(text.as_str()), Value::Vector(Vector::Bool(&bools))];
        let mut bytes = Vec::new();
        Encoder::native().write_row(&mut bytes, &schema, 5, x, values.iter().copied()).unwrap();
        let mut decoder = RowDecoder::new(header()).unwrap();
        let mut rest = &bytes[..];
        let Found::Row { values: read, seq: 5, timestamp, .. } = found(decoder.next_row(&mut rest).unwrap()) else { panic!() };
        prop_assert_eq!(timestamp, x.to_bits());
        prop_assert_eq!(read, values.into_iter().map(owned).collect::<Vec<_>>());
        prop_assert!(decoder.next_row(&mut rest).is_none());
    }
}

#[test]
fn a_collector_that_knows_nothing_of_a_session_goes_on_from_its_base() {
    let mut collector = Collector { group: 1, ..Collector::default() };
    let (mut sender, mut safe) = (sender_of(4), Vec::new());
    connect(&mut sender, &mut collector, UNLIMITED, &mut safe);
    sender.push(b"later", 4);
    sender.connected(&header_text());
    let mut stranger = Receiver::new();
    stranger.push(sender.unsent());
    sender.advance(sender.unsent().len());
    let Request::Hello { base, .. } = stranger.next_request().unwrap().unwrap() else { panic!() };
    assert_eq!(base, 5);
    stranger.welcome(base - 1, base - 1);
    sender.receive(&stranger.take_output(), |_| panic!("nothing is safe yet")).unwrap();
    stranger.push(sender.unsent());
    assert_eq!(stranger.next_request().unwrap(), Some(Request::Data { number: 5, rows: b"later" }));
}

#[test]
fn duplicates_are_counted_and_gaps_refused() {
    let mut receiver = Receiver::new();
    let mut bytes = PREFACE.to_vec();
    Frame::Hello { session: SESSION, base: 1, token: b"t", header: &header_text() }.write(&mut bytes);
    receiver.push(&bytes);
    assert!(matches!(receiver.next_request(), Ok(Some(Request::Hello { token: b"t", .. }))));
    receiver.welcome(1, 2);
    let mut bytes = Vec::new();
    for number in [1, 2, 3, 3, 5] {
        Frame::Data { number, rows: b"" }.write(&mut bytes);
    }
    receiver.push(&bytes);
    assert_eq!(receiver.next_request(), Ok(Some(Request::Data { number: 3, rows: b"" })));
    assert_eq!(receiver.next_request(), Err(ReceiverError::Gap { expected: 4, found: 5 }));
    assert_eq!((receiver.duplicates(), receiver.through()), (3, 3));
}

#[test]
fn a_collector_that_lies_is_left() {
    let answer = |frame: Frame<'_>| {
        let mut sender = sender_of(3);
        sender.connected(&header_text());
        sender.advance(sender.unsent().len());
        let mut bytes = Vec::new();
        frame.write(&mut bytes);
        sender.receive(&bytes, |_| ()).unwrap_err()
    };
    assert_eq!(answer(Frame::Welcome { through: 4 }), SenderError::Number(4, 1, 3));
    assert_eq!(answer(Frame::Acknowledgement { through: 1 }), SenderError::Turn);
    assert_eq!(answer(Frame::Bye { last: 1 }), SenderError::Turn);
    assert_eq!(answer(Frame::Refusal { reason: "no" }), SenderError::Refused("no".into()));
    let mut sender = sender_of(3);
    sender.connected(&header_text());
    sender.advance(sender.unsent().len());
    let mut bytes = Vec::new();
    Frame::Welcome { through: 0 }.write(&mut bytes);
    Frame::Acknowledgement { through: 1 }.write(&mut bytes);
    assert_eq!(sender.receive(&bytes, |_| ()), Err(SenderError::Number(1, 1, 0)), "nothing was sent yet");
}

#[test]
fn what_is_no_native_connection_is_told_at_once() {
    let refused = |bytes: &[u8]| {
        let mut receiver = Receiver::new();
        receiver.push(bytes);
        receiver.next_request().unwrap_err()
    };
    assert_eq!(refused(b"protocol: 5\n"), FrameError::Preface.into());
    assert_eq!(refused(b"\x89TWMS\r\n\x02"), FrameError::Preface.into());
    let mut long = PREFACE.to_vec();
    long.extend_from_slice(&[2, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    assert_eq!(refused(&long), FrameError::TooLong(u32::MAX as usize).into());
    assert!(MAX_FRAME < u32::MAX as usize);
    let with_header = |header: &[u8]| {
        let mut bytes = PREFACE.to_vec();
        Frame::Hello { session: SESSION, base: 1, token: b"", header }.write(&mut bytes);
        bytes
    };
    assert_eq!(refused(&with_header(b"protocol: 5\ndomain: d\n")), ReceiverError::HeaderEnd);
    assert!(matches!(refused(&with_header(b"protocol: 5\ndomain: ../d\n\n")), ReceiverError::Header(_)));
}

#[test]
fn a_session_keeps_no_more_than_its_capacity_and_a_frame() {
    let mut sender = Sender::new(SESSION, b"", 1000);
    while sender.has_room() {
        sender.push(&[0; 300], ());
    }
    assert!((1000..1400).contains(&sender.kept_bytes()));
    assert_eq!(sender.give_up().count(), 4);
}

#[test]
fn streams_beyond_a_byte_are_named() {
    let schemas: Vec<Schema> =
        [1, 255, 256, 300, 70_000].map(|index| format!("{index} m{index} n:int32").parse().unwrap()).into();
    let header = Header { schemas: schemas.clone(), ..header() };
    let mut packets = Vec::new();
    for schema in &schemas {
        let row = [Value::Int32(schema.index.cast_signed())];
        Encoder::native().write_row(&mut packets, schema, 1, 0.5, row.into_iter()).unwrap();
    }
    let (mut decoder, mut rest, mut read) = (RowDecoder::new(header).unwrap(), &packets[..], Vec::new());
    while let Some(event) = decoder.next_row(&mut rest) {
        let Found::Row { stream, values, .. } = found(event) else { panic!() };
        assert_eq!(values, [owned(Value::Int32(stream.cast_signed()))]);
        read.push(stream);
    }
    assert_eq!(read, [1, 255, 256, 300, 70_000]);
    let refused = Encoder::new(Content::Binary).write_row(
        &mut Vec::new(),
        &schemas[3],
        1,
        0.5,
        [Value::Int32(1)].into_iter(),
    );
    assert!(refused.is_err());
}
