//! What the half at the receiver tells that of the sender.
//!
//! ```text
//! tick u32 · its age u16 (10 us) · payload since it began u32 · packets until the end of each of eight ticks, 8 × u16
//! ```
//! All numbers are big-endian.

use trialwise_units::Duration;

use super::filter::{HIGHEST, HORIZON, TICK};
use crate::Note;

/// Payload of a packet of 1500 bytes, in which rates and forecasts count.
pub(super) const PACKET: u64 = 1440;

const BYTES: usize = 10 + 2 * HORIZON;
/// Of the age.
const UNIT: u64 = 10;

/// A forecast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Forecast {
    /// The number of the tick at whose beginning it was made.
    pub(super) tick: u32,
    /// How long ago that is.
    pub(super) age: Duration,
    /// Payload that has come since.
    pub(super) bytes: u64,
    /// Packets that will have come until the end of this tick, of the next, and so on.
    pub(super) packets: [u16; HORIZON],
}

impl Forecast {
    pub(super) fn to_note(self) -> Note {
        let mut text = [0; BYTES];
        text[..4].copy_from_slice(&self.tick.to_be_bytes());
        text[4..6].copy_from_slice(&((self.age.microseconds() / UNIT) as u16).to_be_bytes());
        text[6..10].copy_from_slice(&u32::try_from(self.bytes).unwrap_or(u32::MAX).to_be_bytes());
        for (place, packets) in text[10..].chunks_exact_mut(2).zip(self.packets) {
            place.copy_from_slice(&packets.to_be_bytes());
        }
        Note::new(&text).unwrap_or_default()
    }

    /// None for what no half of ours has written: another length, an age of more than a tick, packets that go back, or more of them than the
    /// highest rate brings.
    pub(super) fn read(note: &[u8]) -> Option<Self> {
        let note: &[u8; BYTES] = note.try_into().ok()?;
        let half = |at: usize| u16::from_be_bytes([note[at], note[at + 1]]);
        let word = |at: usize| u32::from_be_bytes(std::array::from_fn(|place| note[at + place]));
        let forecast = Self {
            tick: word(0),
            age: Duration::from_microseconds(UNIT * u64::from(half(4))),
            bytes: u64::from(word(6)),
            packets: std::array::from_fn(|tick| half(10 + 2 * tick)),
        };
        let is_possible =
            (1..).zip(forecast.packets).all(|(ticks, packets)| usize::from(packets) <= HIGHEST * ticks);
        (forecast.age <= TICK && is_possible && forecast.packets.is_sorted()).then_some(forecast)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forecast() -> Forecast {
        Forecast {
            tick: 7,
            age: Duration::from_microseconds(12_340),
            bytes: 2880,
            packets: [1, 3, 5, 5, 9, 11, 13, 160],
        }
    }

    #[test]
    fn a_forecast_is_read_as_written() {
        assert_eq!(Forecast::read(&forecast().to_note()), Some(forecast()));
        let endless = Forecast { bytes: u64::MAX, ..forecast() };
        assert_eq!(
            Forecast::read(&endless.to_note()),
            Some(Forecast { bytes: u64::from(u32::MAX), ..endless })
        );
    }

    #[test]
    fn what_no_receiver_of_ours_has_written_is_none() {
        let note = forecast().to_note();
        assert_eq!(Forecast::read(&note[..BYTES - 1]), None);
        assert_eq!(Forecast::read(&[]), None);
        assert_eq!(Forecast::read(&[0; 64]), None);
        assert_eq!(Forecast::read(&[0xff; BYTES]), None);
        for packets in [[1, 3, 5, 4, 9, 11, 13, 14], [21; HORIZON], [0, 0, 0, 0, 0, 0, 0, 161]] {
            assert_eq!(Forecast::read(&Forecast { packets, ..forecast() }.to_note()), None);
        }
        let old = Forecast { age: TICK + Duration::from_microseconds(10), ..forecast() };
        assert_eq!(Forecast::read(&old.to_note()), None);
    }
}
