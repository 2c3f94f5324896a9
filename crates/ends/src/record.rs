//! What both ways to see packets have in common: they run until the standard input ends, and say meanwhile how far they are.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use trialwise_capture::Sightings;
use trialwise_tunnel::{Seen, Tunnel};

/// Between two lines with bytes.
const TURN: Duration = Duration::from_millis(50);

/// What writes packets down.
pub(crate) trait Recorder: Sized {
    /// What is printed when it hears.
    fn ready(&self) -> String {
        "ready".to_owned()
    }

    /// Writes for this time.
    fn run(&mut self, patience: Duration) -> Result<(), String>;
    /// Bytes that have left so far.
    fn sent_bytes(&self) -> u64;
    /// Ends the file; a line about it.
    fn finish(self) -> Result<String, String>;
}

impl Recorder for Sightings {
    fn run(&mut self, patience: Duration) -> Result<(), String> {
        Self::run(self, patience).map_err(|error| error.to_string())
    }

    fn sent_bytes(&self) -> u64 {
        Self::sent_bytes(self)
    }

    fn finish(self) -> Result<String, String> {
        let seen = Self::finish(self).map_err(|error| error.to_string())?;
        Ok(format!("seen {} dropped {} steps {}", seen.packets, seen.kernel_dropped, seen.steps))
    }
}

impl Recorder for Tunnel {
    fn ready(&self) -> String {
        format!("ready {}", self.process())
    }

    fn run(&mut self, patience: Duration) -> Result<(), String> {
        Self::run(self, patience).map_err(|error| error.to_string())
    }

    fn sent_bytes(&self) -> u64 {
        Self::sent_bytes(self)
    }

    fn finish(self) -> Result<String, String> {
        let seen = Self::finish(self).map_err(|error| error.to_string())?;
        let Seen { packets, dropped, steps, strangers, too_large } = seen;
        Ok(format!(
            "seen {packets} dropped {dropped} steps {steps} strangers {strangers} too_large {too_large}"
        ))
    }
}

/// Prints that it is ready, then the bytes that have left so far, twenty times a second, and at the end the recorder's line.
pub(crate) fn record(mut recorder: impl Recorder) -> Result<(), String> {
    print(&recorder.ready())?;
    let is_over = until_input_ends();
    while !is_over.load(Ordering::Relaxed) {
        recorder.run(TURN)?;
        print(&recorder.sent_bytes().to_string())?;
    }
    print(&recorder.finish()?)
}

fn print(line: &str) -> Result<(), String> {
    let mut output = io::stdout();
    writeln!(output, "{line}").and_then(|()| output.flush()).map_err(|error| error.to_string())
}

/// True once the standard input has ended: whoever started this is gone, or wants no more.
fn until_input_ends() -> Arc<AtomicBool> {
    let is_over = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_over);
    std::thread::spawn(move || {
        let mut bytes = [0; 64];
        while io::stdin().read(&mut bytes).is_ok_and(|count| count > 0) {}
        flag.store(true, Ordering::Relaxed);
    });
    is_over
}
