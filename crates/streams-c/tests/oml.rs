//! Programs written for liboml2, built unchanged against the installed library, and what they stream.

#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{Link, Row, build, command, decode, home, installed, of, receive, scratch, succeed, text, wait};
use trialwise_collector::{Collector, Config, Store};

fn check_generated(rows: &[Row], samples: usize) {
    let lin = of(rows, "generator_lin");
    let expected: Vec<_> = (0..samples)
        .map(|i| vec![format!("sample-{i}"), i.to_string(), (i as f64 * 0.5).to_string()])
        .collect();
    assert_eq!(lin, expected);
    let sine = of(rows, "generator_sin");
    assert_eq!(sine.len(), samples);
    for row in sine {
        let [angle, value] = [1, 2].map(|at| row[at].parse::<f64>().unwrap());
        assert!((angle.sin() - value).abs() < 1e-6, "{row:?}");
    }
}

#[test]
fn a_generator_streams_text_to_a_file_and_binary_over_tcp_linked_either_way() {
    for link in [Link::Shared, Link::Static] {
        let program = build("generator.c", link, &[]);
        let arguments = ["--oml-id", "n", "20", "--oml-domain=d", "--oml-collect", "file:out", "-x"];
        let output = succeed(command(&program).args(arguments));
        assert_eq!(text(&output), "3 arguments left: 20 -x\n", "{link:?}");
        let bytes = std::fs::read(program.with_file_name("out")).unwrap();
        assert!(bytes.starts_with(b"protocol: 5\ndomain: d\nstart-time: "));
        check_generated(&decode(&bytes), 20);

        let (address, receiver) = receive();
        succeed(command(&program).env("OML_COLLECT", address).args(["300"]));
        let bytes = receiver.join().unwrap();
        assert!(bytes.windows(16).any(|window| window == b"content: binary\n"));
        check_generated(&decode(&bytes), 300);
    }
}

#[test]
fn a_generator_streams_to_the_collector_by_both_protocols() {
    let folder = scratch("collected");
    let mut config = Config::new(Store::Sqlite(folder.clone()));
    config.listen.set_port(0);
    config.commit = Duration::from_millis(20);
    let collector = Collector::start(config).unwrap();
    let program = build("generator.c", Link::Shared, &[]);
    for scheme in ["tcp", "native"] {
        let address = format!("{scheme}:{}", collector.address());
        let arguments = ["500", "--oml-domain", scheme, "--oml-id", "node", "--oml-collect", &address];
        succeed(command(&program).args(arguments));
    }
    // Bytes handed to the machine arrive some time after the program has ended.
    let stop = Instant::now() + Duration::from_secs(20);
    for domain in ["tcp", "native"] {
        let counted = || count_rows(&folder.join(format!("{domain}.sq3")));
        while counted() != Some((500, 62375.0)) {
            assert!(Instant::now() < stop, "{domain}: {:?}", counted());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    assert_eq!(collector.stop(Duration::from_secs(4)).failure, None);
}

fn count_rows(database: &Path) -> Option<(i64, f64)> {
    let connection = rusqlite::Connection::open(database).ok()?;
    let query = "SELECT count(*), sum(value) FROM generator_lin";
    connection.query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?))).ok()
}

#[test]
fn a_configuration_of_omls_chooses_streams_and_an_unknown_name_in_it_stops_the_start() {
    let program = build("generator.c", Link::Shared, &[]);
    let path = program.with_file_name("config.xml");
    let write = |point: &str, field: &str| {
        let xml = format!(
            r#"<omlc domain="x" id="i"><collect url="file:filtered" encoding="text">
               <stream mp="{point}" samples="10"><filter field="{field}" operation="avg"/></stream></collect></omlc>"#
        );
        std::fs::write(&path, xml).unwrap();
    };
    let run = || command(&program).args(["40", "--oml-config", "config.xml"]).output().unwrap();
    write("lin", "value");
    assert!(run().status.success());
    let rows = decode(&std::fs::read(program.with_file_name("filtered")).unwrap());
    let averages: Vec<_> = of(&rows, "generator_lin").iter().map(|row| row[0].to_owned()).collect();
    assert_eq!(averages, ["2.25", "7.25", "12.25", "17.25"]);
    assert!(of(&rows, "generator_sin").is_empty());
    for (point, field) in [("cos", "value"), ("lin", "absent")] {
        write(point, field);
        let output = run();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(if point == "cos" { "cos" } else { "absent" }), "{said}");
    }
}

#[test]
fn options_that_ask_for_no_measurement_are_answered() {
    let program = build("generator.c", Link::Shared, &[]);
    for arguments in [["7", "--oml-noop"], ["--oml-noop", "7"]] {
        let output = succeed(command(&program).args(arguments));
        assert_eq!(text(&output), "2 arguments left: 7\n");
        assert_eq!(std::fs::read_dir(program.parent().unwrap()).unwrap().count(), 1, "nothing is written");
    }
    let help = succeed(command(&program).arg("--oml-help"));
    assert!(text(&help).contains("--oml-collect"));
    let filters = succeed(command(&program).arg("--oml-list-filters"));
    assert!(text(&filters).lines().any(|line| line == "stddev"));
    for wrong in [&["--oml-unheard"][..], &["--oml-id"], &["--oml-collect", "tcp:h:x"]] {
        let output = command(&program).args(wrong).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains(wrong[wrong.len() - 1]));
    }
}

const TYPES: [&str; 17] = [
    "-2147483648",
    "4294967295",
    "-9223372036854775808",
    "18446744073709551615",
    "0.125",
    "true",
    "18364758544493064720",
    "tab\there",
    "only the first ",
    "[0, 1, 2]",
    "-2147483648 0 2147483647",
    "0 4294967295",
    "-9223372036854775808 9223372036854775807",
    "",
    "0.5 -1000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
    "true false true",
    "-2147483648",
];

#[test]
fn every_type_arrives_as_it_was_set_in_both_encodings() {
    for (link, encoding) in [(Link::Shared, "--oml-text"), (Link::Static, "--oml-binary")] {
        let program = build("types.c", link, &[]);
        succeed(command(&program).args(["--oml-collect", "file:out", encoding]));
        let rows = decode(&std::fs::read(program.with_file_name("out")).unwrap());
        let rows = of(&rows, "types_all");
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[0], TYPES);
        let changed =
            ["only the first", "[0, 1, 2, 255]", "-2147483648 1 2147483647", "18446744073709551615"];
        assert_eq!([rows[1][8], rows[1][9], rows[1][10], rows[1][13]], changed);
        assert_eq!([rows[2][7], rows[2][8], rows[2][9]], ["", "", "[]"]);
    }
}

#[test]
fn late_points_and_metadata_arrive() {
    let program = build("late.c", Link::Shared, &[]);
    let (address, receiver) = receive();
    succeed(command(&program).args(["--oml-collect", &address]));
    let rows = decode(&receiver.join().unwrap());
    assert_eq!(of(&rows, "late_early"), [["1"]]);
    assert_eq!(of(&rows, "late_late"), [["2", "two"]]);
    let metadata: HashSet<_> = of(&rows, "_experiment_metadata").iter().map(|row| row.join("|")).collect();
    for line in [
        ".|purpose|a test",
        ".late_early.n|unit|s",
        ".late_late|about|it",
        ".late_late|of|no field",
        ".|schema|3 late_late n:int32 name:string",
    ] {
        assert!(metadata.contains(line), "{line:?} {metadata:?}");
    }
}

/// Rows of `threads.c`: each whole, each once, in each thread's order. Returns how many.
fn check_threads(rows: &[Row]) -> usize {
    let mut next = BTreeMap::new();
    let all = of(rows, "threads_m");
    for row in &all {
        let [thread, number, check] = [0, 1, 2].map(|at| row[at].parse::<i64>().unwrap());
        assert_eq!(check, thread * 1_000_003 + number, "a mixed row");
        assert_eq!(row[3], format!("{number} of {thread}"));
        let last = next.insert(thread, number);
        assert!(last.is_none_or(|last| last < number), "{thread}: {number} after {last:?}");
    }
    all.len()
}

#[test]
fn sixteen_threads_inject_into_one_point_and_no_row_is_mixed() {
    let program = build("threads.c", Link::Shared, &[]);
    let run = |each: &str| {
        let (address, receiver) = receive();
        let output = succeed(command(&program).args([each, "--oml-collect", &address]));
        let lost: usize = text(&output).trim().parse().unwrap();
        let injected = 16 * each.parse::<usize>().unwrap();
        assert_eq!(check_threads(&decode(&receiver.join().unwrap())) + lost, injected);
    };
    run("2000");
    (0..20).for_each(|_| run("50"));
}

#[test]
#[ignore = "soak: a thousand runs"]
fn a_thousand_runs_of_sixteen_threads_neither_hang_nor_mix() {
    let program = build("threads.c", Link::Shared, &[]);
    for _ in 0..1000 {
        let (address, receiver) = receive();
        let output = succeed(command(&program).args(["200", "--oml-collect", &address]));
        let lost: usize = text(&output).trim().parse().unwrap();
        assert_eq!(check_threads(&decode(&receiver.join().unwrap())) + lost, 3200);
    }
}

#[test]
fn signals_close_the_streams_and_end_the_program() {
    let program = build("ending.c", Link::Shared, &[]);
    for (name, number) in [("INT", 2), ("HUP", 1), ("TERM", 15), ("PIPE", 13)] {
        let _ = std::fs::remove_file(program.with_file_name("out"));
        let output = signal(&program, "wait", name);
        assert_eq!(output.status.code(), Some(256 - number), "{name}");
        let rows = decode(&std::fs::read(program.with_file_name("out")).unwrap());
        assert_eq!(of(&rows, "ending_m").len(), 5, "{name}");
    }
    assert_eq!(signal(&program, "own", "TERM").status.code(), Some(77), "the program's own handler stays");
}

/// Starts, waits for "ready", and sends a signal.
fn signal(program: &Path, how: &str, name: &str) -> std::process::Output {
    let mut starting = command(program);
    starting.args([how, "--oml-collect", "file:out", "--oml-text"]).stdout(Stdio::piped());
    let mut child = starting.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    succeed(std::process::Command::new("kill").args([format!("-{name}"), child.id().to_string()]));
    wait(child)
}

#[test]
fn a_program_that_forgets_to_close_loses_nothing_and_a_fork_harms_nobody() {
    let program = build("ending.c", Link::Shared, &[]);
    for how in ["main", "fork"] {
        let _ = std::fs::remove_file(program.with_file_name("out"));
        let start = Instant::now();
        succeed(command(&program).args([how, "--oml-collect", "file:out", "--oml-text"]));
        assert!(start.elapsed() < Duration::from_secs(9), "{how}");
        let rows = decode(&std::fs::read(program.with_file_name("out")).unwrap());
        assert_eq!(of(&rows, "ending_m").len(), 5, "{how}");
    }
}

#[test]
fn closing_keeps_its_deadline_and_says_what_was_lost() {
    let program = build("generator.c", Link::Shared, &[]);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let start = Instant::now();
    let mut running = command(&program);
    running.env("TRIALWISE_CLOSE_SECONDS", "0.3").args(["10", "--oml-collect", &format!("tcp:{nobody}")]);
    let output = running.output().unwrap();
    assert!(start.elapsed() < Duration::from_secs(9));
    assert_eq!(output.status.code(), Some(4));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("10 of 10 rows of generator_lin did not reach tcp:"), "{said}");
}

#[test]
fn the_log_is_that_of_o_log_h() {
    let program = build("logging.c", Link::Shared, &[]);
    let output = succeed(command(&program).args(["--oml-collect", "file:out"]));
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines[..2], ["WARN\tbefore 1 two 3.0 4", "DEBUG\tshown"]);
    assert_eq!((lines.len(), lines[2].len(), lines[3]), (4, 1999 + "INFO\t".len(), "INFO\tthere"));
    assert!(text(&output).starts_with("own 0: Trialwise streams "));
    assert!(text(&output).contains("own -2: a b c d e f 0.5\n"));
    let quiet = build("generator.c", Link::Shared, &[]);
    let arguments = ["--oml-collect", "file:out", "--oml-log-level", "-1", "--oml-log-file", "log"];
    assert!(succeed(command(&quiet).args(arguments)).stderr.is_empty());
    assert_eq!(std::fs::read_to_string(quiet.with_file_name("log")).unwrap(), "");
}

#[test]
fn programs_build_as_old_and_new_c_and_as_cpp() {
    for (name, more) in [
        ("generator.c", ["-std=gnu99", "-O2"]),
        ("types.c", ["-std=gnu17", "-pedantic"]),
        ("plus.cpp", ["-std=c++11", "-pedantic"]),
    ] {
        let program = build(name, Link::Shared, &more);
        succeed(command(&program).args(["--oml-collect", "file:out"]));
    }
}

#[test]
fn a_plugin_may_give_options_alone_and_count_on_what_the_header_includes() {
    let program = build("plugin.c", Link::Shared, &[]);
    let output = succeed(&mut command(&program));
    assert_eq!(text(&output), "2 arguments left: --own value\n");
    let bytes = std::fs::read(program.with_file_name("out")).unwrap();
    let header = String::from_utf8_lossy(&bytes).into_owned();
    assert!(header.contains("sender-id: host\n") && header.contains("domain: plugins\n"), "{header}");
    let rows = decode(&bytes);
    assert_eq!(of(&rows, "collectd_load"), [["9223372036854775808", "[97, 98, 99]"]]);
    // The point that came after the start may be told of in the header, or by metadata of its own after this.
    let versions: Vec<_> =
        of(&rows, "_experiment_metadata").into_iter().filter(|row| row[1] == "version").collect();
    assert_eq!(versions, [[".", "version", "1.0"]]);
}

#[test]
fn a_program_carries_the_librarys_name_with_its_number_whatever_name_it_was_linked_by() {
    let program = build("generator.c", Link::Shared, &[]);
    let needed = text(&succeed(std::process::Command::new("objdump").arg("-p").arg(&program)));
    let names: Vec<_> =
        needed.lines().filter_map(|line| line.trim().strip_prefix("NEEDED")).map(str::trim).collect();
    assert!(names.contains(&"libtrialwise_streams.so.0"), "{names:?}");
    assert!(!names.iter().any(|name| name.contains("oml") || name.contains("ocomm")), "{names:?}");
    let lib = installed().join("lib");
    let target = |name: &str| std::fs::read_link(lib.join(name)).unwrap();
    let version = concat!("libtrialwise_streams.so.", env!("CARGO_PKG_VERSION"));
    assert_eq!(target("libtrialwise_streams.so.0").to_str(), Some(version));
    assert_eq!(target("libtrialwise_streams.so").to_str(), Some("libtrialwise_streams.so.0"));
    assert_eq!(target("liboml2.so").to_str(), Some("libtrialwise_streams.so"));
}

#[test]
fn only_the_interfaces_can_be_seen() {
    let lib = installed().join("lib");
    let names = |arguments: &[&str], file: &str| -> Vec<String> {
        let output = succeed(std::process::Command::new("nm").args(arguments).arg(lib.join(file)));
        let defined = text(&output);
        let lines = defined.lines().filter(|line| line.split_whitespace().count() == 3);
        lines.map(|line| line.split_whitespace().last().unwrap().to_owned()).collect()
    };
    let shared = names(&["-D", "--defined-only"], "liboml2.so");
    assert_eq!(names(&["-g", "--defined-only"], "libocomm.a"), shared);
    let headers = ["ocomm/o_log.h", "oml2/omlc.h", "trialwise/streams.h"];
    let declared =
        headers.map(|header| std::fs::read_to_string(home().join("include").join(header)).unwrap());
    for name in &shared {
        assert!(declared.iter().any(|header| header.contains(&format!("{name}("))), "{name}");
    }
    for name in ["o_log", "omlc_inject", "omlc_guid_generate", "tw_inject_double", "tw_last_error"] {
        assert!(shared.iter().any(|known| known == name), "{name}");
    }
}

#[test]
fn no_memory_is_misused_or_lost() {
    let valgrind = std::process::Command::new("valgrind").arg("--version").output();
    if valgrind.is_err() {
        return; // nothing to look with
    }
    for (name, argument) in [("types.c", "200"), ("threads.c", "40"), ("late.c", "")] {
        let program = build(name, Link::Shared, &[]);
        let mut checked = command(Path::new("valgrind"));
        checked.current_dir(program.parent().unwrap());
        checked.args(["-q", "--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite"]);
        succeed(checked.arg(&program).args([argument, "--oml-collect", "file:out"]));
    }
}
