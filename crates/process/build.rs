//! Builds the supervisor: a freestanding program that the library carries as bytes (see `supervisor/supervisor.c`).

use std::path::PathBuf;
use std::{env, process};

const SOURCE: &str = "supervisor/supervisor.c";
const FLAGS: [&str; 10] = [
    "-std=c11",
    "-Wall",
    "-Werror",
    "-ffreestanding",
    "-fno-stack-protector",
    "-fno-pie",
    "-no-pie",
    "-nostdlib",
    "-static",
    "-Wl,--build-id=none,-z,noexecstack,-s",
];

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("supervisor");
    let mut build = cc::Build::new();
    if env::var_os("HOST") == env::var_os("TARGET") {
        // It is linked with nothing: this machine's compiler serves, whichever one builds the rest for an older C library.
        build.compiler(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    }
    build.opt_level(2).debug(false).pic(false).warnings(false).extra_warnings(false);
    let mut compiler = build.get_compiler().to_command();
    let status = compiler.args(FLAGS).arg(SOURCE).arg("-o").arg(&output).status();
    if !status.as_ref().is_ok_and(process::ExitStatus::success) {
        println!("cargo::error=the C compiler could not build {SOURCE} ({status:?}): {compiler:?}");
    }
}
