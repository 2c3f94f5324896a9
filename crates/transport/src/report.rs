//! The report of a sender: JSON, a line for each thing; [`crate`] has the format.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use trialwise_protocol::message::Whole;
use trialwise_protocol::report::{ArrivedLine, Captured, Completed, LastLine, Sample, Summary};
use trialwise_units::{Duration, Time};

use crate::clock::Clock;
use crate::error::Error;

/// Lines are not kept back for longer.
const FLUSH_PERIOD: Duration = Duration::from_milliseconds(500);

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

    pub(crate) fn captured(&mut self, captured: &Captured) -> Result<(), Error> {
        self.line(&captured.line(self.clock.nanoseconds(captured.captured)))
    }

    /// Hands what has been kept back for a while to the system.
    pub(crate) fn flush_when_due(&mut self, now: Time) -> Result<(), Error> {
        if now - self.flushed < FLUSH_PERIOD {
            return Ok(());
        }
        self.flushed = now;
        self.flush()
    }

    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.write(|writer| writer.flush())
    }

    pub(crate) fn arrived(&mut self, whole: Whole) -> Result<(), Error> {
        self.line(&ArrivedLine::from(whole))
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
