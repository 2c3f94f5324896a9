//! The server: both protocols on one port, one task for each connection, one thread for all.

mod http;
mod lobby;
mod native;
mod oml;

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use trialwise_streams::native::PREFACE;
use trialwise_streams::tls::{self, Channel, Identity};

pub(crate) use lobby::Lobby;
use lobby::Seat;

use crate::config::Config;
use crate::counters::{Counting, Refusal, count};
use crate::spool::Spool;
use crate::status::Watch;
use crate::wire::{Wire, is_lasting};

/// Bytes read at a time; one buffer serves all connections of the thread.
const PIECE: usize = 128 << 10;
/// Longest name of a sender that is taken, in bytes.
const MAX_SENDER: usize = 1024;
/// Longest header that is taken, in bytes, whatever the limits say: it has to fit in one record of the spool.
const MAX_HEADER: usize = 4 << 20;
/// A connection has so long for its TLS and its header, while there is room in the spool.
const HEADER_PATIENCE: Duration = Duration::from_secs(30);
/// At the end, what clients sent already is read for so long at most.
const LAST_READ: Duration = Duration::from_secs(1);

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; PIECE]);
}

/// What every connection uses.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) config: Config,
    pub(crate) spool: Arc<Spool>,
    pub(crate) counting: Arc<Counting>,
    pub(crate) watch: Watch,
    /// What native clients may hear before they say anything.
    pub(crate) identity: Option<Identity>,
    /// Where connections are before they have a place.
    pub(crate) lobby: Lobby,
    /// Clients that are served at a time.
    pub(crate) places: Arc<Semaphore>,
}

/// Serves until `stop` is true, then lets the connections end.
pub(crate) async fn serve(
    listener: std::net::TcpListener,
    context: Arc<Context>,
    mut stop: watch::Receiver<bool>,
) {
    // Inside a runtime with its drivers on, a listener that does not block is always taken.
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            _ = stop.wait_for(|&stop| stop) => break,
            accepted = accept(&listener, &context.lobby) => accepted,
        };
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok((stream, peer, seat)) => {
                let (context, stop) = (Arc::clone(&context), stop.clone());
                connections.spawn(async move {
                    connection(stream, peer, seat, &context, stop).await;
                });
            }
            // No descriptors left, or a client gone already: the next may do better.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// The next connection. It has a descriptor before it has a seat, which the reserve covers.
async fn accept(listener: &TcpListener, lobby: &Lobby) -> io::Result<(TcpStream, SocketAddr, Seat)> {
    let (stream, peer) = listener.accept().await?;
    stream.set_nodelay(true)?;
    let seat = lobby.enter().await.ok_or(ErrorKind::NotConnected)?;
    Ok((stream, peer, seat))
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    seat: Seat,
    context: &Context,
    stop: watch::Receiver<bool>,
) {
    count(&context.counting.connections, 1);
    count(&context.counting.open, 1);
    let source = Source {
        wire: Wire::new(stream),
        peer,
        broken: false,
        late: false,
        standing: Standing::Seat(seat, Instant::now() + HEADER_PATIENCE),
        stop,
        failure: context.spool.progress(),
    };
    if let Err(reason) = serve_any(source, context).await {
        context.counting.refuse(reason);
    }
    context.counting.open.fetch_sub(1, Ordering::Relaxed);
}

/// Serves whatever a connection turns out to speak.
async fn serve_any(mut source: Source, context: &Context) -> Result<(), Refusal> {
    if source.peek().await == Some(tls::FIRST_BYTE) {
        let identity = context.identity.as_ref().ok_or(Refusal::Tls)?;
        source.wire.channel = Some(Box::new(Channel::server(identity).map_err(|_| Refusal::Tls)?));
    }
    let mut first = Vec::new();
    // A status is told also when there is no room for rows.
    while http::is_request(&first).is_none() {
        if !source.read_anyway(context, |bytes| first.extend_from_slice(bytes)).await {
            break;
        }
    }
    match first.first() {
        None if source.broken => Err(Refusal::Tls),
        None if source.late => Err(Refusal::Late),
        None => Ok(()),
        Some(&byte) if byte == PREFACE[0] => native::serve(source, context, &first).await,
        Some(_) if http::is_request(&first) == Some(true) => {
            // Who asks how it goes is no client.
            let (connections, open) = (&context.counting.connections, &context.counting.open);
            connections.fetch_sub(1, Ordering::Relaxed);
            open.fetch_sub(1, Ordering::Relaxed);
            let served = http::serve(source, context, first).await;
            count(open, 1);
            served
        }
        Some(_) => oml::serve(source, context, first).await,
    }
}

/// A connection, perhaps inside TLS.
struct Source {
    wire: Wire,
    peer: SocketAddr,
    /// Its TLS failed.
    broken: bool,
    /// It had no time left, or had to go for another.
    late: bool,
    standing: Standing,
    stop: watch::Receiver<bool>,
    failure: watch::Receiver<crate::spool::Progress>,
}

/// How far a connection has come.
enum Standing {
    /// In the lobby, with so long for its header.
    Seat(Seat, Instant),
    /// Served.
    Place(#[expect(dead_code, reason = "held")] [Option<OwnedSemaphorePermit>; 2]),
}

impl Standing {
    /// Until it has to go.
    async fn end(&mut self) {
        match self {
            Self::Seat(seat, deadline) => tokio::select! {
                _ = &mut seat.sent_away => {}
                () = tokio::time::sleep_until(*deadline) => {}
            },
            Self::Place(_) => std::future::pending().await,
        }
    }

    fn is_over(&self) -> bool {
        matches!(self, Self::Seat(_, deadline) if Instant::now() >= *deadline)
    }

    /// Time that was spent waiting for us is not the peer's.
    fn allow(&mut self, time: Duration) {
        if let Self::Seat(_, deadline) = self {
            *deadline += time;
        }
    }
}

impl Source {
    /// Leaves the lobby for a place, its header read; waits where all are taken.
    async fn settle(&mut self, context: &Context) -> Result<(), Refusal> {
        let Standing::Seat(seat, _) = &mut self.standing else { return Ok(()) };
        let place = match Arc::clone(&context.places).try_acquire_owned() {
            Ok(place) => Some(place),
            Err(_) if !seat.wait() => return Err(Refusal::Full),
            Err(_) => tokio::select! {
                place = Arc::clone(&context.places).acquire_owned() => place.ok(),
                _ = self.stop.wait_for(|&stop| stop) => None,
            },
        };
        if let Standing::Seat(seat, _) = std::mem::replace(&mut self.standing, Standing::Place([None, None]))
        {
            self.standing = Standing::Place([place, seat.leave()]);
        }
        Ok(())
    }

    /// Why there was no whole header.
    const fn why(&self) -> Refusal {
        if self.late { Refusal::Late } else { Refusal::Header }
    }

    /// The first byte, which is left where it is.
    async fn peek(&mut self) -> Option<u8> {
        let mut byte = [0];
        tokio::select! {
            read = self.wire.stream.peek(&mut byte) => read.ok().filter(|&read| read > 0).map(|_| byte[0]),
            () = self.standing.end() => {
                self.late = true;
                None
            }
            _ = self.stop.wait_for(|&stop| stop) => None,
        }
    }

    /// Whether the peer is on this machine.
    fn is_local(&self) -> bool {
        self.peer.ip().to_canonical().is_loopback()
    }

    /// Reads a piece when there is room in the spool; false at the end, also when the collector stops and nothing is left.
    async fn read(&mut self, context: &Context, take: impl FnOnce(&[u8])) -> bool {
        let began = Instant::now();
        let room = tokio::select! {
            biased;
            _ = self.failure.wait_for(|progress| progress.failure.is_some()) => return false,
            () = context.spool.room() => true,
            _ = self.stop.wait_for(|&stop| stop) => context.spool.has_room(),
        };
        self.standing.allow(began.elapsed());
        room && self.read_anyway(context, take).await
    }

    /// Reads a piece, whether or not there is room for it.
    async fn read_anyway(&mut self, context: &Context, take: impl FnOnce(&[u8])) -> bool {
        if self.late || self.standing.is_over() {
            self.late = true;
            return false;
        }
        let stopping = tokio::select! {
            biased;
            _ = self.failure.wait_for(|progress| progress.failure.is_some()) => return false,
            ready = self.wire.stream.readable() => { if ready.is_err() { return false } false }
            _ = self.stop.wait_for(|&stop| stop) => true,
            () = self.standing.end() => {
                self.late = true;
                return false;
            }
        };
        match self.try_read(context, take) {
            Ok(read) => read > 0,
            Err(error) => error.kind() == ErrorKind::WouldBlock && !stopping,
        }
    }

    fn try_read(&mut self, context: &Context, take: impl FnOnce(&[u8])) -> io::Result<usize> {
        BUFFER.with_borrow_mut(|buffer| {
            let read = self.wire.try_read(buffer);
            self.broken |= self.wire.channel.is_some() && read.as_ref().is_err_and(is_lasting);
            let read = read?;
            count(&context.counting.bytes, read as u64);
            take(&buffer[..read]);
            Ok(read)
        })
    }

    /// Writes what the connection takes at once.
    fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wire.try_write(bytes)
    }

    /// Writes everything, or as much as comes before an error.
    async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.wire.stream.writable().await?;
            match self.try_write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if is_lasting(&error) => return Err(error),
                Err(_) => {}
            }
        }
        Ok(())
    }
}
