//! The packet log: one record of 32 bytes for each packet that left a link, in whatever way.
//!
//! A file is a header of 32 bytes, then records, all little-endian. A file that ends in the middle (its writer was
//! killed) is read up to its last whole record.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use trialwise_units::{Bytes, Duration, Time};

use crate::element::Cause;

const MAGIC: [u8; 8] = *b"TWPACKET";
const VERSION: u32 = 1;
/// In the number of an event: what it happened to is a copy.
pub const COPY: u8 = 0x80;
/// Bytes of a record, and of the header.
pub const RECORD: usize = 32;
/// Bytes that are read or written together.
pub const CHUNK: usize = 4096 * RECORD;

/// Which way a packet went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the sender to the receiver.
    Forward,
    /// From the receiver to the sender.
    Backward,
}

/// How a packet ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// It arrived at the other end.
    Delivered,
    /// It was dropped by the element of this index in its link.
    Dropped {
        /// Index of the element.
        element: usize,
        /// Why.
        cause: Cause,
    },
    /// It was still inside when the emulator stopped.
    Held,
}

/// What became of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it left its link by the model, since the emulator started; for what is held, when the emulator stopped.
    /// In the order of each direction it never goes back.
    pub time: Time,
    /// What time passed since it came.
    pub delay: Duration,
    /// Who talks to whom, the same in both directions; from the highest bits down: 16 bits of a hash of the addresses, 16
    /// of the protocol's number, 16 of the higher port, 16 of the lower port (zero where there are none).
    pub flow: u64,
    /// How much later than `time` the emulator wrote it, up to 4.29 s.
    pub lateness: Duration,
    /// Bytes of the IP packet.
    pub size: Bytes,
    /// What happened.
    pub event: Event,
    /// Whether it is a copy of a packet that was made on the way; in a file, the highest bit of the event.
    pub copy: bool,
    /// Which way it went.
    pub direction: Direction,
    /// The ECN field it left with.
    pub ecn: u8,
}

impl Record {
    /// Appends the record as a file has it.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        let (event, element) = match self.event {
            Event::Delivered => (0, 0),
            Event::Held => (1, 0),
            Event::Dropped { element, cause } => (2 + cause.number(), element.min(31) as u8),
        };
        let lateness = u32::try_from(self.lateness.nanoseconds()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(&self.time.nanoseconds().to_le_bytes());
        bytes.extend_from_slice(&self.delay.nanoseconds().to_le_bytes());
        bytes.extend_from_slice(&self.flow.to_le_bytes());
        bytes.extend_from_slice(&lateness.to_le_bytes());
        bytes.extend_from_slice(&(self.size.get() as u16).to_le_bytes());
        bytes.push(event | if self.copy { COPY } else { 0 });
        bytes.push(self.direction as u8 | self.ecn << 1 | element << 3);
    }

    /// Nothing where the event is unknown, or a time is beyond all times.
    pub fn read(bytes: &[u8; RECORD]) -> Option<Self> {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| bytes[at + index]));
        // Half a year at most, or it is no time of an emulator's.
        let nanoseconds = |at| Some(word(at)).filter(|count| *count <= u64::MAX / 1000);
        let element = usize::from(bytes[31] >> 3);
        Some(Self {
            time: Time::from_nanoseconds(nanoseconds(0)?),
            delay: Duration::from_nanoseconds(nanoseconds(8)?),
            flow: word(16),
            lateness: Duration::from_nanoseconds(word(24) & 0xffff_ffff),
            size: Bytes::new(u64::from(u16::from_le_bytes([bytes[28], bytes[29]]))),
            event: match bytes[30] & !COPY {
                0 => Event::Delivered,
                1 => Event::Held,
                number => Event::Dropped { element, cause: *Cause::ALL.get(usize::from(number) - 2)? },
            },
            copy: bytes[30] & COPY != 0,
            direction: if bytes[31] & 1 == 0 { Direction::Forward } else { Direction::Backward },
            ecn: bytes[31] >> 1 & 3,
        })
    }
}

/// Magic, version, size of a record, nanoseconds of the realtime clock when the log was made (`made`), eight bytes for later.
pub fn header(made: u64) -> [u8; RECORD] {
    let mut header = [0; RECORD];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..16].copy_from_slice(&(RECORD as u32).to_le_bytes());
    header[16..24].copy_from_slice(&made.to_le_bytes());
    header
}

/// Reads a packet log, record for record.
pub struct LogReader<R> {
    input: R,
}

impl LogReader<BufReader<File>> {
    /// Opens a packet log.
    ///
    /// # Errors
    /// When the file cannot be read or is no packet log of this version.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::new(BufReader::with_capacity(CHUNK, File::open(path)?))
    }
}

impl<R: Read> LogReader<R> {
    /// Reads a packet log from `input`.
    ///
    /// # Errors
    /// When the header cannot be read or is not one of this version.
    pub fn new(mut input: R) -> io::Result<Self> {
        let mut found = [0; RECORD];
        input.read_exact(&mut found)?;
        if found[..16] != header(0)[..16] {
            let message = "not a packet log of version 1 (its first bytes are others)";
            return Err(io::Error::new(ErrorKind::InvalidData, message));
        }
        Ok(Self { input })
    }
}

impl<R: Read> Iterator for LogReader<R> {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<io::Result<Record>> {
        let mut bytes = [0; RECORD];
        match self.input.read_exact(&mut bytes) {
            Ok(()) => Some(Record::read(&bytes).ok_or_else(unknown_event)),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// A packet log, or a part of it, by columns: the values of each record at one index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// When the log was made, nanoseconds of the realtime clock.
    pub made: u64,
    /// [`Record::time`] in nanoseconds.
    pub time: Vec<u64>,
    /// [`Record::delay`] in nanoseconds.
    pub delay: Vec<u64>,
    /// [`Record::flow`]
    pub flow: Vec<u64>,
    /// [`Record::lateness`] in nanoseconds.
    pub lateness: Vec<u32>,
    /// [`Record::size`] in bytes.
    pub size: Vec<u16>,
    /// 0 delivered, 1 held, else dropped: 2 loss, 3 outage, 4 policed, 5 overflow, 6 managed, 7 corrupt, 8 filtered; and
    /// [`COPY`] for a copy.
    pub event: Vec<u8>,
    /// 0 forward, 1 backward.
    pub direction: Vec<u8>,
    /// [`Record::ecn`]
    pub ecn: Vec<u8>,
    /// The element that dropped it.
    pub element: Vec<u8>,
}

/// Reads at most `most` records after the first `skip` of a packet log, all at once.
///
/// # Errors
/// When the file cannot be read, is no packet log of this version, or has a record of an unknown event.
pub fn read_columns(path: &Path, skip: u64, most: u64) -> io::Result<Columns> {
    let mut file = File::open(path)?;
    let mut made = [0; RECORD];
    file.read_exact(&mut made)?;
    LogReader::new(&made[..])?;
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(std::array::from_fn(|index| bytes[at + index]));
    let there = (file.metadata()?.len() / RECORD as u64).saturating_sub(1);
    let skip = skip.min(there);
    let count = (there - skip).min(most) as usize;
    file.seek(SeekFrom::Start((skip + 1) * RECORD as u64))?;
    let mut columns = Columns { made: word(&made, 16), ..Columns::with_capacity(count)? };
    let mut chunk = vec![0; CHUNK];
    while columns.time.len() < count {
        let bytes = &mut chunk[..CHUNK.min((count - columns.time.len()) * RECORD)];
        file.read_exact(bytes)?;
        let records = bytes.as_chunks::<RECORD>().0;
        columns.time.extend(records.iter().map(|record| word(record, 0)));
        columns.delay.extend(records.iter().map(|record| word(record, 8)));
        columns.flow.extend(records.iter().map(|record| word(record, 16)));
        columns.lateness.extend(records.iter().map(|record| word(record, 24) as u32));
        columns.size.extend(records.iter().map(|record| u16::from_le_bytes([record[28], record[29]])));
        columns.event.extend(records.iter().map(|record| record[30]));
        columns.direction.extend(records.iter().map(|record| record[31] & 1));
        columns.ecn.extend(records.iter().map(|record| record[31] >> 1 & 3));
        columns.element.extend(records.iter().map(|record| record[31] >> 3));
    }
    match columns.event.iter().map(|event| event & !COPY).max() {
        Some(event) if usize::from(event) >= 2 + Cause::ALL.len() => Err(unknown_event()),
        _ => Ok(columns),
    }
}

impl Columns {
    /// # Errors
    /// More than memory has room for, such as of a file of holes.
    fn with_capacity(count: usize) -> io::Result<Self> {
        Ok(Self {
            made: 0,
            time: reserved(count)?,
            delay: reserved(count)?,
            flow: reserved(count)?,
            lateness: reserved(count)?,
            size: reserved(count)?,
            event: reserved(count)?,
            direction: reserved(count)?,
            ecn: reserved(count)?,
            element: reserved(count)?,
        })
    }
}

fn reserved<T>(count: usize) -> io::Result<Vec<T>> {
    let mut column = Vec::new();
    match column.try_reserve_exact(count) {
        Ok(()) => Ok(column),
        Err(_) => Err(io::Error::new(
            ErrorKind::InvalidData,
            format!("{count} records do not fit into memory; read a part of them"),
        )),
    }
}

fn unknown_event() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "a record of an unknown event")
}

impl Direction {
    /// Whither, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Forward => "to the receiver",
            Self::Backward => "to the sender",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_record_is_read_as_written() {
        let events = Cause::ALL.map(|cause| Event::Dropped { element: 3, cause });
        for event in events.into_iter().chain([Event::Delivered, Event::Held]) {
            let record = Record {
                time: Time::from_nanoseconds(123_456_789_012),
                delay: Duration::from_milliseconds(28),
                flow: u64::MAX - 5,
                lateness: Duration::from_microseconds(77),
                size: Bytes::new(1500),
                event,
                copy: event != Event::Held,
                direction: Direction::Backward,
                ecn: 3,
            };
            let mut bytes = Vec::new();
            record.write(&mut bytes);
            assert_eq!(Record::read(bytes.as_slice().try_into().unwrap()), Some(record));
        }
    }

    #[test]
    fn a_log_cut_off_in_a_record_is_read_up_to_it_and_another_file_is_refused() {
        let bytes = [&header(1)[..], &[0; RECORD + 5]].concat();
        assert_eq!(LogReader::new(&bytes[..]).unwrap().count(), 1);
        assert!(LogReader::new(&[0_u8; 64][..]).is_err());
    }

    /// A log of so many records, each another, and cut off in one more.
    fn log_of(count: u64) -> Vec<u8> {
        let mut bytes = header(1).to_vec();
        for rank in 0..count {
            let record = Record {
                time: Time::from_nanoseconds(rank * 1_001),
                delay: Duration::from_nanoseconds(rank % 77),
                flow: rank.wrapping_mul(0x9e37_79b9_7f4a_7c15),
                lateness: Duration::from_nanoseconds(rank % 13),
                size: Bytes::new(40 + rank % 1_461),
                event: match rank % 9 {
                    0 => Event::Delivered,
                    1 => Event::Held,
                    cause => {
                        Event::Dropped { element: rank as usize % 32, cause: Cause::ALL[cause as usize - 2] }
                    }
                },
                copy: rank % 5 == 0,
                direction: if rank % 2 == 0 { Direction::Forward } else { Direction::Backward },
                ecn: (rank % 4) as u8,
            };
            record.write(&mut bytes);
        }
        bytes.extend([1; RECORD - 1]);
        bytes
    }

    #[test]
    fn columns_hold_what_the_records_hold() {
        let bytes = log_of(10_000);
        let path = std::env::temp_dir().join(format!("trialwise-columns-{}.log", std::process::id()));
        std::fs::write(&path, &bytes).unwrap();
        let records: Vec<Record> = LogReader::new(&bytes[..]).unwrap().map(Result::unwrap).collect();
        let columns = read_columns(&path, 0, u64::MAX).unwrap();
        let part = read_columns(&path, 9_990, 5).unwrap();
        let beyond = read_columns(&path, u64::MAX, 5).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!((records.len(), columns.time.len(), beyond.time.len()), (10_000, 10_000, 0));
        assert_eq!(part.flow, columns.flow[9_990..9_995]);
        assert!(columns.made > 0);
        for (index, record) in records.iter().enumerate() {
            let (code, element) = match record.event {
                Event::Delivered => (0, 0),
                Event::Held => (1, 0),
                Event::Dropped { element, cause } => (2 + cause.number(), element as u8),
            };
            assert_eq!(columns.time[index], record.time.nanoseconds());
            assert_eq!(columns.delay[index], record.delay.nanoseconds());
            assert_eq!(columns.flow[index], record.flow);
            assert_eq!(u64::from(columns.lateness[index]), record.lateness.nanoseconds());
            assert_eq!(u64::from(columns.size[index]), record.size.get());
            let code = if record.copy { code | COPY } else { code };
            assert_eq!((columns.event[index], columns.element[index]), (code, element));
            assert_eq!((columns.direction[index], columns.ecn[index]), (record.direction as u8, record.ecn));
        }
    }
}
