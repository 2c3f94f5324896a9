//! A TCP connection, perhaps inside TLS, that never waits.

use std::io::{self, ErrorKind, Read, Write};

use tokio::net::TcpStream;
use trialwise_streams::tls::Channel;

/// The connection.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) stream: TcpStream,
    pub(crate) channel: Option<Box<Channel>>,
}

impl Wire {
    pub(crate) const fn new(stream: TcpStream) -> Self {
        Self { stream, channel: None }
    }

    /// Whether nothing can be written before the peer has said more.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.channel.as_ref().is_some_and(|channel| channel.is_handshaking())
    }

    /// Reads what is there; 0 at the end, `WouldBlock` when there is nothing now.
    pub(crate) fn try_read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.channel {
            None => self.stream.try_read(buffer),
            Some(channel) => channel.read(&mut Socket(&self.stream), buffer),
        }
    }

    /// Writes what is taken at once; `WouldBlock` when nothing is.
    pub(crate) fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.channel {
            None => self.stream.try_write(bytes),
            Some(channel) => channel.write(&mut Socket(&self.stream), bytes),
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if let Some(channel) = &mut self.channel {
            channel.close(&mut Socket(&self.stream));
        }
    }
}

pub(crate) fn is_lasting(error: &io::Error) -> bool {
    !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// A socket as TLS wants it.
struct Socket<'a>(&'a TcpStream);

impl Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
