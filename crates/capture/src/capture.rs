//! Capturing: from the ring into the points, until somebody has enough.

use std::time::{Duration, Instant};

use trialwise_streams::client::Client;

use crate::error::Error;
use crate::headers::{Headers, Link, Transport, decode};
use crate::listener::Listener;
use crate::points::Points;
use crate::ring::Frame;

/// How long a sample waits for room in the client's buffer; the kernel's ring fills meanwhile.
const PATIENCE: Duration = Duration::from_secs(1);
/// Counts are said this often.
const SAYING: Duration = Duration::from_secs(1);

/// Which packets become samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// All that have a header that is decoded.
    #[default]
    Any,
    /// Those of IP.
    Ip,
    /// Those of TCP.
    Tcp,
    /// Those of UDP.
    Udp,
}

/// What is captured.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Name of the interface.
    pub interface: String,
    /// Which packets.
    pub protocol: Protocol,
    /// Only those from or to one of these ports; empty: all.
    pub ports: Vec<u16>,
    /// After so many packets it is done.
    pub count: Option<u64>,
}

/// What became of the packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// That the kernel saw, and had room for or dropped.
    pub packets: u64,
    /// For which the ring had no room.
    pub kernel_dropped: u64,
    /// Packets that became samples.
    pub samples: u64,
    /// Packets that were not asked for or not understood.
    pub others: u64,
}

/// Packets of an interface, on their way into a client's points.
#[derive(Debug)]
pub struct Capture {
    listener: Listener,
    taker: Taker,
    said: Instant,
}

/// What is done with a frame.
#[derive(Debug)]
struct Taker {
    points: Points,
    link: Link,
    /// Every packet of the loopback interface goes out and comes in: once is enough.
    is_loopback: bool,
    options: Options,
    counts: Counts,
}

impl Capture {
    /// Begins to capture, into points that it declares: `ip`, `tcp`, `udp`, `capture`, and `radiotap` where the interface is
    /// of that type.
    ///
    /// # Errors
    /// No permission, no such interface, one whose frames are not decoded, or no memory.
    pub fn new(client: &mut Client, options: Options) -> Result<Self, Error> {
        let listener = Listener::open(&options.interface, false)?;
        let (link, is_loopback) = (listener.link, listener.is_loopback);
        let points = Points::declare(client, link)?;
        let taker = Taker { points, link, is_loopback, options, counts: Counts::default() };
        Ok(Self { listener, taker, said: Instant::now() })
    }

    /// Captures for this time; whether all packets that were wanted have come.
    ///
    /// # Errors
    /// The interface went down or away.
    pub fn run(&mut self, patience: Duration) -> Result<bool, Error> {
        let end = Instant::now() + patience;
        loop {
            let rest = end.saturating_duration_since(Instant::now());
            if self.listener.wait(rest)? {
                let deadline = Instant::now() + PATIENCE;
                self.listener.read(|frame| self.taker.take(&frame, deadline));
            }
            if self.said.elapsed() >= SAYING {
                self.say()?;
            }
            if self.taker.is_done() || Instant::now() >= end {
                return Ok(self.taker.is_done());
            }
        }
    }

    /// Lets no more packets in, takes those that wait, and says the last counts.
    ///
    /// # Errors
    /// A call of the system failed.
    pub fn finish(&mut self) -> Result<Counts, Error> {
        // One deadline for all that waits: a destination that takes nothing does not hold up the end.
        let deadline = Instant::now() + PATIENCE;
        self.listener.close(|frame| self.taker.take(&frame, deadline))?;
        self.say()?;
        Ok(self.taker.counts)
    }

    /// What became of the packets so far.
    pub const fn counts(&self) -> Counts {
        self.taker.counts
    }

    fn say(&mut self) -> Result<(), Error> {
        let (packets, dropped) = self.listener.statistics()?;
        let counts = &mut self.taker.counts;
        counts.packets += packets;
        counts.kernel_dropped += dropped;
        self.taker.points.inject_counts(*counts);
        self.said = Instant::now();
        Ok(())
    }
}

impl Taker {
    fn take(&mut self, frame: &Frame<'_>, deadline: Instant) {
        let headers = decode(self.link, frame.bytes);
        let is_second = self.is_loopback && frame.is_outgoing;
        if is_second || self.is_done() || !self.is_wanted(&headers) {
            self.counts.others += 1;
            return;
        }
        self.counts.samples += 1;
        self.points.inject(self.counts.samples, frame, &headers, deadline);
    }

    fn is_done(&self) -> bool {
        self.options.count.is_some_and(|count| self.counts.samples >= count)
    }

    fn is_wanted(&self, headers: &Headers) -> bool {
        let is_of_protocol = match self.options.protocol {
            Protocol::Any => headers.ip.is_some() || headers.radiotap.is_some(),
            Protocol::Ip => headers.ip.is_some(),
            Protocol::Tcp => matches!(headers.transport, Some(Transport::Tcp(_))),
            Protocol::Udp => matches!(headers.transport, Some(Transport::Udp(_))),
        };
        is_of_protocol && (self.options.ports.is_empty() || self.has_port(headers))
    }

    fn has_port(&self, headers: &Headers) -> bool {
        let ports = match headers.transport {
            Some(Transport::Tcp(tcp)) => [tcp.source, tcp.destination],
            Some(Transport::Udp(udp)) => [udp.source, udp.destination],
            None => return false,
        };
        ports.iter().any(|port| self.options.ports.contains(port))
    }
}
