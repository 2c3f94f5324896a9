//! Measurement points of packets, and their samples. Nothing here takes memory for a packet.

use std::fmt::{self, Write};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use trialwise_streams::client::{Client, Point};
use trialwise_streams::protocol::{FieldType, Value};

use crate::capture::Counts;
use crate::error::Error;
use crate::headers::{Headers, Link, Transport};
use crate::ip::{Ip, Tcp, Udp};
use crate::radiotap::Radiotap;
use crate::ring::Frame;

/// What every point of packets begins with: the packet's number, which joins its rows, and the kernel's time in
/// nanoseconds since 1970 (the sample's own is the same, as the writer rounds it).
const PACKET: [(&str, FieldType); 2] = [("pktid", FieldType::Guid), ("time_ns", FieldType::Int64)];
const IP: [(&str, FieldType); 12] = [
    ("ip_version", FieldType::UInt32),
    ("ip_tos", FieldType::UInt32),
    ("ip_len", FieldType::UInt32),
    ("ip_id", FieldType::UInt32),
    ("ip_off", FieldType::UInt32),
    ("ip_ttl", FieldType::UInt32),
    ("ip_proto", FieldType::UInt32),
    ("ip_sum", FieldType::UInt32),
    ("ip_src", FieldType::String),
    ("ip_dst", FieldType::String),
    ("frame_size", FieldType::UInt32),
    ("outgoing", FieldType::Bool),
];
const TCP: [(&str, FieldType); 10] = [
    ("tcp_source", FieldType::UInt32),
    ("tcp_dest", FieldType::UInt32),
    ("tcp_seq", FieldType::UInt32),
    ("tcp_ack_seq", FieldType::UInt32),
    ("tcp_header", FieldType::UInt32),
    ("tcp_flags", FieldType::UInt32),
    ("tcp_window", FieldType::UInt32),
    ("tcp_checksum", FieldType::UInt32),
    ("tcp_urgptr", FieldType::UInt32),
    ("tcp_len", FieldType::UInt32),
];
const UDP: [(&str, FieldType); 4] = [
    ("udp_source", FieldType::UInt32),
    ("udp_dest", FieldType::UInt32),
    ("udp_len", FieldType::UInt32),
    ("udp_checksum", FieldType::UInt32),
];
const RADIOTAP: [(&str, FieldType); 15] = [
    ("tsft", FieldType::Double),
    ("flags", FieldType::Double),
    ("rate", FieldType::Double),
    ("frequency", FieldType::Double),
    ("signal_dbm", FieldType::Double),
    ("noise_dbm", FieldType::Double),
    ("txpower_dbm", FieldType::Double),
    ("antenna", FieldType::Double),
    ("kind", FieldType::UInt32),
    ("seq", FieldType::UInt32),
    ("fragment", FieldType::UInt32),
    ("address1", FieldType::String),
    ("address2", FieldType::String),
    ("address3", FieldType::String),
    ("frame_size", FieldType::UInt32),
];
const CAPTURE: [(&str, FieldType); 4] = [
    ("packets", FieldType::UInt64),
    ("kernel_dropped", FieldType::UInt64),
    ("samples", FieldType::UInt64),
    ("others", FieldType::UInt64),
];

/// The points of one capture.
#[derive(Debug)]
pub(crate) struct Points {
    ip: Point,
    tcp: Point,
    udp: Point,
    radiotap: Option<Point>,
    capture: Point,
}

impl Points {
    pub(crate) fn declare(client: &mut Client, link: Link) -> Result<Self, Error> {
        let mut of_packets = |name, own: &[_]| client.point(name, &[&PACKET, own].concat());
        let (ip, tcp, udp) = (of_packets("ip", &IP)?, of_packets("tcp", &TCP)?, of_packets("udp", &UDP)?);
        let radiotap = match link {
            Link::Radiotap => Some(of_packets("radiotap", &RADIOTAP)?),
            _ => None,
        };
        Ok(Self { ip, tcp, udp, radiotap, capture: client.point("capture", &CAPTURE)? })
    }

    /// Injects a sample for each header; where there is no room, waits until `deadline`. What is lost then the client counts.
    pub(crate) fn inject(&self, id: u64, frame: &Frame<'_>, headers: &Headers, deadline: Instant) {
        let time = UNIX_EPOCH + frame.time;
        let packet = [Value::Guid(id), Value::Int64(frame.time.as_nanos() as i64)];
        let give = |point: &Point, values: &[Value<'_>]| give(point, time, deadline, values);
        if let (Some(point), Some(radiotap)) = (&self.radiotap, &headers.radiotap) {
            let texts = radiotap.addresses.map(|address| Text::of(Hardware(address)));
            give(point, &joined::<17>(packet, radiotap_values(radiotap, &texts, frame)));
        }
        let Some(ip) = &headers.ip else { return };
        let (source, destination) = (Text::of(ip.source), Text::of(ip.destination));
        give(&self.ip, &joined::<14>(packet, ip_values(ip, &source, &destination, frame)));
        match &headers.transport {
            Some(Transport::Tcp(tcp)) => give(&self.tcp, &joined::<12>(packet, tcp_values(ip, tcp))),
            Some(Transport::Udp(udp)) => give(&self.udp, &joined::<6>(packet, udp_values(udp))),
            None => {}
        }
    }

    pub(crate) fn inject_counts(&self, counts: Counts) {
        let values = [counts.packets, counts.kernel_dropped, counts.samples, counts.others];
        give(&self.capture, SystemTime::now(), Instant::now(), &values.map(Value::UInt64));
    }
}

fn give(point: &Point, time: SystemTime, deadline: Instant, values: &[Value<'_>]) {
    // What finds no room is counted, and said in band.
    let _ = point.inject_until(deadline, Some(time), values);
}

/// The values of every packet and those of a point.
fn joined<'a, const N: usize>(
    packet: [Value<'a>; 2],
    own: impl IntoIterator<Item = Value<'a>>,
) -> [Value<'a>; N] {
    let mut all = [Value::Bool(false); N];
    for (place, value) in all.iter_mut().zip(packet.into_iter().chain(own)) {
        *place = value;
    }
    all
}

fn ip_values<'a>(ip: &Ip, source: &'a Text, destination: &'a Text, frame: &Frame<'_>) -> [Value<'a>; 12] {
    [
        Value::UInt32(ip.version.into()),
        Value::UInt32(ip.service.into()),
        Value::UInt32(ip.length),
        Value::UInt32(ip.identification),
        Value::UInt32(ip.fragment.into()),
        Value::UInt32(ip.hops.into()),
        Value::UInt32(ip.protocol.into()),
        Value::UInt32(ip.checksum.into()),
        Value::String(source.bytes()),
        Value::String(destination.bytes()),
        Value::UInt32(frame.length),
        Value::Bool(frame.is_outgoing),
    ]
}

fn tcp_values(ip: &Ip, tcp: &Tcp) -> [Value<'static>; 10] {
    [
        Value::UInt32(tcp.source.into()),
        Value::UInt32(tcp.destination.into()),
        Value::UInt32(tcp.sequence),
        Value::UInt32(tcp.acknowledgement),
        Value::UInt32(tcp.header.into()),
        Value::UInt32(tcp.flags.into()),
        Value::UInt32(tcp.window.into()),
        Value::UInt32(tcp.checksum.into()),
        Value::UInt32(tcp.urgent.into()),
        Value::UInt32(ip.length.saturating_sub(ip.header).saturating_sub(tcp.header.into())),
    ]
}

fn udp_values(udp: &Udp) -> [Value<'static>; 4] {
    [udp.source, udp.destination, udp.length, udp.checksum].map(|number| Value::UInt32(number.into()))
}

fn radiotap_values<'a>(radiotap: &Radiotap, texts: &'a [Text; 3], frame: &Frame<'_>) -> [Value<'a>; 15] {
    let number = |value: Option<f64>| Value::Double(value.unwrap_or(f64::NAN));
    [
        number(radiotap.time.map(|time| time as f64)),
        number(radiotap.flags.map(f64::from)),
        number(radiotap.rate.map(f64::from)),
        number(radiotap.frequency.map(f64::from)),
        number(radiotap.signal.map(f64::from)),
        number(radiotap.noise.map(f64::from)),
        number(radiotap.power.map(f64::from)),
        number(radiotap.antenna.map(f64::from)),
        Value::UInt32(radiotap.kind.into()),
        Value::UInt32(radiotap.sequence.into()),
        Value::UInt32(radiotap.fragment.into()),
        Value::String(texts[0].bytes()),
        Value::String(texts[1].bytes()),
        Value::String(texts[2].bytes()),
        Value::UInt32(frame.length),
    ]
}

/// An address of the link.
struct Hardware([u8; 6]);

impl fmt::Display for Hardware {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, f] = self.0;
        write!(formatter, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
    }
}

/// Room for the longest address.
struct Text {
    bytes: [u8; 48],
    length: usize,
}

impl Text {
    fn of(address: impl fmt::Display) -> Self {
        let mut text = Self { bytes: [0; 48], length: 0 };
        // The longest address of IPv6 has 45 characters.
        let _ = write!(text, "{address}");
        text
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Write for Text {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let end = self.length + more.len();
        self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?.copy_from_slice(more.as_bytes());
        self.length = end;
        Ok(())
    }
}
