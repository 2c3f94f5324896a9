//! The sender's report: what libutp tells of its congestion control, in the line that it logs at each acknowledgement.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use crate::error::Error;

/// At most one sample in this time.
pub(crate) const INTERVAL: Duration = Duration::from_millis(10);

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// CLOCK_MONOTONIC, nanoseconds.
    pub(crate) time: u64,
    /// max_window: bytes.
    pub(crate) window: u64,
    /// The smoothed round-trip time, milliseconds.
    pub(crate) round_trip: u64,
    /// The delay of the queues as LEDBAT sees it, milliseconds.
    pub(crate) queueing: i64,
}

impl Sample {
    /// From a line of libutp's log; none for one of another kind.
    pub(crate) fn from_log(line: &str, time: u64) -> Option<Self> {
        let value = |name: &str| {
            line.split_ascii_whitespace().find_map(|pair| pair.strip_prefix(name)?.strip_prefix(':'))
        };
        Some(Self {
            time,
            window: value("max_window")?.parse().ok()?,
            round_trip: value("rtt")?.parse().ok()?,
            queueing: value("our_delay")?.parse().ok()?,
        })
    }
}

/// Where samples are written, a JSON object a line; perhaps nowhere.
pub(crate) struct Report {
    output: Option<(BufWriter<File>, String)>,
}

impl Report {
    /// Begins the file, where one is wished for.
    ///
    /// # Errors
    /// `Report`.
    pub(crate) fn create(path: Option<&str>) -> Result<Self, Error> {
        let create = |path: &str| match File::create(path) {
            Ok(file) => Ok((BufWriter::new(file), path.to_owned())),
            Err(source) => Err(Error::Report { path: path.to_owned(), source }),
        };
        Ok(Self { output: path.map(create).transpose()? })
    }

    /// Whether there is somewhere to write to.
    pub(crate) const fn is_wanted(&self) -> bool {
        self.output.is_some()
    }

    /// Writes these samples.
    ///
    /// # Errors
    /// `Report`.
    pub(crate) fn write(&mut self, samples: &[Sample]) -> Result<(), Error> {
        self.with(|output| samples.iter().try_for_each(|sample| write_line(output, sample)))
    }

    /// Writes what was held back.
    ///
    /// # Errors
    /// `Report`.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        self.with(BufWriter::flush)
    }

    fn with(&mut self, action: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), Error> {
        let Some((output, path)) = &mut self.output else { return Ok(()) };
        action(output).map_err(|source| Error::Report { path: path.clone(), source })
    }
}

fn write_line(output: &mut impl Write, sample: &Sample) -> io::Result<()> {
    let Sample { time, window, round_trip, queueing } = sample;
    writeln!(
        output,
        r#"{{"time_ns":{time},"cwnd_bytes":{window},"rtt_ms":{round_trip},"queueing_delay_ms":{queueing}}}"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_log_is_read_and_written_as_json() {
        let line = "0x1 100.64.0.2:9 actual_delay:4021 our_delay:-2 their_delay:0 off_target:98 max_window:14600 \
                    delay_base:5 rtt:31 rate:1";
        let sample = Sample::from_log(line, 7).unwrap();
        assert_eq!(sample, Sample { time: 7, window: 14_600, round_trip: 31, queueing: -2 });
        let mut text = Vec::new();
        write_line(&mut text, &sample).unwrap();
        let read: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(read["cwnd_bytes"], 14_600);
        assert_eq!(read["queueing_delay_ms"], -2);
        assert_eq!(Sample::from_log("Packet 3 lost. Resending", 7), None);
    }
}
