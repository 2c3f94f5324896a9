//! The file of what one end of a path sees: a record of 32 bytes for each packet, little-endian, after a header of 64.
//!
//! `src/trialwise/measurement/sightings.py` reads it. A file that ends in the middle is read up to its last whole record.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use crate::error::Error;
use crate::headers::Transport;

const MAGIC: [u8; 8] = *b"TWSEEN\0\0";
const VERSION: u32 = 1;
const RECORD: usize = 32;
const HEADER: usize = 64;
/// Lost packets of a file that was not finished.
const UNFINISHED: u32 = u32::MAX;
const MERGED: u8 = 1;

/// Ports, as an end sees them, and the flows that they belong to.
#[derive(Clone, Debug)]
pub struct Flows(Vec<u16>);

impl Flows {
    /// Of pairs of a port and a flow. Without any, all packets of IP are of flow 0.
    pub fn new(flows: &[(u16, u16)]) -> Self {
        let mut flow_of = Vec::new();
        if !flows.is_empty() {
            flow_of.resize(1 << 16, 0);
            for (port, flow) in flows {
                flow_of[usize::from(*port)] = *flow;
            }
        }
        Self(flow_of)
    }

    /// The flow of a packet with these headers, if it is wanted.
    pub fn of(&self, transport: Option<Transport>) -> Option<u16> {
        if self.0.is_empty() {
            return Some(0);
        }
        let [source, destination] = match transport? {
            Transport::Tcp(tcp) => [tcp.source, tcp.destination],
            Transport::Udp(udp) => [udp.source, udp.destination],
        };
        [source, destination].iter().map(|port| self.0[usize::from(*port)]).find(|flow| *flow > 0)
    }
}

/// A packet that an end saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Nanoseconds of CLOCK_MONOTONIC_RAW.
    pub time: u64,
    /// What it is known by at both ends.
    pub identity: u64,
    /// Bytes of the IP packet.
    pub size: u32,
    /// That it belongs to.
    pub flow: u16,
    /// Whether this end sent it.
    pub is_outgoing: bool,
    /// The ECN field.
    pub ecn: u8,
    /// Time to live, or hop limit.
    pub hops: u8,
    /// Of IP.
    pub protocol: u8,
    /// Whether it came in one piece with others, and has their stamp.
    pub is_merged: bool,
}

/// Writes the file.
#[derive(Debug)]
pub struct Records {
    output: BufWriter<File>,
    failed: Option<io::Error>,
    began: [u64; 2],
    sent_bytes: u64,
}

impl Records {
    /// Begins a file that is not there yet; `began` are both clocks, as [`crate::Stamps::latest`] gives them.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn new(path: &Path, began: [u64; 2]) -> Result<Self, Error> {
        let file = File::create_new(path).map_err(not_written)?;
        let mut output = BufWriter::with_capacity(1 << 20, file);
        let head = header([began, [0, 0]], UNFINISHED, 0);
        output.write_all(&head).and_then(|()| output.flush()).map_err(not_written)?;
        Ok(Self { output, failed: None, began, sent_bytes: 0 })
    }

    /// Writes a packet; [`Self::check`] says whether that failed.
    pub fn write(&mut self, sighting: &Sighting) {
        self.sent_bytes += if sighting.is_outgoing { u64::from(sighting.size) } else { 0 };
        if let (None, Err(error)) = (&self.failed, self.output.write_all(&record(sighting))) {
            self.failed = Some(error);
        }
    }

    /// Hands to the system what has been kept back: it survives a kill from then on.
    pub fn flush(&mut self) {
        if let (None, Err(error)) = (&self.failed, self.output.flush()) {
            self.failed = Some(error);
        }
    }

    /// Says whether everything could be written so far.
    ///
    /// # Errors
    /// It could not.
    pub fn check(&mut self) -> Result<(), Error> {
        self.failed.take().map_or(Ok(()), |error| Err(not_written(error)))
    }

    /// Bytes of the packets that this end has sent so far.
    pub fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// Says in the file that it is whole, with both clocks, and how many packets were lost and how often a clock was set.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self, ended: [u64; 2], lost: u64, steps: u32) -> Result<(), Error> {
        self.check()?;
        let lost = u32::try_from(lost).unwrap_or(UNFINISHED - 1).min(UNFINISHED - 1);
        let head = header([self.began, ended], lost, steps);
        self.output
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.output.write_all(&head))
            .and_then(|()| self.output.flush())
            .map_err(not_written)
    }
}

fn not_written(error: io::Error) -> Error {
    Error::System("the file of packets", error)
}

/// Magic, version, size of a record; both clocks when the file was begun and when it was finished (the kernel's, which tells the
/// time of day, and that of the records), packets lost, steps of the kernel's clock; eight bytes for later.
fn header(clocks: [[u64; 2]; 2], lost: u32, steps: u32) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..16].copy_from_slice(&(RECORD as u32).to_le_bytes());
    for (place, time) in clocks.as_flattened().iter().enumerate() {
        header[16 + 8 * place..][..8].copy_from_slice(&time.to_le_bytes());
    }
    header[48..52].copy_from_slice(&lost.to_le_bytes());
    header[52..56].copy_from_slice(&steps.to_le_bytes());
    header
}

/// Time, identity, size, flow, direction (0 sent, 1 came), ECN, hops that are left, protocol, marks; five bytes for later.
fn record(sighting: &Sighting) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    record[..8].copy_from_slice(&sighting.time.to_le_bytes());
    record[8..16].copy_from_slice(&sighting.identity.to_le_bytes());
    record[16..20].copy_from_slice(&sighting.size.to_le_bytes());
    record[20..22].copy_from_slice(&sighting.flow.to_le_bytes());
    let Sighting { is_outgoing, ecn, hops, protocol, is_merged, .. } = *sighting;
    let marks = if is_merged { MERGED } else { 0 };
    record[22..27].copy_from_slice(&[u8::from(!is_outgoing), ecn, hops, protocol, marks]);
    record
}
