//! A TUN device of one end: frames in and out, and what the kernel dropped there.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// The device at one end of a path. A frame is a virtio-net header and an IP packet, which may hold many segments.
#[derive(Debug)]
pub struct Device {
    device: OwnedFd,
    netlink: OwnedFd,
    mtu: u16,
}

/// What the kernel counts at a device, in frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Sent by programs and taken in by the emulator, or waiting for it.
    pub sent: u64,
    /// Sent by programs, and dropped because the emulator did not keep up.
    pub sent_dropped: u64,
    /// Written by the emulator.
    pub received: u64,
    /// Written by the emulator, and dropped by the kernel.
    pub received_dropped: u64,
}

impl Device {
    pub(crate) fn new(device: OwnedFd, netlink: OwnedFd, mtu: u16) -> Self {
        Self { device, netlink, mtu }
    }

    /// The largest IP packet, in bytes.
    pub fn mtu(&self) -> u16 {
        self.mtu
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.device.as_raw_fd()
    }

    /// Reads one frame; `None` when none waits.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        // SAFETY: the buffer has that many bytes.
        let count = unsafe { libc::read(self.device.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
        match usize::try_from(count) {
            Ok(count) => Ok(Some(count)),
            Err(_) => none_if_it_would_block(),
        }
    }

    /// Writes one frame; an error when the kernel did not take it.
    pub(crate) fn write(&self, pieces: &[IoSlice<'_>]) -> io::Result<()> {
        let count = i32::try_from(pieces.len()).unwrap_or(i32::MAX);
        // SAFETY: IoSlice has the layout of iovec, and the pieces live on.
        match unsafe { libc::writev(self.device.as_raw_fd(), pieces.as_ptr().cast(), count) } {
            0.. => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// What the kernel counted so far.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn counters(&self) -> io::Result<DeviceCounters> {
        let mut buffer = [0_u8; 8192];
        let request = link_request();
        // SAFETY: the request has that many bytes.
        if unsafe { libc::send(self.netlink.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let pointer = buffer.as_mut_ptr().cast();
        // SAFETY: the buffer has that many bytes.
        let count = unsafe { libc::recv(self.netlink.as_raw_fd(), pointer, buffer.len(), 0) };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        find_counters(&buffer[..count]).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

fn none_if_it_would_block() -> io::Result<Option<usize>> {
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
        _ => Err(error),
    }
}

const HEADER: usize = 16; // struct nlmsghdr
const LINK: usize = 16; // struct ifinfomsg
const NAME: &[u8] = b"path0\0";

/// RTM_GETLINK by name (rtnetlink(7)).
fn link_request() -> [u8; HEADER + LINK + 12] {
    const LENGTH: usize = HEADER + LINK + 12;
    let mut request = [0; LENGTH];
    request[0..4].copy_from_slice(&(LENGTH as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&libc::RTM_GETLINK.to_ne_bytes());
    request[6..8].copy_from_slice(&(libc::NLM_F_REQUEST as u16).to_ne_bytes());
    request[32..34].copy_from_slice(&(4 + NAME.len() as u16).to_ne_bytes());
    request[34..36].copy_from_slice(&libc::IFLA_IFNAME.to_ne_bytes());
    request[36..36 + NAME.len()].copy_from_slice(NAME);
    request
}

/// The attribute IFLA_STATS64 of an answer: struct rtnl_link_stats64, from the kernel's side, where "received" is what
/// came out of the device's descriptor.
fn find_counters(message: &[u8]) -> Option<DeviceCounters> {
    let mut rest = message.get(HEADER + LINK..)?;
    loop {
        let length = usize::from(u16::from_ne_bytes([*rest.first()?, *rest.get(1)?]));
        if u16::from_ne_bytes([*rest.get(2)?, *rest.get(3)?]) == libc::IFLA_STATS64 {
            let word = |index: usize| {
                rest.get(4 + 8 * index..12 + 8 * index)?.try_into().ok().map(u64::from_ne_bytes)
            };
            return Some(DeviceCounters {
                received: word(0)?,
                sent: word(1)?,
                received_dropped: word(4)? + word(6)?,
                sent_dropped: word(5)? + word(7)?,
            });
        }
        rest = rest.get(length.next_multiple_of(4).max(4)..)?;
    }
}
