//! ECN marks by queue length.

use trialwise_units::{Rate, Seed, Time};

use crate::index::PortId;
use crate::random::{Chance, Xorshift};
use crate::settings::{Marking, Mode};

/// The thresholds of one port, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thresholds {
    minimum: u64,
    maximum: u64,
    probability: f64,
}

impl Thresholds {
    /// No length is marked.
    pub(crate) const NEVER: Self = Self { minimum: u64::MAX, maximum: u64::MAX, probability: 0.0 };

    /// Lengths in proportion to the rate of the link.
    pub(crate) fn of(marking: &Marking, rate: Rate) -> Self {
        let Marking { minimum, maximum, probability, .. } = marking.at(rate);
        Self { minimum: minimum.get(), maximum: maximum.get(), probability }
    }
}

/// Decides about marks: one stream for all switches.
#[derive(Clone, Debug)]
pub(crate) enum Marker {
    Seeded(Chance),
    Fixed(Xorshift),
}

impl Marker {
    pub(crate) fn new(mode: Mode, seed: Seed, by_instant: bool) -> Self {
        match mode {
            Mode::Clean => Self::Seeded(Chance::new(seed.named("marking"), by_instant)),
            Mode::Compatible => Self::Fixed(Xorshift::of_the_paper()),
        }
    }

    /// Whether a packet is marked that leaves `queue` bytes behind; draws only between the thresholds.
    #[inline]
    pub(crate) fn marks(&mut self, thresholds: &Thresholds, queue: u64, place: (PortId, Time)) -> bool {
        if queue <= thresholds.minimum {
            return false;
        }
        if queue > thresholds.maximum {
            return true;
        }
        let part = (queue - thresholds.minimum) as f64 / (thresholds.maximum - thresholds.minimum) as f64;
        self.uniform(place) < thresholds.probability * part
    }

    const fn uniform(&mut self, (port, now): (PortId, Time)) -> f64 {
        match self {
            Self::Seeded(chance) => chance.uniform(port, now),
            Self::Fixed(xorshift) => xorshift.uniform(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trialwise_units::Bytes;

    const LINE: Rate = Rate::from_megabits_per_second(100_000);

    fn thresholds(rate: Rate) -> Thresholds {
        let (minimum, maximum) = (Bytes::new(400_000), Bytes::new(1_600_000));
        Thresholds::of(&Marking { minimum, maximum, probability: 0.2, rate: LINE }, rate)
    }

    #[test]
    fn the_probability_grows_between_the_thresholds() {
        for by_instant in [false, true] {
            let mut marker = Marker::new(Mode::Clean, Seed::new(3), by_instant);
            let mut marks = |queue, time| {
                let place = (PortId::new(time as u32 % 7), Time::from_picoseconds(83_840 * time));
                marker.marks(&thresholds(LINE), queue, place)
            };
            let mut share =
                |queue| (0..20_000_u64).filter(|time: &u64| marks(queue, *time)).count() as f64 / 20_000.0;
            assert_eq!((share(400_000), share(1_600_001)), (0.0, 1.0));
            assert!((share(1_000_000) - 0.1).abs() < 0.01);
            assert!((share(1_600_000) - 0.2).abs() < 0.01);
        }
    }

    #[test]
    fn slower_links_mark_at_shorter_queues() {
        let slow = thresholds(Rate::from_megabits_per_second(25_000));
        assert_eq!((slow.minimum, slow.maximum), (100_000, 400_000));
    }
}
