//! What the programs say.

use std::fmt::Display;
use std::io::{self, Write};

use crate::error::Error;

/// Tells whoever waits for it that the program listens.
pub(crate) fn say_ready() -> Result<(), Error> {
    say("ready\n").map_err(Error::from_io("writing to standard output"))
}

/// Writes to standard output.
pub(crate) fn say(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()
}

/// Tells people what is wrong.
pub(crate) fn complain(what: &impl Display) {
    let _ = writeln!(io::stderr(), "flow: {what}");
}
