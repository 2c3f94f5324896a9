//! Writes small connections that use every part of both protocols: what the fuzzing in `fuzz/` begins with.
//!
//! `cargo run -p trialwise-streams --example fuzz_seeds FOLDER` writes FOLDER/oml and FOLDER/native.

use std::path::Path;

use trialwise_streams::native::{Frame, PREFACE, Relayed};
use trialwise_streams::protocol::{Content, Encoder, Header, Schema, Value, Vector};

const SCHEMAS: [&str; 5] = [
    "1 a_n a:int32 b:uint32 c:int64 d:uint64 e:double f:guid g:bool",
    "2 a_s text:string data:blob",
    "3 a_v i:[int32] u:[uint32] l:[int64] m:[uint64] d:[double] b:[bool]",
    "4 a_e",
    "300 a_far x:double",
];

type Rows = Vec<(usize, Vec<Value<'static>>)>;

fn rows() -> Rows {
    let numbers = |sign: i32, double| {
        let (wide, bits) = (i64::from(sign) << 40, u64::MAX >> 1);
        vec![
            Value::Int32(sign),
            Value::UInt32(u32::MAX),
            Value::Int64(wide),
            Value::UInt64(bits),
            Value::Double(double),
            Value::Guid(7),
            Value::Bool(sign > 0),
        ]
    };
    let text = |text, data| vec![Value::String(text), Value::Blob(data)];
    let vectors = vec![
        Value::Vector(Vector::Int32(&[-1, 2])),
        Value::Vector(Vector::UInt32(&[3])),
        Value::Vector(Vector::Int64(&[])),
        Value::Vector(Vector::UInt64(&[4, 5])),
        Value::Vector(Vector::Double(&[0.1, f64::NAN, f64::INFINITY])),
        Value::Vector(Vector::Bool(&[true, false])),
    ];
    vec![
        (0, numbers(-1, 0.1)),
        (0, numbers(1, f64::NAN)),
        (0, numbers(0, -1e300)),
        (1, text(b"tab\tline\nslash\\", b"\xaa\xaa\x01\x00")),
        (1, text(b"", b"")),
        (1, text(&[b'x'; 300], &[0xaa; 70])),
        (2, vectors),
        (3, vec![]),
        (4, vec![Value::Double(5e-324)]),
    ]
}

fn schema(at: usize) -> Schema {
    SCHEMAS[at].parse().expect("a schema")
}

/// Seconds of the time stamp for a row.
fn time(number: usize) -> f64 {
    number as f64 * 0.5 - 1.0
}

fn header(content: Content, schemas: &[usize]) -> Vec<u8> {
    let schemas = schemas.iter().map(|&at| schema(at)).collect();
    let names = ("d".to_owned(), "s".to_owned(), "a".to_owned());
    let header = Header {
        protocol: 5,
        domain: names.0,
        start_time: Some(9),
        sender_id: names.1,
        app_name: names.2,
        schemas,
        content,
    };
    let mut text = Vec::new();
    header.write(&mut text);
    text
}

fn write_rows(out: &mut Vec<u8>, encoder: Encoder, rows: &Rows) {
    for (number, (at, values)) in rows.iter().enumerate() {
        // Packets name no stream above 255: that row is left out.
        let _ = encoder.write_row(
            out,
            &schema(*at),
            i64::try_from(number).unwrap_or(0),
            time(number),
            values.iter().copied(),
        );
    }
}

/// A row of stream 0 that defines stream 7, and a row of it.
fn define_late(out: &mut Vec<u8>, encoder: Encoder) {
    let late: Schema = "7 a_late x:double".parse().expect("a schema");
    let definition = [".", "schema", "7 a_late x:double"].map(Value::from);
    let unit = [".a_late.x", "unit", "s"].map(Value::from);
    for values in [unit, definition] {
        encoder.write_row(out, &Schema::metadata(), 1, 0.0, values.into_iter()).expect("it fits");
    }
    encoder.write_row(out, &late, 1, 0.0, [Value::Double(1.5)].into_iter()).expect("it fits");
}

fn oml() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for content in [Content::Text, Content::Binary] {
        let encoder = Encoder::new(content);
        for row in rows() {
            let mut bytes = header(content, &[row.0]);
            write_rows(&mut bytes, encoder, &vec![row]);
            all.push(bytes);
        }
        let mut bytes = header(content, &[0, 1, 2, 3, 4]);
        write_rows(&mut bytes, encoder, &rows());
        define_late(&mut bytes, encoder);
        all.push(bytes);
    }
    all.push(b"protocol: 4\ncontent: text\nexperiment-id: e.1\nunknown: 5\nschema: 3 b v:double\n\n1\t3\t0x1\tinf\n".to_vec());
    all
}

fn connection(frames: &[Frame<'_>]) -> Vec<u8> {
    let mut bytes = PREFACE.to_vec();
    frames.iter().for_each(|frame| frame.write(&mut bytes));
    bytes
}

fn native() -> Vec<Vec<u8>> {
    let header = header(Content::Binary, &[0, 1, 2, 3]);
    let mut packets = Vec::new();
    write_rows(&mut packets, Encoder::native(), &rows());
    define_late(&mut packets, Encoder::native());
    let (session, token) = ([1; 16], &b"token"[..]);
    let hello = Frame::Hello { session, base: 1, token, header: &header };
    let clock = Frame::ClockAnswer { asked: 1, answered: 2 };
    let mut all: Vec<_> = rows()
        .into_iter()
        .map(|row| {
            let mut packet = Vec::new();
            write_rows(&mut packet, Encoder::native(), &vec![row]);
            connection(&[hello, Frame::Data { number: 1, rows: &packet }])
        })
        .collect();
    let data = [1, 2].map(|number| Frame::Data { number, rows: &packets });
    all.push(connection(&[hello, clock, data[0], data[0], data[1], Frame::Bye { last: 2 }]));
    for rows in [Relayed::Native, Relayed::Oml] {
        let relay = Frame::Relay { session, base: 3, token, header: &header, rows };
        all.push(connection(&[relay, Frame::Data { number: 9, rows: &packets }]));
    }
    let answers = [
        Frame::Welcome { through: 1 },
        Frame::ClockQuestion { asked: 5 },
        Frame::Acknowledgement { through: 3 },
        Frame::Acknowledgement { through: 5 },
        Frame::Refusal { reason: "no" },
    ];
    // A collector's answers have no preface.
    all.push(connection(&answers)[PREFACE.len()..].to_vec());
    all
}

fn write(folder: &Path, seeds: Vec<Vec<u8>>) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (number, seed) in seeds.into_iter().enumerate() {
        std::fs::write(folder.join(format!("seed-{number:02}")), seed)?;
    }
    Ok(())
}

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).ok_or_else(|| std::io::Error::other("usage: fuzz_seeds FOLDER"))?;
    write(&Path::new(&folder).join("oml"), oml())?;
    write(&Path::new(&folder).join("native"), native())
}
