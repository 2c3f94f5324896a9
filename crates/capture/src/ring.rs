//! The ring of blocks that the kernel fills with frames (packet(7), `TPACKET_V3`).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::error::Error;
use crate::socket::{check, pending_error, set};

const BLOCK: usize = 1 << 20;
/// The kernel wants one, and packs frames closer than that.
const FRAME: usize = 1 << 11;
/// A block that is not full is handed over after this time.
pub(crate) const RETIREMENT: Duration = Duration::from_millis(20);

/// One frame, as far as it was kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    /// When the kernel saw it, since 1970.
    pub(crate) time: Duration,
    /// Bytes that it has.
    pub(crate) length: u32,
    /// Whether this machine sent it.
    pub(crate) is_outgoing: bool,
    /// Bytes of payload of each packet, where the frame is several in one; else 0.
    pub(crate) segment: u16,
    pub(crate) bytes: &'a [u8],
}

/// Memory shared with the kernel.
#[derive(Debug)]
pub(crate) struct Ring {
    start: NonNull<u8>,
    blocks: usize,
    next: usize,
    shows_segments: bool,
}

// SAFETY: the memory belongs to the ring alone, which one thread uses at a time.
unsafe impl Send for Ring {}

impl Ring {
    /// A ring of about so many bytes, of a socket that shows segments or not.
    pub(crate) fn new(socket: &OwnedFd, bytes: usize, shows_segments: bool) -> Result<Self, Error> {
        const WHAT: &str = "a ring of packets";
        let blocks = (bytes / BLOCK).max(2);
        set(
            socket,
            libc::SOL_PACKET,
            libc::PACKET_VERSION,
            &(libc::tpacket_versions::TPACKET_V3 as i32),
            WHAT,
        )?;
        let shape = libc::tpacket_req3 {
            tp_block_size: BLOCK as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: FRAME as u32,
            tp_frame_nr: (blocks * (BLOCK / FRAME)) as u32,
            tp_retire_blk_tov: RETIREMENT.as_millis() as u32,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        set(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &shape, WHAT)?;
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let (descriptor, length) = (socket.as_raw_fd(), blocks * BLOCK);
        // SAFETY: a new mapping, of the ring that the socket was just given.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), length, rights, libc::MAP_SHARED, descriptor, 0) };
        let start = NonNull::new(start.cast()).filter(|_| start != libc::MAP_FAILED);
        let start = start.ok_or_else(|| Error::System(WHAT, io::Error::last_os_error()))?;
        Ok(Self { start, blocks, next: 0, shows_segments })
    }

    /// Waits for a block, until the patience ends; whether there is one.
    pub(crate) fn wait(&self, socket: &OwnedFd, patience: Duration) -> Result<bool, Error> {
        if self.has_block() {
            return Ok(true);
        }
        let mut asked = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let patience = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: one entry, which is there.
        match check("waiting for packets", unsafe { libc::poll(&raw mut asked, 1, patience) }) {
            Err(Error::System(_, error)) if error.kind() == io::ErrorKind::Interrupted => {}
            other => other?,
        }
        if asked.revents & libc::POLLERR != 0 && !self.has_block() {
            return Err(Error::System("the interface", pending_error(socket)));
        }
        Ok(self.has_block())
    }

    /// Gives every frame of the next block to `take`, and the block back to the kernel.
    pub(crate) fn read_block(&mut self, mut take: impl FnMut(Frame<'_>)) {
        if !self.has_block() {
            return;
        }
        let start = self.block();
        // SAFETY: the kernel wrote the block's head before it gave us the block.
        let head = unsafe { (*start.cast::<libc::tpacket_block_desc>().as_ptr()).hdr.bh1 };
        let mut at = head.offset_to_first_pkt as usize;
        for _ in 0..head.num_pkts {
            if at + size_of::<libc::tpacket3_hdr>() > BLOCK {
                break;
            }
            // SAFETY: inside the block, aligned by the kernel, which wrote it and leaves it alone while it is ours.
            let header = unsafe { &*start.as_ptr().add(at).cast::<libc::tpacket3_hdr>() };
            if let Some(frame) = self.frame(at, header) {
                take(frame);
            }
            at += header.tp_next_offset as usize;
        }
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.blocks;
    }

    fn frame(&self, at: usize, header: &libc::tpacket3_hdr) -> Option<Frame<'_>> {
        let (first, length) = (at + usize::from(header.tp_mac), header.tp_snaplen as usize);
        if first + length > BLOCK {
            return None;
        }
        let address = at + size_of::<libc::tpacket3_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);
        // SAFETY: the kernel puts the frame's address behind its header, inside the block.
        let kind = unsafe { (*self.block().as_ptr().add(address).cast::<libc::sockaddr_ll>()).sll_pkttype };
        // SAFETY: these bytes lie in the block, and the kernel leaves them alone while it is ours.
        let bytes = unsafe { std::slice::from_raw_parts(self.block().as_ptr().add(first), length) };
        let segment = if self.shows_segments { self.segment(first) } else { 0 };
        Some(Frame {
            time: Duration::new(header.tp_sec.into(), header.tp_nsec),
            length: header.tp_len,
            is_outgoing: kind == libc::PACKET_OUTGOING,
            segment,
            bytes,
        })
    }

    /// The size of segments, of the header of virtio that the kernel puts before a frame.
    fn segment(&self, frame: usize) -> u16 {
        const HEADER: usize = 10;
        let Some(at) = frame.checked_sub(HEADER) else { return 0 };
        // SAFETY: these bytes lie in the block, and the kernel leaves them alone while it is ours.
        let header = unsafe { std::slice::from_raw_parts(self.block().as_ptr().add(at), HEADER) };
        if header[1] == 0 { 0 } else { u16::from_ne_bytes([header[4], header[5]]) }
    }

    fn has_block(&self) -> bool {
        self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    fn block(&self) -> NonNull<u8> {
        // SAFETY: the index is below the number of blocks.
        unsafe { self.start.add(self.next * BLOCK) }
    }

    /// Whose the next block is.
    fn status(&self) -> &AtomicU32 {
        let offset = std::mem::offset_of!(libc::tpacket_block_desc, hdr);
        // SAFETY: the block's head is aligned, and begins with this word; both sides use it atomically.
        unsafe { self.block().add(offset).cast::<AtomicU32>().as_ref() }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and no frame outlives it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.blocks * BLOCK) };
    }
}
