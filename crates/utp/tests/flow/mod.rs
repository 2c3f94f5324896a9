//! The programs as processes: this very test program, run again.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};

/// Set in the environment of the test that is run again: its arguments.
const ARGUMENTS: &str = "TRIALWISE_UTP_TEST_ARGUMENTS";

/// Where the program begins when it is run again; returns when it is not.
pub(crate) fn run_as_program() {
    let Ok(line) = std::env::var(ARGUMENTS) else { return };
    let arguments: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
    std::process::exit(trialwise_utp::program::main(&arguments));
}

/// The program with these arguments, `command` being what starts this test program.
pub(crate) fn program(mut command: Command, arguments: &str) -> Command {
    command.args(["--exact", "program", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(ARGUMENTS, arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A receiver that listens.
pub(crate) fn start_receiver(command: Command, port: u16) -> Child {
    let mut child = program(command, &format!("receive --port {port}")).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("ready")));
    child
}

/// Asks it to end; how it did, and what it said.
pub(crate) fn end(mut child: Child) -> (ExitStatus, String) {
    // SAFETY: a signal to a child of ours that is not waited for yet.
    assert_eq!(unsafe { libc::kill(i32::try_from(child.id()).unwrap(), libc::SIGTERM) }, 0);
    let mut said = String::new();
    child.stderr.as_mut().unwrap().read_to_string(&mut said).unwrap();
    (child.wait().unwrap(), said)
}
