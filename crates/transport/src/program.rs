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
    match parse(arguments)? {
        Request::Help => say(&help()).map_err(Error::from_io("writing to standard output")),
        Request::TcpReceive(settings) => tcp::receive(&settings),
        Request::TcpSend(settings) => tcp::send(&settings),
        Request::UdpReceive(settings) => udp::receive(&settings),
        Request::UdpSend(settings) => udp::send(&settings),
    }
}
