//! One end of a connection: moves packets between its socket and quiche, when quiche's pacer lets them.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow, bail};
use quiche::{Config, Connection, ConnectionId, RecvInfo, SendInfo};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt;

/// RFC 9000, 14.1: the smallest path that QUIC runs over, bytes of UDP payload.
pub const LEAST_PAYLOAD: usize = 1200;
/// So much may be on its way before flow control limits: more than any path holds, so that congestion control alone does.
const WINDOW: u64 = 200 << 20;
const SILENCE: Duration = Duration::from_secs(30);
const SOCKET_BUFFER: usize = 4 << 20;
/// So long before its time a packet may leave: quiche's pacer does not make up for a thread that wakes up late.
const EARLY: Duration = Duration::from_millis(1);
/// Packets that are sent before any is read again.
const BATCH: usize = 32;
const LARGEST: usize = 65_535;

/// What an application asks for after its turn.
pub enum Next {
    /// Another turn after the next packet, or at this time.
    Turn(Option<Instant>),
    /// To be left.
    Done,
}

/// A connection on its socket.
pub struct Endpoint {
    socket: UdpSocket,
    local: SocketAddr,
    connection: Connection,
    outgoing: Vec<u8>,
    /// The length of the packet in `outgoing` that a full socket holds back.
    held: Option<(usize, SendInfo)>,
}

/// What both ends agree on: a stream of the sender's, without limits of flow control, and 30 s of silence at most.
pub fn config() -> Result<Config> {
    let mut config = Config::new(quiche::PROTOCOL_VERSION)?;
    config.set_application_protos(&[b"trialwise"])?;
    config.verify_peer(false);
    config.set_max_idle_timeout(u64::try_from(SILENCE.as_millis())?);
    config.set_initial_max_data(WINDOW);
    config.set_initial_max_stream_data_uni(WINDOW);
    config.set_initial_max_streams_uni(1);
    config.set_max_connection_window(WINDOW);
    config.set_max_stream_window(WINDOW);
    Ok(config)
}

/// Bytes of the headers of IP and UDP towards a peer.
pub fn headers(peer: &SocketAddr) -> usize {
    if peer.is_ipv6() { 48 } else { 28 }
}

/// A socket at this address that does not block.
pub fn socket(address: SocketAddr) -> Result<UdpSocket> {
    let socket = UdpSocket::bind(address).with_context(|| format!("cannot listen on {address}"))?;
    socket.set_nonblocking(true)?;
    sockopt::set_socket_recv_buffer_size(&socket, SOCKET_BUFFER)?;
    sockopt::set_socket_send_buffer_size(&socket, SOCKET_BUFFER)?;
    Ok(socket)
}

/// A name for a connection that nobody guesses.
pub fn connection_id() -> Result<ConnectionId<'static>> {
    let mut bytes = vec![0; quiche::MAX_CONN_ID_LEN];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(ConnectionId::from_vec(bytes))
}

/// Waits until a packet can be read, also until one can be written if `writes`, and until a time at most.
pub fn wait(socket: &UdpSocket, writes: bool, until: Option<Instant>) -> Result<()> {
    let flags = if writes { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let timeout = left.map(Timespec::try_from).transpose()?;
    match poll(&mut [PollFd::new(socket, flags)], timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn failed(error: io::Error) -> Error {
    let refused = error.kind() == ErrorKind::ConnectionRefused;
    Error::new(error).context(if refused { "nobody listens there" } else { "the socket failed" })
}

impl Endpoint {
    pub fn new(socket: UdpSocket, connection: Connection) -> Result<Self> {
        let local = socket.local_addr()?;
        Ok(Self { socket, local, connection, outgoing: vec![0; LARGEST], held: None })
    }

    /// Runs the connection, and gives an application its turns once it is established, until either ends it.
    ///
    /// # Errors
    /// The connection failed, or the application did.
    pub fn run(&mut self, mut application: impl FnMut(&mut Connection) -> Result<Next>) -> Result<()> {
        let mut incoming = vec![0; LARGEST];
        let mut is_done = false;
        loop {
            self.read(&mut incoming)?;
            if self.connection.timeout() == Some(Duration::ZERO) {
                self.connection.on_timeout();
            }
            let mut turn = None;
            if self.connection.is_established() && !is_done {
                match application(&mut self.connection)? {
                    Next::Turn(at) => turn = at,
                    Next::Done => {
                        self.close();
                        is_done = true;
                    }
                }
            }
            let next = self.write()?;
            if is_done && self.held.is_none() {
                return Ok(());
            }
            if self.connection.is_closed() {
                return self.outcome();
            }
            let until = [turn, next, self.connection.timeout_instant()].into_iter().flatten().min();
            wait(&self.socket, self.held.is_some(), until)?;
        }
    }

    fn close(&mut self) {
        // It fails only where the connection is closed already.
        let _ = self.connection.close(true, 0, b"");
    }

    fn read(&mut self, incoming: &mut [u8]) -> Result<()> {
        loop {
            match self.socket.recv_from(incoming) {
                Ok((length, from)) => {
                    // Of a packet that it cannot use, quiche says why; if that ends the connection, `outcome` does.
                    let _ = self.connection.recv(&mut incoming[..length], RecvInfo { from, to: self.local });
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Sends packets whose time has come; returns when the next may be sent, if time alone permits it.
    fn write(&mut self) -> Result<Option<Instant>> {
        for _ in 0..BATCH {
            let (length, info) = match self.held.take() {
                Some(held) => held,
                None => {
                    if let Some(time) = self.pause() {
                        return Ok(Some(time));
                    }
                    match self.connection.send(&mut self.outgoing) {
                        Ok(packet) => packet,
                        Err(quiche::Error::Done) => return Ok(None),
                        Err(error) => bail!("quiche made no packet: {error}"),
                    }
                }
            };
            match self.socket.send_to(&self.outgoing[..length], info.to) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.held = Some((length, info));
                    return Ok(None);
                }
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(Some(Instant::now()))
    }

    /// The time until which the pacer wants no packet.
    fn pause(&self) -> Option<Instant> {
        let release = self.connection.get_next_release_time()?;
        let now = Instant::now();
        let time = release.time(now)?.checked_sub(EARLY)?;
        (time > now && !release.can_burst()).then_some(time)
    }

    /// How the connection ended.
    fn outcome(&self) -> Result<()> {
        if self.connection.is_timed_out() {
            bail!("nothing was heard of the other end for {} s", SILENCE.as_secs());
        }
        let own = self.connection.local_error().map(|error| ("this end", error));
        let other = self.connection.peer_error().map(|error| ("the other end", error));
        match own.or(other) {
            Some((_, error)) if error.is_app && error.error_code == 0 => Ok(()),
            Some((end, error)) => {
                let reason = String::from_utf8_lossy(&error.reason);
                Err(anyhow!("{end} ended the connection: error {:#x} {reason}", error.error_code))
            }
            None => Ok(()),
        }
    }
}
