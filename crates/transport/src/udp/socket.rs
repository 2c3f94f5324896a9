//! A UDP socket that takes and gives many packets in one call: `recvmmsg` with UDP_GRO, `sendmsg` with UDP_SEGMENT.

use std::cell::{Cell, RefCell};
use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use trialwise_protocol::sender::Sender;
use trialwise_units::{Bytes, Ecn, Time};

use crate::clock::{Clock, Instant};
use crate::system::{
    bind_anywhere, check, connect, from_storage, get_option, is_ipv4, set_buffer, set_option, socket,
    to_storage,
};
use crate::udp::noted::{Noted, since_1970};

/// Messages taken at once, each of up to 64 KiB.
const MESSAGES: usize = 16;
const LONGEST: usize = 1 << 16;
const CONTROL: usize = 128;
/// What the socket keeps for us, unless it is told otherwise.
const BUFFER: Bytes = Bytes::new(4 << 20);

#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

/// A datagram that has arrived.
pub(super) struct Arrived<'a> {
    /// When the kernel had it, however much later we read it.
    pub(super) at: Time,
    pub(super) from: SocketAddr,
    pub(super) bytes: &'a [u8],
    /// The ECN field that it came with.
    pub(super) ecn: Ecn,
    /// Whether it is the last of those that came together.
    pub(super) is_last: bool,
}

/// The socket.
pub(super) struct Socket {
    socket: OwnedFd,
    /// Whether the kernel cuts long sends into packets for us.
    segments: Cell<bool>,
    /// The one that it speaks with, if it speaks with one alone.
    peer: Option<SocketAddr>,
    /// Where its packets are noted, if anywhere.
    noted: RefCell<Option<Noted>>,
}

/// Where messages are read to.
pub(super) struct Inbox {
    bytes: Vec<u8>,
    names: [libc::sockaddr_storage; MESSAGES],
    controls: [Control; MESSAGES],
    vectors: [libc::iovec; MESSAGES],
    headers: [libc::mmsghdr; MESSAGES],
}

impl Socket {
    /// A socket that speaks with `peer` alone.
    pub(super) fn connected(peer: &SocketAddr, buffer: Option<u64>) -> io::Result<Self> {
        let socket = socket(peer, libc::SOCK_DGRAM)?;
        connect(&socket, peer)?;
        Self::with(socket, is_ipv4(peer), Some(*peer), buffer)
    }

    /// A socket that listens.
    pub(super) fn listening(address: Option<IpAddr>, port: u16, buffer: Option<u64>) -> io::Result<Self> {
        let (socket, address) = bind_anywhere(libc::SOCK_DGRAM, address, port)?;
        Self::with(socket, address.is_ipv4(), None, buffer)
    }

    fn with(
        socket: OwnedFd,
        is_ipv4: bool,
        peer: Option<SocketAddr>,
        buffer: Option<u64>,
    ) -> io::Result<Self> {
        let bytes = buffer.unwrap_or(BUFFER.get());
        set_buffer(&socket, libc::SO_RCVBUF, libc::SO_RCVBUFFORCE, bytes)?;
        set_buffer(&socket, libc::SO_SNDBUF, libc::SO_SNDBUFFORCE, bytes)?;
        // Also where IPv6 sockets carry IPv4. Packets are never fragmented, whatever the kernel believes of the path.
        set_option(&socket, libc::IPPROTO_IP, libc::IP_RECVTOS, &1_i32)?;
        set_option(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, &libc::IP_PMTUDISC_PROBE)?;
        if !is_ipv4 {
            set_option(&socket, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, &1_i32)?;
            set_option(&socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, &libc::IPV6_PMTUDISC_PROBE)?;
        }
        set_option(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1_i32)?;
        // Kernels before 5.0 join nothing.
        let _ = set_option(&socket, libc::SOL_UDP, libc::UDP_GRO, &1_i32);
        let noted = RefCell::new(Noted::wanted()?);
        Ok(Self { socket, segments: Cell::new(true), peer, noted })
    }

    pub(super) fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Datagrams that the kernel threw away because this socket was read too slowly.
    pub(super) fn dropped(&self) -> u32 {
        let facts = get_option(&self.socket, libc::SOL_SOCKET, libc::SO_MEMINFO, [0_u32; 9]);
        facts.map_or(0, |facts| facts[libc::SK_MEMINFO_DROPS as usize])
    }

    /// Sends packets of `segment` bytes each (the last may be shorter) to the peer, or to `to` where the socket has none;
    /// how many bytes the kernel took. What cannot be sent to one of many peers is lost, as on the path.
    pub(super) fn send(
        &self,
        to: Option<&SocketAddr>,
        bytes: &[u8],
        segment: usize,
        field: Option<EcnField>,
    ) -> io::Result<usize> {
        let mut noted = self.noted.borrow_mut();
        let now = noted.as_ref().map(|_| since_1970());
        let sent = self.send_all(to, bytes, segment, field);
        if let (Some(noted), Some(now), Ok(count)) = (noted.as_mut(), now, &sent)
            && let Some(peer) = to.or(self.peer.as_ref())
        {
            let ecn = field.map_or(0, |field| field.ecn.bits());
            noted.sent(now, &bytes[..*count], segment, peer, ecn);
        }
        if to.is_some() { Ok(sent.unwrap_or(bytes.len())) } else { sent }
    }

    fn send_all(
        &self,
        to: Option<&SocketAddr>,
        bytes: &[u8],
        segment: usize,
        field: Option<EcnField>,
    ) -> io::Result<usize> {
        if self.segments.get() || bytes.len() <= segment {
            match send_message(&self.socket, to, bytes, segment, field) {
                // Where the device cannot even check-sum, the kernel does not segment.
                Err(error) if bytes.len() > segment && cannot_segment(&error) => self.segments.set(false),
                other => return other,
            }
        }
        let mut sent = 0;
        for packet in bytes.chunks(segment) {
            match send_message(&self.socket, to, packet, segment, field)? {
                0 => break,
                count => sent += count,
            }
        }
        Ok(sent)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Some(noted) = self.noted.take() {
            noted.finish(self.dropped());
        }
    }
}

fn cannot_segment(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL | libc::ENOPROTOOPT))
}

/// An ECN field, for packets of this version of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EcnField {
    ecn: Ecn,
    is_ipv4: bool,
}

impl EcnField {
    /// Of packets to this address.
    pub(super) fn of(ecn: Ecn, address: &SocketAddr) -> Self {
        Self { ecn, is_ipv4: is_ipv4(address) }
    }

    /// That of a sender's next packets, where this is the declared one.
    pub(super) fn of_sender(self, sender: &Sender) -> Self {
        Self { ecn: sender.ecn(self.ecn), ..self }
    }

    /// The option that sets it: level and kind.
    const fn option(self) -> (i32, i32) {
        if self.is_ipv4 { (libc::IPPROTO_IP, libc::IP_TOS) } else { (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) }
    }
}

/// One call of `sendmsg`; 0 where the socket takes no more for now.
fn send_message(
    socket: &OwnedFd,
    to: Option<&SocketAddr>,
    bytes: &[u8],
    segment: usize,
    field: Option<EcnField>,
) -> io::Result<usize> {
    let name = to.map(to_storage);
    let mut control = Control([0; CONTROL]);
    let mut vector = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: all fields of a message header may be zero.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    if let Some((storage, length)) = &name {
        message.msg_name = std::ptr::from_ref(storage).cast_mut().cast();
        message.msg_namelen = *length;
    }
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = 0;
    if bytes.len() > segment {
        // SAFETY: the control buffer has room for both items, and its length tells where the next one goes.
        unsafe { add_control(&mut message, libc::SOL_UDP, libc::UDP_SEGMENT, segment as u16) };
    }
    // The kernel sends what cannot be marked by itself.
    if let Some(field) = field.filter(|field| field.ecn != Ecn::NotCapable) {
        let (level, kind) = field.option();
        // SAFETY: as above.
        unsafe { add_control(&mut message, level, kind, i32::from(field.ecn.bits())) };
    }
    // SAFETY: the header points at buffers of the given lengths that live on.
    let count = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
    match usize::try_from(count) {
        Ok(count) => Ok(count),
        Err(_) => match io::Error::last_os_error() {
            error if is_temporary(&error) => Ok(0),
            error => Err(error),
        },
    }
}

fn is_temporary(error: &io::Error) -> bool {
    let is_full = error.raw_os_error() == Some(libc::ENOBUFS);
    is_full || matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Adds a control item.
///
/// # Safety
/// `message.msg_control` points at an aligned, zeroed buffer with room for the item after the first `msg_controllen` bytes.
unsafe fn add_control<T>(message: &mut libc::msghdr, level: i32, kind: i32, value: T) {
    // SAFETY: as the caller promises.
    unsafe {
        let item = message.msg_control.cast::<u8>().add(message.msg_controllen).cast::<libc::cmsghdr>();
        (*item).cmsg_level = level;
        (*item).cmsg_type = kind;
        (*item).cmsg_len = libc::CMSG_LEN(size_of::<T>() as u32) as _;
        libc::CMSG_DATA(item).cast::<T>().write_unaligned(value);
        message.msg_controllen += libc::CMSG_SPACE(size_of::<T>() as u32) as usize;
    }
}

impl Inbox {
    pub(super) fn new() -> Box<Self> {
        // SAFETY: addresses, vectors and headers may be all zero.
        let (names, vectors, headers) = unsafe {
            (
                MaybeUninit::zeroed().assume_init(),
                MaybeUninit::zeroed().assume_init(),
                MaybeUninit::zeroed().assume_init(),
            )
        };
        let controls = [Control([0; CONTROL]); MESSAGES];
        Box::new(Self { bytes: vec![0; MESSAGES * LONGEST], names, controls, vectors, headers })
    }

    /// Takes what is there, up to 16 messages, with the time after reading; whether there may be more.
    pub(super) fn receive(
        &mut self,
        socket: &Socket,
        clock: Clock,
        mut take: impl FnMut(Time, Arrived<'_>),
    ) -> io::Result<bool> {
        self.arm();
        let (headers, flags) = (self.headers.as_mut_ptr(), libc::MSG_DONTWAIT as _);
        let (fd, null) = (socket.descriptor(), std::ptr::null_mut());
        // SAFETY: `arm` has pointed each header at buffers of the given lengths, which live on in the inbox.
        let count = match check(unsafe { libc::recvmmsg(fd, headers, MESSAGES as u32, flags, null) }) {
            Ok(count) => count.unsigned_abs() as usize,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        let instant = clock.both();
        if let Some(noted) = socket.noted.borrow_mut().as_mut().filter(|_| count > 0) {
            noted.renew();
            (0..count).for_each(|index| self.note(index, noted));
        }
        (0..count).for_each(|index| self.split(index, &instant, &mut take));
        Ok(count == MESSAGES)
    }

    /// Points each header at its buffers.
    fn arm(&mut self) {
        for index in 0..MESSAGES {
            let bytes = &mut self.bytes[index * LONGEST..(index + 1) * LONGEST];
            self.vectors[index] = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: LONGEST };
            let header = &mut self.headers[index].msg_hdr;
            header.msg_name = (&raw mut self.names[index]).cast();
            header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            header.msg_iov = &raw mut self.vectors[index];
            header.msg_iovlen = 1;
            header.msg_control = self.controls[index].0.as_mut_ptr().cast();
            header.msg_controllen = CONTROL as _;
        }
    }

    /// Notes the datagrams that came joined in one message.
    fn note(&self, index: usize, noted: &mut Noted) {
        let Some(from) = from_storage(&self.names[index]) else { return };
        let length = self.headers[index].msg_len as usize;
        let bytes = &self.bytes[index * LONGEST..index * LONGEST + length];
        // SAFETY: the kernel filled this header and its control buffer.
        let facts = unsafe { read_controls(&self.headers[index].msg_hdr) };
        let stamp = facts.stamp.map(|stamp| Duration::new(stamp.tv_sec.unsigned_abs(), stamp.tv_nsec as u32));
        let time = stamp.unwrap_or_else(since_1970);
        for payload in bytes.chunks(facts.segment.unwrap_or(length).max(1)) {
            noted.came(time, payload, &from, facts.ecn.bits(), facts.segment.is_some());
        }
    }

    /// Hands over the datagrams that came joined in one message.
    fn split(&self, index: usize, instant: &Instant, take: &mut impl FnMut(Time, Arrived<'_>)) {
        let Some(from) = from_storage(&self.names[index]) else { return };
        let length = self.headers[index].msg_len as usize;
        let bytes = &self.bytes[index * LONGEST..index * LONGEST + length];
        // SAFETY: the kernel filled this header and its control buffer.
        let facts = unsafe { read_controls(&self.headers[index].msg_hdr) };
        let at = facts.stamp.map_or(instant.now, |stamp| instant.of_stamp(stamp));
        let mut datagrams = bytes.chunks(facts.segment.unwrap_or(length).max(1)).peekable();
        while let Some(bytes) = datagrams.next() {
            let is_last = datagrams.peek().is_none();
            take(instant.now, Arrived { at, from, bytes, ecn: facts.ecn, is_last });
        }
    }
}

/// What the kernel says beside a message.
#[derive(Clone, Copy, Default)]
struct Facts {
    /// The length of each datagram, if several came joined.
    segment: Option<usize>,
    ecn: Ecn,
    /// When the kernel had it.
    stamp: Option<libc::timespec>,
}

/// # Safety
/// `message` was filled by the kernel and its control buffer is still there.
unsafe fn read_controls(message: &libc::msghdr) -> Facts {
    let mut facts = Facts::default();
    // SAFETY: as the caller promises; the kernel wrote as much as each item's kind has.
    unsafe {
        let mut item = libc::CMSG_FIRSTHDR(message);
        while !item.is_null() {
            let data = libc::CMSG_DATA(item);
            match ((*item).cmsg_level, (*item).cmsg_type) {
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    facts.segment = usize::try_from(data.cast::<i32>().read_unaligned()).ok();
                }
                (libc::IPPROTO_IP, libc::IP_TOS) => facts.ecn = Ecn::from_bits(data.read()),
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    facts.ecn = Ecn::from_bits(data.cast::<i32>().read_unaligned() as u8);
                }
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    facts.stamp = Some(data.cast::<libc::timespec>().read_unaligned());
                }
                _ => {}
            }
            item = libc::CMSG_NXTHDR(message, item);
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(address: &str) -> (Socket, Socket, SocketAddr) {
        let server = Socket::listening(Some(address.parse().unwrap()), 0, None).unwrap();
        let mut storage = to_storage(&SocketAddr::new(address.parse().unwrap(), 0)).0;
        let mut length = size_of_val(&storage) as libc::socklen_t;
        // SAFETY: the storage has that length.
        let result =
            unsafe { libc::getsockname(server.descriptor(), (&raw mut storage).cast(), &raw mut length) };
        assert_eq!(result, 0);
        let at = from_storage(&storage).unwrap();
        (Socket::connected(&at, None).unwrap(), server, at)
    }

    fn take_all(socket: &Socket, count: usize) -> Vec<(Vec<u8>, Ecn)> {
        let (mut found, mut inbox) = (Vec::new(), Inbox::new());
        let deadline = std::time::Instant::now() + Duration::from_secs(5);
        while found.len() < count && std::time::Instant::now() < deadline {
            inbox
                .receive(socket, Clock::start(), |_, arrived| {
                    found.push((arrived.bytes.to_vec(), arrived.ecn));
                })
                .unwrap();
        }
        found
    }

    #[test]
    fn packets_sent_together_arrive_one_by_one() {
        for address in ["127.0.0.1", "::1"] {
            for segments in [true, false] {
                let (client, server, at) = pair(address);
                client.segments.set(segments);
                let bytes: Vec<u8> = (0..2500_u32).map(|index| (index % 251) as u8).collect();
                assert_eq!(
                    client.send(None, &bytes, 1000, Some(EcnField::of(Ecn::Capable1, &at))).unwrap(),
                    2500
                );
                let found = take_all(&server, 3);
                assert_eq!(found.iter().map(|(bytes, _)| bytes.len()).collect::<Vec<_>>(), [1000, 1000, 500]);
                assert_eq!(found.iter().flat_map(|(bytes, _)| bytes.clone()).collect::<Vec<_>>(), bytes);
                assert!(found.iter().all(|(_, ecn)| *ecn == Ecn::Capable1));
                assert_eq!(server.dropped(), 0);
            }
        }
    }

    #[test]
    fn what_cannot_be_sent_to_one_peer_of_many_is_lost() {
        let server = Socket::listening(Some("127.0.0.1".parse().unwrap()), 0, None).unwrap();
        let nowhere = "[::1]:9".parse().unwrap();
        assert_eq!(server.send(Some(&nowhere), b"lost", 1000, None).unwrap(), 4);
    }

    #[test]
    fn the_ecn_field_arrives_as_it_was_sent() {
        for address in ["127.0.0.1", "::1"] {
            let (client, server, at) = pair(address);
            for ecn in [Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::CongestionExperienced] {
                client.send(None, b"packet", 1000, Some(EcnField::of(ecn, &at))).unwrap();
                assert_eq!(take_all(&server, 1), [(b"packet".to_vec(), ecn)]);
            }
        }
    }

    #[test]
    fn other_bits_of_the_byte_are_no_mark() {
        for (address, level, option) in
            [("127.0.0.1", libc::IPPROTO_IP, libc::IP_TOS), ("::1", libc::IPPROTO_IPV6, libc::IPV6_TCLASS)]
        {
            let (client, server, _) = pair(address);
            for (byte, ecn) in [(0xb8, Ecn::NotCapable), (0xb9, Ecn::Capable1)] {
                set_option(&client.socket, level, option, &byte).unwrap();
                client.send(None, b"packet", 1000, None).unwrap();
                assert_eq!(take_all(&server, 1), [(b"packet".to_vec(), ecn)]);
            }
        }
    }
}
