//! Compiles the part of the library that only C can say: functions of a variable number of arguments.

fn main() {
    println!("cargo:rerun-if-changed=shim/log.c");
    println!("cargo:rerun-if-changed=include/ocomm/o_log.h");
    cc::Build::new().file("shim/log.c").include("include").std("c11").warnings(true).compile("trialwise_log");
}
