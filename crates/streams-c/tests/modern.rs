//! The modern C interface: what it streams, what misuse gets, and that its header is clean.

#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::process::Command;

use common::{Link, build, command, compile, decode, home, installed, of, scratch, succeed, text};

#[test]
fn every_type_streams_and_every_misuse_is_refused() {
    for link in [Link::Shared, Link::Static] {
        let program = build("modern.c", link, &["-std=c11", "-pedantic"]);
        let output = succeed(command(&program).args(["rest", "--oml-collect", "file:out", "--oml-text"]));
        assert_eq!(text(&output), "2 arguments left\n");
        let rows = decode(&std::fs::read(program.with_file_name("out")).unwrap());
        let expected = [
            "-5",
            "4294967295",
            "-9223372036854775808",
            "18446744073709551615",
            "0.125",
            "true",
            "7",
            "text",
            "[0, 255]",
            "-1 2",
            "3",
            "-4 5",
            "18446744073709551615",
            "0.5 0.25",
            "false true",
        ];
        assert_eq!(of(&rows, "modern_every"), [expected, expected]);
        assert_eq!(of(&rows, "modern_three"), [["1", "2", "3"]]);
        let timed: Vec<_> =
            rows.iter().filter(|row| row.stream == "modern_every").map(|row| row.time).collect();
        assert!(timed[0] < 60.0 && timed[1] > 1e7 && (timed[1].fract() - 0.5).abs() < 1e-6, "{timed:?}");
        assert_eq!(of(&rows, "_client_losses").len(), 2, "every, three");
    }
}

#[test]
fn nothing_is_leaked_when_a_session_is_freed() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return; // nothing to look with
    }
    let program = build("modern.c", Link::Shared, &[]);
    let mut checked = Command::new("valgrind");
    checked.args(["-q", "--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite"]);
    succeed(checked.current_dir(program.parent().unwrap()).arg(&program).args(["--oml-collect", "file:out"]));
}

#[test]
fn the_program_of_the_page_builds_and_says_what_was_lost() {
    let page = std::fs::read_to_string(home().join("../../docs/how-to/instrument-a-c-program.md")).unwrap();
    let program = page.split("```c\n").nth(1).unwrap().split("```").next().unwrap();
    let folder = scratch("page");
    let source = folder.join("ping.c");
    std::fs::write(&source, program).unwrap();
    compile(&source, &folder.join("ping"), Link::Shared, &["-std=c11", "-pedantic"]);
    let output = succeed(command(&folder.join("ping")).args(["--oml-collect", "file:-"]));
    assert!(text(&output).contains("\t1\t1\t0.012\n"));
    let output = succeed(command(&folder.join("ping")).args(["--oml-collect", "native:127.0.0.1:1"]));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("lost: 0 samples at the inject, "), "{said}");
}

#[test]
fn the_header_is_clean_c11_and_cpp() {
    let folder = scratch("header");
    for (name, standard) in [("only.c", "-std=c11"), ("only.cpp", "-std=c++11"), ("newest.cpp", "-std=c++20")]
    {
        let source = folder.join(name);
        std::fs::write(&source, "#include <trialwise/streams.h>\nint main() { tw_free(0); return 0; }\n")
            .unwrap();
        compile(&source, &folder.join("only"), Link::Shared, &[standard, "-pedantic"]);
    }
}

#[test]
fn pkg_config_finds_the_library_under_both_names() {
    if Command::new("pkg-config").arg("--version").output().is_err() {
        return; // not on this machine
    }
    for name in ["trialwise-streams", "liboml2"] {
        let mut asked = Command::new("pkg-config");
        asked.env("PKG_CONFIG_PATH", installed().join("lib/pkgconfig"));
        let flags = text(&succeed(asked.args(["--cflags", "--libs", name])));
        assert!(
            flags.contains("-ltrialwise_streams") && flags.contains(installed().to_str().unwrap()),
            "{flags}"
        );
    }
}
