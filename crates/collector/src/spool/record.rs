//! Records: what a spool consists of.
//!
//! `length: u32 | crc: u32 | kind: u8 | connection: u64 | time: u64 | domain length: u8 | domain | body`, little-endian. The
//! CRC-32 covers the record's position, the length and everything behind it, so that a block of an older file is no record.

use trialwise_streams::native::SessionId;

/// length and CRC.
pub(crate) const HEAD: usize = 8;
/// kind, connection, time, domain length.
const PREFIX: usize = 1 + 8 + 8 + 1;
/// Longest record that is taken for one: a native frame and its prefix.
pub(crate) const LONGEST: usize = (8 << 20) + 4096;

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body<'a> {
    /// An OML connection; its header, blank line included. The position of this record names the connection.
    BeginOml(&'a [u8]),
    /// A native connection; the header of its hello.
    BeginNative(&'a [u8]),
    /// What followed on an OML connection.
    Bytes(&'a [u8]),
    /// A frame of rows of a native session.
    Frame {
        /// Whose.
        session: SessionId,
        /// Its number.
        number: u64,
        /// Whole packets.
        rows: &'a [u8],
    },
    /// The connection is over.
    End,
    /// A session is over: its number is needed no more.
    Bye(SessionId),
    /// The collector started: no earlier connection lives.
    Restart,
    /// Every session and its last number, at the start of a segment.
    Sessions(&'a [u8]),
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    /// The position of the record that began the connection; 0 where none is meant.
    pub(crate) connection: u64,
    /// When it arrived: microseconds of UNIX time.
    pub(crate) time: u64,
    /// Where its rows belong.
    pub(crate) domain: &'a str,
    /// What it says.
    pub(crate) body: Body<'a>,
}

impl Body<'_> {
    const fn kind(&self) -> u8 {
        match self {
            Self::BeginOml(_) => 1,
            Self::BeginNative(_) => 2,
            Self::Bytes(_) => 3,
            Self::Frame { .. } => 4,
            Self::End => 5,
            Self::Bye(_) => 6,
            Self::Restart => 7,
            Self::Sessions(_) => 8,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::BeginOml(bytes) | Self::BeginNative(bytes) | Self::Bytes(bytes) | Self::Sessions(bytes) => {
                out.extend_from_slice(bytes);
            }
            Self::Frame { session, number, rows } => {
                out.extend_from_slice(session);
                out.extend_from_slice(&number.to_le_bytes());
                out.extend_from_slice(rows);
            }
            Self::Bye(session) => out.extend_from_slice(session),
            Self::End | Self::Restart => {}
        }
    }

    fn parse(kind: u8, bytes: &[u8]) -> Option<Body<'_>> {
        Some(match kind {
            1 => Body::BeginOml(bytes),
            2 => Body::BeginNative(bytes),
            3 => Body::Bytes(bytes),
            4 => {
                let (session, rest) = bytes.split_first_chunk()?;
                let (number, rows) = rest.split_first_chunk()?;
                Body::Frame { session: *session, number: u64::from_le_bytes(*number), rows }
            }
            5 => Body::End,
            6 => Body::Bye(bytes.try_into().ok()?),
            7 => Body::Restart,
            8 => Body::Sessions(bytes),
            _ => return None,
        })
    }
}

impl<'a> Record<'a> {
    /// Appends the record that will stand at `position`.
    pub(crate) fn write(&self, position: u64, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; HEAD]);
        out.push(self.body.kind());
        out.extend_from_slice(&self.connection.to_le_bytes());
        out.extend_from_slice(&self.time.to_le_bytes());
        out.push(self.domain.len() as u8);
        out.extend_from_slice(self.domain.as_bytes());
        self.body.write(out);
        let length = (out.len() - start - HEAD) as u32;
        let checksum = checksum(position, &out[start + HEAD..]);
        out[start..start + 4].copy_from_slice(&length.to_le_bytes());
        out[start + 4..start + HEAD].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Reads the record at `position`, which `bytes` begin with.
    pub(crate) fn read(position: u64, bytes: &'a [u8]) -> Found<'a> {
        let Some(length) = length(bytes) else { return Found::Damaged };
        let Some(payload) = bytes.get(HEAD..length) else { return Found::Damaged };
        if checksum(position, payload).to_le_bytes() != bytes[4..HEAD] {
            return Found::Damaged;
        }
        Self::parse(payload).map_or(Found::Damaged, |record| Found::Record(record, length))
    }

    fn parse(payload: &'a [u8]) -> Option<Self> {
        let (&kind, rest) = payload.split_first()?;
        let (connection, rest) = rest.split_first_chunk()?;
        let (time, rest) = rest.split_first_chunk()?;
        let (&length, rest) = rest.split_first()?;
        let (domain, body) = rest.split_at_checked(usize::from(length))?;
        Some(Self {
            connection: u64::from_le_bytes(*connection),
            time: u64::from_le_bytes(*time),
            domain: std::str::from_utf8(domain).ok()?,
            body: Body::parse(kind, body)?,
        })
    }
}

/// What some bytes begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    /// A record and its length.
    Record(Record<'a>, usize),
    /// No record, or not the whole of it.
    Damaged,
}

/// The length of the record that `bytes` begin with, head included; nothing when there is too little, or no record.
pub(crate) fn length(bytes: &[u8]) -> Option<usize> {
    let length = u32::from_le_bytes(*bytes.first_chunk()?) as usize;
    (bytes.len() >= HEAD && (PREFIX..=LONGEST).contains(&length)).then_some(HEAD + length)
}

fn checksum(position: u64, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&position.to_le_bytes());
    hasher.update(&(payload.len() as u32).to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_back_and_no_damaged_or_displaced_one() {
        let body = Body::Frame { session: [7; 16], number: 3, rows: b"rows" };
        let record = Record { connection: 5, time: 9, domain: "d", body };
        let mut bytes = Vec::new();
        record.write(100, &mut bytes);
        assert_eq!(Record::read(100, &bytes), Found::Record(record, bytes.len()));
        assert_eq!(Record::read(101, &bytes), Found::Damaged);
        for end in 0..bytes.len() {
            assert_eq!(Record::read(100, &bytes[..end]), Found::Damaged, "{end}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(Record::read(100, &damaged), Found::Damaged, "{at}");
        }
    }
}
