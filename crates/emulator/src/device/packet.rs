//! An `AF_PACKET` socket at our side of a veth pair: frames out of a ring in shared memory (packet(7), TPACKET_V2), and in
//! by writing, behind a virtio-net header both ways.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::headers::{VNET, VnetHeader};

/// Of the end's device. Kept in step with `make_veth` in `helper/ends.c`.
const HARDWARE: [u8; 6] = *b"\x02twpth";
const ETHERNET: usize = 14;
const ETHERNET_MORE: i16 = 14;
const VERSION_4: [u8; 2] = [0x08, 0x00];
const VERSION_6: [u8; 2] = [0x86, 0xdd];

/// What one frame has room in, its headers included: `PAIR_FRAME` in `helper/netlink.c` bounds it.
const SLOT: usize = 1 << 14;
const SLOTS: usize = 1024;
const BLOCK: usize = 1 << 16;
const RING: usize = SLOT * SLOTS;

/// Most pieces of a frame, with the headers that come before.
const MAX_PIECES: usize = 72;

/// The socket and its ring, from which frames come.
#[derive(Debug)]
pub(super) struct PacketSocket {
    socket: OwnedFd,
    ring: Ring,
    next: usize,
    /// The kernel forgets what it has told.
    dropped: AtomicU64,
}

impl PacketSocket {
    /// Lets the socket hear the device of that name, which is where the socket is.
    pub(super) fn new(socket: OwnedFd, device: &str) -> io::Result<Self> {
        set(&socket, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as i32))?;
        set(&socket, libc::PACKET_VNET_HDR, &1_i32)?;
        set(&socket, libc::PACKET_IGNORE_OUTGOING, &1_i32)?;
        // Only saves time.
        let _ = set(&socket, libc::PACKET_QDISC_BYPASS, &1_i32);
        let shape = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (RING / BLOCK) as u32,
            tp_frame_size: SLOT as u32,
            tp_frame_nr: SLOTS as u32,
        };
        set(&socket, libc::PACKET_RX_RING, &shape)?;
        let ring = Ring::map(&socket)?;
        bind(&socket, index_of(&socket, device)?)?;
        Ok(Self { socket, ring, next: 0, dropped: AtomicU64::new(0) })
    }

    pub(super) fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    pub(super) fn clone_descriptor(&self) -> io::Result<OwnedFd> {
        self.socket.try_clone()
    }

    /// Copies the next frame out of the ring, its Ethernet header left out; `None` when none waits.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Option<usize> {
        loop {
            let slot = self.ring.slot(self.next);
            if slot.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return None;
            }
            let length = slot.copy(buffer);
            slot.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % SLOTS;
            match length {
                Taken::Frame(length) => return Some(length),
                Taken::Truncated => {
                    self.dropped.fetch_add(1, Ordering::Relaxed);
                }
                Taken::Foreign => {}
            }
        }
    }

    pub(super) fn write(&self, pieces: &[IoSlice<'_>]) -> io::Result<()> {
        write(&self.socket, pieces)
    }

    /// How many frames had no room in the ring so far.
    pub(super) fn dropped(&self) -> io::Result<u64> {
        let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        let (level, option) = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
        let value = (&raw mut statistics).cast();
        // SAFETY: the value is as large as its length says.
        if unsafe { libc::getsockopt(self.descriptor(), level, option, value, &raw mut length) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let news = u64::from(statistics.tp_drops);
        Ok(self.dropped.fetch_add(news, Ordering::Relaxed) + news)
    }
}

/// Writes a frame with an Ethernet header between its virtio-net header and the packet.
pub(super) fn write(socket: &OwnedFd, pieces: &[IoSlice<'_>]) -> io::Result<()> {
    let first = &pieces[0];
    let mut headers = [0; VNET + ETHERNET];
    let vnet = VnetHeader::read(first);
    vnet.moved(ETHERNET_MORE).write(&mut headers);
    headers[VNET..VNET + 6].copy_from_slice(&HARDWARE);
    headers[VNET + 6..VNET + 12].copy_from_slice(b"\x02twnea");
    let version_6 = first[VNET] >> 4 == 6;
    headers[VNET + 12..].copy_from_slice(if version_6 { &VERSION_6 } else { &VERSION_4 });
    let mut all = [IoSlice::new(&[]); MAX_PIECES];
    all[0] = IoSlice::new(&headers);
    all[1] = IoSlice::new(&first[VNET..]);
    all[2..=pieces.len()].copy_from_slice(&pieces[1..]);
    super::write(socket, &all[..=pieces.len()])
}

enum Taken {
    Frame(usize),
    /// Not of IP.
    Foreign,
    Truncated,
}

/// Memory shared with the kernel.
#[derive(Debug)]
struct Ring {
    start: NonNull<u8>,
}

// SAFETY: the memory belongs to the ring alone, which one thread uses at a time.
unsafe impl Send for Ring {}
// SAFETY: a shared ring gives only slots, whose words shared with the kernel are atomic; frames are copied through
// `PacketSocket::read`, which takes it exclusively.
unsafe impl Sync for Ring {}

impl Ring {
    fn map(socket: &OwnedFd) -> io::Result<Self> {
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, of the ring that the socket was just given.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), RING, rights, libc::MAP_SHARED, socket.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(start.cast())
            .map(|start| Self { start })
            .ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    fn slot(&self, index: usize) -> Slot {
        // SAFETY: the index is below the number of slots.
        Slot { start: unsafe { self.start.add(index * SLOT) } }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and no slot outlives it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), RING) };
    }
}

/// Room of one frame, behind a `struct tpacket2_hdr`.
struct Slot {
    start: NonNull<u8>,
}

impl Slot {
    /// Whose the slot is.
    fn status(&self) -> &AtomicU32 {
        // SAFETY: a slot starts with this word, aligned; both sides use it atomically.
        unsafe { self.start.cast::<AtomicU32>().as_ref() }
    }

    /// Copies the frame of a slot that is ours.
    fn copy(&self, buffer: &mut [u8]) -> Taken {
        // SAFETY: the kernel wrote the header before it gave us the slot.
        let header = unsafe { self.start.cast::<libc::tpacket2_hdr>().read() };
        let (start, length) = (usize::from(header.tp_mac), header.tp_snaplen as usize);
        if header.tp_snaplen != header.tp_len || start < VNET || start + length > SLOT {
            return Taken::Truncated;
        }
        let (first, count) = (start - VNET, VNET + length);
        // SAFETY: these bytes lie in the slot, and the kernel leaves them alone while it is ours.
        let bytes = unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(first), count) };
        let end = count.saturating_sub(ETHERNET);
        let (ethernet, packet) = bytes[VNET..].split_at(length.min(ETHERNET));
        if packet.is_empty() || ![VERSION_4, VERSION_6].iter().any(|kind| ethernet[12..] == *kind) {
            return Taken::Foreign;
        }
        VnetHeader::read(bytes).moved(-ETHERNET_MORE).write(buffer);
        buffer[VNET..end].copy_from_slice(packet);
        Taken::Frame(end)
    }
}

fn set<T>(socket: &OwnedFd, option: i32, value: &T) -> io::Result<()> {
    let (pointer, length) = ((&raw const *value).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the value is as large as its length says.
    match unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, option, pointer, length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Index of a device where the socket is.
fn index_of(socket: &OwnedFd, device: &str) -> io::Result<i32> {
    // SAFETY: all fields of the request may be zero.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *to = from.cast_signed() as libc::c_char;
    }
    // SAFETY: this request reads the name and writes the index.
    unsafe {
        match libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFINDEX, &raw mut request) {
            0 => Ok(request.ifr_ifru.ifru_ifindex),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn bind(socket: &OwnedFd, index: i32) -> io::Result<()> {
    // SAFETY: all fields of the address may be zero.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address is as large as its length says.
    match unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
