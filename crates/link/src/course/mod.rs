//! The course of a link over time: its rate, its delay, its loss and its interruptions together, recorded or drawn.

mod leo;
mod recording;

use trialwise_units::element::Declared;
use trialwise_units::{Duration, Rate, Seed, elements};

pub use recording::{RecordingError, check_recording};

use crate::rate::steps::StepsSpec;
use crate::rate::{DeclaredRate, Server};
use crate::series::Series;
use crate::spans::Spans;
use crate::trace::{ByteConvention, Repeat, Trace};

use leo::LeoSpec;
use recording::RecordedSpec;

/// What a link does over time; what is not there, something else may say.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Course {
    pub(crate) pace: Option<Pace>,
    pub(crate) delay: Option<Series<Duration>>,
    /// Whether later packets may overtake where the delay falls.
    pub(crate) reorders: bool,
    pub(crate) loss: Option<Series<f64>>,
    /// When everything is lost.
    pub(crate) outages: Option<Spans>,
    /// When everything is held.
    pub(crate) holds: Option<Spans>,
}

/// When a link sends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Pace {
    /// At rates.
    Rates(Series<Rate>),
    /// At opportunities; with a period, again after it.
    Opportunities(Trace, Option<Duration>),
}

impl Pace {
    pub(crate) fn server(self) -> Server {
        match self {
            Self::Rates(series) => Server::Steps(StepsSpec { series }),
            Self::Opportunities(trace, period) => {
                let repeat = Repeat::after(period.is_some());
                Server::Trace { trace, convention: ByteConvention::Documented, repeat, period }
            }
        }
    }

    fn mean(&self) -> Rate {
        match self {
            Self::Rates(series) => StepsSpec { series: series.clone() }.mean(),
            Self::Opportunities(trace, period) => trace.mean_rate_over(ByteConvention::Documented, *period),
        }
    }
}

/// What of a link's course an element does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Its rate.
    Rate,
    /// When everything is lost.
    Outage,
    /// When everything is held.
    Handover,
    /// Its loss.
    Loss,
    /// Its delay.
    Delay,
}

impl Part {
    /// The key of a link that would say the same.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Outage => "outage",
            Self::Handover => "handover",
            Self::Loss => "loss",
            Self::Delay => "delay",
        }
    }
}

/// A course that can be chosen by name.
pub(crate) trait DeclaredCourse: Declared {
    /// What of a link it says.
    fn parts(&self) -> Vec<Part>;

    /// The whole of it; the same from the same seed.
    fn drawn(&self, seed: Seed) -> Course;

    /// The mean rate in the long run, where it says a rate.
    fn mean(&self) -> Option<Rate>;

    /// What the delay is at the start; zero where it says none.
    fn base(&self) -> Duration;
}

elements! {
    /// The course of a link as written.
    #[derive(Clone, Debug, PartialEq)]
    pub enum CourseSpec of "course", course! {
        Recorded(RecordedSpec),
        Leo(LeoSpec),
    }
}

impl CourseSpec {
    /// What of a link it says.
    pub(crate) fn parts(&self) -> Vec<Part> {
        course!(self, spec => spec.parts())
    }

    pub(crate) fn drawn(&self, seed: Seed) -> Course {
        course!(self, spec => spec.drawn(seed))
    }

    pub(crate) fn mean(&self) -> Option<Rate> {
        course!(self, spec => spec.mean())
    }

    pub(crate) fn base(&self) -> Duration {
        course!(self, spec => spec.base())
    }
}

impl Course {
    fn parts(&self) -> Vec<Part> {
        let there = [
            (self.pace.is_some(), Part::Rate),
            (self.outages.is_some(), Part::Outage),
            (self.holds.is_some(), Part::Handover),
            (self.loss.is_some(), Part::Loss),
            (self.delay.is_some(), Part::Delay),
        ];
        there.into_iter().filter_map(|(is_there, part)| is_there.then_some(part)).collect()
    }
}
