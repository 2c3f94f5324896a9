//! What a client makes of points, filters, times, types and mistakes.

#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use common::client::{
    PATIENCE, TRIPLE, check, collector, file, inject_from, lost_at_inject, rows_of, scratch, tcp, triple,
    with_content,
};
use common::{Found, Owned, decode_all, rows};
use trialwise_streams::client::{Client, InjectError, Point};
use trialwise_streams::config::{Collect, Config, Destination, StreamChoice};
use trialwise_streams::filter::{FilterChoice, Window};
use trialwise_streams::protocol::{Content, FieldType, Value};

#[test]
fn an_inject_after_the_end_fails_and_is_counted() {
    let (config, _) = file("after");
    let mut client = Client::new("app", &config).unwrap();
    let point = client.point("m", &TRIPLE).unwrap();
    client.start().unwrap();
    assert_eq!(point.inject(&[Value::Int32(1)]), Err(InjectError::Values));
    assert_eq!(
        point.inject(&[Value::Int32(1), Value::Int32(1), Value::Bool(true)]),
        Err(InjectError::Values)
    );
    let report = client.close(PATIENCE);
    assert_eq!(point.inject(&triple(0, 0)), Err(InjectError::Closed));
    assert_eq!((report.counters.point("m").unwrap().dropped, point.dropped()), (2, 3));
}

#[test]
fn a_client_never_started_counts_what_it_was_given() {
    let (config, path) = file("never");
    let mut client = Client::new("app", &config).unwrap();
    let point = client.point("m", &TRIPLE).unwrap();
    point.inject(&triple(0, 0)).unwrap();
    let report = client.close(PATIENCE);
    assert_eq!((report.finished, lost_at_inject(&report, "m")), (false, (0, 1)));
    assert!(!path.exists());
}

#[test]
fn a_disabled_client_takes_everything_and_does_nothing() {
    let mut client = Client::disabled("app").unwrap();
    let point = client.point("m", &TRIPLE).unwrap();
    client.start().unwrap();
    point.inject(&triple(0, 0)).unwrap();
    let report = client.close(PATIENCE);
    assert!(report.finished && report.counters.dropped() == 0);
}

fn choice(point: &str, name: &str, window: Window, filters: &[(&str, &str)]) -> StreamChoice {
    let filters = filters.iter().map(|(field, operation)| FilterChoice {
        field: (*field).to_owned(),
        operation: (*operation).to_owned(),
        ..FilterChoice::default()
    });
    StreamChoice { point: point.to_owned(), name: Some(name.to_owned()), window, filters: filters.collect() }
}

#[test]
fn one_point_becomes_the_streams_that_were_asked_for_at_the_places_asked_for() {
    let (mut config, path) = file("streams-a");
    let second = scratch("streams-b");
    let shared = choice("m", "average", Window::Samples(4), &[("number", "avg")]);
    let alone = choice("m", "raw", Window::Samples(1), &[("check", "first"), ("number", "first")]);
    config.collects[0].streams =
        Some(vec![shared.clone(), alone, choice("nobody", "x", Window::Samples(1), &[])]);
    let other = Collect {
        streams: Some(vec![shared]),
        ..Collect::all(Destination::File(second.clone()), Some(Content::Binary))
    };
    config.collects.push(other);
    let mut client = Client::new("app", &config).unwrap();
    let point = client.point("m", &TRIPLE).unwrap();
    assert_eq!(client.undeclared(), ["nobody"]);
    client.start().unwrap();
    (0..10).for_each(|number| point.inject(&triple(0, number)).unwrap());
    let report = client.close(PATIENCE);
    assert!(report.finished && report.counters.dropped() == 0);
    let (first, second) =
        (decode_all(&std::fs::read(path).unwrap()), decode_all(&std::fs::read(second).unwrap()));
    let raw = rows_of(&first, "app_raw");
    assert_eq!((raw.len(), raw[3].1.clone()), (10, vec![i128::from(check(0, 3)), 3]));
    let averages = |all: &[Found]| -> Vec<Vec<Owned>> {
        let read = |found: &Found| match found {
            Found::Row { name, values, .. } if name == "app_average" => Some(values.clone()),
            _ => None,
        };
        all.iter().filter_map(read).collect()
    };
    let expected =
        [[1.5, 0.0, 3.0], [5.5, 4.0, 7.0], [8.5, 8.0, 9.0]].map(|row| row.map(common::double).to_vec());
    assert_eq!(averages(&first), expected, "the last window is partial and flushed at the end");
    assert_eq!(averages(&second), expected);
    assert_eq!(rows_of(&second, "app_raw"), []);
}

#[test]
fn windows_in_seconds_end_without_samples_too() {
    let (mut config, path) = file("interval");
    config.window = Window::Seconds(0.05);
    config.instrumentation = Duration::ZERO;
    let mut client = Client::new("app", &config).unwrap();
    let point = client.point("m", &[("x", FieldType::Double)]).unwrap();
    client.start().unwrap();
    let start = Instant::now();
    point.inject(&[Value::Double(3.0)]).unwrap();
    thread::sleep(Duration::from_millis(400));
    let report = client.close(PATIENCE);
    let most = start.elapsed().as_millis() as usize / 50 + 2;
    let all = decode_all(&std::fs::read(path).unwrap());
    let values: Vec<_> = rows(&all)
        .into_iter()
        .filter_map(|row| match row {
            Found::Row { name, values, timestamp, .. } if name == "app_m" => {
                Some((*timestamp, values[0].clone()))
            }
            _ => None,
        })
        .collect();
    assert!(report.finished && (4..=most).contains(&values.len()), "{}", values.len());
    assert_eq!(values.iter().filter(|(_, value)| *value == common::double(3.0)).count(), 1);
    assert_eq!(
        values.iter().filter(|(_, value)| *value == common::double(f64::NAN)).count(),
        values.len() - 1
    );
    let steps: Vec<_> =
        values.windows(2).map(|pair| f64::from_bits(pair[1].0) - f64::from_bits(pair[0].0)).collect();
    assert!(steps.iter().all(|step| (step - 0.05).abs() < 1e-5), "{steps:?}");
}

#[test]
fn time_stamps_are_those_of_the_inject_or_of_the_program() {
    let (config, path) = file("times");
    let mut client = Client::new("app", &config).unwrap();
    let point = client.point("m", &[("x", FieldType::Int32)]).unwrap();
    client.start().unwrap();
    let now = || std::time::SystemTime::now();
    let mut given = Vec::new();
    for number in 0..20 {
        let before = now();
        point.inject(&[Value::Int32(number)]).unwrap();
        let after = now();
        point.inject_at(before + Duration::from_secs(100), &[Value::Int32(number)]).unwrap();
        given.push(
            [before, after].map(|time| time.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64()),
        );
        thread::sleep(Duration::from_millis(3));
    }
    assert!(client.close(PATIENCE).finished);
    let bytes = std::fs::read(path).unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    let start: f64 =
        text.lines().find_map(|line| line.strip_prefix("start-time: ")).unwrap().parse().unwrap();
    let all = decode_all(&bytes);
    let times: Vec<_> = rows(&all)
        .into_iter()
        .filter_map(|row| match row {
            Found::Row { name, timestamp, .. } if name == "app_m" => Some(f64::from_bits(*timestamp) + start),
            _ => None,
        })
        .collect();
    assert_eq!(times.len(), 40);
    for (pair, [before, after]) in times.chunks(2).zip(given) {
        assert!(before - 1e-4 < pair[0] && pair[0] < after + 1e-4, "{before} {} {after}", pair[0]);
        assert!((pair[1] - before - 100.0).abs() < 2e-6, "{} {before}", pair[1]);
    }
}

#[test]
fn every_type_goes_through_a_client() {
    use trialwise_streams::protocol::{ElementType, Vector};
    for content in [Content::Text, Content::Binary] {
        let (config, path) = file("types");
        let mut client = Client::new("app", &with_content(config, content)).unwrap();
        let fields = [
            ("a", FieldType::UInt64),
            ("b", FieldType::String),
            ("c", FieldType::Blob),
            ("d", FieldType::Guid),
            ("e", FieldType::Bool),
            ("f", FieldType::Vector(ElementType::Double)),
        ];
        let point = client.point("m", &fields).unwrap();
        client.start().unwrap();
        let values = [
            Value::UInt64(u64::MAX),
            Value::from("tab\tand é"),
            Value::Blob(&[0xaa; 2000]),
            Value::Guid(5),
            Value::Bool(true),
            Value::Vector(Vector::Double(&[0.1, f64::INFINITY])),
        ];
        point.inject(&values).unwrap();
        assert!(client.close(PATIENCE).finished);
        let all = decode_all(&std::fs::read(path).unwrap());
        let expected: Vec<_> = values.into_iter().map(common::owned).collect();
        assert!(all.iter().any(|found| matches!(found, Found::Row { values, .. } if *values == expected)));
    }
}

#[test]
fn words_are_the_bits_of_their_values() {
    let (config, path) = file("words");
    let mut client = Client::new("app", &config).unwrap();
    let types = [
        ("a", FieldType::Int32),
        ("b", FieldType::UInt32),
        ("c", FieldType::Int64),
        ("d", FieldType::UInt64),
        ("e", FieldType::Double),
        ("f", FieldType::Guid),
        ("g", FieldType::Bool),
    ];
    let values = [
        Value::Int32(-7),
        Value::UInt32(u32::MAX),
        Value::Int64(-9),
        Value::UInt64(u64::MAX),
        Value::Double(-0.5),
        Value::Guid(11),
        Value::Bool(true),
    ];
    let words = [
        u64::from((-7_i32).cast_unsigned()),
        u64::from(u32::MAX),
        (-9_i64).cast_unsigned(),
        u64::MAX,
        (-0.5_f64).to_bits(),
        11,
        1,
    ];
    let fixed = client.point("fixed", &types).unwrap();
    let text = client.point("text", &[("x", FieldType::String)]).unwrap();
    client.start().unwrap();
    assert!(fixed.is_fixed() && !text.is_fixed());
    fixed.inject(&values).unwrap();
    fixed.inject_words(|at| words[at]).unwrap();
    assert_eq!(text.inject_words(|_| 0), Err(InjectError::Values));
    let report = client.close(PATIENCE);
    assert_eq!(fixed.inject_words(|at| words[at]), Err(InjectError::Closed));
    assert_eq!(lost_at_inject(&report, "text"), (0, 1));
    let expected: Vec<_> = values.into_iter().map(common::owned).collect();
    let all = decode_all(&std::fs::read(path).unwrap());
    let alike = all.iter().filter(|found| matches!(found, Found::Row { values, .. } if *values == expected));
    assert_eq!(alike.count(), 2);
}

#[test]
fn many_streams_go_where_they_can_be_named() {
    let (config, text) = file("many_text");
    let (other, binary) = file("many_binary");
    let mut config = with_content(config, Content::Text);
    config.collects.extend(with_content(other, Content::Binary).collects);
    let mut client = Client::new("app", &config).unwrap();
    let points: Vec<_> = (0..300)
        .map(|number| client.point(&format!("m{number}"), &[("v", FieldType::Int32)]).unwrap())
        .collect();
    client.start().unwrap();
    for (number, point) in (0..).zip(&points) {
        point.inject(&[Value::Int32(number)]).unwrap();
    }
    let warnings = client.warnings();
    assert!(client.close(PATIENCE).finished);
    let found = |path| {
        let all = decode_all(&std::fs::read(path).unwrap());
        assert_eq!(common::damages(&all), []);
        let own = |found: &&Found| matches!(found, Found::Row { name, .. } if name.starts_with("app_"));
        all.iter().filter(own).count()
    };
    assert_eq!(found(text), 300);
    let sent = found(binary); // streams 0, 1 and 255 are the client's
    assert_eq!(sent, 253);
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].starts_with(&format!("{} streams", 300 - sent)), "{warnings:?}");
}

#[test]
fn a_string_too_long_for_a_packet_is_cut_between_characters_and_counted() {
    let (config, path) = file("cut");
    let mut client = Client::new("app", &with_content(config, Content::Binary)).unwrap();
    let point = client.point("m", &[("s", FieldType::String)]).unwrap();
    client.start().unwrap();
    let long = "a".repeat(253) + "é";
    point.inject(&[Value::from(long.as_str())]).unwrap();
    point.inject(&[Value::from(&long[..253])]).unwrap();
    let report = client.close(PATIENCE);
    let all = decode_all(&std::fs::read(path).unwrap());
    let whole = [Owned::Bytes(vec![b'a'; 253])];
    assert_eq!(
        all.iter().filter(|found| matches!(found, Found::Row { values, .. } if *values == whole)).count(),
        2
    );
    assert_eq!(report.counters.stream("app_m").unwrap().cut, 1);
}

#[test]
fn a_filter_that_panics_takes_nothing_with_it_uncounted() {
    use std::sync::Arc;
    use trialwise_streams::filter::{Filter, Output, Registry};
    struct Broken;
    impl Filter for Broken {
        fn outputs(&self) -> Vec<Output> {
            vec![Output::new("broken", FieldType::Double)]
        }
        fn add(&mut self, _value: Value<'_>, _time: f64) {
            panic!("a filter of the program's");
        }
        fn output(&self, _index: usize) -> Option<Value<'_>> {
            None
        }
        fn next_window(&mut self) {}
    }
    let mut registry = Registry::default();
    registry.register("broken", Arc::new(|_, _| Ok(Box::new(Broken)))).unwrap();
    let (mut config, _) = file("panics");
    config.collects[0].streams = Some(vec![choice("m", "m", Window::Samples(2), &[("number", "broken")])]);
    let mut client = Client::with_filters("app", &config, registry).unwrap();
    let point = client.point("m", &TRIPLE).unwrap();
    client.start().unwrap();
    let refused = inject_from(1, 1000, &point);
    let start = Instant::now();
    let report = client.close(PATIENCE);
    assert!(!report.finished && start.elapsed() < PATIENCE);
    assert_eq!(lost_at_inject(&report, "m"), (0, 1000));
    assert!(refused <= 1000);
}

#[test]
fn what_cannot_be_declared_is_refused() {
    let (address, _collector) = collector();
    let mut client = Client::new("app", &tcp(address)).unwrap();
    client.point("m", &TRIPLE).unwrap();
    let refused = |client: &mut Client, name: &str, fields: &[(&str, FieldType)]| {
        client.point(name, fields).unwrap_err().to_string()
    };
    assert!(refused(&mut client, "m", &TRIPLE).contains("another name"));
    assert!(refused(&mut client, "a b", &TRIPLE).contains("no name"));
    assert!(refused(&mut client, "n", &[("x", FieldType::Bool), ("x", FieldType::Bool)]).contains("twice"));
    assert!(refused(&mut client, &"n".repeat(60), &TRIPLE).contains("63"));
    assert_eq!(client.warnings(), [] as [String; 0]);
    let names: Vec<_> = (0..30).map(|number| format!("a_long_name_of_a_field_{number}")).collect();
    let wide: Vec<_> = names.iter().map(|name| (name.as_str(), FieldType::Bool)).collect();
    client.point("early", &wide).unwrap();
    assert!(client.warnings()[0].contains("oml2-server"), "{:?}", client.warnings());
    client.start().unwrap();
    assert!(refused(&mut client, "wide", &wide).contains("before the start"));
    assert!(client.metadata(None, None, "schema", "x").is_err());
    assert!(client.start().is_err() && Client::new("a-b", &tcp(address)).is_err());
    let elsewhere = Config { domain: "../x".into(), ..tcp(address) };
    assert!(Client::new("app", &elsewhere).unwrap_err().to_string().contains("domain"));
    drop(TcpStream::connect(address).map(|mut peer| peer.write_all(b"\n")));
}

/// What is sent, and in which encodings that is counted how: (cut, out of range, rounded).
#[test]
fn what_an_encoding_cannot_carry_is_counted_and_said_once() {
    let long = "a".repeat(255);
    let cases: [(Value<'_>, [[u64; 3]; 2]); 10] = [
        (Value::String(long.as_bytes()), [[0, 0, 0], [1, 0, 0]]),
        (Value::String(b"a\0b"), [[1, 0, 0], [0, 0, 0]]),
        (Value::Double(1e40), [[0, 0, 0], [0, 1, 0]]),
        (Value::Double(f64::INFINITY), [[0, 0, 0], [0, 1, 0]]),
        (Value::Double(5e-324), [[0, 1, 0], [0, 1, 0]]),
        (Value::Double(123_456_789.123_456), [[0, 0, 0], [0, 0, 1]]),
        (Value::Double(f64::NAN), [[0, 0, 0], [0, 0, 0]]),
        (Value::Double(-0.75), [[0, 0, 0], [0, 0, 0]]),
        (Value::Double(536_870_913.0), [[0, 0, 0], [0, 0, 0]]), // 2^29 + 1 has 30 bits
        (Value::UInt64(u64::MAX), [[0, 0, 0], [0, 0, 0]]),
    ];
    for (content, which) in [(Content::Text, 0), (Content::Binary, 1)] {
        for (value, expected) in &cases {
            let (config, path) = file("encodings");
            let mut client = Client::new("app", &with_content(config, content)).unwrap();
            let point = client.point("m", &[("v", value.field_type().unwrap())]).unwrap();
            client.start().unwrap();
            point.inject(&[*value]).unwrap();
            point.inject(&[*value]).unwrap();
            let counters = client.close(PATIENCE).counters;
            let route = counters.stream("app_m").unwrap();
            let [cut, out_of_range, rounded] = expected[which];
            assert_eq!(
                (route.cut, route.out_of_range, route.rounded),
                (2 * cut, 2 * out_of_range, 2 * rounded),
                "{value:?} {content:?}"
            );
            assert_eq!(
                counters.changes().len() as u64,
                cut + out_of_range + rounded,
                "{value:?} {content:?}"
            );
            // What is counted is what differs: the oracle is the stream itself, read again.
            let all = decode_all(&std::fs::read(path).unwrap());
            let unchanged = [common::owned(*value)];
            let same = all
                .iter()
                .any(|found| matches!(found, Found::Row { name, values, .. } if name == "app_m" && *values == unchanged));
            assert_eq!(same, cut + out_of_range + rounded == 0, "{value:?} {content:?}");
        }
    }
}

#[test]
fn the_first_value_that_is_not_carried_is_told_once_for_each_stream() {
    let (config, _) = file("first-losses");
    let mut client = Client::new("app", &with_content(config, Content::Binary)).unwrap();
    let [one, other] = ["one", "other"].map(|name| client.point(name, &[("v", FieldType::Double)]).unwrap());
    client.start().unwrap();
    let told = |point: &Point, value: f64| {
        let until = Instant::now() + PATIENCE;
        loop {
            point.inject(&[Value::Double(value)]).unwrap();
            let losses = point.first_losses();
            if !losses.is_empty() || Instant::now() > until {
                return losses;
            }
            thread::sleep(Duration::from_millis(1));
        }
    };
    let first = told(&one, 1e40);
    assert!(
        matches!(&first[..], [text] if text.starts_with("app_one to file:") && text.contains("sent as NaN")),
        "{first:?}"
    );
    let second = told(&other, 123_456_789.123_456);
    assert!(
        matches!(&second[..], [text] if text.starts_with("app_other to file:") && text.contains("rounded")),
        "{second:?}"
    );
    one.inject(&[Value::Double(1e41)]).unwrap();
    thread::sleep(Duration::from_millis(50));
    assert!(one.first_losses().is_empty());
    assert_eq!(client.close(PATIENCE).counters.changes().len(), 2);
}
