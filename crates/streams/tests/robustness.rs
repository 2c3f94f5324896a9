//! The decoder against damaged, hostile and cut-up streams.

#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{Found, damages, decode, decode_all, recorded, rows};
use proptest::prelude::*;
use trialwise_streams::protocol::{
    Content, DamageKind, Decoder, Encoder, Event, Field, FieldType, Header, HeaderError, Limits, Schema,
    StreamDecoder, Value,
};

const HEAD: &str = "protocol: 5\ndomain: d\nstart-time: 100\nsender-id: s\napp-name: a\n\
    schema: 0 _experiment_metadata subject:string key:string value:string\n\
    schema: 1 a_m x:int32 y:int32 z:int32\nschema: 2 a_s text:string data:blob\n";

fn text(lines: &str) -> Vec<u8> {
    format!("{HEAD}content: text\n\n{lines}").into_bytes()
}

fn schema() -> Schema {
    "1 a_m x:int32 y:int32 z:int32".parse().unwrap()
}

fn packet(seq: i64) -> Vec<u8> {
    let mut out = Vec::new();
    let values = [Value::Int32(seq as i32), Value::Int32(-1), Value::Int32(0x00aa_aa01)];
    Encoder::new(Content::Binary).write_row(&mut out, &schema(), seq, 0.5, values.into_iter()).unwrap();
    out
}

fn string_packet(seq: i64, string: &[u8], blob: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let schema: Schema = "2 a_s text:string data:blob".parse().unwrap();
    let values = [Value::String(string), Value::Blob(blob)];
    Encoder::new(Content::Binary).write_row(&mut out, &schema, seq, 0.5, values.into_iter()).unwrap();
    out
}

fn binary(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("{HEAD}content: binary\n\n").into_bytes();
    packets.iter().for_each(|packet| bytes.extend_from_slice(packet));
    bytes
}

fn seqs(all: &[Found]) -> Vec<i64> {
    rows(all)
        .into_iter()
        .filter_map(|row| if let Found::Row { seq, .. } = row { Some(*seq) } else { None })
        .collect()
}

/// Which rows came and how each damaged one was called.
fn outcome(bytes: &[u8]) -> (Vec<i64>, Vec<DamageKind>) {
    let all = decode_all(bytes);
    (seqs(&all), damages(&all).iter().map(|damage| damage.kind).collect())
}

#[test]
fn a_damaged_line_costs_itself_only() {
    let cases = [
        ("0.1\t1\t7\t1\t2\0\t3", DamageKind::Nul),
        ("0.1\t1\t7\t1\t2", DamageKind::Fields),
        ("0.1\t1\t7\t1\t2\t3\t4", DamageKind::Fields),
        ("0.1\t9\t7\t1\t2\t3", DamageKind::UnknownStream),
        ("soon\t1\t7\t1\t2\t3", DamageKind::Prefix),
        ("", DamageKind::Prefix),
        ("0.1\t1", DamageKind::Prefix),
        ("0.1\t0\t7\t.\tschema\t3 bad x:quaternion", DamageKind::Schema),
        ("0.1\t0\t7\t.\tschema\t0 other x:int32", DamageKind::Schema),
    ];
    for (line, kind) in cases {
        let bytes = text(&format!("0.0\t1\t1\t1\t2\t3\n{line}\n0.2\t1\t2\t1\t2\t3\n"));
        assert_eq!(outcome(&bytes), (vec![1, 2], vec![kind]), "{line:?}");
    }
}

/// The values of the only row of a text stream with one field of this type and another field, 7; and how many are null.
fn read_text(kind: &str, value: &str) -> (Vec<common::Owned>, u32) {
    let head = format!("protocol: 5\ndomain: d\nschema: 1 a_m v:{kind} other:int32\ncontent: text\n\n");
    read_only_row(format!("{head}0.1\t1\t1\t{value}\t7\n").as_bytes())
}

fn read_only_row(bytes: &[u8]) -> (Vec<common::Owned>, u32) {
    let mut decoder = StreamDecoder::new(Limits::default());
    decoder.push(bytes);
    let mut rows = Vec::new();
    while let Some(event) = decoder.next_event().unwrap() {
        match event {
            Event::Row(row) => rows.push((row.values().map(common::owned).collect(), row.nulls)),
            Event::Damaged(damage) => panic!("{damage:?}"),
            Event::Header(_) => {}
        }
    }
    assert_eq!(rows.len(), 1);
    rows.remove(0)
}

/// Spellings that R, Python and Ruby programs send where there is no number, or another: none may cost the row, and what
/// is stored is what was written, or nothing.
#[test]
fn a_value_that_its_field_cannot_hold_is_null_in_a_good_row() {
    use common::Owned::{Bool, Bytes, Double, Integer, Null, Vector};
    let double = |value: f64| Double(value.to_bits());
    let cases = [
        ("double", "", Null),
        ("double", "nil", Null),
        ("double", "None", Null),
        ("double", "NA", Null),
        ("double", "1,5", Null),
        ("double", "1.5ms", Null),
        ("double", "1.79769313486232e+308", double(f64::INFINITY)), // liboml2's 15 digits of the largest
        ("double", "2.5 ", double(2.5)),
        ("double", " 2.5", double(2.5)),
        ("double", "-inf", double(f64::NEG_INFINITY)),
        ("double", "nan", double(f64::NAN)),
        ("int32", "", Null),
        ("int32", "nil", Null),
        ("int32", "15.5", Null),
        ("int32", "15.0", Integer(15)),
        ("int32", "5 ", Integer(5)),
        ("int32", "08", Null),
        ("int32", "2147483648", Null),
        ("int32", "nan", Null),
        ("int32", "-", Null),
        ("uint32", "-1", Null),
        ("uint32", "1.5", Null),
        ("uint32", "4294967296", Null),
        ("int64", "9223372036854775808", Null),
        ("uint64", "18446744073709551616", Null),
        ("uint64", "1e3", Integer(1000)),
        ("guid", "", Null),
        ("guid", "x", Null),
        ("guid", "12 ", Integer(12)),
        ("blob", "YQ", Null),
        ("blob", "?", Null),
        ("blob", "", Bytes(vec![])),
        ("[int32]", "", Null),
        ("[int32]", "2 1", Null),
        ("[int32]", "2 1 x", Null),
        ("[double]", "0", Vector(vec![])),
        ("bool", "", Bool(false)), // as oml2-server reads it
        ("string", "", Bytes(vec![])),
    ];
    for (kind, text, expected) in cases {
        let nulls = u32::from(expected == Null);
        assert_eq!(read_text(kind, text), (vec![expected, Integer(7)], nulls), "{kind} {text:?}");
    }
}

/// A packet of stream 1 with these tagged values.
fn tagged_packet(values: &[&[u8]]) -> Vec<u8> {
    let contents = [&[values.len() as u8, 1, 5, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0][..], &values.concat()].concat();
    [&[0xaa, 0xaa, 1, 0, contents.len() as u8][..], &contents].concat()
}

#[test]
fn a_packet_with_a_value_of_another_type_is_a_good_row() {
    use common::Owned::{Integer, Null};
    let seven: &[u8] = &[5, 0, 0, 0, 7];
    for kind in ["double", "int64", "uint32", "string", "blob", "guid", "bool", "[int32]", "[bool]"] {
        let values: [(&[u8], &str); 12] = [
            (&[1, 0, 0, 0, 9], "int32"),
            (&[2, 0x40, 0, 0, 0, 1], "double"),
            (&[4, 2, b'h', b'i'], "string"),
            (&[5, 0, 0, 0, 9], "int32"),
            (&[6, 0, 0, 0, 9], "uint32"),
            (&[7, 0, 0, 0, 0, 0, 0, 0, 9], "int64"),
            (&[8, 0, 0, 0, 0, 0, 0, 0, 9], "uint64"),
            (&[9, 0, 0, 0, 2, 1, 2], "blob"),
            (&[10, 0, 0, 0, 0, 0, 0, 0, 9], "guid"),
            (&[12], "bool"),
            (&[13, 15, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], "[double]"),
            (&[13, 14, 0, 1, 0x0d], ""), // neither true nor false
        ];
        for (value, own) in values.into_iter().filter(|(_, own)| *own != kind) {
            let head = format!("protocol: 5\ndomain: d\nschema: 1 m v:{kind} w:int32\ncontent: binary\n\n");
            let second = tagged_packet(&[seven, seven]);
            let bytes = [head.as_bytes(), &tagged_packet(&[value, seven]), &second].concat();
            let all = decode_all(&bytes);
            assert_eq!(all, decode(bytes.chunks(1), Limits::default()).unwrap());
            let found: Vec<_> = rows(&all)
                .into_iter()
                .map(|row| if let Found::Row { values, .. } = row { values.clone() } else { vec![] })
                .collect();
            assert_eq!(found, [[Null, Integer(7)], [Null, Integer(7)]], "{own} in {kind}");
        }
    }
}

#[test]
fn values_are_read_as_a_server_reads_them() {
    let all = decode_all(&text("1e0\t1\t 7\t0x10\t010\t -5\n1\t2\t8\ta\\tb\\q\\\\\\\t\n"));
    let values: Vec<_> = rows(&all)
        .into_iter()
        .map(|row| if let Found::Row { values, .. } = row { values.clone() } else { vec![] })
        .collect();
    assert_eq!(values[0], [16, 8, -5].map(common::Owned::Integer));
    assert_eq!(values[1], [b"a\tbq\\".to_vec(), vec![]].map(common::Owned::Bytes));
}

#[test]
fn an_endless_line_is_bounded_and_flagged_once() {
    let limits = Limits { row: 1000, ..Limits::default() };
    let mut bytes = text("0.0\t1\t1\t1\t2\t3\n");
    bytes.extend(std::iter::repeat_n(b'7', 100_000));
    bytes.extend_from_slice(b"\n0.2\t1\t2\t1\t2\t3\n");
    let all = decode([&bytes[..]], limits).unwrap();
    assert_eq!(seqs(&all), [1, 2]);
    assert_eq!(damages(&all).iter().map(|damage| damage.kind).collect::<Vec<_>>(), [DamageKind::TooLong]);
    assert_eq!(all, decode(bytes.chunks(7), limits).unwrap());
}

#[test]
fn a_damaged_packet_costs_itself_only() {
    let damaged = |at: usize, bytes: &[u8]| {
        let mut second = packet(2);
        second.splice(at..at + bytes.len(), bytes.iter().copied());
        second
    };
    let cases = [
        ("lying length, long", damaged(3, &[0, 60]), DamageKind::Length),
        ("lying length, very long", damaged(3, &[0xff, 0xff]), DamageKind::Length),
        ("lying length, short", damaged(3, &[0, 20]), DamageKind::Length),
        ("lying length, nothing", damaged(3, &[0, 0]), DamageKind::Length),
        ("wrong count", damaged(5, &[2]), DamageKind::Fields),
        ("unknown stream", damaged(6, &[9]), DamageKind::UnknownStream),
        ("unknown tag", damaged(18, &[0x11]), DamageKind::Value),
        ("no tag of seq", damaged(7, &[0]), DamageKind::Prefix),
        ("unknown type", damaged(2, &[3]), DamageKind::Garbage),
        (
            "oversize",
            [&[0xaa, 0xaa, 2, 0xff, 0xff, 0xff, 0xff], &packet(2)[5..]].concat(),
            DamageKind::TooLong,
        ),
        ("garbage", b"hello".to_vec(), DamageKind::Garbage),
        ("sync before sync", vec![0xaa, 0xaa], DamageKind::Garbage),
        ("one sync byte", vec![0xaa], DamageKind::Garbage),
    ];
    for (name, second, kind) in cases {
        let (rows, kinds) = outcome(&binary(&[packet(1), second, packet(3), packet(4)]));
        assert_eq!((rows, kinds), (vec![1, 3, 4], vec![kind]), "{name}");
    }
}

#[test]
fn a_lying_length_of_a_variable_row_swallows_nothing() {
    let mut long = string_packet(2, b"text", b"data");
    long[4] += 33;
    let mut overrun = string_packet(2, b"text", b"data");
    overrun[19] = 200;
    for second in [long, overrun] {
        let (rows, kinds) = outcome(&binary(&[packet(1), second, packet(3), packet(4), packet(5)]));
        assert_eq!(rows, [1, 3, 4, 5]);
        assert_eq!(kinds.len(), 1);
    }
}

#[test]
fn a_packet_inside_a_blob_is_no_packet() {
    let bytes = binary(&[string_packet(1, b"", &packet(99)), packet(2)]);
    assert_eq!(outcome(&bytes), (vec![1, 2], vec![]));
}

#[test]
fn an_unfinished_row_is_flagged_at_the_end() {
    let mut bytes = binary(&[packet(1), packet(2)]);
    bytes.truncate(bytes.len() - 1);
    assert_eq!(outcome(&bytes), (vec![1], vec![DamageKind::Truncated]));
    assert_eq!(outcome(&text("0.0\t1\t1\t1\t2\t3\n0.1\t1\t2")), (vec![1], vec![DamageKind::Truncated]));
}

#[test]
fn headers_that_a_server_refuses_are_refused_with_a_reason() {
    let refused = |head: &str| decode([head.as_bytes()], Limits::default()).unwrap_err();
    let cases = [
        ("protocol: 6\n", "1 to 5"),
        ("protocol: 0\n", "1 to 5"),
        ("protocol: 5\r\ndomain: d\r\n\r\n", "not CRLF"),
        ("protocol: 5\n\n", "domain first"),
        ("protocol: 5\nstart-time: 5\n", "domain first"),
        ("protocol: 5\ndomain: ../etc/passwd\n", "cannot name a domain"),
        ("protocol: 5\ndomain: a'b\n", "cannot name a domain"),
        ("protocol: 5\ndomain: (null)\n", "--oml-domain"),
        ("protocol: 5\ndomain: d\nstart-time: now\n", "UNIX seconds"),
        ("protocol: 5\ndomain: d\nschema: x m a:int32\n", "stream index"),
        ("protocol: 5\ndomain: d\nschema: 1 m a:int33\n", "unknown type"),
        ("protocol: 5\ndomain: d\nschema: 1 m;drop a:int32\n", "is no name"),
        ("protocol: 5\ndomain: d\ncontent: xml\n", "text and binary"),
        ("GET / HTTP/1.1\n", "no colon"),
    ];
    for (head, reason) in cases {
        let error = refused(head).to_string();
        assert!(error.contains(reason), "{head:?}: {error}");
    }
    assert_eq!(refused(&"x: y\n".repeat(100_000)), HeaderError::TooLong(256 << 10));
    assert_eq!(refused(&"x".repeat(300_000)), HeaderError::TooLong(256 << 10));
    assert!(
        decode([format!("protocol: 5\ndomain: {}\n", "d".repeat(10_000)).as_bytes()], Limits::default())
            .is_err()
    );
}

#[test]
fn definitions_are_bounded() {
    let limits = Limits { streams: 4, fields: 12, ..Limits::default() };
    let define = |row: i32, schema: &str| format!("0\t0\t{row}\t.\tschema\t{schema}\n");
    let wide = define(1, "3 w a:bool b:bool c:bool d:bool e:bool");
    let lines =
        [wide, define(2, "3 w a:bool"), define(3, "3 w a:int32 b:bool"), define(4, "4 x a:bool")].concat();
    let all = decode([&text(&lines)[..]], limits).unwrap();
    assert_eq!(damages(&all).iter().map(|damage| damage.seq).collect::<Vec<_>>(), [Some(1), Some(4)]);
    let refused = decode([&text("")[..]], Limits { streams: 2, ..limits }).unwrap_err();
    assert_eq!(refused, HeaderError::TooManyStreams(2, 12));
}

#[test]
fn a_header_in_any_order_and_old_spelling_is_read() {
    let head = "protocol: 4\ncontent: text\nexperiment-id: e.1\nunknown: 5\nschema: 3 b v:double\nschema: 1 a w:int\n\
        start-time: 7 \nsender-id: a b \n\n0\t3\t0\t1e-300\n0\t1\t0\t4\n0\t0\t0\t.x\tk\tv\n";
    let mut decoder = Decoder::default();
    let mut rest = head.as_bytes();
    loop {
        let (taken, found) = decoder.advance(rest).unwrap();
        rest = &rest[taken..];
        if taken == 0 && found == trialwise_streams::protocol::Advance::More {
            break;
        }
    }
    assert_eq!(decoder.counters().rows, 3);
    assert_eq!(decoder.header().sender_id, "a b");
    assert_eq!((decoder.header().start_time, decoder.header().domain.as_str()), (Some(7), "e.1"));
}

#[test]
fn a_redefined_stream_is_read_by_its_new_definition() {
    let lines = "0\t1\t1\t1\t2\t3\n0\t0\t1\t.\tschema\t1 a_m only:string\n0\t1\t2\t1\n0\t0\t2\t.\tschema\t1 a_m only:string\n0\t1\t3\tx\n";
    let all = decode_all(&text(lines));
    assert_eq!(damages(&all), []);
    assert_eq!(seqs(&all), [1, 1, 2, 2, 3]);
}

#[test]
fn recorded_streams_cut_anywhere_give_the_same() {
    let Some(folder) = recorded() else { return };
    for name in ["meta_binary.bin", "meta_text.txt", "vectors_binary.bin", "reconnect_text_conn1.txt"] {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let whole = decode_all(&bytes);
        for cut in 0..=bytes.len() {
            let pieces = [&bytes[..cut], &bytes[cut..]];
            assert_eq!(decode(pieces, Limits::default()).unwrap(), whole, "{name} cut at {cut}");
        }
        assert_eq!(decode(bytes.chunks(1), Limits::default()).unwrap(), whole, "{name} by bytes");
    }
}

/// Bytes that look like a stream: packets, some with a byte changed, garbage, sync bytes.
fn messy_packets() -> impl Strategy<Value = Vec<u8>> {
    let damaged = (0_usize..33, any::<u8>()).prop_map(|(at, byte)| {
        let mut bytes = packet(3);
        bytes[at] = byte;
        bytes
    });
    let piece = prop_oneof![
        Just(packet(1)),
        Just(string_packet(2, b"ab", &[0xaa; 9])),
        damaged,
        prop::collection::vec(any::<u8>(), 0..12),
        Just(vec![0xaa, 0xaa]),
        Just(vec![0xaa, 0xaa, 2, 0, 0, 0, 40]),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| binary(&pieces))
}

fn messy_lines() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("0.1\t1\t1\t2\t3\t4\n".to_owned()),
        Just("0.1\t2\t1\ta\\\\\tQQ==\n".to_owned()),
        Just("0.1\t0\t1\t.\tschema\t5 late v:[double]\n".to_owned()),
        Just("0.1\t5\t1\t3 1 2 nan\n".to_owned()),
        "[0-9\\t\\n\\x00.a-]{0,20}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| text(&pieces.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cuts_change_nothing(bytes in prop_oneof![messy_packets(), messy_lines()], size in 1_usize..50) {
        let limits = Limits { row: 200, ..Limits::default() };
        let whole = decode([&bytes[..]], limits).unwrap();
        prop_assert_eq!(decode(bytes.chunks(size), limits).unwrap(), whole);
    }

    #[test]
    fn the_decoder_takes_something_of_a_full_buffer(
        bytes in prop_oneof![messy_packets(), messy_lines(), prop::collection::vec(any::<u8>(), 0..2000)],
    ) {
        let limits = Limits { row: 100, header: 600, ..Limits::default() };
        let mut decoder = Decoder::new(limits);
        let mut start = 0;
        while start < bytes.len() {
            let window = &bytes[start..bytes.len().min(start + limits.buffer())];
            let Ok((taken, found)) = decoder.advance(window) else { break };
            prop_assert!(taken <= window.len());
            prop_assert!(decoder.event(found, window).is_some() || taken > 0 || window.len() < limits.buffer());
            if taken == 0 && decoder.event(found, window).is_none() { break }
            start += taken;
        }
    }

    #[test]
    fn a_good_row_follows_any_damaged_packet(at in 0_usize..33, byte in any::<u8>()) {
        let mut second = packet(2);
        second[at] = byte;
        let (rows, _) = outcome(&binary(&[packet(1), second, packet(3), packet(4)]));
        prop_assert!(rows.contains(&1) && rows.contains(&3) && rows.contains(&4), "{rows:?}");
    }
}

fn any_type() -> impl Strategy<Value = FieldType> {
    use trialwise_streams::protocol::ElementType as E;
    prop::sample::select(vec![
        FieldType::Int32,
        FieldType::UInt32,
        FieldType::Int64,
        FieldType::UInt64,
        FieldType::Double,
        FieldType::String,
        FieldType::Blob,
        FieldType::Guid,
        FieldType::Bool,
        FieldType::Vector(E::Int32),
        FieldType::Vector(E::UInt32),
        FieldType::Vector(E::Int64),
        FieldType::Vector(E::UInt64),
        FieldType::Vector(E::Double),
        FieldType::Vector(E::Bool),
    ])
}

/// Material from which a value of any type is made.
#[derive(Clone, Debug)]
struct Seed {
    bits: u64,
    bytes: Vec<u8>,
    int32s: Vec<i32>,
    uint32s: Vec<u32>,
    int64s: Vec<i64>,
    uint64s: Vec<u64>,
    doubles: Vec<f64>,
    bools: Vec<bool>,
}

fn any_seed() -> impl Strategy<Value = Seed> {
    let bytes = prop::collection::vec(1_u8..=255, 0..60);
    let words = prop::collection::vec(any::<u64>(), 0..6);
    (any::<u64>(), bytes, words, prop::collection::vec(prop::num::f64::ANY, 0..5)).prop_map(
        |(bits, bytes, words, doubles)| Seed {
            bits,
            bytes,
            int32s: words.iter().map(|&word| word as i32).collect(),
            uint32s: words.iter().map(|&word| word as u32).collect(),
            int64s: words.iter().map(|&word| word.cast_signed()).collect(),
            bools: words.iter().map(|&word| word % 2 == 0).collect(),
            uint64s: words,
            doubles,
        },
    )
}

impl Seed {
    fn value(&self, field_type: FieldType) -> Value<'_> {
        use trialwise_streams::protocol::{ElementType as E, Vector as V};
        match field_type {
            FieldType::Int32 => Value::Int32(self.bits as i32),
            FieldType::UInt32 => Value::UInt32(self.bits as u32),
            FieldType::Int64 => Value::Int64(self.bits.cast_signed()),
            FieldType::UInt64 => Value::UInt64(self.bits),
            FieldType::Double => Value::Double(f64::from_bits(self.bits)),
            FieldType::String => Value::String(&self.bytes),
            FieldType::Blob => Value::Blob(&self.bytes),
            FieldType::Guid => Value::Guid(self.bits),
            FieldType::Bool => Value::Bool(self.bits % 2 == 1),
            FieldType::Vector(E::Int32) => Value::Vector(V::Int32(&self.int32s)),
            FieldType::Vector(E::UInt32) => Value::Vector(V::UInt32(&self.uint32s)),
            FieldType::Vector(E::Int64) => Value::Vector(V::Int64(&self.int64s)),
            FieldType::Vector(E::UInt64) => Value::Vector(V::UInt64(&self.uint64s)),
            FieldType::Vector(E::Double) => Value::Vector(V::Double(&self.doubles)),
            FieldType::Vector(E::Bool) => Value::Vector(V::Bool(&self.bools)),
        }
    }
}

/// What a binary double becomes: 30 bits of mantissa, and NaN outside the range of the exponent.
fn after_binary(value: f64, decoded: f64) -> bool {
    let range = 2_f64.powi(-129)..2_f64.powi(127);
    if value == 0.0 {
        return decoded == 0.0;
    }
    if !range.contains(&value.abs()) {
        return decoded.is_nan();
    }
    (decoded - value).abs() <= value.abs() * 2_f64.powi(-29)
}

fn same(content: Content, given: &Value<'_>, decoded: &common::Owned) -> bool {
    match (content, given, decoded) {
        (Content::Binary, Value::Double(given), common::Owned::Double(bits)) => {
            after_binary(*given, f64::from_bits(*bits))
        }
        (Content::Text, Value::Double(given), _) if given.is_subnormal() => {
            *decoded == common::double(0.0_f64.copysign(*given))
        }
        _ => common::owned(*given) == *decoded,
    }
}

#[test]
fn no_name_makes_a_line_of_its_own() {
    let header = Header {
        protocol: 5,
        domain: "d".into(),
        sender_id: "a\ncontent: binary\r".into(),
        ..Header::default()
    };
    let mut bytes = Vec::new();
    header.write(&mut bytes);
    let mut decoder = Decoder::default();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        rest = &rest[decoder.advance(rest).unwrap().0..];
    }
    assert_eq!(
        (decoder.header().sender_id.as_str(), decoder.header().content),
        ("a?content: binary?", Content::Text)
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(
        fields in prop::collection::vec((any_type(), any_seed()), 1..10),
        seq in 0_i32..i32::MAX,
        binary in any::<bool>(),
    ) {
        let content = if binary { Content::Binary } else { Content::Text };
        let named = fields.iter().enumerate();
        let named = named.map(|(index, (field_type, _))| Field { name: format!("f{index}"), field_type: *field_type });
        let schema = Schema::new(7, "a_any", named.collect()).unwrap();
        let values: Vec<_> = fields.iter().map(|(field_type, seed)| seed.value(*field_type)).collect();
        let name = if binary { "binary" } else { "text" };
        let mut bytes = format!("protocol: 5\ndomain: d\nschema: {schema} \ncontent: {name}\n\n").into_bytes();
        let encoder = Encoder::new(content);
        encoder.write_row(&mut bytes, &schema, seq.into(), 0.25, values.iter().copied()).unwrap();
        let all = decode_all(&bytes);
        prop_assert_eq!(all.len(), 2);
        let Found::Row { seq: read, timestamp, values: decoded, .. } = &all[1] else { panic!("{all:?}") };
        prop_assert_eq!((*read, *timestamp), (i64::from(seq), 0.25_f64.to_bits()));
        for (given, decoded) in values.iter().zip(decoded) {
            prop_assert!(same(content, given, decoded), "{given:?} became {decoded:?}");
        }
    }

    #[test]
    fn schemas_are_read_as_written(types in prop::collection::vec(any_type(), 0..9), index in any::<u32>()) {
        let fields = types.into_iter().enumerate();
        let fields = fields.map(|(index, field_type)| Field { name: format!("f{index}"), field_type });
        let schema = Schema::new(index, "_a1", fields.collect()).unwrap();
        prop_assert_eq!(schema.to_string().parse(), Ok(schema));
    }
}
