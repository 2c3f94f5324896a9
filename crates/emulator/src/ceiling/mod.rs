//! What the emulator can do on this machine: the figures behind `trialwise doctor path`.

mod traffic;

use std::time::{self, Instant};

use trialwise_link::LinkSpec;
use trialwise_units::{Duration, Rate, Seed};

use crate::device::DeviceKind;
use crate::namespaces::NamespaceSettings;
use crate::path::{Path, PathError, PathSettings};
use crate::priority::Priority;
use crate::report::{Bottleneck, LATENESS_BOUND, Report};
use traffic::{Stream, bulk, datagrams};

/// Rates tried, in Mbit/s.
const RATES: [u64; 7] = [100, 200, 500, 1000, 2000, 5000, 10_000];
/// The share of a link that TCP must fill for the link to count as carried: mahimahi's own at the rates it keeps up with.
const SHARE: f64 = 0.88;
const DELAY: &str = "28ms";
const ROUND_TRIP_SECONDS: f64 = 0.056;
/// On the way at most, in bandwidth-delay products: enough to fill the link, too little to fill memory.
const WINDOW: f64 = 3.0;
/// Of an idle path: bytes of IP and UDP headers, and of payload.
const PROBE: (u64, usize) = (28, 172);
const PROBE_RATE: u64 = 100;
/// Seconds of the stages at the default budget of twenty: idle delay, no limit (twice: warm-up and measuring), small packets,
/// each rate (warm-up, measuring).
const SECONDS: Seconds = Seconds { idle: 2.0, free: [0.5, 1.0], small: 1.0, rate: [1.2, 0.8] };
const USUAL_BUDGET: f64 = 20.0;

struct Seconds {
    idle: f64,
    free: [f64; 2],
    small: f64,
    rate: [f64; 2],
}

/// What the emulator can do on this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// The highest of the rates tried at which one TCP connection over 28 ms each way, in packets of 1500 bytes, filled 88 %
    /// of the link with payload while the emulator kept up; `None` if it did not even at the lowest.
    pub rate: Option<Rate>,
    /// Payload that it brought there.
    pub goodput: Rate,
    /// Why the next rate was not reached: `None` when time or rates ran out first.
    pub limit: Option<CeilingLimit>,
    /// Payload of one TCP connection over a path that limits nothing.
    pub unrestricted: Rate,
    /// Datagrams of 100 bytes that cross in a second when more are offered.
    pub packets_per_second: f64,
    /// How much later than the model has it a datagram arrives over an idle path of 28 ms: the median.
    pub delay_error_median: Duration,
    /// The same: the 99th percentile.
    pub delay_error_p99: Duration,
    /// Whether the emulator's thread has real-time priority.
    pub priority: Priority,
    /// What the ends' devices are.
    pub device: DeviceKind,
}

/// Why a rate was not reached.
#[derive(Clone, Debug, PartialEq)]
pub enum CeilingLimit {
    /// The emulator was the bottleneck.
    Emulator(Bottleneck),
    /// The connection filled less of the link.
    Goodput(Rate),
}

/// Measures within about `budget` (twenty seconds give steady figures). `progress` hears the name of each stage, and what
/// share of the whole is done.
///
/// # Errors
/// As [`Path::open`], and `System` when traffic could not be sent.
pub fn measure_ceiling(
    settings: NamespaceSettings,
    budget: time::Duration,
    mut progress: impl FnMut(&str, f64),
) -> Result<Ceiling, PathError> {
    let run = Run { settings, start: Instant::now(), budget };
    let mut tell = |stage: &str| progress(stage, run.share_done());
    tell("delay of an idle path");
    let (errors, report) = run.measure_idle_delay()?;
    tell("a path without limits");
    let unrestricted = run.measure_bulk(None, SECONDS.free)?.0;
    tell("small packets");
    let packets_per_second = run.measure_small_packets()?;
    let mut ceiling = Ceiling {
        rate: None,
        goodput: Rate::from_bits_per_second(0),
        limit: None,
        unrestricted,
        packets_per_second,
        delay_error_median: percentile(&errors, 0.5),
        delay_error_p99: percentile(&errors, 0.99),
        priority: report.priority,
        device: report.device,
    };
    run.raise(&mut ceiling, &mut tell)?;
    tell("done");
    Ok(ceiling)
}

impl Ceiling {
    fn take(&mut self, rate: Rate, (goodput, limit): (Rate, Option<CeilingLimit>)) {
        if limit.is_none() {
            (self.rate, self.goodput) = (Some(rate), goodput);
        }
        self.limit = limit;
    }
}

struct Run {
    settings: NamespaceSettings,
    start: Instant,
    budget: time::Duration,
}

impl Run {
    fn share_done(&self) -> f64 {
        (self.start.elapsed().as_secs_f64() / self.budget.as_secs_f64()).min(1.0)
    }

    /// Tries one rate after another, as long as each is reached and there is time.
    fn raise(&self, ceiling: &mut Ceiling, tell: &mut impl FnMut(&str)) -> Result<(), PathError> {
        let patience = self.budget.saturating_sub(self.span(SECONDS.rate.iter().sum()));
        for rate in RATES {
            // What else ran for a moment may be to blame: a rate has a second try.
            for _ in 0..2 {
                if self.start.elapsed() > patience {
                    return Ok(());
                }
                tell(&format!("{rate} Mbit/s"));
                let rate = Rate::from_megabits_per_second(rate);
                ceiling.take(rate, self.try_rate(rate)?);
                if ceiling.limit.is_none() {
                    break;
                }
            }
            if ceiling.limit.is_some() {
                break;
            }
        }
        Ok(())
    }

    fn open(&self, pairs: &[(&str, &str)]) -> Result<Path, PathError> {
        let no_files = |path: &str| Err(format!("{path} is not read"));
        let link = LinkSpec::from_pairs(pairs.iter().copied(), &no_files)?;
        let (forward, backward, namespaces) = (link.clone(), link, self.settings);
        Path::open(&PathSettings { forward, backward, seed: Seed::new(1), namespaces }, None)
    }

    fn span(&self, seconds: f64) -> time::Duration {
        self.budget.mul_f64(seconds / USUAL_BUDGET)
    }

    /// Nanoseconds that datagrams are late, in order.
    fn measure_idle_delay(&self) -> Result<(Vec<u64>, Report), PathError> {
        let path = self.open(&[("rate", &format!("{PROBE_RATE}Mbit/s")), ("delay", DELAY)])?;
        let interval = time::Duration::from_millis(4);
        let stream = Stream { size: PROBE.1, interval, span: self.span(SECONDS.idle) };
        let delays = datagrams(path.namespaces(), stream)?;
        let serialization = (PROBE.0 + PROBE.1 as u64) * 8 * 1000 / PROBE_RATE;
        let model = (ROUND_TRIP_SECONDS / 2.0 * 1e9) as u64 + serialization;
        let mut errors: Vec<u64> = delays.into_iter().map(|delay| delay.saturating_sub(model)).collect();
        errors.sort_unstable();
        Ok((errors, path.close()?))
    }

    /// Payload of one connection through a link of this rate and delay, or through none.
    fn measure_bulk(
        &self,
        rate: Option<Rate>,
        [warmup, span]: [f64; 2],
    ) -> Result<(Rate, Report), PathError> {
        let text = rate.map(|rate| format!("{}bit/s", rate.bits_per_second()));
        let pairs: Vec<_> =
            text.iter().flat_map(|text| [("rate", text.as_str()), ("delay", DELAY)]).collect();
        let path = self.open(&pairs)?;
        let product = |rate: Rate| (rate.bits_per_second() as f64 / 8.0 * ROUND_TRIP_SECONDS * WINDOW) as u64;
        let (warmup, span) = (self.span(warmup), self.span(span));
        let (bytes, took) = bulk(path.namespaces(), rate.map(product), warmup, span)?;
        let bits = if took.is_zero() { 0.0 } else { bytes as f64 * 8.0 / took.as_secs_f64() };
        Ok((Rate::from_bits_per_second(bits as u64), path.close()?))
    }

    fn try_rate(&self, rate: Rate) -> Result<(Rate, Option<CeilingLimit>), PathError> {
        let (goodput, report) = self.measure_bulk(Some(rate), SECONDS.rate)?;
        let enough = goodput.bits_per_second() as f64 >= SHARE * rate.bits_per_second() as f64;
        let limit = match report.bottleneck(LATENESS_BOUND) {
            Some(bottleneck) => Some(CeilingLimit::Emulator(bottleneck)),
            None => (!enough).then_some(CeilingLimit::Goodput(goodput)),
        };
        Ok((goodput, limit))
    }

    fn measure_small_packets(&self) -> Result<f64, PathError> {
        let path = self.open(&[])?;
        let span = self.span(SECONDS.small);
        datagrams(path.namespaces(), Stream { size: 72, interval: time::Duration::ZERO, span })?;
        let report = path.close()?;
        Ok(report.forward.delivered.packets as f64 / span.as_secs_f64())
    }
}

fn percentile(sorted: &[u64], fraction: f64) -> Duration {
    let last = sorted.len().saturating_sub(1);
    let place = (last as f64 * fraction).round() as usize;
    Duration::from_nanoseconds(sorted.get(place).copied().unwrap_or(0))
}
