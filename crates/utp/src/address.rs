//! Addresses as the C library has them.

use std::mem;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// An address in the kernel's form.
pub(crate) struct RawAddress {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl RawAddress {
    /// Where it is.
    pub(crate) const fn pointer(&self) -> *const libc::sockaddr {
        (&raw const self.storage).cast()
    }

    /// How many bytes it has.
    pub(crate) const fn length(&self) -> libc::socklen_t {
        self.length
    }

    fn holding<T>(value: T) -> Self {
        const { assert!(size_of::<T>() <= size_of::<libc::sockaddr_storage>()) };
        // SAFETY: zero bytes are a valid sockaddr_storage.
        let mut storage: libc::sockaddr_storage = unsafe { mem::zeroed() };
        // SAFETY: it has room for the value, and the alignment of every kind of address.
        unsafe { (&raw mut storage).cast::<T>().write(value) };
        Self { storage, length: size_of::<T>() as libc::socklen_t }
    }
}

impl From<SocketAddr> for RawAddress {
    fn from(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(address) => Self::holding(libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: address.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
                sin_zero: [0; 8],
            }),
            SocketAddr::V6(address) => Self::holding(libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: address.port().to_be(),
                sin6_flowinfo: address.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                sin6_scope_id: address.scope_id(),
            }),
        }
    }
}

/// Reads an address; none for a family other than IPv4 and IPv6.
///
/// # Safety
/// `pointer` is to a valid address of the family that it names.
pub(crate) unsafe fn read(pointer: *const libc::sockaddr) -> Option<SocketAddr> {
    // SAFETY: any address begins with its family.
    let family = libc::c_int::from(unsafe { (&raw const (*pointer).sa_family).read_unaligned() });
    match family {
        libc::AF_INET => {
            // SAFETY: it is of this family.
            let address = unsafe { pointer.cast::<libc::sockaddr_in>().read_unaligned() };
            let ip = Ipv4Addr::from(address.sin_addr.s_addr.to_ne_bytes());
            Some((ip, u16::from_be(address.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: it is of this family.
            let address = unsafe { pointer.cast::<libc::sockaddr_in6>().read_unaligned() };
            let ip = Ipv6Addr::from(address.sin6_addr.s6_addr);
            let port = u16::from_be(address.sin6_port);
            Some(SocketAddrV6::new(ip, port, address.sin6_flowinfo, address.sin6_scope_id).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back() {
        for text in ["100.64.0.2:5001", "[fd00::2]:65535"] {
            let address: SocketAddr = text.parse().unwrap();
            let raw = RawAddress::from(address);
            // SAFETY: made one line above.
            assert_eq!(unsafe { read(raw.pointer()) }, Some(address));
        }
    }
}
