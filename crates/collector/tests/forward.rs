//! A collector that forwards: what arrives is what a direct connection would have brought, also over kills of both sides.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

mod common;

use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use common::process::{Ended, end, free_port, run_collector, spawn, stream};
use common::{config, finish, header, open, query, recorded, scratch, send, start, wait_for};
use trialwise_collector::{Access, Collector, Config, Store, Upstream};

#[test]
#[ignore = "the process that the other tests of this file start"]
fn collector_process() {
    run_collector();
}

/// Forwards to a port with a token; the spool is in `folder`.
fn forwarding(folder: &Path, port: u16, access: Access) -> Config {
    let upstream = Upstream { host: "127.0.0.1".into(), port, certificate: None, access };
    Config { store: Store::Collector(upstream), ..config(folder) }
}

/// Every row of every table but for when it arrived, by sender and in the sender's order.
fn contents(folder: &Path, domain: &str) -> Vec<String> {
    let database = open(folder, domain);
    let tables = query(&database, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
    let mut all = Vec::new();
    for table in tables.iter().map(|name| name.trim_matches('\'')) {
        if table.starts_with("_trialwise") && table != "_trialwise_damaged" {
            continue;
        }
        let columns = query(&database, &format!("SELECT name FROM pragma_table_info('{table}')"));
        let kept: Vec<_> = columns
            .iter()
            .map(|name| name.trim_matches('\''))
            .filter(|name| !["oml_tuple_id", "oml_ts_server", "time"].contains(name))
            .map(|name| format!("\"{name}\""))
            .collect();
        let order: Vec<_> = (1..=kept.len()).map(|number| number.to_string()).collect();
        let sql = format!("SELECT {} FROM \"{table}\" ORDER BY {}", kept.join(", "), order.join(", "));
        all.extend(query(&database, &sql).into_iter().map(|row| format!("{table}: {row}")));
    }
    all
}

#[test]
fn recorded_and_damaged_streams_arrive_as_if_sent_directly() {
    let (direct, behind, before) = (scratch("f_direct"), scratch("f_behind"), scratch("f_before"));
    let mut streams: Vec<Vec<u8>> = Vec::new();
    if let Some(folder) = recorded() {
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> =
            files.filter(|path| path.extension().is_some_and(|end| end == "bin" || end == "txt")).collect();
        files.sort();
        streams.extend(files.iter().map(|path| std::fs::read(path).unwrap()));
    }
    let mut damaged = header("damaged", "s", &[]).into_bytes();
    damaged
        .extend_from_slice(b"1\t1\t1\t1\n1\t1\t2\t2\0\n\n1\t9\t3\t3\n1\t0\t1\t.\tschema\t2 late x:double\n");
    damaged.extend_from_slice(b"1\t2\t1\t0.1\n1\t1\t5\tjunk\n1\t1\t6\t6\n1\t1\t7\t7");
    streams.push(damaged);
    let first = start(&direct);
    let second = start(&behind);
    let proxy = Collector::start(forwarding(&before, second.address().port(), Access::default())).unwrap();
    for bytes in &streams {
        send(&first, bytes);
        send(&proxy, bytes);
    }
    let counters = finish(proxy);
    let (wanted, found) = (finish(first), finish(second));
    assert_eq!((found.rows, found.all_damaged()), (wanted.rows, wanted.all_damaged()));
    assert_eq!(counters.damaged_by_reason(), wanted.damaged_by_reason());
    let names = std::fs::read_dir(&direct).unwrap().map(|entry| entry.unwrap().path());
    for path in names.filter(|path| path.extension().is_some_and(|end| end == "sq3")) {
        let domain = path.file_stem().unwrap().to_str().unwrap();
        assert_eq!(contents(&behind, domain), contents(&direct, domain), "{domain}");
    }
}

#[test]
fn one_refused_domain_waits_and_the_others_go_on() {
    let (behind, before) = (scratch("f_refusing"), scratch("f_refused"));
    let mut config = config(&behind);
    config.access.domains.insert("secret".into(), "one".into());
    config.access.token = Some("all".into());
    let far = Collector::start(config).unwrap();
    let shown = |secret: &str| Access {
        token: Some("all".into()),
        domains: [("secret".to_owned(), secret.to_owned())].into(),
        oml: false,
    };
    let port = far.address().port();
    let proxy = Collector::start(forwarding(&before, port, shown("wrong"))).unwrap();
    send(&proxy, (header("secret", "s", &[]) + "1\t1\t1\t1\n").as_bytes());
    send(&proxy, (header("open", "s", &[]) + "1\t1\t1\t2\n").as_bytes());
    wait_for("the other domain", || far.counters().rows == 1);
    let status = proxy.status().forward.unwrap();
    assert!(status.refused["secret"].contains("token"), "{status:?}");
    let left = proxy.stop(Duration::from_millis(500));
    assert!(left.counters.backlog > 0);
    let proxy = Collector::start(forwarding(&before, port, shown("one"))).unwrap();
    assert_eq!(finish(proxy).backlog, 0);
    assert_eq!(finish(far).rows, 2);
    assert_eq!(query(&open(&behind, "secret"), "SELECT n FROM app_m"), ["1"]);
    assert_eq!(query(&open(&behind, "open"), "SELECT n FROM app_m"), ["2"]);
}

#[test]
fn what_came_while_the_other_was_away_or_waiting_was_asked_arrives() {
    let (behind, before) = (scratch("f_away"), scratch("f_waiting"));
    let port = free_port();
    let proxy = Collector::start(forwarding(&before, port, Access::default())).unwrap();
    for sender in 0..20 {
        let rows: String = (0..500).map(|number| format!("1\t1\t{number}\t{number}\n")).collect();
        send(&proxy, (header("d", &format!("s{sender}"), &[]) + &rows).as_bytes());
    }
    assert!(proxy.status().forward.unwrap().last_error.is_some());
    let ask = |path: &str| {
        let mut peer = TcpStream::connect(proxy.address()).unwrap();
        peer.write_all(format!("POST {path} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        std::io::Read::read_to_string(&mut peer, &mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    };
    ask("/pause");
    let mut config = config(&behind);
    config.listen.set_port(port);
    let far = Collector::start(config).unwrap();
    thread::sleep(Duration::from_millis(300));
    assert_eq!(far.counters().rows, 0);
    assert!(proxy.stop(Duration::from_millis(100)).counters.backlog > 0);
    let proxy = Collector::start(forwarding(&before, port, Access::default())).unwrap();
    assert!(proxy.status().forward.unwrap().paused, "over a restart too");
    std::fs::remove_file(before.join(".spool/paused")).unwrap();
    drop(proxy);
    finish(Collector::start(forwarding(&before, port, Access::default())).unwrap());
    finish(far);
    let sql = "SELECT count(*), count(DISTINCT n || ' ' || oml_sender_id) FROM app_m";
    assert_eq!(query(&open(&behind, "d"), sql), ["10000|10000"]);
}

fn kills_under_load(name: &str, kills: u32, rate: u64) {
    let (behind, before) = (scratch(&format!("{name}_behind")), scratch(&format!("{name}_before")));
    let (far_port, near_port) = (free_port(), free_port());
    let (store, forward) = (format!("sqlite:{}", behind.display()), format!("forward:{far_port}"));
    let over = AtomicBool::new(false);
    let mut far = spawn(&behind, far_port, &store);
    let mut near = spawn(&before, near_port, &forward);
    let senders = ["one", "two", "three"];
    let injected: Vec<i64> = thread::scope(|scope| {
        let over = &over;
        let _ended = Ended(over);
        let streams = senders.map(|sender| scope.spawn(move || stream(near_port, sender, rate, over)));
        let mut random = 7_u64;
        for _ in 0..kills {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            thread::sleep(Duration::from_millis(300 + (random >> 33) % 900));
            let terminate = (random >> 40).is_multiple_of(4);
            if (random >> 45).is_multiple_of(2) {
                end(&mut far, terminate);
                far = spawn(&behind, far_port, &store);
            } else {
                end(&mut near, terminate);
                near = spawn(&before, near_port, &forward);
            }
        }
        over.store(true, Ordering::Relaxed);
        streams.map(|stream| stream.join().unwrap()).to_vec()
    });
    let rows = |sender: &str| {
        let sql = format!(
            "SELECT count(*), count(DISTINCT n), min(n), max(n), sum(n) FROM app_m \
             JOIN _senders ON id = oml_sender_id WHERE name = '{sender}'"
        );
        query(&open(&behind, "restarts"), &sql).remove(0)
    };
    for (sender, &injected) in senders.iter().zip(&injected) {
        let wanted = format!("{injected}|{injected}|0|{}|{}", injected - 1, injected * (injected - 1) / 2);
        wait_for("the rows", || rows(sender).starts_with(&injected.to_string()));
        assert_eq!(rows(sender), wanted, "{sender}");
        println!("{sender}: {injected} rows over {kills} kills of both sides, none lost or doubled");
    }
    thread::sleep(Duration::from_millis(1500));
    for (sender, injected) in senders.iter().zip(&injected) {
        assert!(rows(sender).starts_with(&format!("{injected}|{injected}|")), "none comes later");
    }
    end(&mut near, true);
    end(&mut far, true);
}

#[test]
fn kills_of_both_sides_lose_and_double_nothing() {
    kills_under_load("f_kills", 24, 5_000);
}

#[test]
#[ignore = "soak: a hundred kills of both sides"]
fn a_hundred_kills_of_both_sides_lose_and_double_nothing() {
    kills_under_load("f_kills_soak", 100, 20_000);
}
