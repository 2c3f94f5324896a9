//! Carries connections and datagrams that arrive at the receiver's end on to the same ports of the host.
//!
//! No port of the receiver's end is open before it is asked for. Whoever asks for a connection is held (see [`Gate`]) until
//! the host has accepted or refused one of ours: then a listener is there, or is not, and the kernel answers. A datagram's
//! port is opened before it arrives; when the host refuses it, the port is closed again, and the kernel told to refuse.

mod datagrams;
mod gate;
mod poll;
mod pump;
mod streams;

use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::device::Writer;
use crate::end::End;
use crate::error::Error;
use crate::handover::Handover;
use crate::wake::Wake;
use datagrams::Datagrams;
pub(crate) use gate::Gate;
use gate::Ports;
use poll::{Kind, Poll};
use streams::Streams;

/// What waits to be told to the relay; more is dropped, as a full backlog drops it.
const MESSAGES: usize = 1024;
/// Sockets that are ready for ports of datagrams.
const SPARE: usize = 16;
/// How often what is idle is looked for.
const PERIOD: Duration = Duration::from_secs(5);

/// What the emulator's thread tells the relay's.
enum Message {
    /// A frame that asks for a connection, not delivered yet.
    Connection(Box<[u8]>),
    /// A port of datagrams and its socket.
    Port(u16, OwnedFd),
}

/// Datagrams that found no room in the relay.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dropped {
    pub(crate) forward: u64,
    pub(crate) backward: u64,
}

/// A relay at work. Dropping it ends what it carries.
#[derive(Debug)]
pub(crate) struct Relay {
    /// None once it is waited for.
    thread: Option<JoinHandle<Dropped>>,
    stop: Arc<AtomicBool>,
    wake: Arc<Wake>,
}

struct Exchange {
    poll: Poll,
    wake: Arc<Wake>,
    stop: Arc<AtomicBool>,
    messages: Receiver<Message>,
    spare: SyncSender<OwnedFd>,
    factory: Handover,
    writer: Writer,
    streams: Streams,
    datagrams: Datagrams,
}

impl Relay {
    /// Starts it at an end with these addresses (IPv4, IPv6), to whose device `writer` leads.
    pub(crate) fn start(
        writer: Writer,
        mut factory: Handover,
        addresses: [IpAddr; 2],
    ) -> Result<(Self, Gate), Error> {
        let prepare = Error::from_io("preparing the relay");
        let (poll, wake) =
            Poll::new().and_then(|poll| Ok((poll, Arc::new(Wake::new()?)))).map_err(prepare)?;
        poll.watch(&*wake, Kind::Wake, 0).map_err(Error::from_io("watching a descriptor"))?;
        let stop = Arc::new(AtomicBool::new(false));
        let (to_relay, messages) = sync_channel(MESSAGES);
        let (spare, spares) = sync_channel(SPARE);
        for _ in 0..SPARE {
            let _ = spare.try_send(factory.make_socket(End::Receiver, libc::SOCK_DGRAM)?);
        }
        let ports = Arc::new(Ports::default());
        let gate = Gate::new(Arc::clone(&ports), spares, to_relay, Arc::clone(&wake));
        let exchange = Exchange {
            poll,
            wake: Arc::clone(&wake),
            stop: Arc::clone(&stop),
            messages,
            spare,
            factory,
            writer,
            streams: Streams::new(),
            datagrams: Datagrams::new(ports, addresses),
        };
        let thread = thread::Builder::new().name("relay".to_owned()).spawn(|| exchange.run());
        let thread = thread.map_err(Error::from_io("starting the relay's thread"))?;
        Ok((Self { thread: Some(thread), stop, wake }, gate))
    }

    /// Ends what it carries; what found no room.
    pub(crate) fn stop(mut self) -> Dropped {
        self.finish().unwrap_or_default()
    }

    fn finish(&mut self) -> Option<Dropped> {
        self.stop.store(true, Ordering::Relaxed);
        self.wake.ring();
        self.thread.take()?.join().ok()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Exchange {
    fn run(mut self) -> Dropped {
        let mut events = Vec::with_capacity(poll::EVENTS);
        let mut looked = Instant::now();
        while !self.stop.load(Ordering::Relaxed) {
            let patience = if self.streams.has_more() { Duration::ZERO } else { PERIOD };
            if self.poll.wait(&mut events, patience).is_err() {
                break;
            }
            for (kind, index) in events.drain(..) {
                self.serve(kind, index);
            }
            self.streams.go_on();
            if looked.elapsed() >= PERIOD {
                self.streams.forget_the_unclaimed();
                self.datagrams.forget_the_idle();
                looked = Instant::now();
            }
        }
        self.datagrams.dropped()
    }

    fn serve(&mut self, kind: Kind, index: u32) {
        let Self { poll, writer, streams, datagrams, factory, .. } = self;
        match kind {
            Kind::Wake => self.hear(),
            Kind::Listener => streams.accept(index as u16, poll),
            Kind::Attempt => streams.conclude(index, poll, factory, writer),
            Kind::Connection => streams.carry(index),
            Kind::Port => datagrams.outward(index as u16, poll, writer),
            Kind::Answers => datagrams.inward(index, writer),
        }
    }

    fn hear(&mut self) {
        self.wake.clear();
        while let Ok(message) = self.messages.try_recv() {
            match message {
                Message::Connection(frame) => {
                    self.streams.attempt(frame, &self.poll, &mut self.factory, &self.writer);
                }
                Message::Port(port, socket) => {
                    self.datagrams.open(port, socket, &self.poll);
                    self.make_spare();
                }
            }
        }
    }

    fn make_spare(&mut self) {
        if let Ok(socket) = self.factory.make_socket(End::Receiver, libc::SOCK_DGRAM) {
            // When there is no room, there are enough.
            let _ = self.spare.try_send(socket);
        }
    }
}
