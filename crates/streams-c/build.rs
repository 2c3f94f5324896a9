//! Compiles the part of the library that only C can say (functions of a variable number of arguments), and names the
//! library, so that its other names (liboml2, libocomm) lead to one library in a process.

fn main() {
    println!("cargo:rerun-if-changed=shim/log.c");
    println!("cargo:rerun-if-changed=include/ocomm/o_log.h");
    cc::Build::new().file("shim/log.c").include("include").std("c11").warnings(true).compile("trialwise_log");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtrialwise_streams.so");
}
