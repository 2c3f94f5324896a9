//! The packet socket: options, interface, statistics.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::error::Error;
use crate::headers::Link;

/// Bytes of a frame that are looked at: radiotap, 802.11, IPv6 with extensions and TCP fit.
const SNAP: u32 = 256;

/// A socket that hears nothing yet.
pub(crate) fn open() -> Result<OwnedFd, Error> {
    // SAFETY: makes a descriptor.
    let descriptor = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if descriptor >= 0 {
        // SAFETY: it was just made and belongs to nobody else.
        return Ok(unsafe { OwnedFd::from_raw_fd(descriptor) });
    }
    let error = io::Error::last_os_error();
    Err(match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => Error::Permission,
        _ => Error::System("a packet socket", error),
    })
}

/// Sets an option at a level of the socket's.
pub(crate) fn set<T>(
    socket: &OwnedFd,
    level: i32,
    option: i32,
    value: &T,
    what: &'static str,
) -> Result<(), Error> {
    let (pointer, length) = ((&raw const *value).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the value is as large as its length says.
    check(what, unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, pointer, length) })
}

pub(crate) fn check(what: &'static str, returned: i32) -> Result<(), Error> {
    if returned < 0 { Err(Error::System(what, io::Error::last_os_error())) } else { Ok(()) }
}

/// The kernel stamps packets as they come, and not when somebody looks.
pub(crate) fn stamp(socket: &OwnedFd) -> Result<(), Error> {
    let software = libc::SOF_TIMESTAMPING_SOFTWARE.cast_signed();
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1_i32, "kernel time stamps")?;
    set(socket, libc::SOL_PACKET, libc::PACKET_TIMESTAMP, &software, "kernel time stamps")
}

/// What of every frame is let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    /// The first bytes.
    Heads,
    /// All of it: what is several packets in one has headers' worth of each of them, wherever they begin.
    Whole,
    /// None.
    Nothing,
}

/// Lets so much of every frame through from now on.
pub(crate) fn let_through(socket: &OwnedFd, what: Filter) -> Result<(), Error> {
    const ALL: u32 = 1 << 18;
    let k = match what {
        Filter::Heads => SNAP,
        Filter::Whole => ALL,
        Filter::Nothing => 0,
    };
    let mut program = [libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k }];
    let filter = libc::sock_fprog { len: 1, filter: program.as_mut_ptr() };
    set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter, "a filter of packets")
}

/// Each frame says of how many bytes its segments are, if it is several packets in one; before there is a ring.
pub(crate) fn show_segments(socket: &OwnedFd) -> Result<(), Error> {
    set(socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1_i32, "sizes of segments")
}

/// Index of an interface, and how its frames begin.
pub(crate) fn find(socket: &OwnedFd, name: &str) -> Result<(i32, Link, bool), Error> {
    let unknown = || Error::Interface(name.to_owned());
    if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.contains('\0') {
        return Err(unknown());
    }
    // SAFETY: all fields of the request may be zero.
    let mut request: libc::ifreq = unsafe { MaybeUninit::zeroed().assume_init() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from.cast_signed() as libc::c_char;
    }
    // SAFETY: this request reads the name and writes the index.
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFINDEX, &raw mut request) } < 0 {
        return Err(unknown());
    }
    // SAFETY: the request before wrote it.
    let index = unsafe { request.ifr_ifru.ifru_ifindex };
    // SAFETY: this request reads the name and writes an address.
    check("the interface's type", unsafe {
        libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFHWADDR, &raw mut request)
    })?;
    // SAFETY: the request before wrote it.
    let hardware = unsafe { request.ifr_ifru.ifru_hwaddr.sa_family };
    let link = Link::of_hardware(hardware).ok_or_else(|| Error::Link(name.to_owned(), hardware))?;
    Ok((index, link, hardware == libc::ARPHRD_LOOPBACK))
}

/// Begins to hear an interface.
pub(crate) fn bind(socket: &OwnedFd, index: i32) -> Result<(), Error> {
    // SAFETY: all fields of the address may be zero.
    let mut address: libc::sockaddr_ll = unsafe { MaybeUninit::zeroed().assume_init() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address is as large as its length says.
    check("the interface", unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })
}

/// Packets that came, and those of them that found no room, since the last call.
pub(crate) fn statistics(socket: &OwnedFd) -> Result<(u64, u64), Error> {
    let mut told = libc::tpacket_stats_v3 { tp_packets: 0, tp_drops: 0, tp_freeze_q_cnt: 0 };
    let mut length = size_of::<libc::tpacket_stats_v3>() as libc::socklen_t;
    let (descriptor, value) = (socket.as_raw_fd(), (&raw mut told).cast());
    let option = libc::PACKET_STATISTICS;
    // SAFETY: the value is as large as its length says.
    check("the kernel's counts", unsafe {
        libc::getsockopt(descriptor, libc::SOL_PACKET, option, value, &raw mut length)
    })?;
    Ok((told.tp_packets.into(), told.tp_drops.into()))
}

/// Why the socket became unusable: the interface went down or away.
pub(crate) fn pending_error(socket: &OwnedFd) -> io::Error {
    let (mut number, mut length) = (0_i32, size_of::<i32>() as libc::socklen_t);
    let (descriptor, value) = (socket.as_raw_fd(), (&raw mut number).cast());
    // SAFETY: the value is as large as its length says.
    unsafe { libc::getsockopt(descriptor, libc::SOL_SOCKET, libc::SO_ERROR, value, &raw mut length) };
    io::Error::from_raw_os_error(number)
}
