//! The UDP socket of the path: datagrams with what the path did to them, and with a type of service.

use std::io;
use std::mem::{MaybeUninit, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr::null_mut;
use std::time::Duration;

use crate::device::is_later;
use crate::error::{Error, check};

/// Datagrams that are read at once.
pub(crate) const BATCH: usize = 64;
/// Room for each: more than a path carries.
pub(crate) const ROOM: usize = 1 << 14;
const CONTROL: usize = 256;
/// Bytes that wait in the socket: at a gigabit sixty milliseconds, where the system permits it.
const BUFFER: i32 = 8 << 20;
/// For so long a datagram waits for room in the socket.
const PATIENCE: i32 = 100;
/// At sending a datagram: each error of ICMP takes one.
const ATTEMPTS: usize = 16;
/// That are read at once.
const MOST_ERRORS: usize = 64;

/// What came.
#[derive(Debug)]
pub(crate) struct Came<'a> {
    pub(crate) bytes: &'a mut [u8],
    pub(crate) from: SocketAddr,
    /// When the kernel saw it, since 1970.
    pub(crate) time: Duration,
    /// Of the datagram, as the path left it.
    pub(crate) ecn: u8,
    pub(crate) hops: u8,
    /// Datagrams for which the socket had no room until then, if there were any.
    pub(crate) overflow: Option<u32>,
}

/// What became of a datagram that was to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Yes,
    /// The kernel did not take it.
    No,
    /// It is too large for the interface or the route.
    TooLarge,
}

#[derive(Debug)]
pub(crate) struct Socket {
    socket: OwnedFd,
    is_v6: bool,
    buffers: Vec<[u8; ROOM]>,
    controls: Vec<[u64; CONTROL / 8]>,
}

impl Socket {
    pub(crate) fn new(socket: OwnedFd) -> Result<Self, Error> {
        let is_v6 = family_of(&socket)? == libc::AF_INET6;
        let made =
            Self { socket, is_v6, buffers: vec![[0; ROOM]; BATCH], controls: vec![[0; CONTROL / 8]; BATCH] };
        let options = if is_v6 {
            [
                (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1),
                (libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT, 1),
                (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE),
                (libc::IPPROTO_IPV6, libc::IPV6_RECVERR, 1),
            ]
        } else {
            [
                (libc::IPPROTO_IP, libc::IP_RECVTOS, 1),
                (libc::IPPROTO_IP, libc::IP_RECVTTL, 1),
                // Whole or not at all, whatever others say of the path.
                (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE),
                (libc::IPPROTO_IP, libc::IP_RECVERR, 1),
            ]
        };
        for (level, option, value) in options {
            made.set(level, option, value)?;
        }
        made.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        made.set(libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1)?;
        for (forced, permitted) in
            [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
        {
            if made.set(libc::SOL_SOCKET, forced, BUFFER).is_err() {
                made.set(libc::SOL_SOCKET, permitted, BUFFER)?;
            }
        }
        Ok(made)
    }

    fn set(&self, level: i32, option: i32, value: i32) -> Result<(), Error> {
        let (pointer, length) = ((&raw const value).cast(), size_of::<i32>() as libc::socklen_t);
        // SAFETY: the value is as large as its length says.
        let returned = unsafe { libc::setsockopt(self.socket.as_raw_fd(), level, option, pointer, length) };
        check("an option of the UDP socket", returned).map(|_| ())
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Gives the datagrams that wait, a batch at most, to `take`; how many there were. What is too long is none.
    pub(crate) fn read(&mut self, mut take: impl FnMut(&mut Came<'_>)) -> Result<usize, Error> {
        // SAFETY: all fields of these may be zero.
        let mut names: [libc::sockaddr_storage; BATCH] = unsafe { zeroed() };
        // SAFETY: as above.
        let mut pieces: [libc::iovec; BATCH] = unsafe { zeroed() };
        // SAFETY: as above.
        let mut headers: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        for place in 0..BATCH {
            let buffer = &mut self.buffers[place];
            pieces[place] = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: ROOM };
            let header = &mut headers[place].msg_hdr;
            header.msg_name = (&raw mut names[place]).cast();
            header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            header.msg_iov = &raw mut pieces[place];
            header.msg_iovlen = 1;
            header.msg_control = self.controls[place].as_mut_ptr().cast();
            header.msg_controllen = CONTROL as _;
        }
        let (socket, most) = (self.socket.as_raw_fd(), BATCH as u32);
        let flags = libc::MSG_DONTWAIT as _;
        // SAFETY: the headers point to memory of these sizes, which lives on.
        let count = unsafe { libc::recvmmsg(socket, headers.as_mut_ptr(), most, flags, null_mut()) };
        let Ok(count) = usize::try_from(count) else {
            let error = io::Error::last_os_error();
            let is_past = is_of_icmp(&error);
            return if is_later(&error) || is_past { Ok(0) } else { Err(Error::System("receiving", error)) };
        };
        for (place, header) in headers[..count].iter().enumerate() {
            let (length, header) = (header.msg_len as usize, &header.msg_hdr);
            let is_whole = header.msg_flags & libc::MSG_TRUNC == 0;
            let from = address_of(&names[place]).filter(|_| is_whole);
            let Some(from) = from else { continue };
            let bytes = &mut self.buffers[place][..length];
            let mut came = Came { bytes, from, time: Duration::ZERO, ecn: 0, hops: 0, overflow: None };
            read_controls(header, &mut came);
            take(&mut came);
        }
        Ok(count)
    }

    /// The largest packet of IP that passes to this address by what routers and this machine have said since the last call: the
    /// least of them. The queue of errors that they are in is empty then.
    pub(crate) fn said_mtu(&self, to: SocketAddr) -> Option<usize> {
        let mut least = None;
        for _ in 0..MOST_ERRORS {
            // SAFETY: all fields of these may be zero.
            let (mut name, mut header): (libc::sockaddr_storage, libc::msghdr) = unsafe { zeroed() };
            let mut control = [0_u64; CONTROL / 8];
            header.msg_name = (&raw mut name).cast();
            header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            header.msg_control = control.as_mut_ptr().cast();
            header.msg_controllen = CONTROL as _;
            let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
            // SAFETY: the header points to what lives on.
            if unsafe { libc::recvmsg(self.descriptor(), &raw mut header, flags) } < 0 {
                break;
            }
            // Errors of this machine have no port.
            if address_of(&name).is_some_and(|of| of.ip() == to.ip())
                && let Some(mtu) = mtu_of(&header)
            {
                least = Some(least.map_or(mtu, |other: usize| other.min(mtu)));
            }
        }
        least
    }

    /// Sends a datagram.
    pub(crate) fn send(&self, bytes: &[u8], to: SocketAddr, service: u8) -> Sent {
        let (name, length) = raw_address(to);
        let mut control = [0_u64; 8];
        let mut piece = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        // SAFETY: all fields of the header may be zero.
        let mut header: libc::msghdr = unsafe { zeroed() };
        header.msg_name = (&raw const name).cast_mut().cast();
        header.msg_namelen = length;
        header.msg_iov = &raw mut piece;
        header.msg_iovlen = 1;
        if service != 0 {
            header.msg_control = control.as_mut_ptr().cast();
            // SAFETY: the length of four bytes.
            header.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<i32>() as u32) } as _;
            let (level, kind) = if self.is_v6 {
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS)
            } else {
                (libc::IPPROTO_IP, libc::IP_TOS)
            };
            // SAFETY: the control bytes have room for a header and four bytes, aligned.
            unsafe {
                let first = libc::CMSG_FIRSTHDR(&raw const header);
                (*first).cmsg_level = level;
                (*first).cmsg_type = kind;
                (*first).cmsg_len = libc::CMSG_LEN(size_of::<i32>() as u32) as _;
                libc::CMSG_DATA(first).cast::<i32>().write_unaligned(service.into());
            }
        }
        let mut result = Sent::No;
        for _ in 0..ATTEMPTS {
            // SAFETY: the header points to what lives on.
            if unsafe { libc::sendmsg(self.descriptor(), &raw const header, libc::MSG_DONTWAIT) } >= 0 {
                return Sent::Yes;
            }
            let error = io::Error::last_os_error();
            result = if error.raw_os_error() == Some(libc::EMSGSIZE) { Sent::TooLarge } else { Sent::No };
            if !(is_of_icmp(&error) || is_later(&error) && self.has_room()) {
                break;
            }
        }
        result
    }

    /// Whether there is room for a datagram, after a while at most.
    fn has_room(&self) -> bool {
        let mut wanted = libc::pollfd { fd: self.descriptor(), events: libc::POLLOUT, revents: 0 };
        // SAFETY: one descriptor, which lives on.
        unsafe { libc::poll(&raw mut wanted, 1, PATIENCE) > 0 }
    }
}

/// Whether an error may be of a datagram that was sent before, as ICMP has it: a call tells such a one once, and does nothing.
fn is_of_icmp(error: &io::Error) -> bool {
    let number = error.raw_os_error();
    matches!(number, Some(libc::ECONNREFUSED | libc::EHOSTUNREACH | libc::ENETUNREACH | libc::EMSGSIZE))
}

/// The MTU that an error of the queue tells (ip(7)), if it is about that.
fn mtu_of(header: &libc::msghdr) -> Option<usize> {
    // SAFETY: the kernel wrote whole control messages, one behind the other.
    let mut each = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !each.is_null() {
        // SAFETY: it is one of them.
        let (level, kind, data) =
            unsafe { ((*each).cmsg_level, (*each).cmsg_type, libc::CMSG_DATA(each).cast_const()) };
        if matches!(
            (level, kind),
            (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
        ) {
            // SAFETY: a message of these kinds begins with such an error.
            let error = unsafe { data.cast::<libc::sock_extended_err>().read_unaligned() };
            let is_size = error.ee_errno == libc::EMSGSIZE as u32;
            return (is_size && error.ee_info > 0).then_some(error.ee_info as usize);
        }
        // SAFETY: it is one of those that the header has.
        each = unsafe { libc::CMSG_NXTHDR(header, each) };
    }
    None
}

fn family_of(socket: &OwnedFd) -> Result<i32, Error> {
    let (mut family, mut length) = (0_i32, size_of::<i32>() as libc::socklen_t);
    let (level, option, value) = (libc::SOL_SOCKET, libc::SO_DOMAIN, (&raw mut family).cast());
    // SAFETY: the value is as large as its length says.
    let returned = unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, value, &raw mut length) };
    check("the UDP socket", returned).map(|_| family)
}

fn read_controls(header: &libc::msghdr, came: &mut Came<'_>) {
    // SAFETY: the kernel wrote whole control messages, one behind the other.
    let mut each = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !each.is_null() {
        // SAFETY: it is one of them.
        let (level, kind, data) =
            unsafe { ((*each).cmsg_level, (*each).cmsg_type, libc::CMSG_DATA(each).cast_const()) };
        // SAFETY: messages of these kinds hold a number of four bytes, that of IP_TOS one of one byte, that of stamps a time.
        unsafe {
            match (level, kind) {
                (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS) => {
                    let time = data.cast::<libc::timespec>().read_unaligned();
                    came.time = Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32);
                }
                (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
                    came.overflow = Some(data.cast::<u32>().read_unaligned());
                }
                (libc::IPPROTO_IP, libc::IP_TOS) => came.ecn = data.read() & 3,
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    came.ecn = (data.cast::<i32>().read_unaligned() & 3) as u8;
                }
                (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => {
                    came.hops = data.cast::<i32>().read_unaligned().clamp(0, 255) as u8;
                }
                _ => {}
            }
        }
        // SAFETY: it is one of those that the header has.
        each = unsafe { libc::CMSG_NXTHDR(header, each) };
    }
}

fn address_of(name: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let pointer = &raw const *name;
    match i32::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: an address of this family has this layout, and fits.
            let name = unsafe { pointer.cast::<libc::sockaddr_in>().read() };
            let address = Ipv4Addr::from(u32::from_be(name.sin_addr.s_addr));
            Some(SocketAddrV4::new(address, u16::from_be(name.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let name = unsafe { pointer.cast::<libc::sockaddr_in6>().read() };
            let address = Ipv6Addr::from(name.sin6_addr.s6_addr);
            Some(SocketAddrV6::new(address, u16::from_be(name.sin6_port), 0, name.sin6_scope_id).into())
        }
        _ => None,
    }
}

fn raw_address(address: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: all fields of the address may be zero.
    let mut name: libc::sockaddr_storage = unsafe { MaybeUninit::zeroed().assume_init() };
    let pointer = &raw mut name;
    let length = match address {
        SocketAddr::V4(address) => {
            // SAFETY: all fields may be zero.
            let mut raw: libc::sockaddr_in = unsafe { zeroed() };
            raw.sin_family = libc::AF_INET as u16;
            raw.sin_port = address.port().to_be();
            raw.sin_addr.s_addr = u32::from(*address.ip()).to_be();
            // SAFETY: it fits.
            unsafe { pointer.cast::<libc::sockaddr_in>().write(raw) };
            size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(address) => {
            // SAFETY: all fields may be zero.
            let mut raw: libc::sockaddr_in6 = unsafe { zeroed() };
            raw.sin6_family = libc::AF_INET6 as u16;
            raw.sin6_port = address.port().to_be();
            raw.sin6_addr.s6_addr = address.ip().octets();
            raw.sin6_scope_id = address.scope_id();
            // SAFETY: it fits.
            unsafe { pointer.cast::<libc::sockaddr_in6>().write(raw) };
            size_of::<libc::sockaddr_in6>()
        }
    };
    (name, length as libc::socklen_t)
}
