//! Packets that this end notes itself, where nobody may capture them: in a file as a capture writes it.
//!
//! `TRIALWISE_SIGHTINGS=KEY FLOW FILE` asks for it. KEY has 32 hexadecimal digits, FLOW is a number, FILE is not there yet. Packets
//! are stamped by the kernel when they come, and by this program when it hands them over. Hops that are left are not known.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use trialwise_capture::{Key, Records, Sighting, Stamps};

use crate::system::is_ipv4;

const VARIABLE: &str = "TRIALWISE_SIGHTINGS";
/// Others read the file meanwhile, to see how much has left.
const FLUSH: Duration = Duration::from_millis(50);

/// The file and what goes into it.
pub(super) struct Noted {
    records: Records,
    stamps: Stamps,
    key: Key,
    flow: u16,
    flushed: Instant,
}

impl Noted {
    /// What the environment asks for.
    pub(super) fn wanted() -> io::Result<Option<Self>> {
        let Ok(text) = std::env::var(VARIABLE) else { return Ok(None) };
        let mut words = text.splitn(3, ' ');
        let key = words.next().and_then(Key::read);
        let flow = words.next().and_then(|word| word.parse().ok());
        let (Some(key), Some(flow), Some(file)) = (key, flow, words.next()) else {
            return Err(io::Error::other(format!("{VARIABLE} is not KEY FLOW FILE")));
        };
        let stamps = Stamps::new();
        let records = Records::new(Path::new(file), stamps.latest()).map_err(io::Error::other)?;
        Ok(Some(Self { records, stamps, key, flow, flushed: Instant::now() }))
    }

    /// Packets of `segment` bytes of payload each that left at this time since 1970.
    pub(super) fn sent(&mut self, time: Duration, bytes: &[u8], segment: usize, to: &SocketAddr, ecn: u8) {
        self.stamps.renew();
        for payload in bytes.chunks(segment.max(1)) {
            self.note(time, payload, to, ecn, (true, false));
        }
        self.flush_when_due();
    }

    /// Makes ready for packets that came before now.
    pub(super) fn renew(&mut self) {
        self.stamps.renew();
        self.flush_when_due();
    }

    /// A packet that came, perhaps in one piece with others.
    pub(super) fn came(
        &mut self,
        time: Duration,
        payload: &[u8],
        from: &SocketAddr,
        ecn: u8,
        is_merged: bool,
    ) {
        self.note(time, payload, from, ecn, (false, is_merged));
    }

    fn note(
        &mut self,
        time: Duration,
        payload: &[u8],
        peer: &SocketAddr,
        ecn: u8,
        (is_outgoing, is_merged): (bool, bool),
    ) {
        let headers = if is_ipv4(peer) { 28 } else { 48 };
        self.records.write(&Sighting {
            time: self.stamps.of(time),
            identity: self.key.of_datagram(payload),
            size: (headers + payload.len()) as u32,
            flow: self.flow,
            is_outgoing,
            ecn,
            hops: 0,
            protocol: 17,
            is_merged,
        });
    }

    fn flush_when_due(&mut self) {
        if self.flushed.elapsed() >= FLUSH {
            self.records.flush();
            self.flushed = Instant::now();
        }
    }

    /// Says in the file that it is whole, but for so many packets that were lost here.
    pub(super) fn finish(mut self, lost: u32) {
        self.stamps.renew();
        // A file that is not whole says so by itself.
        let _ = self.records.finish(self.stamps.latest(), lost.into(), self.stamps.steps());
    }
}

/// Now, on the clock of the kernel's stamps.
pub(super) fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}
