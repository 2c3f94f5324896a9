//! The report of a sender: JSON, a line for each thing; [`crate`] has the format.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use trialwise_units::{Duration, Rate, Time};

use crate::clock::Clock;
use crate::error::Error;

/// Lines are not kept back for longer.
const FLUSH_PERIOD: Duration = Duration::from_milliseconds(500);

/// A connection at one instant.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Sample {
    pub(crate) time_ns: u64,
    pub(crate) flow: usize,
    pub(crate) cwnd_bytes: Option<u64>,
    pub(crate) rtt_ms: Option<f64>,
    pub(crate) retransmits: u64,
    pub(crate) delivery_rate_bps: Option<u64>,
    pub(crate) in_flight_bytes: u64,
    pub(crate) pacing_rate_bps: Option<u64>,
}

/// A transfer that is complete.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Completed {
    pub(crate) flow: u64,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) size_bytes: u64,
}

/// Why a sender ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Ending {
    Complete,
    Time,
    Signal,
    Error,
}

/// The last line.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    pub(crate) protocol: &'static str,
    pub(crate) congestion: String,
    pub(crate) load: String,
    pub(crate) ended: Ending,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) duration_s: f64,
    pub(crate) flows: usize,
    pub(crate) completed: u64,
    pub(crate) bytes_acknowledged: u64,
    pub(crate) bytes_received: u64,
    pub(crate) retransmits: u64,
    pub(crate) timeouts: Option<u64>,
    pub(crate) marked: Option<u64>,
    pub(crate) rtt_min_ms: Option<f64>,
    pub(crate) rtt_mean_ms: Option<f64>,
}

#[derive(Serialize)]
struct LastLine<'a> {
    summary: &'a Summary,
}

/// What the connections of a sender came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) flows: usize,
    pub(crate) acknowledged: u64,
    pub(crate) received: u64,
    pub(crate) retransmits: u64,
    pub(crate) timeouts: Option<u64>,
    pub(crate) marked: Option<u64>,
    pub(crate) rtt: RttTotals,
}

/// Round-trip times added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RttTotals {
    minimum: Option<Duration>,
    sum: Duration,
    count: u64,
}

impl RttTotals {
    pub(crate) fn add(&mut self, sample: Duration) {
        self.merge(&Self { minimum: Some(sample), sum: sample, count: 1 });
    }

    /// A smaller one is known, though it is no sample.
    pub(crate) fn lower(&mut self, minimum: Duration) {
        self.merge(&Self { minimum: Some(minimum), ..Self::default() });
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.minimum = [self.minimum, other.minimum].into_iter().flatten().min();
        self.sum += other.sum;
        self.count += other.count;
    }

    pub(crate) fn minimum_ms(&self) -> Option<f64> {
        self.minimum.map(milliseconds)
    }

    pub(crate) fn mean_ms(&self) -> Option<f64> {
        (self.count > 0).then(|| milliseconds(self.sum) / self.count as f64)
    }
}

/// Milliseconds to the microsecond.
pub(crate) fn milliseconds(span: Duration) -> f64 {
    span.microseconds() as f64 / 1e3
}

pub(crate) fn bits_per_second(rate: Option<Rate>) -> Option<u64> {
    rate.map(Rate::bits_per_second)
}

/// Where the lines go.
pub(crate) struct Report {
    clock: Clock,
    /// None where only the last line is wanted, on standard output.
    file: Option<(PathBuf, BufWriter<File>)>,
    flushed: Time,
    pub(crate) completed: u64,
}

impl Report {
    /// Makes or empties the file at once, so that a bad path is known before anything is sent.
    pub(crate) fn create(path: Option<&Path>, clock: Clock) -> Result<Self, Error> {
        let file = path.map(|path| match File::create(path) {
            Ok(file) => Ok((path.to_owned(), BufWriter::new(file))),
            Err(source) => Err(Error::Report { path: path.display().to_string(), source }),
        });
        Ok(Self { clock, file: file.transpose()?, flushed: Time::ZERO, completed: 0 })
    }

    pub(crate) const fn clock(&self) -> Clock {
        self.clock
    }

    pub(crate) const fn is_wanted(&self) -> bool {
        self.file.is_some()
    }

    pub(crate) fn sample(&mut self, sample: &Sample) -> Result<(), Error> {
        self.line(sample)
    }

    pub(crate) fn completed(&mut self, flow: u64, start: Time, end: Time, size: u64) -> Result<(), Error> {
        self.completed += 1;
        let (start_ns, end_ns) = (self.clock.nanoseconds(start), self.clock.nanoseconds(end));
        self.line(&Completed { flow, start_ns, end_ns, size_bytes: size })
    }

    /// Hands what has been kept back for a while to the system.
    pub(crate) fn flush_when_due(&mut self, now: Time) -> Result<(), Error> {
        if now - self.flushed < FLUSH_PERIOD {
            return Ok(());
        }
        self.flushed = now;
        self.write(|writer| writer.flush())
    }

    /// Writes the last line: to the file, or to standard output where there is none.
    pub(crate) fn finish(mut self, summary: &Summary) -> Result<(), Error> {
        let last = LastLine { summary };
        if self.file.is_none() {
            return print_line(&last).map_err(Error::from_io("writing to standard output"));
        }
        self.line(&last)?;
        self.write(|writer| writer.flush())
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), Error> {
        self.write(|writer| {
            serde_json::to_writer(&mut *writer, value)?;
            writer.write_all(b"\n")
        })
    }

    fn write(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), Error> {
        let Some((path, writer)) = &mut self.file else { return Ok(()) };
        write(writer).map_err(|source| Error::Report { path: path.display().to_string(), source })
    }
}

fn print_line(value: &impl Serialize) -> io::Result<()> {
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, value)?;
    output.write_all(b"\n")?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_add_up() {
        let mut totals = RttTotals::default();
        assert_eq!((totals.minimum_ms(), totals.mean_ms()), (None, None));
        [30, 20, 40].into_iter().for_each(|time| totals.add(Duration::from_milliseconds(time)));
        assert_eq!((totals.minimum_ms(), totals.mean_ms()), (Some(20.0), Some(30.0)));
        totals.lower(Duration::from_milliseconds(10));
        assert_eq!((totals.minimum_ms(), totals.mean_ms()), (Some(10.0), Some(30.0)));
    }
}
