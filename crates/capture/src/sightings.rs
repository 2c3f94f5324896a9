//! What one end of a path sees of the packets of an interface, written down as [`crate::records`] has it.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::headers::{network, transport};
use crate::identity::{Key, Part, parts};
use crate::ip::Ip;
use crate::listener::Listener;
use crate::records::{Flows, Records, Sighting};
use crate::ring::Frame;
use crate::stamps::Stamps;

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
    records: Records,
    key: Key,
    flows: Flows,
    seen: Seen,
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
        let records = Records::new(path, stamps.latest())?;
        let flows = Flows::new(&wanted.flows);
        let writer = Writer { records, key: wanted.key, flows, seen: Seen::default(), found: Vec::new() };
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
            self.writer.records.check()?;
        }
        Ok(())
    }

    /// Bytes of the packets that this end has sent so far.
    pub fn sent_bytes(&self) -> u64 {
        self.writer.records.sent_bytes()
    }

    fn take(&mut self, is_there: bool) {
        let is_time = self.read.elapsed() >= READING;
        if is_there || is_time {
            self.stamps.renew();
        }
        if is_time {
            self.read = Instant::now();
            self.writer.records.flush();
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
        let steps = self.stamps.steps();
        self.writer.records.finish(self.stamps.latest(), dropped, steps)?;
        Ok(Seen { packets, kernel_dropped: dropped, steps, ..self.writer.seen })
    }
}

impl Writer {
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
            self.seen.written += 1;
            self.seen.merged += u64::from(part.is_merged);
            self.records.write(&Sighting {
                time: stamps.of(frame.time),
                identity: part.identity,
                size: part.size,
                flow,
                is_outgoing: frame.is_outgoing,
                ecn: ip.service & 3,
                hops: ip.hops,
                protocol: ip.protocol,
                is_merged: part.is_merged,
            });
        }
    }

    /// The flow of a packet that is wanted.
    fn flow(&self, packet: &[u8]) -> Option<u16> {
        let (ip, above) = Ip::read(packet)?;
        self.flows.of(above.and_then(|above| transport(&ip, above)))
    }
}
