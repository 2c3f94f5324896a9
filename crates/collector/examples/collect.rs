//! A collection server: `collect HOST:PORT sqlite:DIR`, until TERM or INT.

use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use trialwise_collector::{Collector, Config};

#[expect(clippy::print_stderr, reason = "a program")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(listen), Some(store)) = (arguments.next(), arguments.next()) else {
        return Err("usage: collect HOST:PORT sqlite:DIR".into());
    };
    let mut config = Config::new(store.parse()?);
    config.listen = listen.parse()?;
    let collector = Collector::start(config)?;
    eprintln!("listening at {}", collector.address());
    wait_for_end(&collector)?;
    let report = collector.stop(Duration::from_secs(2));
    eprintln!("{:#?}", report.counters);
    report.failure.map_or(Ok(()), |failure| Err(failure.into()))
}

/// Returns at a TERM or INT, or when the collector has failed.
fn wait_for_end(collector: &Collector) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        loop {
            tokio::select! {
                _ = terminate.recv() => return Ok(()),
                _ = interrupt.recv() => return Ok(()),
                () = tokio::time::sleep(Duration::from_secs(1)) => {
                    if collector.failure().is_some() { return Ok(()) }
                }
            }
        }
    })
}
