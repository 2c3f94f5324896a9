//! What the emulator did, and whether it was itself the bottleneck.

use std::fmt;

use trialwise_link::{Counters, Ecn, Tally};
use trialwise_units::Duration;

use crate::device::DeviceKind;
use crate::histogram::Percentiles;
use crate::priority::Priority;
use trialwise_link::log::Direction;

/// The bound of lateness under which an emulated path counts as faithful.
pub const LATENESS_BOUND: Duration = Duration::from_milliseconds(1);

/// Packets by their ECN field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnCounts([u64; 4]);

impl EcnCounts {
    /// Counts a packet with this field.
    pub(crate) fn add(&mut self, ecn: Ecn) {
        self.0[usize::from(ecn.bits())] += 1;
    }

    /// Packets with this field.
    pub fn of(&self, ecn: Ecn) -> u64 {
        self.0[usize::from(ecn.bits())]
    }
}

/// What became of the packets of one direction: `arrived` + `copied` = `delivered` + `dropped` + `held`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectionReport {
    /// What was read at the one end.
    pub arrived: Tally,
    /// Copies that the link made.
    pub copied: Tally,
    /// What was written at the other end.
    pub delivered: Tally,
    /// What the link dropped.
    pub dropped: Tally,
    /// What was inside when the emulator stopped.
    pub held: Tally,
    /// What was read, by the ECN field that it came with.
    pub arrived_ecn: EcnCounts,
    /// What was written, by the ECN field that it left with.
    pub delivered_ecn: EcnCounts,
    /// How much later than the model has it packets were written.
    pub lateness: Percentiles,
    /// Frames that the kernel dropped before the emulator read them.
    pub overrun: u64,
    /// Frames that the kernel dropped when, or after, the emulator wrote them.
    pub refused: u64,
    /// Names and counters of the link's elements.
    pub elements: Vec<(String, Counters)>,
}

/// What the emulator did from its start to its stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// When the links started, nanoseconds on `CLOCK_MONOTONIC`: the origin of all times in the packet log.
    pub started: u64,
    /// From start to stop.
    pub duration: Duration,
    /// Time of a processor that the emulator's thread used.
    pub processor_time: Duration,
    /// What the ends' devices were.
    pub device: DeviceKind,
    /// Whether the thread had real-time priority.
    pub priority: Priority,
    /// How often it gave that up for a while so as not to starve others.
    pub yielded: u64,
    /// For each frame read: how long it may have waited unseen, while the emulator was at work on others or did not get a
    /// processor.
    pub unseen: Percentiles,
    /// From the sender to the receiver.
    pub forward: DirectionReport,
    /// From the receiver to the sender.
    pub backward: DirectionReport,
    /// Records that the packet log lacks because its writer was too slow.
    pub records_lost: u64,
    /// What went wrong in writing the packet log.
    pub log_error: Option<String>,
    /// Why the emulator stopped by itself, if it did.
    pub failure: Option<String>,
}

/// Why a trial over an emulated path is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bottleneck {
    /// The emulator stopped in the middle.
    Failed(String),
    /// One packet in a hundred was written later than the bound.
    Late {
        /// In which direction.
        direction: Direction,
        /// The 99th percentile of lateness.
        lateness: Duration,
        /// The bound.
        bound: Duration,
    },
    /// One packet in a hundred may have waited longer than the bound before the emulator saw it.
    Unseen {
        /// The 99th percentile.
        wait: Duration,
        /// The bound.
        bound: Duration,
    },
    /// Frames were dropped without a record.
    Unlogged {
        /// In which direction.
        direction: Direction,
        /// How many.
        frames: u64,
    },
    /// The packet log lacks records.
    LogIncomplete(String),
}

impl Report {
    /// Whether the emulator was the bottleneck, and how: the 99th percentile of lateness, or of the time a packet may have
    /// waited unseen, above `bound` (say [`LATENESS_BOUND`]), or anything dropped without a record.
    pub fn bottleneck(&self, bound: Duration) -> Option<Bottleneck> {
        let directions = [(Direction::Forward, &self.forward), (Direction::Backward, &self.backward)];
        let of = |test: fn(Direction, &DirectionReport, Duration) -> Option<Bottleneck>| {
            directions.into_iter().find_map(|(direction, report)| test(direction, report, bound))
        };
        let failed = self.failure.clone().map(Bottleneck::Failed);
        failed
            .or_else(|| of(unlogged))
            .or_else(|| self.log_problem().map(Bottleneck::LogIncomplete))
            .or_else(|| of(late))
            .or_else(|| {
                let wait = self.unseen.p99;
                (wait > bound).then_some(Bottleneck::Unseen { wait, bound })
            })
    }

    /// Processor time as a share of one core.
    pub fn processor_share(&self) -> f64 {
        self.processor_time.as_seconds() / self.duration.as_seconds()
    }

    fn log_problem(&self) -> Option<String> {
        let lost = (self.records_lost > 0).then(|| format!("{} records were lost", self.records_lost));
        self.log_error.clone().or(lost)
    }
}

fn late(direction: Direction, report: &DirectionReport, bound: Duration) -> Option<Bottleneck> {
    let lateness = report.lateness.p99;
    (lateness > bound).then_some(Bottleneck::Late { direction, lateness, bound })
}

fn unlogged(direction: Direction, report: &DirectionReport, _: Duration) -> Option<Bottleneck> {
    let frames = report.overrun + report.refused;
    (frames > 0).then_some(Bottleneck::Unlogged { direction, frames })
}

impl fmt::Display for Bottleneck {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const REMEDY: &str = "lower the rate, run fewer programs beside it, or permit real-time priority";
        let milliseconds = |span: &Duration| span.as_seconds() * 1e3;
        match self {
            Self::Failed(reason) => write!(formatter, "the emulator stopped: {reason}"),
            Self::Late { direction, lateness, bound } => write!(
                formatter,
                "the emulator was late: 1 % of packets {} by {:.3} ms or more (bound {:.3} ms); {REMEDY}",
                direction.words(),
                milliseconds(lateness),
                milliseconds(bound)
            ),
            Self::Unseen { wait, bound } => write!(
                formatter,
                "the emulator was busy: packets may have waited {:.3} ms unseen (bound {:.3} ms); {REMEDY}",
                milliseconds(wait),
                milliseconds(bound)
            ),
            Self::Unlogged { direction, frames } => write!(
                formatter,
                "the kernel dropped {frames} frames {} that no record tells of; {REMEDY}",
                direction.words()
            ),
            Self::LogIncomplete(reason) => write!(formatter, "the packet log is incomplete: {reason}"),
        }
    }
}
