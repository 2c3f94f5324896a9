//! Socket options and addresses.

use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use trialwise_protocol::scheme::IpVersion;

/// Sets a socket option.
pub(crate) fn set_option<T: ?Sized>(
    socket: &impl AsRawFd,
    level: i32,
    name: i32,
    value: &T,
) -> io::Result<()> {
    let (pointer, length) = (std::ptr::from_ref(value).cast(), size_of_val(value) as libc::socklen_t);
    // SAFETY: the value has that length.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, pointer, length) }).map(drop)
}

/// Reads a socket option into `value`, of which the kernel may fill only a part.
pub(crate) fn get_option<T: Copy>(
    socket: &impl AsRawFd,
    level: i32,
    name: i32,
    mut value: T,
) -> io::Result<T> {
    let mut length = size_of::<T>() as libc::socklen_t;
    let pointer = (&raw mut value).cast();
    // SAFETY: the value has that length, and any bytes are a value of the plain types used here.
    check(unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, pointer, &raw mut length) })?;
    Ok(value)
}

/// Makes a socket that does not block.
pub(crate) fn socket(address: &SocketAddr, kind: i32) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: makes a descriptor.
    let fd = check(unsafe { libc::socket(family, kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: the descriptor is new and ours.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Asks for a buffer of this size, beyond the limit of the system where that is permitted.
pub(crate) fn set_buffer(socket: &impl AsRawFd, option: i32, forced: i32, bytes: u64) -> io::Result<()> {
    let size = i32::try_from(bytes).unwrap_or(i32::MAX);
    set_option(socket, libc::SOL_SOCKET, forced, &size)
        .or_else(|_| set_option(socket, libc::SOL_SOCKET, option, &size))
}

pub(crate) fn bind(socket: &impl AsRawFd, address: &SocketAddr) -> io::Result<()> {
    let (storage, length) = to_storage(address);
    // SAFETY: the address has that length.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const storage).cast(), length) }).map(drop)
}

/// Begins to connect; over TCP the answer comes later.
pub(crate) fn connect(socket: &impl AsRawFd, address: &SocketAddr) -> io::Result<()> {
    let (storage, length) = to_storage(address);
    // SAFETY: the address has that length.
    match check(unsafe { libc::connect(socket.as_raw_fd(), (&raw const storage).cast(), length) }) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(()),
    }
}

/// Where to listen when no address is given: everywhere, over IPv6 and IPv4, or over IPv4 where there is no IPv6.
pub(crate) fn bind_anywhere(
    kind: i32,
    address: Option<IpAddr>,
    port: u16,
) -> io::Result<(OwnedFd, SocketAddr)> {
    let everywhere = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port);
    let wanted = address.map_or(everywhere, |address| SocketAddr::new(address, port));
    match bind_at(kind, wanted, address.is_none()) {
        Err(error) if address.is_none() && is_without_ipv6(&error) => {
            let everywhere = SocketAddr::from(([0, 0, 0, 0], port));
            bind_at(kind, everywhere, false).map(|socket| (socket, everywhere))
        }
        other => other.map(|socket| (socket, wanted)),
    }
}

fn is_without_ipv6(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL))
}

fn bind_at(kind: i32, address: SocketAddr, is_for_both: bool) -> io::Result<OwnedFd> {
    let socket = socket(&address, kind)?;
    if kind == libc::SOCK_STREAM {
        set_option(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, &1_i32)?;
    }
    if is_for_both {
        set_option(&socket, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, &0_i32)?;
    }
    bind(&socket, &address)?;
    Ok(socket)
}

/// An error of the system for a negative result.
pub(crate) fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// An address as the kernel takes it.
pub(crate) fn to_storage(address: &SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: all-zero is an address of no family.
    let mut storage: libc::sockaddr_storage = unsafe { MaybeUninit::zeroed().assume_init() };
    let pointer = &raw mut storage;
    let length = match address {
        SocketAddr::V4(address) => {
            // SAFETY: the storage is large enough and aligned for every kind of address.
            let raw = unsafe { &mut *pointer.cast::<libc::sockaddr_in>() };
            raw.sin_family = libc::AF_INET as libc::sa_family_t;
            raw.sin_port = address.port().to_be();
            raw.sin_addr.s_addr = u32::from_ne_bytes(address.ip().octets());
            size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(address) => {
            // SAFETY: as above.
            let raw = unsafe { &mut *pointer.cast::<libc::sockaddr_in6>() };
            raw.sin6_family = libc::AF_INET6 as libc::sa_family_t;
            raw.sin6_port = address.port().to_be();
            raw.sin6_addr.s6_addr = address.ip().octets();
            raw.sin6_scope_id = address.scope_id();
            size_of::<libc::sockaddr_in6>()
        }
    };
    (storage, length as libc::socklen_t)
}

/// An address as the kernel gave it; none where it is of another family.
pub(crate) fn from_storage(storage: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let pointer = std::ptr::from_ref(storage);
    match i32::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says what it is.
            let raw = unsafe { &*pointer.cast::<libc::sockaddr_in>() };
            let octets = raw.sin_addr.s_addr.to_ne_bytes();
            Some(SocketAddr::from((octets, u16::from_be(raw.sin_port))))
        }
        libc::AF_INET6 => {
            // SAFETY: the family says what it is.
            let raw = unsafe { &*pointer.cast::<libc::sockaddr_in6>() };
            let (address, port) = (Ipv6Addr::from(raw.sin6_addr.s6_addr), u16::from_be(raw.sin6_port));
            Some(SocketAddrV6::new(address, port, 0, raw.sin6_scope_id).into())
        }
        _ => None,
    }
}

/// The version of IP that packets to this address have.
pub(crate) fn ip_version(address: &SocketAddr) -> IpVersion {
    if is_ipv4(address) { IpVersion::Four } else { IpVersion::Six }
}

/// Whether packets to this address are of IPv4.
pub(crate) fn is_ipv4(address: &SocketAddr) -> bool {
    match address {
        SocketAddr::V4(_) => true,
        SocketAddr::V6(address) => address.ip().to_ipv4_mapped().is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_as_they_were() {
        for text in ["100.64.0.2:5001", "[fd74:7269:616c::2]:5001", "[::ffff:10.0.0.1]:9"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(from_storage(&to_storage(&address).0), Some(address));
        }
        assert!(is_ipv4(&"[::ffff:10.0.0.1]:9".parse().unwrap()));
        assert!(!is_ipv4(&"[::1]:9".parse().unwrap()));
    }
}
