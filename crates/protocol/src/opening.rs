//! What the sender of a connection says first, over TCP as over UDP: what the other end is to do.

use std::fmt;

/// The length of an opening. Over TCP it comes before the first byte of the load, over UDP in the packet of the first byte.
pub const OPENING_BYTES: usize = 64;

const MAGIC: [u8; 4] = *b"TWF3";
/// The longest name of a congestion control that an opening can say.
pub const NAME_BYTES: usize = 40;
/// A stream without an end; well below the range of offsets.
pub(crate) const ENDLESS: u64 = 1 << 62;

/// What the other end does with what it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Takes it.
    Take,
    /// Answers each `request` bytes with `response` bytes.
    Answer {
        /// Bytes, at least one.
        request: u64,
        /// Bytes.
        response: u64,
    },
}

impl Task {
    /// Bytes that the other end is to have sent back in all when so many have come.
    pub fn owed(&self, received: u64) -> u64 {
        match self {
            Self::Take => 0,
            Self::Answer { request, response } => (received / request).saturating_mul(*response).min(ENDLESS),
        }
    }
}

/// The name of a congestion control, at most 40 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Congestion([u8; NAME_BYTES]);

impl Congestion {
    /// The name; empty where it is not text.
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES);
        str::from_utf8(&self.0[..end]).unwrap_or_default()
    }
}

impl From<&str> for Congestion {
    /// A longer name, which no opening can say, is none: it is told only to an end that sends back.
    fn from(name: &str) -> Self {
        let mut bytes = [0; NAME_BYTES];
        let said = if name.len() > NAME_BYTES { "" } else { name };
        bytes[..said.len()].copy_from_slice(said.as_bytes());
        Self(bytes)
    }
}

impl fmt::Debug for Congestion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(formatter)
    }
}

/// What is said first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// What the other end is to do.
    pub task: Task,
    /// The largest IP packet on the way back (UDP).
    pub mtu: u16,
    /// The congestion control of the way back.
    pub congestion: Congestion,
}

impl Opening {
    /// As it stands in a packet.
    pub fn to_bytes(self) -> [u8; OPENING_BYTES] {
        let (task, request, response) = match self.task {
            Task::Take => (0, 0, 0),
            Task::Answer { request, response } => (1_u8, request, response),
        };
        let mut bytes = [0; OPENING_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = task;
        bytes[6..8].copy_from_slice(&self.mtu.to_be_bytes());
        bytes[8..16].copy_from_slice(&request.to_be_bytes());
        bytes[16..24].copy_from_slice(&response.to_be_bytes());
        bytes[24..].copy_from_slice(&self.congestion.0);
        bytes
    }

    /// None for what is no opening.
    pub fn from_bytes(bytes: &[u8; OPENING_BYTES]) -> Option<Self> {
        let word = |at: usize| u64::from_be_bytes(std::array::from_fn(|index| bytes[at + index]));
        let task = match bytes[4] {
            0 => Task::Take,
            1 if word(8) > 0 => Task::Answer { request: word(8), response: word(16) },
            _ => return None,
        };
        let congestion = Congestion(std::array::from_fn(|index| bytes[24 + index]));
        let mtu = u16::from_be_bytes([bytes[6], bytes[7]]);
        (bytes[..4] == MAGIC).then_some(Self { task, mtu, congestion })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_said_whole_or_not_at_all() {
        let longest = "x".repeat(NAME_BYTES);
        assert_eq!(Congestion::from(longest.as_str()).as_str(), longest);
        assert_eq!(Congestion::from(format!("{longest}y").as_str()).as_str(), "");
    }

    #[test]
    fn an_opening_is_read_as_written() {
        let task = Task::Answer { request: 200, response: 10_000 };
        let opening = Opening { task, mtu: 1400, congestion: "fixed-rate:12Mbit/s".into() };
        assert_eq!(Opening::from_bytes(&opening.to_bytes()), Some(opening));
        assert_eq!(opening.congestion.as_str(), "fixed-rate:12Mbit/s");
        let mut bytes = opening.to_bytes();
        bytes[0] = 0;
        assert_eq!(Opening::from_bytes(&bytes), None);
        assert_eq!(Opening::from_bytes(&[0; OPENING_BYTES]), None);
    }
}
