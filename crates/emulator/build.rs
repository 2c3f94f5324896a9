//! Builds the helper: a small program that the library carries as bytes (see `helper/helper.c`).

use std::path::PathBuf;
use std::{env, process};

const SOURCE: &str = "helper/helper.c";
const FLAGS: [&str; 4] = ["-std=gnu11", "-Wall", "-Wextra", "-s"];

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("helper");
    let mut build = cc::Build::new();
    build.opt_level(2).debug(false).warnings(false).extra_warnings(false);
    let mut compiler = build.get_compiler().to_command();
    let status = compiler.args(FLAGS).arg(SOURCE).arg("-o").arg(&output).status();
    if !status.as_ref().is_ok_and(process::ExitStatus::success) {
        println!("cargo::error=the C compiler could not build {SOURCE} ({status:?}): {compiler:?}");
    }
}
