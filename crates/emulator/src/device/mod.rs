//! The device of one end: frames in and out, and what the kernel dropped there.

mod counters;
mod packet;
mod stamps;

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

pub use counters::DeviceCounters;
use packet::PacketSocket;
use stamps::Stamps;

use crate::clock;
use crate::headers::VNET;

/// A frame that was stamped and does not come for so many nanoseconds never comes: stamps and frames are out of step.
const LOST: u64 = 100_000_000;

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
    Tun(Tun),
    Packet(PacketSocket),
}

#[derive(Debug)]
struct Tun {
    device: OwnedFd,
    /// Where the kernel stamps what comes.
    stamps: Option<Stamps>,
    /// Since when a frame that was stamped has not come.
    missing: Option<u64>,
}

/// A frame that was read.
pub(crate) struct Frame {
    pub(crate) length: usize,
    /// When it came, ns on `CLOCK_MONOTONIC`, where the kernel stamped it.
    pub(crate) came: Option<u64>,
}

impl Device {
    /// A TUN device of that name behind its descriptor.
    pub(crate) fn tun(device: OwnedFd, netlink: OwnedFd, name: String, mtu: u16) -> Self {
        let stamps = Stamps::attach(&device).ok();
        Self { port: Port::Tun(Tun { device, stamps, missing: None }), netlink, name, mtu }
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
            Port::Tun(tun) => tun.device.as_raw_fd(),
            Port::Packet(socket) => socket.descriptor(),
        }
    }

    /// What can write frames to this device beside it.
    pub(crate) fn writer(&self) -> io::Result<Writer> {
        Ok(match &self.port {
            Port::Tun(tun) => Writer::Tun(tun.device.try_clone()?),
            Port::Packet(socket) => Writer::Packet(socket.clone_descriptor()?),
        })
    }

    /// Reads one frame; `None` when none waits.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<Frame>> {
        match &mut self.port {
            Port::Tun(tun) => tun.read(buffer),
            Port::Packet(socket) => Ok(socket.read(buffer).map(|length| Frame { length, came: None })),
        }
    }

    /// Whether it says of what comes when that was, however late it is read.
    pub(crate) fn stamps(&self) -> bool {
        matches!(&self.port, Port::Tun(Tun { stamps: Some(_), .. }))
    }

    /// Writes one frame; an error when the kernel did not take it.
    pub(crate) fn write(&self, pieces: &[IoSlice<'_>]) -> io::Result<()> {
        match &self.port {
            Port::Tun(tun) => write(&tun.device, pieces),
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

impl Tun {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<Frame>> {
        let Some(stamps) = &mut self.stamps else {
            return Ok(read(&self.device, buffer)?.map(|length| Frame { length, came: None }));
        };
        if stamps.all_are_read() {
            return Ok(None);
        }
        let Some(length) = read(&self.device, buffer)? else {
            let now = clock::nanoseconds(libc::CLOCK_MONOTONIC).cast_unsigned();
            if now - *self.missing.get_or_insert(now) > LOST {
                self.stop_stamping();
            }
            return Ok(None);
        };
        self.missing = None;
        let came = stamps.take(length - VNET);
        if came.is_none() {
            self.stop_stamping();
        }
        Ok(Some(Frame { length, came }))
    }

    /// Stamps that are not in step would tell of other frames.
    fn stop_stamping(&mut self) {
        Stamps::detach(&self.device);
        self.stamps = None;
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

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::end::End;
    use crate::namespaces::{NamespaceSettings, Namespaces};

    /// IP and UDP before a payload.
    const HEADERS: usize = VNET + 28;

    fn monotonic() -> u64 {
        clock::nanoseconds(libc::CLOCK_MONOTONIC).cast_unsigned()
    }

    /// The sender's end where the kernel stamps what is sent there; none where this machine or user may not have it.
    fn stamping() -> Option<(Namespaces, Device)> {
        let settings = NamespaceSettings::default();
        if settings.user_namespace {
            return None;
        }
        let (namespaces, [sender, _]) = Namespaces::make(settings).ok()?;
        sender.stamps().then_some((namespaces, sender))
    }

    /// Sends datagrams of these sizes; before and after which instant each was.
    fn send(namespaces: &Namespaces, sizes: &[usize]) -> Vec<[u64; 2]> {
        thread::scope(|scope| {
            let sender = scope.spawn(|| {
                namespaces.enter(End::Sender).unwrap();
                let socket = UdpSocket::bind((End::Sender.address(), 0)).unwrap();
                let send = |size: &usize| {
                    let before = monotonic();
                    socket.send_to(&vec![0; *size], (End::Receiver.address(), 9)).unwrap();
                    [before, monotonic()]
                };
                sizes.iter().map(send).collect()
            });
            sender.join().unwrap()
        })
    }

    /// Sizes of the payload, and arrivals, of all that waits.
    fn read_all(device: &mut Device) -> Vec<(usize, Option<u64>)> {
        let mut buffer = vec![0; 1 << 17];
        let read = || device.read(&mut buffer).unwrap().map(|frame| (frame.length - HEADERS, frame.came));
        std::iter::from_fn(read).collect()
    }

    #[test]
    fn a_frame_came_when_it_was_sent_however_late_it_is_read() {
        let Some((namespaces, mut device)) = stamping() else { return };
        // More than the queue takes, twice.
        let sizes: Vec<usize> = (0..5000).map(|number| 1 + number % 700).collect();
        for _ in 0..2 {
            let dropped = device.counters().unwrap().sent_dropped;
            let sent = send(&namespaces, &sizes);
            thread::sleep(Duration::from_millis(20));
            let found = read_all(&mut device);
            let dropped = device.counters().unwrap().sent_dropped - dropped;
            assert!(dropped > 0);
            assert_eq!(found.len() as u64 + dropped, 5000);
            for ((size, came), (sent_size, [before, after])) in found.into_iter().zip(sizes.iter().zip(sent))
            {
                assert_eq!(size, *sent_size);
                assert!((before..=after).contains(&came.unwrap()));
            }
        }
    }

    #[test]
    fn stamps_out_of_step_are_used_no_more_and_frames_go_on() {
        let Some((namespaces, mut device)) = stamping() else { return };
        send(&namespaces, &[10, 20, 30]);
        let Port::Tun(Tun { stamps: Some(stamps), .. }) = &mut device.port else { panic!() };
        stamps.take(10 + HEADERS - VNET).unwrap();
        assert_eq!(read_all(&mut device), [10, 20, 30].map(|size| (size, None)));
        assert!(!device.stamps());
        for _ in 0..3 {
            send(&namespaces, &[40; 2000]);
            assert_eq!(read_all(&mut device), [(40, None); 2000]);
        }
        assert_eq!(device.counters().unwrap().sent_dropped, 0);
    }

    #[test]
    fn a_stamp_whose_frame_does_not_come_ends_the_stamping() {
        let Some((namespaces, mut device)) = stamping() else { return };
        send(&namespaces, &[10, 10]);
        let mut buffer = vec![0; 1 << 17];
        let Port::Tun(tun) = &mut device.port else { panic!() };
        read(&tun.device, &mut buffer).unwrap();
        assert_eq!(read_all(&mut device).len(), 1);
        assert!(device.stamps());
        thread::sleep(Duration::from_millis(110));
        assert_eq!(read_all(&mut device), []);
        assert!(!device.stamps());
    }
}
