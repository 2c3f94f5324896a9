//! What holds of any bytes that a connection may bring: for the targets in `fuzz/`, and for the replay of their corpus.
//!
//! Nothing panics; how the bytes are cut changes nothing; what is held is bounded; what was read and is written again is read as the same.

use trialwise_streams::config::Config;
use trialwise_streams::native::{
    FrameDecoder, PREFACE, Receiver, ReceiverError, Relayed, Request, RowDecoder, Sender,
};
use trialwise_streams::protocol::{Content, Encoder, Event, Header, Limits, Row, StreamDecoder, Value};

use super::events::{Found, Owned, decode, double, found};

const TIGHT: Limits = Limits { header: 600, row: 200, streams: 8, fields: 32 };
const HEAD: usize = 9;

/// A configuration file, in TOML where it does not begin as XML does: it is read, or refused in one harmless line.
pub fn configuration(bytes: &[u8]) {
    let ending = if bytes.trim_ascii_start().starts_with(b"<") { "xml" } else { "toml" };
    let file = std::env::temp_dir().join(format!("trialwise-configuration-{}.{ending}", std::process::id()));
    std::fs::write(&file, bytes).expect("a place for files");
    let mut arguments = vec!["--oml-config".to_owned(), file.display().to_string()];
    let read =
        Config::from_arguments("app", &mut arguments, &|name| (name == "OML_NAME").then(|| "a".to_owned()));
    if let Err(error) = read {
        let said = error.to_string();
        assert!(
            !said.contains(|each: char| each.is_control() || "\u{202e}\u{2028}".contains(each)),
            "{said:?}"
        );
        assert!(said.len() < 4096, "{} bytes are said", said.len());
    }
    let _ = std::fs::remove_file(&file);
}

/// Bytes of an OML connection.
pub fn oml(bytes: &[u8]) {
    for limits in [Limits::default(), TIGHT] {
        let whole = decode([bytes], limits);
        assert_eq!(decode(bytes.chunks(1), limits), whole, "byte by byte");
        let (left, right) = bytes.split_at(cut_of(bytes));
        assert_eq!(decode([left, right], limits), whole, "cut at {}", left.len());
    }
    holds_little(bytes);
    for content in [Content::Text, Content::Binary] {
        survives_writing(bytes, content);
    }
}

/// A place that the bytes themselves choose.
fn cut_of(bytes: &[u8]) -> usize {
    crc32fast::hash(bytes) as usize % (bytes.len() + 1)
}

fn holds_little(bytes: &[u8]) {
    let mut decoder = StreamDecoder::new(TIGHT);
    for piece in bytes.chunks(50) {
        decoder.push(piece);
        while let Ok(Some(_)) = decoder.next_event() {}
        let failed = decoder.next_event().is_err();
        assert!(failed || decoder.buffered() < TIGHT.buffer(), "{} bytes are held", decoder.buffered());
        if failed {
            return;
        }
    }
}

/// Rows written as `content`, and what they must be read as.
struct Rewritten {
    bytes: Vec<u8>,
    rows: Vec<Found>,
    /// A value went shortened, by the protocol's own limits.
    cut: bool,
}

fn survives_writing(bytes: &[u8], content: Content) {
    let Some(once) = rewrite(bytes, content).filter(|once| !once.cut) else { return };
    let mut read = decode([&once.bytes[..]], Limits::default()).expect("a header of our own");
    assert_eq!(read.remove(0), Found::Header);
    let comparable =
        |rows: Vec<Found>| rows.into_iter().map(|row| without_loss(row, content)).collect::<Vec<_>>();
    assert_eq!(comparable(read), comparable(once.rows), "rows written as {content:?}");
    let again = rewrite(&once.bytes, content).expect("a header of our own");
    assert_eq!(again.bytes, once.bytes, "written as {content:?} for the second time");
}

/// Nothing where the header cannot be read.
fn rewrite(bytes: &[u8], content: Content) -> Option<Rewritten> {
    let mut decoder = StreamDecoder::new(Limits::default());
    decoder.push(bytes);
    decoder.finish();
    let mut all = Rewritten { bytes: Vec::new(), rows: Vec::new(), cut: false };
    while let Some(event) = decoder.next_event().ok()? {
        match event {
            Event::Header(header) => Header { content, ..header.clone() }.write(&mut all.bytes),
            Event::Row(row) => all.add(row, content),
            Event::Damaged(_) => {}
        }
    }
    (!all.bytes.is_empty()).then_some(all)
}

impl Rewritten {
    fn add(&mut self, row: Row<'_>, content: Content) {
        let encoder = Encoder::new(content);
        let values: Vec<Value<'_>> = row.values().collect();
        self.cut |= encoder.changes(&values).cut;
        let narrow = content == Content::Binary && i32::try_from(row.seq).is_err();
        let written =
            |out| encoder.write_row(out, row.schema, row.seq, row.timestamp, values.iter().copied());
        if !narrow && written(&mut self.bytes).is_ok() {
            self.rows.push(found(Event::Row(row)));
        }
    }
}

/// The row without what `content` cannot carry: the last digits of time stamps, subnormals in text, 30 bits in binary.
fn without_loss(row: Found, content: Content) -> Found {
    let Found::Row { stream, name, seq, values, defines, .. } = row else { return row };
    let values = values.into_iter().map(|value| match value {
        Owned::Double(_) if content == Content::Binary => double(0.0),
        Owned::Double(bits) if f64::from_bits(bits).is_subnormal() => {
            double(0.0_f64.copysign(f64::from_bits(bits)))
        }
        value => value,
    });
    Found::Row { stream, name, seq, timestamp: 0, values: values.collect(), defines }
}

/// Bytes of a native connection, in either direction: as they are, and with every checksum put right.
pub fn native(bytes: &[u8]) {
    for bytes in [bytes.to_vec(), sealed(bytes)] {
        let cut = cut_of(&bytes);
        frames_are_canonical(&bytes);
        let whole = receive([&bytes[..]]);
        assert_eq!(receive(bytes.chunks(1)), whole, "byte by byte");
        assert_eq!(receive([&bytes[..cut], &bytes[cut..]]), whole, "cut at {cut}");
        send([&bytes[..]]);
        send(bytes.chunks(1));
    }
}

/// The bytes with the right checksum in every whole frame: chance would not find one.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let mut rest = match bytes.starts_with(&PREFACE) {
        true => &mut bytes[PREFACE.len()..],
        false => &mut bytes[..],
    };
    while rest.len() >= HEAD {
        let length = u32::from_be_bytes([rest[1], rest[2], rest[3], rest[4]]) as usize;
        let Some((frame, behind)) = rest.split_at_mut_checked(HEAD + length) else { break };
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&frame[..5]);
        hasher.update(&frame[HEAD..]);
        frame[5..HEAD].copy_from_slice(&hasher.finalize().to_be_bytes());
        rest = behind;
    }
    bytes
}

/// Every frame that is read is written as the same bytes.
fn frames_are_canonical(bytes: &[u8]) {
    let (mut written, mut decoder) = (Vec::new(), FrameDecoder::new());
    decoder.push(bytes);
    while let Ok(Some(frame)) = decoder.next_frame() {
        frame.write(&mut written);
    }
    assert_eq!(written, bytes[..written.len()]);
}

/// What a collector hears, one line each, the rows of the data frames among them, and why it hangs up.
fn receive<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<String>, Option<ReceiverError>) {
    let (mut receiver, mut rows, mut heard) = (Receiver::new(), None, Vec::new());
    for piece in pieces {
        receiver.push(piece);
        loop {
            let greeted = match receiver.next_request() {
                Err(error) => return (heard, Some(error)),
                Ok(None) => break,
                Ok(Some(request)) => hear(request, &mut rows, &mut heard),
            };
            if greeted {
                receiver.welcome(0, 0);
            }
        }
    }
    (heard, None)
}

/// Whether the request was a hello.
fn hear(request: Request<'_>, rows: &mut Option<Header>, heard: &mut Vec<String>) -> bool {
    heard.push(format!("{request:?}"));
    match request {
        Request::Hello { header, relayed, .. } => {
            *rows = (relayed != Some(Relayed::Oml)).then_some(header);
            return true;
        }
        Request::Data { rows: packets, .. } => {
            if let Some(header) = rows {
                heard.extend(packets_survive(header, packets));
            }
        }
        Request::Clock { .. } | Request::Bye { .. } => {}
    }
    false
}

/// The events of a data frame; its rows are exact when written and read again.
fn packets_survive(header: &Header, packets: &[u8]) -> Vec<String> {
    let (events, written) = read_packets(header, packets);
    let (again, same) = read_packets(header, &written);
    assert_eq!(same, written, "native rows written for the second time");
    let rows: Vec<_> = events.iter().filter(|found| is_whole(found)).cloned().collect();
    assert_eq!(again, rows);
    events.iter().map(|event| format!("{event:?}")).collect()
}

/// Whether this is a row with all its values, which alone can be written again.
fn is_whole(found: &Found) -> bool {
    matches!(found, Found::Row { values, .. } if !values.contains(&Owned::Null))
}

fn read_packets(header: &Header, mut packets: &[u8]) -> (Vec<Found>, Vec<u8>) {
    let (mut events, mut written) = (Vec::new(), Vec::new());
    let Ok(mut decoder) = RowDecoder::new(header.clone()) else { return (events, written) };
    while let Some(event) = decoder.next_row(&mut packets) {
        if let Event::Row(row) = event {
            let values: Vec<_> = row.values().collect();
            let encoder = Encoder::native();
            let wrote =
                encoder.write_row(&mut written, row.schema, row.seq, row.timestamp, values.into_iter());
            assert_eq!(wrote.is_ok(), row.nulls == 0, "what was read whole fits its schema");
        }
        events.push(found(event));
    }
    (events, written)
}

/// A client that is told all this: it takes what is safe in order and each once. (When it believes what depends on what it has sent by then,
/// and so on the pieces.)
fn send<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) {
    const FRAMES: u64 = 5;
    let mut sender = Sender::new([7; 16], b"token", 1 << 20);
    for number in 1..=FRAMES {
        sender.push(&[0; 9], number);
    }
    sender.connected(b"protocol: 5\ndomain: d\n\n");
    let mut safe = Vec::new();
    for piece in pieces {
        while !sender.unsent().is_empty() {
            sender.advance(sender.unsent().len());
        }
        let received = sender.receive(piece, |sent| safe.push(sent.note));
        assert!(safe.iter().copied().eq(1..=safe.len() as u64), "{safe:?}");
        if received.is_err() {
            return;
        }
    }
}
