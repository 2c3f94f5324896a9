//! The device of one end: frames in and out, and what the kernel dropped there.

mod counters;
mod packet;

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

pub use counters::DeviceCounters;
use packet::PacketSocket;

/// How the emulator takes packets from an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// The end's device is a TUN device, whose descriptor the emulator has.
    Tun,
    /// The end's device is one side of a veth pair, and the emulator has an `AF_PACKET` socket at the other.
    Packet,
}

/// The device at one end of a path. A frame is a virtio-net header and an IP packet, which may hold many segments.
#[derive(Debug)]
pub struct Device {
    port: Port,
    netlink: OwnedFd,
    name: String,
    mtu: u16,
}

#[derive(Debug)]
enum Port {
    Tun(OwnedFd),
    Packet(PacketSocket),
}

impl Device {
    /// A TUN device of that name behind its descriptor.
    pub(crate) fn tun(device: OwnedFd, netlink: OwnedFd, name: String, mtu: u16) -> Self {
        Self { port: Port::Tun(device), netlink, name, mtu }
    }

    /// One side of a veth pair of that name; `near` is the other, which the socket is to hear.
    pub(crate) fn packet(
        socket: OwnedFd,
        netlink: OwnedFd,
        name: String,
        near: &str,
        mtu: u16,
    ) -> io::Result<Self> {
        Ok(Self { port: Port::Packet(PacketSocket::new(socket, near)?), netlink, name, mtu })
    }

    /// The largest IP packet, in bytes.
    pub fn mtu(&self) -> u16 {
        self.mtu
    }

    /// What it is.
    pub fn kind(&self) -> DeviceKind {
        match self.port {
            Port::Tun(_) => DeviceKind::Tun,
            Port::Packet(_) => DeviceKind::Packet,
        }
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        match &self.port {
            Port::Tun(device) => device.as_raw_fd(),
            Port::Packet(socket) => socket.descriptor(),
        }
    }

    /// What can write frames to this device beside it.
    pub(crate) fn writer(&self) -> io::Result<Writer> {
        Ok(match &self.port {
            Port::Tun(device) => Writer::Tun(device.try_clone()?),
            Port::Packet(socket) => Writer::Packet(socket.clone_descriptor()?),
        })
    }

    /// Reads one frame; `None` when none waits.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match &mut self.port {
            Port::Tun(device) => read(device, buffer),
            Port::Packet(socket) => Ok(socket.read(buffer)),
        }
    }

    /// Writes one frame; an error when the kernel did not take it.
    pub(crate) fn write(&self, pieces: &[IoSlice<'_>]) -> io::Result<()> {
        match &self.port {
            Port::Tun(device) => write(device, pieces),
            Port::Packet(socket) => socket.write(pieces),
        }
    }

    /// What the kernel counted so far.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn counters(&self) -> io::Result<DeviceCounters> {
        let mut counters = counters::ask(&self.netlink, &self.name)?;
        if let Port::Packet(socket) = &self.port {
            counters.sent_dropped += socket.dropped()?;
        }
        Ok(counters)
    }
}

/// Writes whole frames to a device from another thread than the emulator's.
pub(crate) enum Writer {
    Tun(OwnedFd),
    Packet(OwnedFd),
}

impl Writer {
    pub(crate) fn write(&self, frame: &[u8]) -> io::Result<()> {
        match self {
            Self::Tun(device) => write(device, &[IoSlice::new(frame)]),
            Self::Packet(socket) => packet::write(socket, &[IoSlice::new(frame)]),
        }
    }
}

fn read(device: &OwnedFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    // SAFETY: the buffer has that many bytes.
    let count = unsafe { libc::read(device.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
    match usize::try_from(count) {
        Ok(count) => Ok(Some(count)),
        Err(_) => none_if_it_would_block(),
    }
}

fn write(descriptor: &OwnedFd, pieces: &[IoSlice<'_>]) -> io::Result<()> {
    let count = i32::try_from(pieces.len()).unwrap_or(i32::MAX);
    // SAFETY: IoSlice has the layout of iovec, and the pieces live on.
    match unsafe { libc::writev(descriptor.as_raw_fd(), pieces.as_ptr().cast(), count) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn none_if_it_would_block() -> io::Result<Option<usize>> {
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
        _ => Err(error),
    }
}
