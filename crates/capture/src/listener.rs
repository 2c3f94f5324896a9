//! Frames of an interface, whoever takes them.

use std::os::fd::OwnedFd;
use std::time::Duration;

use crate::error::Error;
use crate::headers::Link;
use crate::ring::{Frame, RETIREMENT, Ring};
use crate::socket::{self, Filter};

/// Bytes of the kernel's ring: two seconds at 100,000 packets/s.
const RING: usize = 64 << 20;

/// An interface that is heard.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: OwnedFd,
    ring: Ring,
    pub(crate) link: Link,
    /// Every packet of the loopback interface goes out and comes in.
    pub(crate) is_loopback: bool,
}

impl Listener {
    /// Begins to hear an interface; where `merged`, frames come whole, with the segments' size of
    /// those that are several packets in one.
    ///
    /// # Errors
    /// No permission, no such interface, one whose frames are not decoded, or no memory.
    pub(crate) fn open(interface: &str, merged: bool) -> Result<Self, Error> {
        let socket = socket::open()?;
        let (index, link, is_loopback) = socket::find(&socket, interface)?;
        if merged {
            socket::show_segments(&socket)?;
        }
        let ring = Ring::new(&socket, RING, merged)?;
        socket::stamp(&socket)?;
        socket::let_through(&socket, if merged { Filter::Whole } else { Filter::Heads })?;
        socket::bind(&socket, index)?;
        Ok(Self { socket, ring, link, is_loopback })
    }

    /// Waits for frames, until the patience ends; whether there are any.
    pub(crate) fn wait(&self, patience: Duration) -> Result<bool, Error> {
        self.ring.wait(&self.socket, patience)
    }

    /// Gives those that are there to `take`.
    pub(crate) fn read(&mut self, take: impl FnMut(Frame<'_>)) {
        self.ring.read_block(take);
    }

    /// Lets no more frames in, and gives those that wait to `take`.
    pub(crate) fn close(&mut self, mut take: impl FnMut(Frame<'_>)) -> Result<(), Error> {
        socket::let_through(&self.socket, Filter::Nothing)?;
        // The block that the kernel was filling comes when it retires.
        while matches!(self.wait(RETIREMENT * 3), Ok(true)) {
            self.read(&mut take);
        }
        Ok(())
    }

    /// Packets that came, and those of them that found no room, since the last call.
    pub(crate) fn statistics(&self) -> Result<(u64, u64), Error> {
        socket::statistics(&self.socket)
    }
}
