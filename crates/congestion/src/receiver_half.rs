//! The half of a scheme that runs at the receiver, where what a sender is to know is inferred from arrivals.

use std::fmt;
use std::ops::Deref;

use trialwise_units::{Bytes, Duration, Ecn, Time};

/// The longest note, in bytes.
pub const NOTE_BYTES: usize = 64;

/// What the receiver's half says to the sender's with an answer. Nobody in between reads it; the sender's half takes any bytes for
/// possible, as a receiver may lie.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Note {
    length: u8,
    bytes: [u8; NOTE_BYTES],
}

impl Note {
    /// Nothing.
    pub const EMPTY: Self = Self { length: 0, bytes: [0; NOTE_BYTES] };

    /// These bytes; None where they are more than [`NOTE_BYTES`].
    pub fn new(text: &[u8]) -> Option<Self> {
        let mut note = Self { length: text.len() as u8, ..Self::EMPTY };
        note.bytes.get_mut(..text.len())?.copy_from_slice(text);
        Some(note)
    }
}

impl Default for Note {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Deref for Note {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Debug for Note {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

/// A packet with payload that has just arrived, for the first time or again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// [`Sent::number`](crate::Sent::number).
    pub number: u64,
    /// When, by the receiver's clock, which was at 0 when the first packet arrived.
    pub arrival: Time,
    /// Its payload.
    pub bytes: Bytes,
    /// Its ECN field.
    pub ecn: Ecn,
    /// What [`Controller::next_departure`](crate::Controller::next_departure) said as it was sent, to the 100 us.
    pub next: Option<Duration>,
}

/// The half of a scheme at the receiver of its packets. It has the receiver's clock; no clock or socket is touched here.
///
/// A driver tells it of each packet, calls [`Self::on_timer`] when [`Self::next_timer`] is due, sends an answer after either,
/// and puts the note into each answer.
pub trait ReceiverHalf: fmt::Debug + Send {
    /// A packet has arrived.
    fn on_data(&mut self, received: &Received);

    /// When [`Self::on_timer`] wants to be called next; none once the sender has been silent for long, so that a connection that is
    /// over costs nothing.
    fn next_timer(&self) -> Option<Time>;

    /// The time that [`Self::next_timer`] named has come: handles whatever is due at `now`, and then names a later time or none.
    fn on_timer(&mut self, now: Time);

    /// What to tell the sender with an answer that leaves now.
    fn note(&self, now: Time) -> Note;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_has_its_bytes_and_no_more_than_fit() {
        assert_eq!(Note::new(b"abc").as_deref(), Some(&b"abc"[..]));
        assert_eq!(Note::new(&[]), Some(Note::default()));
        assert_eq!(Note::new(&[7; NOTE_BYTES]).as_deref(), Some(&[7; NOTE_BYTES][..]));
        assert_eq!(Note::new(&[7; NOTE_BYTES + 1]), None);
        assert_eq!(Note::new(&[7; 256]), None);
    }
}
