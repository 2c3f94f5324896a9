//! When frames came to a TUN device: a BPF program that the device runs on each stamps it (`TUNSETFILTEREBPF`, tun.c), so that
//! a frame may wait for its reading and has its arrival nevertheless.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::wake::owned;

/// `DEVICE_QUEUE` of `namespaces.rs` and more: a frame that finds no place here is dropped, and counted, as one is that finds
/// none in the queue. So every frame that is stamped has a place in the queue.
const PLACES: u64 = 4096;
const IN_QUEUE: u64 = PLACES - 64;
/// `_IOR('T', 225, int)` of linux/if_tun.h.
const SET_FILTER: libc::c_ulong = 0x8004_54e1;
const MAP_CREATE: i32 = 0;
const PROGRAM_LOAD: i32 = 5;
const ARRAY: u32 = 2;
const MAPPABLE: u32 = 1 << 10;
const SOCKET_FILTER: u32 = 1;

/// What program and emulator share.
#[repr(C)]
struct Shared {
    /// Frames stamped so far, by the program.
    stamped: AtomicU64,
    /// Frames read so far, by the emulator.
    read: AtomicU64,
    /// Nanoseconds on `CLOCK_MONOTONIC`, and bytes.
    stamps: [[AtomicU64; 2]; PLACES as usize],
}

/// The stamps of one device, in the order of its frames.
#[derive(Debug)]
pub(super) struct Stamps {
    shared: NonNull<Shared>,
    read: u64,
}

// SAFETY: the memory belongs to the stamps alone, and its words are atomic.
unsafe impl Send for Stamps {}
// SAFETY: as above.
unsafe impl Sync for Stamps {}

impl Stamps {
    /// Lets the device stamp its frames from now on.
    ///
    /// # Errors
    /// Where the kernel, or the rights of this process, do not permit such a program.
    pub(super) fn attach(device: &OwnedFd) -> io::Result<Self> {
        let map = make_map()?;
        let shared = map_memory(&map)?;
        let stamps = Self { shared, read: 0 };
        let program = load(&program(map.as_raw_fd()))?;
        set_program(device, program.as_raw_fd())?;
        Ok(stamps)
    }

    /// Lets the device stamp no more.
    pub(super) fn detach(device: &OwnedFd) {
        // There is nothing else to be done, and it cannot fail where it did not before.
        let _ = set_program(device, -1);
    }

    /// Whether every frame that came before was read.
    pub(super) fn all_are_read(&self) -> bool {
        self.shared().stamped.load(Ordering::Acquire) == self.read
    }

    /// When the frame came, of this length, that was read just now, ns; `None` when stamps and frames are not in step.
    pub(super) fn take(&mut self, length: usize) -> Option<u64> {
        let [time, bytes] = &self.shared().stamps[(self.read % PLACES) as usize];
        let (time, bytes) = (time.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed));
        if self.all_are_read() || bytes != length as u64 {
            return None;
        }
        self.read += 1;
        self.shared().read.store(self.read, Ordering::Release);
        Some(time)
    }

    fn shared(&self) -> &Shared {
        // SAFETY: the mapping lives as long as this.
        unsafe { self.shared.as_ref() }
    }
}

impl Drop for Stamps {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length.
        unsafe { libc::munmap(self.shared.as_ptr().cast(), size_of::<Shared>()) };
    }
}

fn make_map() -> io::Result<OwnedFd> {
    bpf(MAP_CREATE, &[ARRAY, size_of::<u32>() as u32, size_of::<Shared>() as u32, 1, MAPPABLE])
}

fn map_memory(map: &OwnedFd) -> io::Result<NonNull<Shared>> {
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let length = size_of::<Shared>();
    // SAFETY: a new mapping, of a map whose value has that length and begins with zeros.
    let start =
        unsafe { libc::mmap(std::ptr::null_mut(), length, rights, libc::MAP_SHARED, map.as_raw_fd(), 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(start.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// Instructions, as `struct bpf_insn` has them.
fn program(map: RawFd) -> Vec<u64> {
    let instruction = |code: u8, to: u8, from: u8, offset: i16, value: i32| {
        u64::from(code)
            | u64::from(from << 4 | to) << 8
            | u64::from(offset.cast_unsigned()) << 16
            | u64::from(value.cast_unsigned()) << 32
    };
    vec![
        instruction(0xbf, 6, 1, 0, 0),                 // r6 = frame
        instruction(0x18, 7, 2, 0, map),               // r7 = the value of the map
        0,                                             //
        instruction(0x79, 0, 7, 0, 0),                 // r0 = stamped
        instruction(0x79, 1, 7, 8, 0),                 // r1 = read
        instruction(0x1f, 0, 1, 0, 0),                 // r0 -= r1
        instruction(0x35, 0, 0, 11, IN_QUEUE as i32),  // to the last but one if r0 >= IN_QUEUE
        instruction(0xb7, 8, 0, 0, 1),                 // r8 = 1
        instruction(0xdb, 7, 8, 0, 1),                 // r8 = stamped, stamped += 1, atomically
        instruction(0x57, 8, 0, 0, PLACES as i32 - 1), // r8 %= PLACES
        instruction(0x67, 8, 0, 0, 4),                 // r8 *= 16, the bytes of a stamp
        instruction(0x85, 0, 0, 0, 5),                 // r0 = ktime_get_ns()
        instruction(0x0f, 7, 8, 0, 0),                 // r7 += r8
        instruction(0x7b, 7, 0, 16, 0),                // time = r0
        instruction(0x61, 0, 6, 0, 0),                 // r0 = bytes of the frame
        instruction(0x7b, 7, 0, 24, 0),                // bytes = r0
        instruction(0xb7, 0, 0, 0, -1),                // r0 = all of it
        instruction(0x95, 0, 0, 0, 0),                 // return r0
        instruction(0xb7, 0, 0, 0, 0),                 // r0 = nothing
        instruction(0x95, 0, 0, 0, 0),                 // return r0
    ]
}

fn set_program(device: &OwnedFd, program: RawFd) -> io::Result<()> {
    // SAFETY: the request reads the descriptor.
    match unsafe { libc::ioctl(device.as_raw_fd(), SET_FILTER as _, &raw const program) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What the command `BPF_PROG_LOAD` of bpf(2) reads.
#[repr(C)]
struct Program {
    kind: u32,
    count: u32,
    instructions: *const u64,
    license: *const libc::c_char,
}

fn load(instructions: &[u64]) -> io::Result<OwnedFd> {
    let count = instructions.len() as u32;
    let license = c"Apache-2.0".as_ptr();
    bpf(PROGRAM_LOAD, &Program { kind: SOCKET_FILTER, count, instructions: instructions.as_ptr(), license })
}

/// A new descriptor by bpf(2). What the attributes leave out is zero.
fn bpf<T>(command: i32, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the attributes are as large as is said, and what they point at lives on.
    let made = unsafe { libc::syscall(libc::SYS_bpf, command, &raw const *attributes, size_of::<T>()) };
    // Descriptors are small numbers.
    owned(made as RawFd)
}
