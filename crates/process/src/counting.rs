//! Counters that are read while what they count goes on (`perf_event_open(2)`).

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::FromRawFd;

use crate::Counter;

/// What a counter has come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// As it was counted, while the counter had its turn.
    pub raw: u64,
    /// Nanoseconds that the threads ran in which it was on.
    pub enabled_ns: u64,
    /// Those of them in which it had its turn on the processor.
    pub running_ns: u64,
}

impl Count {
    /// The share of the time in which it counted: 1 unless counters took turns, or nothing was there to be counted.
    #[must_use]
    pub fn share(&self) -> f64 {
        if self.enabled_ns > 0 { self.running_ns as f64 / self.enabled_ns as f64 } else { 1.0 }
    }

    /// The count scaled to the whole time; None where it never had its turn.
    #[must_use]
    pub fn scaled(&self) -> Option<f64> {
        let share = self.share();
        (share > 0.0).then(|| self.raw as f64 / share)
    }
}

/// One counter that counts, of one program or several threads.
#[derive(Debug)]
pub struct Counting {
    counters: Vec<File>,
}

impl Counting {
    /// Counts what the calling thread starts from now on, each from when it becomes a program, with all that it starts.
    ///
    /// # Errors
    /// That of perf_event_open(2): ENOENT or EOPNOTSUPP where the machine does not have it, EACCES or EPERM where this user
    /// may not.
    pub fn of_next(counter: &Counter) -> io::Result<Self> {
        Ok(Self { counters: vec![open(counter, 0, DISABLED | ENABLE_ON_EXEC)?] })
    }

    /// Counts these threads, and what they start from now on.
    ///
    /// # Errors
    /// As above; ESRCH where none of the threads is there any more.
    pub fn of_threads(counter: &Counter, threads: &[i32]) -> io::Result<Self> {
        let mut counters = Vec::with_capacity(threads.len());
        for thread in threads {
            match open(counter, *thread, 0) {
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                opened => counters.push(opened?),
            }
        }
        if counters.is_empty() {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        Ok(Self { counters })
    }

    /// The count so far, over all threads, those that ended among them.
    ///
    /// # Errors
    /// That of read(2).
    pub fn read(&self) -> io::Result<Count> {
        let mut total = Count::default();
        for mut counter in &self.counters {
            let mut told = [0; 24];
            counter.read_exact(&mut told)?;
            let number = |at: usize| told[at..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
            total.raw += number(0);
            total.enabled_ns += number(8);
            total.running_ns += number(16);
        }
        Ok(total)
    }
}

/// The threads of a process.
///
/// # Errors
/// There is no such process.
pub fn threads_of(process: i32) -> io::Result<Vec<i32>> {
    let entries = fs::read_dir(format!("/proc/{process}/task"))?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// `struct perf_event_attr` of linux/perf_event.h in its first version, which every kernel takes.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    address: u64,
}

const DISABLED: u64 = 1;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const ENABLE_ON_EXEC: u64 = 1 << 12;
const BOTH_TIMES: u64 = 3;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

fn open(counter: &Counter, thread: i32, flags: u64) -> io::Result<File> {
    let scope = if counter.user_only() { EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR } else { 0 };
    let bits = flags | scope | INHERIT;
    let (kind, config) = counter.numbers();
    let attributes = Attributes {
        kind,
        size: size_of::<Attributes>() as u32,
        config,
        read_format: BOTH_TIMES,
        // They are bit fields, whose order is that of the bytes.
        flags: if cfg!(target_endian = "big") { bits.reverse_bits() } else { bits },
        ..Attributes::default()
    };
    // SAFETY: the attributes are as large as they say; -1, -1: on any CPU, in no group.
    let descriptor = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const attributes, thread, -1, -1, CLOSE_ON_EXEC)
    };
    match i32::try_from(descriptor) {
        // SAFETY: it was just made and belongs to nobody else.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { File::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    }
}
