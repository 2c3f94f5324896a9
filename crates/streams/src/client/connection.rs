//! A TCP connection that comes back: made on a thread of its own, used without waiting.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use super::counters::Status;
use crate::tls::{Channel, TlsError, Trust};

/// The first pause before another attempt; it doubles up to [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// A connection that held for so long was a good one.
const LASTING: Duration = Duration::from_secs(1);
/// An address that does not answer is given up after so long.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

enum State {
    Waiting(Option<Instant>),
    Connecting(Receiver<io::Result<TcpStream>>),
    Open(TcpStream, Option<Box<Channel>>, Instant),
}

/// What goes around a connection.
enum Around {
    Nothing,
    Tls(Trust),
    /// TLS that cannot be, and why: nothing is ever sent.
    Broken(String),
}

/// A connection to one host, made again whenever it is lost.
pub(super) struct Connection {
    host: String,
    port: u16,
    state: State,
    pause: Duration,
    status: Status,
    around: Around,
    /// The collector says when a connection is good.
    is_answered: bool,
    /// A silent collector closed the connection before: it may refuse this one as well, and its error stands until this one lasts.
    is_doubted: bool,
}

impl Connection {
    pub(super) fn new(host: &str, port: u16, status: Status) -> Self {
        Self {
            host: host.to_owned(),
            port,
            state: State::Waiting(None),
            pause: FIRST_PAUSE,
            status,
            around: Around::Nothing,
            is_answered: false,
            is_doubted: false,
        }
    }

    /// With TLS around it, trusting the certificates in a file. What is wrong with that is told as an error of the connection.
    pub(super) fn inside_tls(mut self, certificates: Option<&Path>) -> Self {
        let missing =
            || TlsError::Setting("name the certificates to trust in TRIALWISE_CERTIFICATE".to_owned());
        self.around = match certificates.ok_or_else(missing).and_then(Trust::read) {
            Ok(trust) => Around::Tls(trust),
            Err(error) => Around::Broken(error.to_string()),
        };
        self
    }

    /// To a collector that answers: what was wrong stands until [`Self::welcome`].
    pub(super) fn answered(self) -> Self {
        Self { is_answered: true, ..self }
    }

    /// The collector has answered well.
    pub(super) fn welcome(&self) {
        self.status.clear_error();
    }

    fn channel(&self) -> Result<Option<Box<Channel>>, String> {
        match &self.around {
            Around::Nothing => Ok(None),
            Around::Broken(error) => Err(error.clone()),
            Around::Tls(trust) => match Channel::client(trust, &self.host) {
                Ok(channel) => Ok(Some(Box::new(channel))),
                Err(error) => Err(error.to_string()),
            },
        }
    }

    /// Goes on with connecting; whether a new connection has just been made.
    pub(super) fn poll(&mut self, now: Instant, hurry: bool) -> bool {
        match &mut self.state {
            State::Open(.., since) => {
                if self.is_doubted && now.duration_since(*since) > LASTING {
                    self.is_doubted = false;
                    self.status.clear_error();
                }
                false
            }
            State::Waiting(until) => {
                let until = until.map(|until| if hurry { until.min(now + FIRST_PAUSE) } else { until });
                self.state = match until {
                    Some(until) if now < until => State::Waiting(Some(until)),
                    _ => State::Connecting(connect(self.host.clone(), self.port)),
                };
                false
            }
            State::Connecting(result) => match result.try_recv() {
                Err(TryRecvError::Empty) => false,
                Ok(Ok(stream)) => match self.channel() {
                    Ok(channel) => {
                        self.state = State::Open(stream, channel, now);
                        if self.is_answered || self.is_doubted {
                            self.status.set_tried();
                        } else {
                            self.status.set_open();
                        }
                        true
                    }
                    Err(error) => {
                        self.lose(now, &error);
                        false
                    }
                },
                Ok(Err(error)) => {
                    self.lose(now, &error);
                    false
                }
                Err(TryRecvError::Disconnected) => {
                    self.lose(now, &"there is no thread to connect with");
                    false
                }
            },
        }
    }

    /// Writes what the system takes at once; 0 when it takes nothing or the connection is lost.
    pub(super) fn write(&mut self, bytes: &[u8], now: Instant) -> usize {
        let written = match &mut self.state {
            State::Open(stream, None, _) => stream.write(bytes),
            State::Open(stream, Some(channel), _) => channel.write(stream, bytes),
            _ => return 0,
        };
        match written {
            Ok(taken) => taken,
            Err(error) if is_passing(&error) => 0,
            Err(error) => {
                self.lose(now, &error);
                0
            }
        }
    }

    /// Reads what has come; `None` when there is nothing or the connection is lost.
    pub(super) fn read(&mut self, buffer: &mut [u8], now: Instant) -> Option<usize> {
        let read = match &mut self.state {
            State::Open(stream, None, _) => stream.read(buffer),
            State::Open(stream, Some(channel), _) => channel.read(stream, buffer),
            _ => return None,
        };
        match read {
            Ok(read) if read > 0 => Some(read),
            Err(error) if is_passing(&error) => None,
            Ok(_) => {
                self.lose(now, &"the collector closed the connection");
                None
            }
            Err(error) => {
                self.lose(now, &error);
                None
            }
        }
    }

    /// Reads what a silent peer should not have said, to see whether it has closed.
    pub(super) fn discard_input(&mut self, now: Instant) {
        let mut buffer = [0; 256];
        while self.read(&mut buffer, now).is_some() {}
    }

    /// Ends the connection; the next one is made after a pause, a longer one each time unless this one lasted.
    pub(super) fn lose(&mut self, now: Instant, why: &impl ToString) {
        self.status.set_error(why.to_string());
        self.is_doubted = !self.is_answered && matches!(self.state, State::Open(..)) || self.is_doubted;
        if matches!(self.state, State::Open(.., since) if now.duration_since(since) > LASTING) {
            self.pause = FIRST_PAUSE;
        }
        self.state = State::Waiting(Some(now + self.pause));
        self.pause = (self.pause * 2).min(MAX_PAUSE);
    }

    /// Says that nothing follows.
    pub(super) fn shut_down(&mut self) {
        if let State::Open(stream, channel, _) = &mut self.state {
            if let Some(channel) = channel {
                channel.close(stream);
            }
            let _ = stream.shutdown(Shutdown::Write); // a peer that is gone already is as good
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Resolves and connects on another thread: both may take long.
fn connect(host: String, port: u16) -> Receiver<io::Result<TcpStream>> {
    let (sender, receiver) = sync_channel(1);
    let attempt = move || {
        let _ = sender.send(connect_any(&host, port)); // nobody waits any more: the connection is dropped
    };
    let _ = std::thread::Builder::new().name("trialwise-connect".to_owned()).spawn(attempt); // retried: the channel closes
    receiver
}

fn connect_any(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut outcome = Err(io::Error::new(io::ErrorKind::NotFound, "no address"));
    for address in (host, port).to_socket_addrs()? {
        outcome = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT);
        if outcome.is_ok() {
            break;
        }
    }
    let stream = outcome?;
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
