//! Frames of the meeting between the tunnel, which has the socket, and the process that has the meeting's key.
//!
//! A message is an address of IPv6 (one of IPv4 mapped into it), port u16, time to live u8, 0, scope u32, all big-endian, and the
//! frame. `agent.path_tunnel` has it too.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixDatagram;

use crate::device::is_later;
use crate::error::Error;

/// Bytes of a frame of the meeting that is sent, and what each begins with (`agent.meeting`); those that try sizes are longer.
pub(crate) const FRAME: usize = 64;
const MAGIC: [u8; 4] = *b"TWE1";
const BEFORE: usize = 24;

/// Whether bytes may be a frame of the meeting; the other side has the key to tell.
pub(crate) fn is_frame(bytes: &[u8]) -> bool {
    bytes.len() >= FRAME && bytes.starts_with(&MAGIC)
}

#[derive(Debug)]
pub(crate) struct Control(UnixDatagram);

impl Control {
    pub(crate) fn new(socket: OwnedFd) -> Result<Self, Error> {
        let socket = UnixDatagram::from(socket);
        socket.set_nonblocking(true).map_err(|error| Error::System("the control socket", error))?;
        Ok(Self(socket))
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// A frame to be sent, and where to; `None` when none waits.
    pub(crate) fn read(&self) -> Result<Option<(SocketAddr, [u8; FRAME])>, Error> {
        let mut message = [0; BEFORE + FRAME];
        match self.0.recv(&mut message) {
            Ok(count) if count == message.len() => Ok(read(&message)),
            Ok(_) => Ok(None),
            Err(error) if is_later(&error) => Ok(None),
            Err(error) => Err(Error::System("the control socket", error)),
        }
    }

    /// Hands over a frame that came; if nobody takes frames, it is lost, as on a path.
    pub(crate) fn write(&self, from: SocketAddr, hops: u8, frame: &[u8]) {
        let _: io::Result<usize> = self.0.send(&[&before(from, hops), frame].concat());
    }
}

fn read(message: &[u8; BEFORE + FRAME]) -> Option<(SocketAddr, [u8; FRAME])> {
    let address = Ipv6Addr::from(*message.first_chunk::<16>()?);
    let port = u16::from_be_bytes([message[16], message[17]]);
    let scope = u32::from_be_bytes(*message[20..].first_chunk()?);
    let to = match address.to_ipv4_mapped() {
        Some(address) => (address, port).into(),
        None => SocketAddrV6::new(address, port, 0, scope).into(),
    };
    Some((to, *message[BEFORE..].first_chunk()?))
}

fn before(from: SocketAddr, hops: u8) -> [u8; BEFORE] {
    let mut before = [0; BEFORE];
    let (address, scope) = match from {
        SocketAddr::V4(from) => (from.ip().to_ipv6_mapped(), 0),
        SocketAddr::V6(from) => (*from.ip(), from.scope_id()),
    };
    before[..16].copy_from_slice(&address.octets());
    before[16..18].copy_from_slice(&from.port().to_be_bytes());
    before[18] = hops;
    before[20..].copy_from_slice(&scope.to_be_bytes());
    before
}

/// Bytes of the headers of UDP and of IP for such an address.
pub(crate) fn outer_headers(address: IpAddr) -> usize {
    8 + if address.is_ipv4() { 20 } else { 40 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_as_they_were() {
        for text in ["192.0.2.7:5200", "[2001:db8::1]:64000", "[fe80::1%3]:1"] {
            let address: SocketAddr = text.parse().unwrap();
            let message = [&before(address, 9)[..], &[7; FRAME]].concat();
            assert_eq!(read(message.first_chunk().unwrap()), Some((address, [7; FRAME])));
        }
    }
}
