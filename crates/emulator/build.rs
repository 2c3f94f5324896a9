//! Builds the helper: a small program that the library carries as bytes (see `helper/helper.c`).

use std::path::PathBuf;
use std::{env, process};

const FOLDER: &str = "helper";
const SOURCES: [&str; 5] = ["answer.c", "ends.c", "enter.c", "helper.c", "netlink.c"];
const FLAGS: [&str; 4] = ["-std=gnu11", "-Wall", "-Wextra", "-s"];

fn main() {
    println!("cargo::rerun-if-changed={FOLDER}");
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("helper");
    let mut build = cc::Build::new();
    build.opt_level(2).debug(false).warnings(false).extra_warnings(false);
    let mut compiler = build.get_compiler().to_command();
    let sources = SOURCES.map(|source| format!("{FOLDER}/{source}"));
    let status = compiler.args(FLAGS).args(sources).arg("-o").arg(&output).status();
    if !status.as_ref().is_ok_and(process::ExitStatus::success) {
        println!("cargo::error=the C compiler could not build {FOLDER} ({status:?}): {compiler:?}");
    }
}
