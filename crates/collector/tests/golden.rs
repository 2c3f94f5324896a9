//! Every recorded stream, over a socket, gives the database that the real server made, except where OML.md says OURS.

#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::path::Path;

use common::{finish, open, query, recorded, scratch, send, start};
use rusqlite::Connection;

/// OML.md section 1: stream 0 is idempotent.
const REPEATS: &str = "DELETE FROM _experiment_metadata WHERE oml_tuple_id NOT IN (SELECT min(oml_tuple_id) \
     FROM _experiment_metadata GROUP BY oml_sender_id, oml_seq, oml_ts_client, subject, key, value)";
/// Section 8: unsigned values are not negative (what 64 bits with a sign cannot hold is hexadecimal text).
const UNSIGNED: [&str; 5] = [
    "UPDATE vecapp_ints SET u32 = u32 + 4294967296 WHERE u32 < 0",
    "UPDATE vecapp_ints SET u64 = '0xffffffffffffffff' WHERE u64 = -1",
    "UPDATE vecapp_ints SET u64 = '0x8000000000000000' WHERE oml_seq = 5",
    "UPDATE vecapp_ints SET u64 = '0xaaaaaaaaaaaaaaaa' WHERE oml_seq = 7",
    "UPDATE vecapp_bg SET g = CASE oml_seq WHEN 3 THEN '0x8000000000000000' WHEN 4 THEN '0xffffffffffffffff' \
     ELSE '0xdeadbeefcafebabe' END WHERE g < 0",
];

/// What is pushed, the real server's dump, and where ours differs from it.
struct Golden {
    streams: &'static [&'static str],
    dump: &'static str,
    ours: &'static [&'static str],
    damaged: u64,
}

const fn same(streams: &'static [&'static str], dump: &'static str) -> Golden {
    Golden { streams, dump, ours: &[], damaged: 0 }
}

const GOLDEN: [Golden; 15] = [
    Golden { ours: &UNSIGNED, ..same(&["scalars_text.txt"], "scalars_text.sql") },
    Golden { ours: &UNSIGNED, ..same(&["scalars_binary.bin"], "scalars_binary.sql") },
    Golden {
        // Section 4: the real server rejects the row for its denormal, and for the largest double rounded up beyond what
        // a double holds; it is complete and undamaged. Row 3 of vi64 has a NUL.
        ours: &[
            "UPDATE vecapp_vd SET oml_tuple_id = oml_tuple_id + 1 WHERE oml_seq = 5",
            "UPDATE vecapp_vd SET oml_tuple_id = oml_tuple_id + 1 WHERE oml_seq = 4",
            "INSERT INTO vecapp_vd VALUES (3, 1, 3, 0.841562, NULL, '[ nan, inf, -inf, inf, \
             4.94065645841247e-324, -0, 0.1, 2.66666666666667, -30, 333.333333333333 ]', 2)",
        ],
        damaged: 1,
        ..same(&["vectors_text.txt"], "vectors_text.sql")
    },
    same(&["vectors_binary.bin"], "vectors_binary.sql"),
    Golden { ours: &[REPEATS], ..same(&["meta_text.txt"], "meta_text.sql") },
    Golden { ours: &[REPEATS], ..same(&["meta_binary.bin"], "meta_binary.sql") },
    same(&["long_text.txt"], "long_text.sql"),
    same(&["filters_text.txt"], "filters_text.sql"),
    same(&["filters_binary.bin"], "filters_binary.sql"),
    same(&["small3_text.txt"], "small3_text.sql"),
    same(&["small3_binary.bin"], "small3_binary.sql"),
    Golden { ours: &[REPEATS], ..same(&["instr_text.txt"], "instr_text.sql") },
    Golden {
        // Section 4: the row with a NUL is damaged, the real server stores what is left of it.
        ours: &[REPEATS, "DELETE FROM vecapp_m WHERE oml_seq = 33"],
        damaged: 1,
        ..same(&["reconnect_text_conn0.txt", "reconnect_text_conn1.txt"], "reconnect_text.sql")
    },
    same(&["hand_v1_text.txt"], "hand_v1_text.sql"),
    same(&["hand_v3_text.txt"], "hand_v3_text.sql"),
];

fn tables(database: &Connection) -> Vec<String> {
    let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_trialwise%' ESCAPE '\\' ORDER BY name";
    query(database, sql).into_iter().map(|name| name.trim_matches('\'').to_owned()).collect()
}

/// All rows of a table without the order's number and the server's time.
fn rows(database: &Connection, table: &str) -> Vec<String> {
    let columns = query(database, &format!("SELECT name FROM pragma_table_info('{table}')"));
    let columns = columns.iter().map(|name| name.trim_matches('\'').to_owned());
    let kept: Vec<_> = columns.filter(|name| name != "oml_ts_server" && name != "oml_tuple_id").collect();
    query(database, &format!("SELECT \"{}\" FROM \"{table}\" ORDER BY rowid", kept.join("\",\"")))
}

fn expected(folder: &Path, golden: &Golden) -> (String, Connection) {
    let sql = std::fs::read(folder.join(golden.dump)).unwrap();
    let domain = sql.split(|&byte| byte == b'\n').next().unwrap();
    let domain = std::str::from_utf8(domain).unwrap().strip_prefix("-- database: ").unwrap();
    let domain = domain.strip_suffix(".sq3").unwrap().to_owned();
    let database = Connection::open_in_memory().unwrap();
    // Invalid UTF-8 inside a text must stay as it is.
    let sql = with_invalid_text(sql);
    database.execute_batch(&sql).unwrap();
    for ours in golden.ours {
        database.execute_batch(ours).unwrap();
    }
    (domain, database)
}

/// The dump with the invalid bytes of one string written as a blob that is cast.
fn with_invalid_text(sql: Vec<u8>) -> String {
    let invalid = b"'\xff\xfe invalid utf8'";
    let Some(at) = sql.windows(invalid.len()).position(|window| window == invalid) else {
        return String::from_utf8(sql).unwrap();
    };
    let (before, after) = (&sql[..at], &sql[at + invalid.len()..]);
    let cast = "CAST(x'fffe20696e76616c69642075746638' AS TEXT)";
    [std::str::from_utf8(before).unwrap(), cast, std::str::from_utf8(after).unwrap()].concat()
}

fn assert_same(ours: &Connection, expected: &Connection, dump: &str) -> usize {
    assert_eq!(tables(ours), tables(expected), "{dump}");
    let mut compared = 0;
    for table in tables(expected) {
        let ddl = format!("SELECT sql FROM sqlite_master WHERE name = '{table}'");
        assert_eq!(query(ours, &ddl), query(expected, &ddl), "{dump}");
        let (found, wanted) = (rows(ours, &table), rows(expected, &table));
        assert_eq!(found.len(), wanted.len(), "{dump} {table}");
        for (found, wanted) in found.iter().zip(&wanted) {
            assert_eq!(found, wanted, "{dump} {table}");
        }
        compared += wanted.len();
    }
    compared
}

fn check(folder: &Path, golden: &Golden) -> usize {
    let scratch = scratch(&format!("golden_{}", golden.dump));
    let collector = start(&scratch);
    for stream in golden.streams {
        send(&collector, &std::fs::read(folder.join(stream)).unwrap());
    }
    let counters = finish(collector);
    assert_eq!((counters.all_damaged(), counters.unstorable), (golden.damaged, 0), "{}", golden.dump);
    let (domain, expected) = expected(folder, golden);
    let ours = open(&scratch, &domain);
    let untimed =
        "SELECT count(*) FROM _experiment_metadata WHERE (oml_ts_server IS NULL) <> (oml_sender_id IS NULL)";
    assert_eq!(query(&ours, untimed), ["0"]);
    assert_same(&ours, &expected, golden.dump)
}

#[test]
fn every_recorded_stream_gives_the_database_of_the_real_server() {
    let Some(folder) = recorded() else { return };
    let rows: usize = GOLDEN.iter().map(|golden| check(&folder, golden)).sum();
    println!("{} databases, {rows} rows", GOLDEN.len());
    assert!(rows > 800);
}

#[test]
fn three_clients_of_one_domain_share_it_as_in_the_real_server() {
    let Some(folder) = recorded() else { return };
    let scratch = scratch("golden_three");
    let collector = start(&scratch);
    send(&collector, &std::fs::read(folder.join("hand_v4_text.txt")).unwrap());
    // Only the first of the three was recorded; these give the rows that the dump has of the others.
    for (sender, start, schema, values) in [
        ("other", 1_281_591_703, "label:string seq_no:uint32", "l1\t1"),
        ("third", 1_281_591_503, "label:string seq_no:int64 extra:double", "l1\t-1\t3.25"),
    ] {
        let header = format!(
            "protocol: 4\ndomain: hand_v4\nstart-time: {start}\nsender-id: {sender}\napp-name: generator\n\
             schema: 1 generator_d_lin {schema}\ncontent: text\n\n0.5\t1\t1\t{values}\n"
        );
        send(&collector, header.as_bytes());
    }
    finish(collector);
    let golden = same(&[], "hand_v4_three_clients.sql");
    let (domain, expected) = expected(&folder, &golden);
    assert_eq!(assert_same(&open(&scratch, &domain), &expected, golden.dump), 13);
}
