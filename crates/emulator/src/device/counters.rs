//! What the kernel counts at a device, by rtnetlink(7).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

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

const HEADER: usize = 16; // struct nlmsghdr
const LINK: usize = 16; // struct ifinfomsg
const NAME: usize = libc::IFNAMSIZ;
const REQUEST: usize = HEADER + LINK + 4 + NAME;

/// The counters of the device of that name, where the netlink socket is.
pub(super) fn ask(netlink: &OwnedFd, name: &str) -> io::Result<DeviceCounters> {
    let mut buffer = [0_u8; 8192];
    let request = link_request(name);
    // SAFETY: the request has that many bytes.
    if unsafe { libc::send(netlink.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    let pointer = buffer.as_mut_ptr().cast();
    // SAFETY: the buffer has that many bytes.
    let count = unsafe { libc::recv(netlink.as_raw_fd(), pointer, buffer.len(), 0) };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    find_counters(&buffer[..count]).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// RTM_GETLINK by name.
fn link_request(name: &str) -> [u8; REQUEST] {
    let mut request = [0; REQUEST];
    request[0..4].copy_from_slice(&(REQUEST as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&libc::RTM_GETLINK.to_ne_bytes());
    request[6..8].copy_from_slice(&(libc::NLM_F_REQUEST as u16).to_ne_bytes());
    request[32..34].copy_from_slice(&(4 + NAME as u16).to_ne_bytes());
    request[34..36].copy_from_slice(&libc::IFLA_IFNAME.to_ne_bytes());
    let length = name.len().min(NAME - 1);
    request[36..36 + length].copy_from_slice(&name.as_bytes()[..length]);
    request
}

/// The attribute IFLA_STATS64 of an answer: struct rtnl_link_stats64, from the kernel's side, where "received" is what
/// the emulator wrote.
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
