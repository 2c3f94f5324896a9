//! Compiles the part of the library that only C can say (functions of a variable number of arguments), and names the
//! library, so that its other names (liboml2, libocomm) lead to one library in a process, and a program finds the one that
//! it was built with beside a later one: the number changes with the interface, and is the version's first.

fn main() {
    println!("cargo:rerun-if-changed=shim/log.c");
    println!("cargo:rerun-if-changed=include/ocomm/o_log.h");
    cc::Build::new().file("shim/log.c").include("include").std("c11").warnings(true).compile("trialwise_log");
    let number = std::env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default();
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtrialwise_streams.so.{number}");
}
