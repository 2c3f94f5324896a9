//! What one end of a path sees: a file with a record of 32 bytes for each packet, little-endian, after a header of 64.
//!
//! `src/trialwise/measurement/sightings.py` reads it. A file that ends in the middle is read up to its last whole record.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::headers::{Transport, network, transport};
use crate::identity::{Key, Part, parts};
use crate::ip::Ip;
use crate::listener::Listener;
use crate::ring::Frame;
use crate::stamps::Stamps;

const MAGIC: [u8; 8] = *b"TWSEEN\0\0";
const VERSION: u32 = 1;
const RECORD: usize = 32;
const HEADER: usize = 64;
/// Lost packets of a file that was not finished.
const UNFINISHED: u32 = u32::MAX;
const MERGED: u8 = 1;
/// Both clocks are read this often, and with every block of frames; what is written by then survives a kill.
const READING: Duration = Duration::from_secs(1);

/// What is written down.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Name of the interface.
    pub interface: String,
    /// That of the run, the same at both ends.
    pub key: Key,
    /// Ports, as this end sees them, and the flows that they belong to. Without any, all packets of IP are wanted, as flow 0.
    pub flows: Vec<(u16, u16)>,
}

/// What became of the packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Frames that the kernel saw, and had room for or dropped.
    pub packets: u64,
    /// For which the ring had no room.
    pub kernel_dropped: u64,
    /// Records written.
    pub written: u64,
    /// Those of them that came in one piece with others.
    pub merged: u64,
    /// Frames that were not asked for or not understood.
    pub others: u64,
    /// How often the clock of the kernel's stamps was set.
    pub steps: u32,
}

/// Writes down the packets of an interface.
#[derive(Debug)]
pub struct Sightings {
    listener: Listener,
    writer: Writer,
    stamps: Stamps,
    read: Instant,
}

#[derive(Debug)]
struct Writer {
    output: BufWriter<File>,
    key: Key,
    /// By port; empty if all packets are wanted.
    flow_of: Vec<u16>,
    seen: Seen,
    sent_bytes: u64,
    failed: Option<io::Error>,
    /// Both clocks, when it began.
    began: [u64; 2],
    /// Of one frame.
    found: Vec<Part>,
}

impl Sightings {
    /// Begins to write down what an interface sends and gets, in a file that is not there yet.
    ///
    /// # Errors
    /// No permission, no such interface, one whose frames are not decoded, no memory, or the file cannot be made.
    pub fn new(path: &Path, wanted: &Wanted) -> Result<Self, Error> {
        let listener = Listener::open(&wanted.interface, true)?;
        let stamps = Stamps::new();
        let writer = Writer::new(path, wanted, stamps.latest()).map_err(not_written)?;
        Ok(Self { listener, writer, stamps, read: Instant::now() })
    }

    /// Writes for this time.
    ///
    /// # Errors
    /// The interface went down or away, or the file cannot be written.
    pub fn run(&mut self, patience: Duration) -> Result<(), Error> {
        let end = Instant::now() + patience;
        while Instant::now() < end {
            let rest = end.saturating_duration_since(Instant::now()).min(READING);
            let is_there = self.listener.wait(rest)?;
            self.take(is_there);
            if let Some(error) = self.writer.failed.take() {
                return Err(not_written(error));
            }
        }
        Ok(())
    }

    /// Bytes of the packets that this end has sent so far.
    pub fn sent_bytes(&self) -> u64 {
        self.writer.sent_bytes
    }

    fn take(&mut self, is_there: bool) {
        let is_time = self.read.elapsed() >= READING;
        if is_there || is_time {
            self.stamps.renew();
        }
        if is_time {
            self.read = Instant::now();
            self.writer.flush();
        }
        if is_there {
            let link = self.listener.link;
            self.listener.read(|frame| self.writer.take(network(link, frame.bytes), &frame, &self.stamps));
        }
    }

    /// Lets no more packets in, writes those that wait, and says in the file that it is whole.
    ///
    /// # Errors
    /// A call of the system failed, or the file cannot be written.
    pub fn finish(mut self) -> Result<Seen, Error> {
        self.stamps.renew();
        let link = self.listener.link;
        self.listener.close(|frame| self.writer.take(network(link, frame.bytes), &frame, &self.stamps))?;
        self.stamps.renew();
        let (packets, dropped) = self.listener.statistics()?;
        let seen = &mut self.writer.seen;
        (seen.packets, seen.kernel_dropped, seen.steps) = (packets, dropped, self.stamps.steps);
        self.writer.finish(self.stamps.latest()).map_err(not_written)
    }
}

fn not_written(error: io::Error) -> Error {
    Error::System("the file of packets", error)
}

impl Writer {
    fn new(path: &Path, wanted: &Wanted, began: [u64; 2]) -> io::Result<Self> {
        let mut output = BufWriter::with_capacity(1 << 20, File::create_new(path)?);
        output.write_all(&header([began, [0, 0]], UNFINISHED, 0))?;
        output.flush()?;
        let mut flow_of = Vec::new();
        if !wanted.flows.is_empty() {
            flow_of.resize(1 << 16, 0);
            for (port, flow) in &wanted.flows {
                flow_of[usize::from(*port)] = *flow;
            }
        }
        Ok(Self {
            output,
            key: wanted.key,
            flow_of,
            seen: Seen::default(),
            sent_bytes: 0,
            failed: None,
            began,
            found: Vec::new(),
        })
    }

    /// Writes down a frame, of which `packet` is what IP has of it.
    fn take(&mut self, packet: Option<&[u8]>, frame: &Frame<'_>, stamps: &Stamps) {
        let Some((packet, flow)) = packet.and_then(|packet| Some((packet, self.flow(packet)?))) else {
            self.seen.others += 1;
            return;
        };
        let link = frame.bytes.len() - packet.len();
        let length = frame.length.saturating_sub(link as u32);
        self.found.clear();
        let Some(ip) = parts(packet, length, frame.segment, self.key, |part| self.found.push(part)) else {
            return;
        };
        for part in &self.found {
            let record = record(part, &ip, flow, frame.is_outgoing, stamps.of(frame.time));
            self.seen.written += 1;
            self.sent_bytes += if frame.is_outgoing { u64::from(part.size) } else { 0 };
            self.seen.merged += u64::from(part.is_merged);
            if let (None, Err(error)) = (&self.failed, self.output.write_all(&record)) {
                self.failed = Some(error);
            }
        }
    }

    fn flush(&mut self) {
        if let (None, Err(error)) = (&self.failed, self.output.flush()) {
            self.failed = Some(error);
        }
    }

    /// The flow of a packet that is wanted.
    fn flow(&self, packet: &[u8]) -> Option<u16> {
        let (ip, above) = Ip::read(packet)?;
        if self.flow_of.is_empty() {
            return Some(0);
        }
        let [source, destination] = match transport(&ip, above?)? {
            Transport::Tcp(tcp) => [tcp.source, tcp.destination],
            Transport::Udp(udp) => [udp.source, udp.destination],
        };
        [source, destination].iter().map(|port| self.flow_of[usize::from(*port)]).find(|flow| *flow > 0)
    }

    fn finish(mut self, ended: [u64; 2]) -> io::Result<Seen> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let lost = u32::try_from(self.seen.kernel_dropped).unwrap_or(UNFINISHED - 1).min(UNFINISHED - 1);
        self.output.seek(SeekFrom::Start(0))?;
        self.output.write_all(&header([self.began, ended], lost, self.seen.steps))?;
        self.output.flush()?;
        Ok(self.seen)
    }
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
fn record(part: &Part, ip: &Ip, flow: u16, is_outgoing: bool, time: u64) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    record[..8].copy_from_slice(&time.to_le_bytes());
    record[8..16].copy_from_slice(&part.identity.to_le_bytes());
    record[16..20].copy_from_slice(&part.size.to_le_bytes());
    record[20..22].copy_from_slice(&flow.to_le_bytes());
    let marks = if part.is_merged { MERGED } else { 0 };
    record[22..27].copy_from_slice(&[u8::from(!is_outgoing), ip.service & 3, ip.hops, ip.protocol, marks]);
    record
}
