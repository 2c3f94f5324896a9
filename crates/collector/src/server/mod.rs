//! The server: both protocols on one port, one task for each connection, one thread for all.

mod native;
mod oml;

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::config::Config;
use crate::counters::{Counting, count};
use crate::spool::Spool;

/// Bytes read at a time; one buffer serves all connections of the thread.
const PIECE: usize = 128 << 10;
/// Longest name of a sender that is taken, in bytes.
const LONGEST_SENDER: usize = 1024;
/// Longest header that is taken, in bytes, whatever the limits say: it has to fit in one record of the spool.
const LONGEST_HEADER: usize = 4 << 20;
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
}

/// Serves until `stop` is true, then lets the connections end.
pub(crate) async fn serve(
    listener: std::net::TcpListener,
    context: Arc<Context>,
    mut stop: watch::Receiver<bool>,
) {
    // Inside a runtime with its drivers on, a listener that does not block is always taken.
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let places = Arc::new(Semaphore::new(context.config.connections));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            _ = stop.wait_for(|&stop| stop) => break,
            accepted = accept(&listener, &places) => accepted,
        };
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok((stream, place)) => {
                let (context, stop) = (Arc::clone(&context), stop.clone());
                connections.spawn(async move {
                    connection(stream, &context, stop).await;
                    drop(place);
                });
            }
            // No descriptors left, or a client gone already: the next may do better.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok((stream, place))
}

async fn connection(stream: TcpStream, context: &Context, stop: watch::Receiver<bool>) {
    count(&context.counting.connections, 1);
    count(&context.counting.open, 1);
    let mut source = Source { stream, stop, failure: context.spool.progress() };
    let mut first = Vec::new();
    while first.is_empty() && source.read(context, |bytes| first.extend_from_slice(bytes)).await {}
    let good = match first.first() {
        None => true,
        Some(&byte) if byte == trialwise_streams::native::PREFACE[0] => {
            native::serve(source, context, &first).await
        }
        Some(_) => oml::serve(source, context, first).await,
    };
    count(&context.counting.refused, u64::from(!good));
    context.counting.open.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
}

/// A connection's incoming half.
struct Source {
    stream: TcpStream,
    stop: watch::Receiver<bool>,
    failure: watch::Receiver<crate::spool::Progress>,
}

impl Source {
    /// Reads a piece when there is room in the spool; false at the end, also when the collector stops and nothing is left.
    async fn read(&mut self, context: &Context, take: impl FnOnce(&[u8])) -> bool {
        let ready = async {
            context.spool.room().await;
            self.stream.readable().await
        };
        let stopping = tokio::select! {
            biased;
            _ = self.failure.wait_for(|progress| progress.failure.is_some()) => return false,
            ready = ready => { if ready.is_err() { return false } false }
            _ = self.stop.wait_for(|&stop| stop) => true,
        };
        if stopping && !context.spool.has_room() {
            return false;
        }
        match try_read(&self.stream, context, take) {
            Ok(read) => read > 0,
            Err(error) => error.kind() == ErrorKind::WouldBlock && !stopping,
        }
    }
}

fn try_read(stream: &TcpStream, context: &Context, take: impl FnOnce(&[u8])) -> io::Result<usize> {
    BUFFER.with_borrow_mut(|buffer| {
        let read = stream.try_read(buffer)?;
        count(&context.counting.bytes, read as u64);
        take(&buffer[..read]);
        Ok(read)
    })
}
