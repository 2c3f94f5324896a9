//! What the kernel tells of a connection.

use std::io;
use std::os::fd::AsRawFd;

use trialwise_units::Duration;

use crate::system::get_option;
use trialwise_protocol::report::{Sample, milliseconds};

/// `TCP_CLOSE` and `TCP_SYN_SENT` (include/net/tcp_states.h).
const CLOSED: u8 = 7;
const SYN_SENT: u8 = 2;

/// `struct tcp_info` of the kernel (include/uapi/linux/tcp.h), up to what is used here.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Raw {
    states: [u8; 8],
    timeouts: [u32; 2],
    segment: u32,
    receive_segment: u32,
    unacknowledged: u32,
    selectively_acknowledged: u32,
    lost: u32,
    retransmitted: u32,
    forward: u32,
    last: [u32; 4],
    path_mtu: u32,
    receive_threshold: u32,
    rtt: u32,
    rtt_variation: u32,
    send_threshold: u32,
    window: u32,
    advertised_segment: u32,
    reordering: u32,
    receive_rtt: u32,
    receive_space: u32,
    total_retransmits: u32,
    pacing_rate: u64,
    most_pacing_rate: u64,
    bytes_acknowledged: u64,
    bytes_received: u64,
    segments: [u32; 2],
    not_sent: u32,
    minimum_rtt: u32,
    data_segments: [u32; 2],
    delivery_rate: u64,
}

/// A connection at one instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Info(Raw);

impl Info {
    pub(super) fn of(socket: &impl AsRawFd) -> io::Result<Self> {
        get_option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, Raw::default()).map(Self)
    }

    /// Bytes acknowledged, with the beginning and the end of the connection, which count one each (RFC 9293, section 3.4).
    pub(super) const fn acknowledged(&self) -> u64 {
        self.0.bytes_acknowledged
    }

    /// Whether the connection stands, or stood: neither waits for an answer to its first packet nor failed before.
    pub(super) const fn is_established(&self) -> bool {
        !matches!(self.0.states[0], CLOSED | SYN_SENT)
    }

    pub(super) fn retransmits(&self) -> u64 {
        u64::from(self.0.total_retransmits)
    }

    /// The smoothed round-trip time; none before the first sample.
    pub(super) fn rtt(&self) -> Option<Duration> {
        (self.0.rtt > 0).then(|| Duration::from_microseconds(u64::from(self.0.rtt)))
    }

    /// The smallest round-trip time of late (`tcp_min_rtt_wlen`); none before the first sample.
    pub(super) fn minimum_rtt(&self) -> Option<Duration> {
        let is_known = self.0.minimum_rtt > 0 && self.0.minimum_rtt < u32::MAX;
        is_known.then(|| Duration::from_microseconds(u64::from(self.0.minimum_rtt)))
    }

    /// Packets in flight as the kernel counts them (`tcp_packets_in_flight`), in bytes.
    fn in_flight(&self) -> u64 {
        let raw = &self.0;
        let left = raw.selectively_acknowledged + raw.lost;
        let packets = (raw.unacknowledged + raw.retransmitted).saturating_sub(left);
        u64::from(packets) * u64::from(raw.segment)
    }

    pub(super) fn sample(&self, flow: usize, time_ns: u64) -> Sample {
        let bits = |bytes: u64| (bytes > 0 && bytes < u64::MAX).then(|| bytes.saturating_mul(8));
        Sample {
            time_ns,
            flow,
            cwnd_bytes: Some(u64::from(self.0.window) * u64::from(self.0.segment)),
            rtt_ms: self.rtt().map(milliseconds),
            retransmits: self.retransmits(),
            delivery_rate_bps: bits(self.0.delivery_rate),
            in_flight_bytes: self.in_flight(),
            pacing_rate_bps: bits(self.0.pacing_rate),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::mem::offset_of;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_fields_stand_where_the_kernel_puts_them() {
        assert_eq!(offset_of!(Raw, rtt), 68);
        assert_eq!(offset_of!(Raw, total_retransmits), 100);
        assert_eq!(offset_of!(Raw, bytes_acknowledged), 120);
        assert_eq!(offset_of!(Raw, delivery_rate), 160);
    }

    #[test]
    fn a_connection_tells_what_it_did() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _peer = listener.accept().unwrap();
        stream.write_all(&[0; 5000]).unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while Info::of(&stream).unwrap().acknowledged() < 5001 && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        let info = Info::of(&stream).unwrap();
        assert_eq!((info.acknowledged(), info.retransmits(), info.in_flight()), (5001, 0, 0));
        assert!(info.rtt() > Some(Duration::ZERO) && info.minimum_rtt() <= info.rtt());
        assert!(info.sample(3, 9).cwnd_bytes > Some(1000));
    }
}
