//! Bad input is counted and harms nobody else; access is by domain; what is stored is exact.

#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;

use common::{config, finish, header, open, query, scratch, send, start, wait_for};
use trialwise_collector::{Collector, CollectorError, Refusal, SpoolError};
use trialwise_streams::native::{Frame, FrameDecoder, PREFACE};
use trialwise_streams::protocol::DamageKind;

#[test]
fn headers_that_cannot_be_are_refused_and_leave_no_file() {
    let folder = scratch("refused");
    let collector = start(&folder);
    let long = "a".repeat(10_000);
    let good = header("good", "s", &[]);
    let bad = [
        good.replace("protocol: 5", "protocol: 6"),
        good.replace('\n', "\r\n"),
        good.replace("domain: good\n", ""),
        good.replace("good", "../escaped"),
        good.replace("good", "/tmp/escaped"),
        good.replace("good", "quo'te"),
        good.replace("good", "quo\"te"),
        good.replace("good", &long),
        good.replace("app_m", &long),
        good.replace("app_m", "a\"b"),
        good.replace("n:int32", "n:quaternion"),
        good.replace("sender-id: s", &format!("sender-id: {long}")),
        format!("protocol: 5\n{}", "x: y\n".repeat(100_000)),
        "no colon\n\n".to_owned(),
    ];
    for bytes in &bad {
        send(&collector, bytes.as_bytes());
    }
    send(&collector, &[0xff; 1000]);
    send(&collector, (good + "1\t1\t1\t7\n").as_bytes());
    let counters = finish(collector);
    assert_eq!((counters.refused, counters.rows), (bad.len() as u64 + 1, 1));
    let names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| name == "good.sq3" || name == ".spool"), "{names:?}");
}

#[test]
fn damaged_rows_are_flagged_and_the_connection_lives() {
    let folder = scratch("damaged");
    let collector = start(&folder);
    let mut bytes = header("d", "s", &[]).into_bytes();
    bytes.extend_from_slice(
        b"1\t1\t1\t1\n1\t1\t2\t2\0\n\n1\t9\t3\t3\n1\t1\t4\n1\t1\t5\tjunk\n1\t1\t6\t6\n1\t1\t7\t7",
    );
    send(&collector, &bytes);
    let counters = finish(collector);
    assert_eq!((counters.rows, counters.all_damaged(), counters.refused), (3, 5, 0));
    assert_eq!(counters.nulled, 1);
    assert_eq!(counters.damaged(DamageKind::Nul), 1);
    let database = open(&folder, "d");
    assert_eq!(query(&database, "SELECT oml_seq, n FROM app_m"), ["1|1", "5|NULL", "6|6"]);
    let flagged =
        query(&database, "SELECT stream, kind, rows, last_seq FROM _trialwise_damaged ORDER BY 1, 2");
    let expected = [
        "-1|'Prefix'|1|NULL",
        "-1|'Truncated'|1|NULL",
        "1|'Fields'|1|4",
        "1|'Nul'|1|2",
        "1|'Nulled'|1|5",
        "9|'UnknownStream'|1|3",
    ];
    assert_eq!(flagged, expected);
}

#[test]
fn an_endless_line_and_a_lying_length_are_bounded() {
    let folder = scratch("endless");
    let mut config = config(&folder);
    config.limits.row = 10_000;
    let collector = Collector::start(config).unwrap();
    let good = header("d", "s", &[]);
    send(&collector, format!("{good}{}\n1\t1\t1\t5\n", "9".repeat(3_000_000)).as_bytes());
    let mut lying = good.replace("text", "binary").into_bytes();
    lying.extend_from_slice(&[0xaa, 0xaa, 2, 0x7f, 0xff, 0xff, 0xff, 1, 1]);
    lying.extend_from_slice(&[0xaa, 0xaa, 1, 0, 18, 1, 1, 5, 0, 0, 0, 2, 2, 0, 0, 0, 0, 0, 5, 0, 0, 0, 9]);
    send(&collector, &lying);
    let counters = finish(collector);
    assert_eq!((counters.rows, counters.damaged(DamageKind::TooLong)), (2, 2));
    assert_eq!(query(&open(&folder, "d"), "SELECT oml_seq, n FROM app_m ORDER BY 1"), ["1|5", "2|9"]);
}

#[test]
fn names_that_sqlite_keeps_or_confuses_find_a_table() {
    let folder = scratch("names");
    let collector = start(&folder);
    let wide: String = (0..1990).map(|index| format!(" f{index}:int32")).collect();
    let too_wide: String = (0..2000).map(|index| format!(" f{index}:int32")).collect();
    let schemas = [
        "1 sqlite_master n:int32",
        "2 _senders n:int32",
        "3 _trialwise_spool n:int32",
        "4 Table n:int32",
        "5 table n:int32 N:int32 oml_seq:int32",
        &format!("6 wide{wide}"),
        &format!("7 too_wide{too_wide}"),
    ];
    let mut text = header("d", "s", &schemas);
    text += "1\t1\t1\t1\n1\t2\t1\t2\n1\t3\t1\t3\n1\t4\t1\t4\n1\t5\t1\t5\t6\t7\n";
    text += &format!("1\t6\t1{}\n1\t7\t1{}\n", "\t8".repeat(1990), "\t9".repeat(2000));
    send(&collector, text.as_bytes());
    let counters = finish(collector);
    assert_eq!((counters.rows, counters.unstorable, counters.all_damaged()), (6, 1, 0));
    let database = open(&folder, "d");
    for (table, found) in [
        ("stream_sqlite_master", "1"),
        ("_senders_2", "2"),
        ("stream__trialwise_spool", "3"),
        ("Table", "4"),
        ("table_2", "5"),
        ("wide", "1"),
    ] {
        let column = if table == "wide" { "count(f1989)" } else { "n" };
        assert_eq!(query(&database, &format!("SELECT {column} FROM \"{table}\"")), [found], "{table}");
    }
    assert_eq!(query(&database, "SELECT n, N_2, oml_seq_2 FROM table_2"), ["5|6|7"]);
}

#[test]
fn a_second_collector_on_a_spool_is_refused() {
    let folder = scratch("second");
    let first = start(&folder);
    let second = Collector::start(config(&folder));
    assert!(matches!(second, Err(CollectorError::Spool(SpoolError::InUse(_)))), "{second:?}");
    finish(first);
    finish(start(&folder));
}

/// What the collector answers to a hello, as a number or a reason.
fn greet(collector: &Collector, session: u8, domain: &str, token: &str) -> Result<u64, String> {
    let mut peer = TcpStream::connect(collector.address()).unwrap();
    let header = header(domain, "s", &[]).replace("text", "binary");
    let mut bytes = PREFACE.to_vec();
    let hello =
        Frame::Hello { session: [session; 16], base: 1, token: token.as_bytes(), header: header.as_bytes() };
    hello.write(&mut bytes);
    Frame::Data { number: 1, rows: b"no packet" }.write(&mut bytes);
    peer.write_all(&bytes).unwrap();
    let (mut frames, mut buffer) = (FrameDecoder::new(), [0; 1000]);
    loop {
        let read = peer.read(&mut buffer).unwrap();
        assert_ne!(read, 0, "closed without an answer");
        frames.push(&buffer[..read]);
        while let Some(frame) = frames.next_frame().unwrap() {
            match frame {
                Frame::Acknowledgement { through } => return Ok(through),
                Frame::Refusal { reason } => return Err(reason.to_owned()),
                Frame::Welcome { through } if through >= 1 => return Ok(through),
                Frame::Welcome { .. } | Frame::ClockQuestion { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn a_session_or_token_of_one_domain_cannot_write_to_another() {
    let folder = scratch("access");
    let mut config = config(&folder);
    config.access.token = Some("all".into());
    config.access.domains.insert("secret".into(), "one".into());
    let collector = Collector::start(config).unwrap();
    assert_eq!(greet(&collector, 1, "secret", "one"), Ok(1));
    assert_eq!(greet(&collector, 1, "secret", "one"), Ok(1), "goes on");
    assert!(greet(&collector, 2, "secret", "all").is_err());
    assert!(greet(&collector, 2, "open", "wrong").is_err());
    assert_eq!(greet(&collector, 2, "open", "all"), Ok(1));
    assert!(greet(&collector, 1, "open", "all").is_err(), "the session belongs to another domain");
    send(&collector, (header("secret", "s", &[]) + "1\t1\t1\t1\n").as_bytes());
    wait_for("the connections", || collector.counters().open == 0);
    let counters = finish(collector);
    assert_eq!((counters.refused, counters.rows, counters.damaged(DamageKind::Garbage)), (4, 0, 2));
}

/// The status line of an answer to a request over HTTP.
fn ask(collector: &Collector, fields: &str) -> String {
    let mut peer = TcpStream::connect(collector.address()).unwrap();
    let host = if fields.contains("Host:") { "" } else { "Host: localhost\r\n" };
    peer.write_all(format!("GET /status HTTP/1.1\r\n{host}{fields}\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    peer.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap().to_owned()
}

#[test]
fn a_token_of_one_domain_reads_nothing_of_another() {
    let folder = scratch("reading");
    let mut config = config(&folder);
    config.access.token = Some("all".into());
    config.access.domains.insert("secret".into(), "one".into());
    let collector = Collector::start(config).unwrap();
    assert_eq!(ask(&collector, ""), "HTTP/1.1 200 OK", "on this machine");
    // Who names an origin is not taken for somebody on this machine.
    let far = "Origin: http://elsewhere.example\r\n";
    for shown in ["", "Authorization: Bearer one\r\n", "Authorization: Bearer \r\n", "Authorization: all\r\n"]
    {
        assert_eq!(ask(&collector, &format!("{far}{shown}")), "HTTP/1.1 403 Forbidden", "{shown:?}");
    }
    assert_eq!(ask(&collector, &format!("{far}Authorization: Bearer all\r\n")), "HTTP/1.1 200 OK");
    // Nor who came by a name that somebody else can make lead here.
    let rebound = "Host: elsewhere.example:3003\r\n";
    assert_eq!(ask(&collector, rebound), "HTTP/1.1 403 Forbidden");
    assert_eq!(ask(&collector, &format!("{rebound}Authorization: Bearer all\r\n")), "HTTP/1.1 200 OK");
    assert_eq!(ask(&collector, "Host: 127.0.0.1:3003\r\n"), "HTTP/1.1 200 OK");
    assert_eq!(finish(collector).refused_for(Refusal::Http), 5);
}

#[test]
fn a_token_keeps_senders_out_that_have_none() {
    for (name, oml, rows) in [("kept_out", false, 0), ("asked_for", true, 1)] {
        let folder = scratch(name);
        let mut config = config(&folder);
        config.access.token = Some("all".into());
        config.access.oml = oml;
        let collector = Collector::start(config).unwrap();
        send(&collector, (header("lab", "s", &[]) + "1\t1\t1\t1\n").as_bytes());
        let counters = finish(collector);
        assert_eq!((counters.rows, counters.refused_for(Refusal::Access)), (rows, 1 - rows));
    }
}

#[test]
fn a_peer_that_reads_nothing_keeps_nobody_waiting() {
    let folder = scratch("stalled");
    let collector = start(&folder);
    let mut stalled = TcpStream::connect(collector.address()).unwrap();
    let header_text = header("d", "stalled", &[]).replace("text", "binary");
    let mut bytes = PREFACE.to_vec();
    Frame::Hello { session: [7; 16], base: 1, token: b"", header: header_text.as_bytes() }.write(&mut bytes);
    for number in 1..=20_000 {
        Frame::Data { number, rows: b"no packet" }.write(&mut bytes);
    }
    stalled.write_all(&bytes).unwrap();
    let mut asking = TcpStream::connect(collector.address()).unwrap();
    asking.write_all(b"GET /status HTTP/1.1\r\n\r\n").unwrap();
    let mut other = TcpStream::connect(collector.address()).unwrap();
    for number in 0..10 {
        let text = if number == 0 { header("d", "other", &[]) } else { String::new() };
        other.write_all(format!("{text}1\t1\t{number}\t{number}\n").as_bytes()).unwrap();
        wait_for("a row of another client", || collector.counters().rows == number + 1);
    }
    wait_for("all that was sent", || collector.counters().damaged(DamageKind::Garbage) == 20_000);
    // What it did not read it hears again: how far it was received.
    assert_eq!(greet(&collector, 7, "d", ""), Ok(20_000));
    drop((stalled, asking, other));
    wait_for("the connections", || collector.counters().open == 0);
    assert_eq!(finish(collector).rows, 10);
}

#[test]
fn fields_in_another_order_come_to_the_same_columns() {
    let folder = scratch("orders");
    let collector = start(&folder);
    let orders = ["1 app_m n:int32 s:string d:double", "1 app_m d:double n:int32 s:string"];
    send(&collector, (header("d", "a", &[orders[0]]) + "1\t1\t1\t5\tx\t0.5\n").as_bytes());
    send(
        &collector,
        (header("d", "b", &[orders[1]]) + "1\t1\t1\t1.5\t6\ty\n1\t1\t2\tnil\t7\tz\n").as_bytes(),
    );
    finish(collector);
    let database = open(&folder, "d");
    assert_eq!(query(&database, "SELECT n, s, d FROM app_m"), ["5|'x'|0.5", "6|'y'|1.5", "7|'z'|NULL"]);
    assert_eq!(query(&database, "SELECT name FROM sqlite_master WHERE name LIKE 'app_m_%'"), [""; 0]);
}

#[test]
fn a_stream_whose_fields_change_gets_another_table() {
    let folder = scratch("changes");
    let collector = start(&folder);
    let late = "1\t0\t1\t.\tschema\t1 app_m n:int32 s:string\n";
    send(&collector, (header("d", "a", &[]) + "1\t1\t1\t5\n" + late + "1\t1\t2\t6\tx\n").as_bytes());
    send(&collector, (header("d", "b", &["1 app_m n:double"]) + "1\t1\t1\t0.5\n").as_bytes());
    send(&collector, (header("d", "c", &[]) + "1\t1\t1\t7\n").as_bytes());
    let counters = finish(collector);
    assert_eq!((counters.rows, counters.all_damaged(), counters.unstorable), (4, 0, 0));
    let database = open(&folder, "d");
    assert_eq!(query(&database, "SELECT n FROM app_m ORDER BY oml_sender_id"), ["5", "7"]);
    assert_eq!(query(&database, "SELECT n, s FROM app_m_2"), ["6|'x'"]);
    assert_eq!(query(&database, "SELECT n FROM app_m_3"), ["0.5"]);
}
