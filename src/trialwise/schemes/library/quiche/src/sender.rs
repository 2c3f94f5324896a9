//! The sender: fills a stream with a load.

use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow, bail};
use quiche::Connection;
use rustix::time::{ClockId, clock_gettime};

use crate::endpoint::{self, Endpoint, LEAST_PAYLOAD, Next};

/// The first unidirectional stream of a client (RFC 9000, 2.1).
const STREAM: u64 = 2;
static ZEROS: [u8; 65_536] = [0; 65_536];
/// A source of a constant rate writes so many bytes at a time: about a packet.
const GRAIN: u64 = LEAST_PAYLOAD as u64;
/// At most one sample in this time.
const INTERVAL: Duration = Duration::from_millis(10);

/// What is asked of the sender.
pub struct Sending {
    pub congestion: String,
    pub load: Load,
    /// The largest IP packet, bytes.
    pub mtu: usize,
    pub report: Option<PathBuf>,
}

/// What a flow carries: all that passes, a rate in bit/s, or so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    Bulk,
    Rate(u64),
    Bytes(u64),
}

impl FromStr for Load {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (kind, amount) = text.split_once(':').unwrap_or((text, ""));
        match (kind, amount.parse()) {
            ("bulk", _) if amount.is_empty() => Ok(Self::Bulk),
            ("rate", Ok(rate)) if rate > 0 => Ok(Self::Rate(rate)),
            ("bytes", Ok(bytes)) if bytes > 0 => Ok(Self::Bytes(bytes)),
            _ => bail!("`{text}` is no load: write bulk, rate:BIT/S or bytes:BYTES"),
        }
    }
}

impl Load {
    /// The bytes that may be written at a time since the begin, `written` of them before.
    fn left(self, written: u64, time: Duration) -> u64 {
        match self {
            Self::Bulk => u64::MAX,
            Self::Bytes(bytes) => bytes - written,
            Self::Rate(rate) => {
                let allowed = u128::from(rate) * time.as_nanos() / 8_000_000_000;
                let left = u64::try_from(allowed).unwrap_or(u64::MAX).saturating_sub(written);
                left - left % GRAIN
            }
        }
    }

    /// The time after the begin at which more may be written, if time alone permits it.
    fn next(self, written: u64) -> Option<Duration> {
        match self {
            Self::Rate(rate) => Some(Duration::from_secs_f64(8.0 * (written + GRAIN) as f64 / rate as f64)),
            Self::Bulk | Self::Bytes(_) => None,
        }
    }
}

/// Sends a load until all of it has been acknowledged.
pub fn send(peer: SocketAddr, sending: &Sending) -> Result<()> {
    let mut config = endpoint::config()?;
    let name = &sending.congestion;
    config.set_cc_algorithm_name(name).map_err(|_| anyhow!("quiche has no congestion control `{name}`"))?;
    config.set_max_send_udp_payload_size(payload(sending.mtu, endpoint::headers(&peer))?);
    let any = if peer.is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    let socket = endpoint::socket(SocketAddr::new(any, 0))?;
    socket.connect(peer).with_context(|| format!("cannot reach {peer}"))?;
    let local = socket.local_addr()?;
    let connection = quiche::connect(None, &endpoint::connection_id()?, local, peer, &mut config)?;
    let mut source = Source::new(sending)?;
    let mut endpoint = Endpoint::new(socket, connection)?;
    endpoint.run(|connection| source.turn(connection)).with_context(|| format!("the flow to {peer}"))?;
    if source.is_delivered { Ok(()) } else { bail!("the receiver at {peer} ended the flow") }
}

fn payload(mtu: usize, headers: usize) -> Result<usize> {
    match mtu.checked_sub(headers) {
        Some(payload) if payload >= LEAST_PAYLOAD => Ok(payload),
        _ => bail!("--mtu {mtu}: QUIC takes packets of {} bytes at least", LEAST_PAYLOAD + headers),
    }
}

/// The application of the sender.
struct Source {
    load: Load,
    written: u64,
    begun: Option<Instant>,
    is_delivered: bool,
    report: Option<File>,
    sampled: Option<Instant>,
}

impl Source {
    fn new(sending: &Sending) -> Result<Self> {
        let create =
            |path: &PathBuf| File::create(path).with_context(|| format!("cannot write {}", path.display()));
        let report = sending.report.as_ref().map(create).transpose()?;
        Ok(Self { load: sending.load, written: 0, begun: None, is_delivered: false, report, sampled: None })
    }

    fn turn(&mut self, connection: &mut Connection) -> Result<Next> {
        let now = Instant::now();
        let begun = *self.begun.get_or_insert(now);
        self.sample(connection, now)?;
        if self.load == Load::Bytes(self.written) {
            // A stream whose end has been acknowledged is forgotten.
            self.is_delivered = connection.stream_capacity(STREAM).is_err();
            return Ok(if self.is_delivered { Next::Done } else { Next::Turn(None) });
        }
        let is_taken = self.fill(connection, now - begun)?;
        let next = self.load.next(self.written).filter(|_| is_taken);
        Ok(Next::Turn(next.map(|after| begun + after)))
    }

    /// Writes what may be written now; returns whether quiche took all of it.
    fn fill(&mut self, connection: &mut Connection, time: Duration) -> Result<bool> {
        loop {
            let left = self.load.left(self.written, time);
            let chunk = &ZEROS[..ZEROS.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
            if chunk.is_empty() {
                return Ok(true);
            }
            let is_last = self.load == Load::Bytes(self.written + chunk.len() as u64);
            match connection.stream_send(STREAM, chunk, is_last) {
                Ok(length) => self.written += length as u64,
                Err(quiche::Error::Done) => return Ok(false),
                Err(error) => bail!("quiche takes no more: {error}"),
            }
        }
    }

    fn sample(&mut self, connection: &Connection, now: Instant) -> Result<()> {
        let Some(report) = &mut self.report else { return Ok(()) };
        if self.sampled.is_some_and(|before| now < before + INTERVAL) {
            return Ok(());
        }
        self.sampled = Some(now);
        let Some(path) = connection.path_stats().next() else { return Ok(()) };
        let time = clock_gettime(ClockId::Monotonic);
        writeln!(
            report,
            r#"{{"time_ns":{},"cwnd_bytes":{},"rtt_ms":{},"retransmits":{}}}"#,
            time.tv_sec * 1_000_000_000 + time.tv_nsec,
            path.cwnd,
            path.rtt.as_secs_f64() * 1e3,
            path.retrans
        )
        .context("cannot write the report")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_read_and_others_refused() {
        assert_eq!("bulk".parse::<Load>().unwrap(), Load::Bulk);
        assert_eq!("rate:5000000".parse::<Load>().unwrap(), Load::Rate(5_000_000));
        assert_eq!("bytes:10".parse::<Load>().unwrap(), Load::Bytes(10));
        for text in ["", "bulk:1", "rate:", "rate:0", "rate:-1", "bytes:0", "bytes:1MB", "media:1"] {
            assert!(text.parse::<Load>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_rate_is_written_in_whole_grains_and_says_when_the_next_may_be() {
        let load = Load::Rate(9_600_000);
        assert_eq!(load.left(0, Duration::from_micros(999)), 0);
        assert_eq!(load.left(0, Duration::from_millis(1)), 1200);
        assert_eq!(load.left(1200, Duration::from_secs(1)), 1_198_800);
        assert_eq!(load.next(1200), Some(Duration::from_millis(2)));
        assert_eq!(load.left(5000, Duration::ZERO), 0);
    }

    #[test]
    fn small_packets_are_refused() {
        assert_eq!(payload(1228, 28).unwrap(), 1200);
        assert!(payload(1227, 28).is_err());
        assert!(payload(1228, 48).is_err());
        assert!(payload(0, 28).is_err());
    }
}
