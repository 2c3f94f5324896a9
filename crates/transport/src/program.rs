//! The flow programs.

use crate::arguments::{Request, help, parse};
use crate::error::Error;
use crate::output::{complain, say};
use crate::{tcp, udp};

/// Runs the flow program that `arguments` (without a program's name) ask for, and gives its exit code: 0 when it is done,
/// 1 when it failed, 2 for wrong usage. [`crate`] has the command lines. It prints to standard output and standard error,
/// and takes SIGTERM and SIGINT of the calling thread while it runs.
pub fn main(arguments: &[String]) -> i32 {
    match run(arguments) {
        Ok(()) => 0,
        Err(error) => {
            complain(&error);
            error.exit_code()
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Error> {
    raise_descriptor_limit();
    match parse(arguments)? {
        Request::Help => say(&help()).map_err(Error::from_io("writing to standard output")),
        Request::TcpReceive(settings) => tcp::receive(&settings),
        Request::TcpSend(settings) => tcp::send(&settings),
        Request::UdpReceive(settings) => udp::receive(&settings),
        Request::UdpSend(settings) => udp::send(&settings),
    }
}

/// A list of flows may need more connections than the soft limit of descriptors, often 1024, allows.
fn raise_descriptor_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit is written to, then read.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}
