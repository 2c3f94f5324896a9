//! The native protocol inside TLS: who is trusted gets through, who is not is told why, and others are unharmed.

#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use common::certificates::own;
use common::{config, finish, header, open, query, scratch, send, start, wait_for};
use trialwise_collector::{Access, Collector, Identity, Refusal, Store, Upstream};
use trialwise_streams::client::{Client, CloseReport};
use trialwise_streams::config::{Config, Destination};
use trialwise_streams::protocol::{FieldType, Value};

/// Streams ten rows; tells what came of it.
fn stream(port: u16, domain: &str, token: &str, trusted: Option<&Path>) -> (CloseReport, String) {
    let host = "127.0.0.1".to_owned();
    let destination = match trusted {
        Some(_) => Destination::Tls { host, port },
        None => Destination::Native { host, port },
    };
    let config = Config {
        token: token.to_owned(),
        certificate: trusted.map(Path::to_owned),
        ..Config::new("node", domain, destination)
    };
    let mut client = Client::new("app", &config).unwrap();
    let point = client.point("m", &[("n", FieldType::Int32)]).unwrap();
    client.start().unwrap();
    for number in 0..10 {
        point.inject(&[Value::Int32(number)]).unwrap();
    }
    let report = client.close(Duration::from_millis(1500));
    let said = format!("{report:?}");
    (report, said)
}

#[test]
fn trust_and_tokens_decide_and_both_sides_know() {
    let folder = scratch("tls");
    let Some((shown, key)) = own(&folder, "IP:127.0.0.1") else { return };
    let Some((other, _)) = own(&folder, "DNS:other.example") else { return };
    let mut config = config(&folder);
    config.identity = Some(Identity::read(&shown, &key).unwrap());
    config.access.domains.insert("mine".into(), "one".into());
    let collector = Collector::start(config).unwrap();
    let port = collector.address().port();
    let count = |reason| collector.counters().refused_for(reason);

    let (report, _) = stream(port, "mine", "one", Some(&shown));
    assert!(report.finished);
    let (report, said) = stream(port, "mine", "one", Some(&other));
    assert!(!report.finished && said.contains("is not trusted"), "{said}");
    wait_for("the refusal", || count(Refusal::Tls) > 0);
    let (report, said) = stream(port, "mine", "two", Some(&shown));
    assert!(!report.finished && said.contains("token"), "{said}");
    wait_for("the refusal", || count(Refusal::Access) > 0);
    assert!(!stream(port, "mine", "", None).0.finished, "in the open, without a token");
    assert!(stream(port, "free", "", None).0.finished, "on this machine it need not be inside TLS");
    // Half a handshake, and none at all.
    let mut stalled = TcpStream::connect(collector.address()).unwrap();
    stalled.write_all(&[22, 3, 1, 2]).unwrap();
    send_garbage(&collector);
    drop(stalled);

    let counters = finish(collector);
    assert!(counters.rows >= 20);
    assert_eq!(query(&open(&folder, "mine"), "SELECT count(*), sum(n) FROM app_m"), ["10|45"]);
    assert_eq!(query(&open(&folder, "free"), "SELECT count(*) FROM app_m"), ["10"]);
}

fn send_garbage(collector: &Collector) {
    let before = collector.counters().refused_for(Refusal::Tls);
    let mut peer = TcpStream::connect(collector.address()).unwrap();
    peer.write_all(&[22; 3000]).unwrap();
    wait_for("the refusal", || collector.counters().refused_for(Refusal::Tls) > before);
}

#[test]
fn without_a_certificate_nobody_gets_tls() {
    let folder = scratch("no_tls");
    let Some((shown, _)) = own(&folder, "IP:127.0.0.1") else { return };
    let collector = start(&folder);
    let (report, said) = stream(collector.address().port(), "d", "", Some(&shown));
    assert!(!report.finished, "{said}");
    assert!(finish(collector).refused_for(Refusal::Tls) > 0);
}

#[test]
fn what_is_forwarded_may_go_inside_tls() {
    let (behind, before) = (scratch("tls_behind"), scratch("tls_before"));
    let Some((certificate, key)) = own(&behind, "IP:127.0.0.1") else { return };
    let mut far = config(&behind);
    far.identity = Some(Identity::read(&certificate, &key).unwrap());
    far.access.token = Some("secret".into());
    let far = Collector::start(far).unwrap();
    let access = Access { token: Some("secret".into()), ..Access::default() };
    let port = far.address().port();
    let upstream = Upstream { host: "127.0.0.1".into(), port, certificate: Some(certificate), access };
    let mut near = config(&before);
    near.store = Store::Collector(upstream);
    let near = Collector::start(near).unwrap();
    let rows: String = (0..20_000).map(|number| format!("1\t1\t{number}\t{number}\n")).collect();
    send(&near, (header("d", "s", &[]) + &rows).as_bytes());
    finish(near);
    finish(far);
    assert_eq!(query(&open(&behind, "d"), "SELECT count(*), count(DISTINCT n) FROM app_m"), ["20000|20000"]);
}
