//! The tunnel itself: from the device into datagrams and back, and every packet into the record.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use trialwise_capture::{Flows, Ip, Key, Link, Records, Sighting, Stamps, decode};

use crate::control::{Control, FRAME, is_frame, outer_headers};
use crate::device::Device;
use crate::ecn;
use crate::error::{Error, last};
use crate::header::{HEADER, Sealer};
use crate::namespace;
use crate::socket::{BATCH, Came, ROOM, Sent, Socket};
use crate::too_big;

/// Batches of what came that are read before it is the programs' turn.
const TURNS: usize = 4;
/// Packets that wait for the stamps of those that came before them; beyond, they are written as they are.
const WAITING: usize = 1 << 16;
/// What is written by then survives a kill.
const FLUSH: Duration = Duration::from_secs(1);
const UDP: u8 = 17;
/// Nobody can mean that less passes (RFC 791, section 3.2).
const LEAST_MTU: usize = 576;
/// RFC 8200, section 5.
const LEAST_MTU_6: usize = 1280;

/// Which end of the path a tunnel is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `from`.
    First,
    /// `to`.
    Second,
}

impl Side {
    /// The address of programs at this end (in RFC 6598's shared space).
    pub const fn address(self) -> Ipv4Addr {
        Ipv4Addr::new(100, 64, 0, if matches!(self, Self::First) { 1 } else { 2 })
    }

    /// The same of IPv6 (a unique local one, RFC 4193), as on emulated paths.
    pub const fn address_v6(self) -> Ipv6Addr {
        Ipv6Addr::new(0xfd74, 0x7269, 0x616c, 0, 0, 0, 0, if matches!(self, Self::First) { 1 } else { 2 })
    }

    const fn other(self) -> Self {
        if matches!(self, Self::First) { Self::Second } else { Self::First }
    }
}

/// What a tunnel is to be.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its end.
    pub side: Side,
    /// That of the trial, the same at both ends.
    pub key: Key,
    /// Largest packet inside, bytes.
    pub mtu: usize,
    /// Whether there is no tunnel without IPv6 inside.
    pub needs_v6: bool,
    /// Flow of the frames of the meeting.
    pub frames: u16,
    /// Ports and the flows that they belong to: packets of others are carried and not noted.
    pub flows: Vec<(u16, u16)>,
}

/// What became of the packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Packets that were sent and that came, with frames of the meeting.
    pub packets: u64,
    /// That this machine lost: no room in the socket or in the device, or the kernel did not send them.
    pub dropped: u64,
    /// How often the clock of the stamps was set.
    pub steps: u32,
    /// Datagrams that are not of the other end.
    pub strangers: u64,
    /// Packets that did not go, because a router or this machine had said that the path carries none so large.
    pub too_large: u64,
}

/// Carries packets between the programs of its namespace and the other end.
#[derive(Debug)]
pub struct Tunnel {
    device: Device,
    socket: Socket,
    control: Control,
    carrier: Carrier,
    process: u32,
    read: Instant,
}

/// What is noted and counted on the way.
#[derive(Debug)]
struct Carrier {
    settings: Settings,
    flows: Flows,
    sealer: Sealer,
    records: Records,
    stamps: Stamps,
    /// Proved by the last frame of the meeting that was to be sent.
    peer: Option<SocketAddr>,
    /// Largest packet of IP that passes to it, as a router or this machine said.
    most: Option<usize>,
    /// Not written yet, with stamps of CLOCK_REALTIME.
    waiting: Vec<(Duration, Sighting)>,
    sent_bytes: u64,
    overflow: u32,
    seen: Seen,
    /// Room for a packet of the programs behind its header.
    buffer: Box<[u8; HEADER + ROOM]>,
}

impl Tunnel {
    /// Moves this process, which has one thread, into a network of its own, and makes the tunnel: `socket` is that of the meeting,
    /// `control` a socket of datagrams to the process that has the meeting's key. The record is a file that is not there yet.
    ///
    /// # Errors
    /// What is not permitted here, or the file cannot be made.
    pub fn new(file: &Path, socket: OwnedFd, control: OwnedFd, settings: Settings) -> Result<Self, Error> {
        let stamps = Stamps::new();
        let records = Records::new(file, stamps.latest())?;
        let (socket, control) = (Socket::new(socket)?, Control::new(control)?);
        namespace::unshare()?;
        let device = Device::new(settings.side.address(), settings.mtu)?;
        match device.add_v6(settings.side.address_v6()) {
            Err(error) if settings.needs_v6 => return Err(error),
            _ => {}
        }
        let carrier = Carrier {
            flows: Flows::new(&settings.flows),
            sealer: Sealer::new(settings.key, settings.side == Side::First),
            records,
            stamps,
            peer: None,
            most: None,
            waiting: Vec::with_capacity(WAITING),
            sent_bytes: 0,
            overflow: 0,
            seen: Seen::default(),
            buffer: Box::new([0; HEADER + ROOM]),
            settings,
        };
        Ok(Self { device, socket, control, carrier, process: namespace::own_number()?, read: Instant::now() })
    }

    /// The process by whose namespace programs get in ([`crate::enter`]).
    pub const fn process(&self) -> u32 {
        self.process
    }

    /// Carries packets for this time.
    ///
    /// # Errors
    /// A call of the system failed, a packet does not fit through the interface, or the record cannot be written.
    pub fn run(&mut self, patience: Duration) -> Result<(), Error> {
        let end = Instant::now() + patience;
        loop {
            let rest = end.saturating_duration_since(Instant::now());
            if self.wait(rest)? {
                self.carry()?;
            }
            if self.read.elapsed() >= FLUSH {
                self.read = Instant::now();
                self.carry()?;
                self.carrier.records.flush();
            }
            self.carrier.records.check()?;
            if Instant::now() >= end {
                return Ok(());
            }
        }
    }

    /// Bytes of IP that this end has sent over the path so far.
    pub fn sent_bytes(&self) -> u64 {
        self.carrier.sent_bytes
    }

    /// Says in the record that it is whole.
    ///
    /// # Errors
    /// A call of the system failed, or the file cannot be written.
    pub fn finish(mut self) -> Result<Seen, Error> {
        self.carrier.note(Duration::MAX);
        let Carrier { records, stamps, mut seen, overflow, .. } = self.carrier;
        seen.dropped += u64::from(overflow) + Device::dropped()?;
        seen.steps = stamps.steps();
        records.finish(stamps.latest(), seen.dropped, seen.steps)?;
        Ok(seen)
    }

    fn wait(&self, patience: Duration) -> Result<bool, Error> {
        let descriptors = [self.device.descriptor(), self.socket.descriptor(), self.control.descriptor()];
        let mut wanted = descriptors.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        let milliseconds = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX).max(1);
        // SAFETY: as many descriptors as it says, which live on.
        let ready = unsafe { libc::poll(wanted.as_mut_ptr(), wanted.len() as libc::nfds_t, milliseconds) };
        if ready < 0 && std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return Err(last("waiting for packets"));
        }
        Ok(ready > 0)
    }

    fn carry(&mut self) -> Result<(), Error> {
        while let Some((to, frame)) = self.control.read()? {
            self.carrier.send_frame(&frame, to, &self.socket);
        }
        self.carrier.hear_of_sizes(&self.socket);
        let mut read_until = Duration::ZERO;
        for _ in 0..TURNS {
            let now = now();
            if self.socket.read(|came| self.carrier.take(came, &self.device, &self.control))? < BATCH {
                read_until = now;
                break;
            }
        }
        for _ in 0..BATCH {
            if !self.carrier.send(&self.device, &self.socket)? {
                break;
            }
        }
        let is_full = self.carrier.waiting.len() >= WAITING;
        self.carrier.note(if is_full { Duration::MAX } else { read_until });
        Ok(())
    }
}

impl Carrier {
    /// Sends the next packet of the programs; whether there was one.
    fn send(&mut self, device: &Device, socket: &Socket) -> Result<bool, Error> {
        let datagram = &mut self.buffer[..];
        let Some(length) = device.read(&mut datagram[HEADER..])? else { return Ok(false) };
        let headers = decode(Link::Ip, &datagram[HEADER..HEADER + length]);
        let other = self.settings.side.other();
        let others = [IpAddr::V4(other.address()), IpAddr::V6(other.address_v6())];
        let Some(ip) = headers.ip.filter(|ip| others.contains(&ip.destination)) else {
            return Ok(true); // what the kernel says to neighbours
        };
        let around = self.peer.map_or(0, |peer| outer_headers(peer.ip())) + HEADER;
        if self.most.is_some_and(|most| around + length > most) {
            self.refuse(&ip, length, around, device)?;
            return Ok(true);
        }
        let flow = self.flows.of(headers.transport).unwrap_or(0);
        let datagram = &mut self.buffer[..HEADER + length];
        let header = self.sealer.seal(datagram, flow).ok_or(Error::TooMany)?;
        let now = now();
        match self.peer.map_or(Sent::No, |peer| socket.send(datagram, peer, ip.service)) {
            Sent::Yes => {}
            Sent::No => {
                self.seen.dropped += 1;
                return Ok(true);
            }
            Sent::TooLarge => {
                self.hear_of_sizes(socket);
                // Where this machine does not say how much is too much, less is.
                self.most = Some(self.most.unwrap_or(usize::MAX).min(around + length - 1));
                self.refuse(&ip, length, around, device)?;
                return Ok(true);
            }
        }
        self.count_sent(HEADER + length);
        self.note_later(
            now,
            Sighting {
                time: 0,
                identity: header.identity,
                size: length as u32,
                flow,
                is_outgoing: true,
                ecn: ip.service & 3,
                hops: ip.hops,
                protocol: ip.protocol,
                is_merged: false,
            },
        );
        Ok(true)
    }

    /// Takes note of how large packets may be, by what was said since.
    fn hear_of_sizes(&mut self, socket: &Socket) {
        let Some(peer) = self.peer else { return };
        if let Some(said) = socket.said_mtu(peer).filter(|said| *said >= LEAST_MTU) {
            self.most = Some(self.most.map_or(said, |most| most.min(said)));
        }
    }

    /// Tells the program whose packet is in the buffer that it is too large for the path, as a router would.
    fn refuse(&mut self, ip: &Ip, length: usize, around: usize, device: &Device) -> Result<(), Error> {
        self.seen.too_large += 1;
        let most = self.most.unwrap_or_default();
        let mtu = most.saturating_sub(around);
        if ip.version == 6 && mtu < LEAST_MTU_6 {
            return Err(Error::TooSmall(most));
        }
        let packet = &self.buffer[HEADER..HEADER + length];
        if let Some(answer) = too_big::answer(packet, u16::try_from(mtu).unwrap_or(u16::MAX)) {
            device.write(&answer);
        }
        Ok(())
    }

    /// Sends a frame of the meeting, and takes the address as the other end's.
    fn send_frame(&mut self, frame: &[u8; FRAME], to: SocketAddr, socket: &Socket) {
        self.peer = Some(to);
        let now = now();
        if socket.send(frame, to, 0) == Sent::Yes {
            self.count_sent(FRAME);
            self.note_frame(now, frame, true, 0, 0);
        }
    }

    /// Gives what came to programs, or to the meeting; nobody else's gets in.
    fn take(&mut self, came: &mut Came<'_>, device: &Device, control: &Control) {
        self.overflow = came.overflow.unwrap_or(self.overflow);
        let is_of_peer = Some(came.from) == self.peer;
        let header = self.sealer.open(came.bytes).filter(|_| is_of_peer);
        if header.is_none() && is_frame(came.bytes) {
            control.write(came.from, came.hops, came.bytes);
            if is_of_peer {
                self.note_frame(came.time, came.bytes, false, came.ecn, came.hops);
            }
            return;
        }
        let packet = came.bytes.get_mut(HEADER..).unwrap_or_default();
        let (Some(header), Some(ip)) = (header, decode(Link::Ip, packet).ip) else {
            self.seen.strangers += 1;
            return;
        };
        let own = ip.service & 3;
        let Some(ecn) = ecn::leaving(own, came.ecn) else { return };
        if ecn != own {
            ecn::set(packet, ecn);
        }
        if !device.write(packet) {
            self.seen.dropped += 1;
            return;
        }
        self.note_later(
            came.time,
            Sighting {
                time: 0,
                identity: header.identity,
                size: packet.len() as u32,
                flow: header.flow,
                is_outgoing: false,
                ecn: came.ecn, // of the datagram around it: what the path made of the field
                hops: came.hops,
                protocol: ip.protocol,
                is_merged: false,
            },
        );
    }

    fn count_sent(&mut self, bytes: usize) {
        let headers = self.peer.map_or(0, |peer| outer_headers(peer.ip()));
        self.sent_bytes += (bytes + headers) as u64;
    }

    fn note_frame(&mut self, time: Duration, frame: &[u8], is_outgoing: bool, ecn: u8, hops: u8) {
        let headers = self.peer.map_or(0, |peer| outer_headers(peer.ip()));
        self.note_later(
            time,
            Sighting {
                time: 0,
                identity: self.sealer.identity_of(frame),
                size: (headers + frame.len()) as u32,
                flow: self.settings.frames,
                is_outgoing,
                ecn,
                hops,
                protocol: UDP,
                is_merged: false,
            },
        );
    }

    fn note_later(&mut self, time: Duration, sighting: Sighting) {
        self.seen.packets += 1;
        if sighting.flow > 0 {
            self.waiting.push((time, sighting));
        }
    }

    /// Writes down, in the order of the stamps, what was stamped until then: what has not been read yet came later.
    fn note(&mut self, until: Duration) {
        self.stamps.renew();
        self.waiting.sort_by_key(|(time, _)| *time);
        let ready = self.waiting.partition_point(|(time, _)| *time <= until);
        for (time, sighting) in self.waiting.drain(..ready) {
            self.records.write(&Sighting { time: self.stamps.of(time), ..sighting });
        }
    }
}

/// CLOCK_REALTIME, which the kernel's stamps are of.
fn now() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}
