//! Calls on sockets that the standard library lacks.

use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// An address as the kernel takes it.
struct Raw {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl Raw {
    fn of(address: SocketAddr) -> Self {
        // SAFETY: all fields may be zero.
        let mut storage: libc::sockaddr_storage = unsafe { MaybeUninit::zeroed().assume_init() };
        let length = match address {
            SocketAddr::V4(address) => {
                // SAFETY: the storage has room for any address and is aligned for it.
                let raw = unsafe { &mut *(&raw mut storage).cast::<libc::sockaddr_in>() };
                raw.sin_family = libc::AF_INET as u16;
                raw.sin_port = address.port().to_be();
                raw.sin_addr.s_addr = u32::from_ne_bytes(address.ip().octets());
                size_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(address) => {
                // SAFETY: as above.
                let raw = unsafe { &mut *(&raw mut storage).cast::<libc::sockaddr_in6>() };
                raw.sin6_family = libc::AF_INET6 as u16;
                raw.sin6_port = address.port().to_be();
                raw.sin6_addr.s6_addr = address.ip().octets();
                size_of::<libc::sockaddr_in6>()
            }
        };
        Self { storage, length: length as libc::socklen_t }
    }
}

fn result(returned: i32) -> io::Result<()> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

pub(crate) fn bind(socket: &impl AsRawFd, address: SocketAddr) -> io::Result<()> {
    let raw = Raw::of(address);
    // SAFETY: the address is as long as its length says.
    result(unsafe { libc::bind(socket.as_raw_fd(), (&raw const raw.storage).cast(), raw.length) })
}

/// A listening socket at this port, of a socket that is not bound yet.
pub(crate) fn listen(socket: OwnedFd, port: u16) -> io::Result<std::net::TcpListener> {
    const BACKLOG: i32 = 512;
    set_number(&socket, libc::SO_REUSEADDR, 1)?;
    let probe = UdpSocket::from(socket);
    let address = any_address(&probe, port);
    let socket = OwnedFd::from(probe);
    bind(&socket, address)?;
    // SAFETY: changes this socket alone.
    result(unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) })?;
    Ok(socket.into())
}

/// Makes room for as many bytes as an ordinary user may ask for, at most these.
pub(crate) fn widen(socket: &OwnedFd, bytes: i32) {
    // With less room it works too.
    let _ = set_number(socket, libc::SO_RCVBUF, bytes);
}

fn set_number(socket: &OwnedFd, option: i32, value: i32) -> io::Result<()> {
    let (pointer, length) = ((&raw const value).cast(), size_of::<i32>() as libc::socklen_t);
    // SAFETY: the value is as large as its length says.
    result(unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, pointer, length) })
}

/// All addresses of the socket's family, with this port.
pub(crate) fn any_address(socket: &UdpSocket, port: u16) -> SocketAddr {
    match socket.local_addr() {
        Ok(SocketAddr::V4(_)) => (Ipv4Addr::UNSPECIFIED, port).into(),
        _ => (Ipv6Addr::UNSPECIFIED, port).into(),
    }
}

/// Starts a connection; it may be made only later, or refused.
pub(crate) fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: makes a descriptor.
    let socket =
        unsafe { libc::socket(family, libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0) };
    result(socket)?;
    // SAFETY: it was just made and belongs to nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    match connect_socket(&socket, address) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(socket.into()),
    }
}

/// Connects a socket that is there already.
pub(crate) fn connect_socket(socket: &impl AsRawFd, address: SocketAddr) -> io::Result<()> {
    let raw = Raw::of(address);
    // SAFETY: the address is as long as its length says.
    result(unsafe { libc::connect(socket.as_raw_fd(), (&raw const raw.storage).cast(), raw.length) })
}

/// An IPv4 address as a socket of either version takes it.
pub(crate) fn address_for(socket: &UdpSocket, address: Ipv4Addr, port: u16) -> SocketAddr {
    match socket.local_addr() {
        Ok(SocketAddr::V4(_)) => (address, port).into(),
        _ => (address.to_ipv6_mapped(), port).into(),
    }
}

/// Sets an option of TCP.
pub(crate) fn set_tcp(socket: &impl AsRawFd, option: i32, value: &[u8]) -> io::Result<()> {
    let (pointer, length) = (value.as_ptr().cast(), value.len() as libc::socklen_t);
    // SAFETY: the value is as large as its length says.
    result(unsafe { libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, option, pointer, length) })
}

/// Whether a started connection is made: `None` while it is not known.
pub(crate) fn is_connected(stream: &TcpStream) -> Option<bool> {
    match stream.take_error() {
        Ok(None) => stream.peer_addr().is_ok().then_some(true),
        _ => Some(false),
    }
}

/// Makes a reset of what closing would end in order.
pub(crate) fn reset_when_closed(stream: &TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let length = size_of::<libc::linger>() as libc::socklen_t;
    let pointer = (&raw const linger).cast();
    // SAFETY: the value is as large as its length says.
    unsafe { libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, pointer, length) };
}

/// How many descriptors this process may have.
pub(crate) fn descriptors() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is written to.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
}

/// Datagrams that the kernel dropped because the socket's buffer was full (SO_MEMINFO).
pub(crate) fn overflowed(socket: &UdpSocket) -> u64 {
    const WORDS: usize = 9;
    const DROPS: usize = 8;
    let mut words = [0_u32; WORDS];
    let mut length = size_of_val(&words) as libc::socklen_t;
    let pointer = words.as_mut_ptr().cast();
    let (level, option) = (libc::SOL_SOCKET, libc::SO_MEMINFO);
    // SAFETY: the value is as large as its length says.
    unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, pointer, &raw mut length) };
    u64::from(words[DROPS])
}

/// The same host's address, of the same version, at which any program of it answers.
pub(crate) fn loopback(version: IpAddr, port: u16) -> SocketAddr {
    match plain(version) {
        IpAddr::V4(_) => (Ipv4Addr::LOCALHOST, port).into(),
        IpAddr::V6(_) => (Ipv6Addr::LOCALHOST, port).into(),
    }
}

/// An IPv4 address that came as an IPv6 one, as it is.
pub(crate) fn plain(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(mapped) => mapped.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}
