//! Reading what a program prints: keep up to a limit, count the rest.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use crate::{Error, Sink, descriptor};

/// Bytes asked for at once.
const READ_SIZE: usize = 1 << 16;

/// What a program printed on one descriptor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The bytes kept in memory; empty when they went to a file.
    pub bytes: Vec<u8>,
    /// All that were printed, kept or not.
    pub total: u64,
}

/// The reading end of a pipe and where its bytes go.
pub(crate) struct Capture {
    /// `None` once every writer has closed it.
    pipe: Option<OwnedFd>,
    pub(crate) pipe_size: usize,
    file: Option<File>,
    /// Bytes that may still be kept.
    room: u64,
    captured: Captured,
    discard: OwnedFd,
}

impl Capture {
    /// A capture into `sink`, and the end that the program writes to.
    pub(crate) fn new(sink: &Sink) -> Result<(Self, OwnedFd), Error> {
        let file = sink
            .file
            .as_ref()
            .map(|path| File::create(path).map_err(|source| Error::Output { path: path.clone(), source }));
        let discard = File::options().write(true).open("/dev/null");
        let discard = discard.map_err(|source| Error::System { attempt: "opening /dev/null", source })?;
        let (read, write) = descriptor::pipe()?;
        let capture = Self {
            pipe_size: descriptor::enlarge(&read),
            pipe: Some(read),
            file: file.transpose()?,
            room: sink.limit,
            captured: Captured::default(),
            discard: discard.into(),
        };
        Ok((capture, write))
    }

    /// What to poll, -1 when nothing more can come.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.pipe.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// Takes what is in the pipe now; returns how many bytes that were.
    pub(crate) fn drain(&mut self) -> io::Result<u64> {
        let before = self.captured.total;
        // One pipe full and no more: the other descriptors have their turn.
        while self.pipe.is_some() && self.captured.total - before < self.pipe_size as u64 {
            let taken = if self.room > 0 { self.keep()? } else { self.throw_away()? };
            match taken {
                Some(0) => self.pipe = None,
                Some(count) => self.captured.total += count,
                None => break,
            }
        }
        Ok(self.captured.total - before)
    }

    /// What was captured.
    pub(crate) fn finish(self) -> Captured {
        self.captured
    }

    fn keep(&mut self) -> io::Result<Option<u64>> {
        let most = READ_SIZE.min(usize::try_from(self.room).unwrap_or(usize::MAX));
        let descriptor = self.descriptor();
        let kept = &mut self.captured.bytes;
        let before = kept.len();
        // Reserved and not zeroed: a program that prints nothing costs no page.
        kept.reserve(most);
        // SAFETY: `kept` has room for `most` bytes after its `before`.
        let count = unsafe { libc::read(descriptor, kept.as_mut_ptr().add(before).cast(), most) };
        let Some(count) = counted(count)? else { return Ok(None) };
        // SAFETY: the kernel has just written that many bytes there.
        unsafe { kept.set_len(before + count as usize) };
        if let Some(file) = &mut self.file {
            file.write_all(kept)?;
            kept.clear();
        }
        self.room -= count;
        Ok(Some(count))
    }

    /// Moves pages from the pipe to /dev/null, which copies nothing.
    fn throw_away(&mut self) -> io::Result<Option<u64>> {
        let (from, to) = (self.descriptor(), self.discard.as_raw_fd());
        let none = std::ptr::null_mut();
        // SAFETY: both descriptors are open and no offsets are given.
        let count = unsafe { libc::splice(from, none, to, none, self.pipe_size, libc::SPLICE_F_NONBLOCK) };
        counted(count)
    }
}

/// A count, or `None` when there is nothing now.
fn counted(result: isize) -> io::Result<Option<u64>> {
    match u64::try_from(result) {
        Ok(count) => Ok(Some(count)),
        Err(_) => match io::Error::last_os_error() {
            error if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(None)
            }
            error => Err(error),
        },
    }
}
