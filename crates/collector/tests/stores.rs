//! Every recorded stream gives the same in all stores, and what is hard for one of them is right or flagged.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

mod common;

use std::fs;
use std::path::Path;

use common::stores::{
    PostgreSqlServer, assert_same, config_for, counted, parquet_rows, parts, select, start_for, tables,
};
use common::{finish, header, recorded, scratch, send, wait_for};
use trialwise_collector::{Collector, CollectorError, Store};

/// Files of one domain are sent one after another.
const STREAMS: [&[&str]; 15] = [
    &["scalars_text.txt"],
    &["scalars_binary.bin"],
    &["vectors_text.txt"],
    &["vectors_binary.bin"],
    &["meta_text.txt"],
    &["meta_binary.bin"],
    &["long_text.txt"],
    &["filters_text.txt"],
    &["filters_binary.bin"],
    &["small3_text.txt"],
    &["small3_binary.bin"],
    &["instr_text.txt"],
    &["reconnect_text_conn0.txt", "reconnect_text_conn1.txt"],
    &["hand_v1_text.txt", "hand_v3_text.txt"],
    &["hand_v4_text.txt"],
];

fn domain(stream: &[u8]) -> String {
    let text = String::from_utf8_lossy(&stream[..200.min(stream.len())]).into_owned();
    let line = text.lines().find(|line| line.starts_with("domain:") || line.starts_with("experiment-id:"));
    line.unwrap().split_once(':').unwrap().1.trim().to_owned()
}

/// Streams recorded files into a store; which domains came of them.
fn push(folder: &Path, store: &Store, spool: &Path, streams: &[&str]) -> Vec<String> {
    let collector = start_for(store, spool);
    let mut domains = Vec::new();
    for name in streams {
        let bytes = fs::read(folder.join(name)).unwrap();
        send(&collector, &bytes);
        domains.push(domain(&bytes));
    }
    assert_eq!(finish(collector).unstorable, 0, "{streams:?}");
    domains.sort();
    domains.dedup();
    domains
}

/// Compares every recorded stream with what SQLite has of it, which `golden.rs` compares with the real server's dump.
fn compare(name: &str, store: impl Fn(usize, &Path) -> Store) {
    let Some(recorded) = recorded() else { return };
    let mut rows = 0;
    for (number, streams) in STREAMS.iter().enumerate() {
        let folder = scratch(&format!("stores_{name}_{number}"));
        let (reference, store) = (Store::Sqlite(folder.join("sqlite")), store(number, &folder));
        push(&recorded, &reference, &folder.join("spool1"), streams);
        for domain in push(&recorded, &store, &folder.join("spool2"), streams) {
            rows += assert_same(&tables(&store, &domain), &tables(&reference, &domain), streams[0]);
        }
    }
    println!("{name}: {rows} rows");
    assert!(rows > 800);
}

#[test]
fn parquet_holds_every_recorded_stream_as_sqlite_does() {
    compare("parquet", |_, folder| Store::Parquet(folder.join("parquet")));
}

#[test]
fn postgresql_holds_every_recorded_stream_as_sqlite_does() {
    let Some(server) = PostgreSqlServer::start("golden") else { return };
    compare("postgresql", |number, _| {
        let sql = format!("CREATE DATABASE d{number}");
        select(&server.url("postgres"), &sql);
        Store::PostgreSql(server.url("postgres").replace("/postgres?", &format!("/d{number}?")))
    });
}

/// A row with a value of every type but one, in text and in binary, and one with none of them.
fn odd(domain: &str) -> [Vec<u8>; 2] {
    let schema =
        "1 app_odd a:int32 b:uint32 c:int64 d:uint64 e:double f:guid h:blob v:[int32] w:[double] last:int32";
    let mut text = header(domain, "t", &[schema]).into_bytes();
    text.extend_from_slice(b"1\t1\t1\t1\t2\t3\t4\t0.5\t6\tYQ==\t1 7\t0\t7\n");
    text.extend_from_slice(
        b"1\t1\t2\t1.5\t-1\tnil\t\tNone\t\tYQ\t2 7\t\t8\n1\t1\t3\t1\t2\t3\t4\t\t6\tYQ==\t0\t0\t9\n",
    );
    let mut binary = header(domain, "b", &[schema]).replace("content: text", "content: binary").into_bytes();
    let (truth, number) = ([0x0c], [5, 0, 0, 0, 7]); // the tags of true, and of an int32
    let values = [&[10, 1, 5, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0], &truth.repeat(9)[..], &number].concat();
    binary.extend_from_slice(&[0xaa, 0xaa, 1, 0, values.len() as u8]);
    binary.extend_from_slice(&values);
    [text, binary]
}

fn stores_null(store: &Store, folder: &Path) {
    for (bytes, (rows, nulled)) in std::iter::zip(odd("odd"), [(3, 2), (1, 1)]) {
        let collector = start_for(store, &folder.join("spool"));
        send(&collector, &bytes);
        let counters = finish(collector);
        assert_eq!((counters.rows, counters.nulled, counters.all_damaged()), (rows, nulled, 0));
    }
    let found = tables(store, "odd");
    let rows: Vec<_> = found["app_odd"].iter().map(|row| row[3..].join(" ")).collect();
    let nulls = ["NULL"; 9].join(" ");
    assert!(rows[0].starts_with("1 2 3 4 ") && rows[0].ends_with(" 7") && !rows[0].contains("NULL"));
    assert_eq!(rows[1], format!("{nulls} 8"));
    assert_eq!(rows[2].matches("NULL").count(), 1, "an empty list is no NULL: {}", rows[2]);
    assert_eq!(rows[3], format!("{nulls} 7"));
}

#[test]
fn values_that_are_none_are_null_in_every_store() {
    let folder = scratch("stores_null");
    stores_null(&Store::Sqlite(folder.join("sqlite")), &folder.join("1"));
    stores_null(&Store::Parquet(folder.join("parquet")), &folder.join("2"));
    if let Some(server) = PostgreSqlServer::start("null") {
        stores_null(&Store::PostgreSql(server.url("postgres")), &folder.join("3"));
    }
}

/// Values at the ends of every type, strings that are no text, names that are taken, a row too wide for a page.
fn hard(domain: &str) -> Vec<u8> {
    let wide: String = (0..1500).map(|index| format!(" f{index}:double")).collect();
    let schemas = [
        "1 app_m n:int32 a:uint32 b:int64 c:uint64 d:double e:string f:blob g:guid h:bool",
        "2 app_m_pkey n:int32 ctid:int32 N:int32",
        "3 app_v i:[int32] u:[uint64] d:[double] b:[bool]",
        &format!("4 app_wide{wide}"),
        &format!("5 {} n:int32", "long".repeat(30)),
    ];
    let mut bytes = header(domain, "s\u{e9}nder", &schemas).into_bytes();
    bytes.extend_from_slice(
        b"1\t1\t1\t-2147483648\t4294967295\t-9223372036854775808\t18446744073709551615\tnan\t\xff\xfe!\tAP8=\t18446744073709551615\tT\n\
          1\t1\t2\t2\t0\t9223372036854775807\t10000\tinf\t\xc3\xa9\t\t0\tF\n\
          1\t1\t3\t3\t2147483648\t0\t100000000\t-inf\t\\t\t\t1\tF\n\
          1\t2\t1\t7\t8\t9\n\
          1\t3\t1\t0\t1 18446744073709551615\t3 nan -inf 0.1\t2 True False\n\
          1\t5\t1\t5\n",
    );
    bytes.extend_from_slice(format!("1\t4\t1{}\n", "\t0.5".repeat(1500)).as_bytes());
    bytes
}

#[test]
fn postgresql_holds_what_is_hard_and_flags_what_it_cannot() {
    let Some(server) = PostgreSqlServer::start("hard") else { return };
    let folder = scratch("stores_hard");
    let url = server.url("postgres");
    let store = Store::PostgreSql(url.clone());
    let collector = start_for(&store, &folder);
    send(&collector, &hard("pg_hard"));
    // In binary, a string may have a NUL.
    let mut nul =
        header("pg_hard", "b", &["1 app_s n:int32 s:string"]).replace("text", "binary").into_bytes();
    nul.extend_from_slice(
        b"\xaa\xaa\x01\x00\x1a\x02\x01\x05\0\0\0\x01\x02\0\0\0\0\0\x05\0\0\0\x07\x04\x03a\0b",
    );
    let length = (nul.len() - nul.windows(2).position(|pair| pair == b"\xaa\xaa").unwrap() - 5) as u8;
    let at = nul.windows(2).position(|pair| pair == b"\xaa\xaa").unwrap() + 4;
    nul[at] = length;
    send(&collector, &nul);
    let counters = finish(collector);
    assert_eq!((counters.rows, counters.unstorable, counters.replaced), (7, 1, 2), "{counters:?}");
    let one = |sql: &str| {
        select(&url, sql)
            .into_iter()
            .flatten()
            .map(|value| value.unwrap_or("NULL".into()))
            .collect::<Vec<_>>()
            .join("|")
    };
    assert_eq!(
        one("SELECT n, a, b, c, d, e, f, g, h FROM \"~pg_hard\".app_m ORDER BY oml_tuple_id LIMIT 2"),
        "-2147483648|4294967295|-9223372036854775808|18446744073709551615|NaN|\u{fffd}\u{fffd}!|\\x00ff|\
         18446744073709551615|t|2|0|9223372036854775807|10000|Infinity|\u{e9}|\\x|NULL|f"
    );
    assert_eq!(one("SELECT c, d, e FROM \"~pg_hard\".app_m WHERE n = 3"), "100000000|-Infinity|\t");
    assert_eq!(one("SELECT n, ctid_2, \"N_2\" FROM \"~pg_hard\".app_m_pkey_2"), "7|8|9");
    assert_eq!(
        one("SELECT i, u, d, b FROM \"~pg_hard\".app_v"),
        "{}|{18446744073709551615}|{NaN,-Infinity,0.1}|{t,f}"
    );
    assert_eq!(one("SELECT s FROM \"~pg_hard\".app_s"), "a\u{fffd}b");
    assert_eq!(
        one("SELECT \"table\", field, bytes FROM \"~pg_hard\"._trialwise_bytes ORDER BY oml_tuple_id"),
        "app_m|e|\\xfffe21|app_s|s|\\x610062"
    );
    assert_eq!(one("SELECT name FROM \"~pg_hard\"._senders WHERE id = 1"), "s\u{e9}nder");
}

#[test]
fn parquet_holds_what_is_hard() {
    let folder = scratch("stores_hard_parquet");
    let store = Store::Parquet(folder.clone());
    let collector = start_for(&store, &folder.join(".spool"));
    send(&collector, &hard("d"));
    let counters = finish(collector);
    assert_eq!((counters.rows, counters.unstorable, counters.replaced), (7, 0, 1));
    let rows = parquet_rows(&folder.join("d/app_m"));
    let own = ["1", "1", "1e0"];
    let values = [
        "-2147483648",
        "4294967295",
        "-9223372036854775808",
        "18446744073709551615",
        "NULL",
        "'\u{fffd}\u{fffd}!'",
    ];
    assert_eq!(rows[0], [&own[..], &values, &["x[00, ff]", "18446744073709551615", "1"]].concat());
    assert_eq!(parquet_rows(&folder.join("d/_trialwise_bytes"))[0][3..], ["'app_m'", "'e'", "x[ff, fe, 21]"]);
    let vectors = parquet_rows(&folder.join("d/app_v"));
    assert_eq!(vectors[0][3..], ["''", "'18446744073709551615'", "'NaN -inf 1e-1'", "'1 0'"]);
}

#[test]
fn many_commits_leave_few_parquet_files() {
    let folder = scratch("stores_few");
    let store = Store::Parquet(folder.clone());
    for run in 0..12 {
        let collector = start_for(&store, &folder.join(".spool"));
        let text: String = (0..1000).map(|row| format!("1\t1\t{row}\t{}\n", run * 1000 + row)).collect();
        send(&collector, (header("d", "s", &[]) + &text).as_bytes());
        finish(collector);
    }
    assert_eq!(counted(&store, "d", "app_m"), (12_000, 12_000, 71_994_000));
    for table in ["app_m", "_senders", "_experiment_metadata"] {
        assert_eq!(parts(&folder.join("d").join(table)).len(), 1, "{table}");
    }
}

#[test]
fn polars_reads_what_a_collector_wrote() {
    let python = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.venv/bin/python");
    let found = std::process::Command::new(python).args(["-c", "import polars"]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        println!("skipped: no polars in .venv; make setup");
        return;
    }
    let folder = scratch("stores_polars");
    let collector = start_for(&Store::Parquet(folder.clone()), &folder.join(".spool"));
    send(&collector, &hard("d"));
    finish(collector);
    let program = "import polars, sys\n\
        t = polars.read_parquet(sys.argv[1] + '/d/app_m/*.parquet')\n\
        print([str(t.schema[c]) for c in 'nabcdefgh'], t['c'].to_list(), t['g'].to_list())\n\
        print(polars.read_parquet(sys.argv[1] + '/d/app_v/*.parquet').select('i', 'u', 'd', 'b').row(0))";
    let output = std::process::Command::new(python).args(["-c", program]).arg(&folder).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let expected = "['Int32', 'UInt32', 'Int64', 'UInt64', 'Float64', 'String', 'Binary', 'UInt64', 'Boolean'] \
        [18446744073709551615, 10000, 100000000] [18446744073709551615, 0, 1]\n\
        ([], [18446744073709551615], [nan, -inf, 0.1], [True, False])\n";
    assert_eq!(text, expected, "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_server_that_refuses_the_collector_is_told_at_once() {
    let Some(server) = PostgreSqlServer::start("refused") else { return };
    let url = server.url("postgres");
    select(&url, "CREATE ROLE known LOGIN PASSWORD 'right'");
    select(&url, "REVOKE CREATE ON DATABASE postgres FROM PUBLIC");
    let rules = "local all known scram-sha-256\nlocal all all trust\n";
    fs::write(server.folder().join("data/pg_hba.conf"), rules).unwrap();
    select(&url, "SELECT pg_reload_conf()");
    let refused = |url: String| {
        let spool = scratch("stores_refused");
        match Collector::start(config_for(Store::PostgreSql(url), &spool)) {
            Err(CollectorError::Store(text)) => text,
            other => panic!("{other:?}"),
        }
    };
    let known = |password: &str| format!("{}&password={password}", server.url("known"));
    wait_for("the rules", || refused_password(&known("wrong")));
    let wrong = refused(known("wrong"));
    assert!(wrong.contains("password authentication failed") && wrong.contains("PGPASSWORD"), "{wrong}");
    assert!(refused(server.url("known")).contains("PGPASSWORD"));
    let missing = refused(url.replace("/postgres?", "/nowhere?"));
    assert!(missing.contains("createdb \"nowhere\""), "{missing}");
    // Without the right to make a schema, rows wait and the reason is told; a schema made for the user is enough.
    let store = Store::PostgreSql(known("right"));
    let collector = start_for(&store, &scratch("stores_no_right"));
    send(&collector, (header("d", "s", &[]) + "1\t1\t1\t7\n").as_bytes());
    wait_for("a trouble", || !collector.troubles().is_empty());
    let trouble = collector.troubles().remove("d").unwrap();
    assert!(trouble.contains("CREATE SCHEMA \"d\" AUTHORIZATION"), "{trouble}");
    select(&url, "CREATE SCHEMA d AUTHORIZATION known");
    assert_eq!(finish(collector).rows, 1);
}

fn refused_password(url: &str) -> bool {
    common::stores::try_select(url, "SELECT 1").is_err()
}
