//! The figures of this machine's emulator within twenty seconds: `doctor [--user] [--packet]`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use std::env;
use std::error::Error;
use std::time::Duration;

use trialwise_emulator::{DeviceChoice, NamespaceSettings, measure_ceiling};

fn main() -> Result<(), Box<dyn Error>> {
    let has = |word: &str| env::args().any(|argument| argument == word);
    let mut settings = NamespaceSettings::default();
    settings.user_namespace |= has("--user");
    if has("--packet") {
        settings.device = DeviceChoice::Packet;
    }
    let tell = |stage: &str, share: f64| eprintln!("{:3.0} % {stage}", share * 100.0);
    println!("{:#?}", measure_ceiling(settings, Duration::from_secs(20), tell)?);
    Ok(())
}
