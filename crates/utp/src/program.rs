//! The programs `send` and `receive`.

use std::io::{self, ErrorKind, Write};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::library::{Event, Flow, Library};
use crate::options::{Action, HELP, Sending};
use crate::report::Report;
use crate::signals::Signals;

/// Without an answer for so long, a connection is given up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// Longest wait for packets: signals and times are looked at so often.
const TICK: Duration = Duration::from_millis(10);

/// Runs the program that these arguments ask for (`send --help` tells which there are), until it is done or a signal asks it
/// to end; gives its exit code: 0 done, 1 failed, 2 usage.
pub fn main(arguments: &[String]) -> i32 {
    match run(arguments) {
        Ok(()) => 0,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            error.exit_code()
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Error> {
    let action = Action::parse(arguments)?;
    let signals = Signals::note();
    match action {
        Action::Help => print(HELP),
        Action::Send(sending) => send(&sending, &signals),
        Action::Receive { port } => receive(port, &signals),
    }
}

fn print(text: &str) -> Result<(), Error> {
    let mut output = io::stdout().lock();
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    written.map_err(Error::from_io("cannot write to standard output"))
}

fn receive(port: u16, signals: &Signals) -> Result<(), Error> {
    let library = Library::listen(port).map_err(|source| Error::PortInUse { port, source })?;
    print("ready\n")?;
    while !signals.is_asked() {
        for event in turn(&library)? {
            if let Event::Ended(flow) | Event::Failed(flow) = event {
                library.close(flow);
            }
        }
    }
    Ok(())
}

/// One flow, from the connection to its end.
struct Sender<'a> {
    library: Library,
    flow: Flow,
    sending: &'a Sending,
    signals: &'a Signals,
    report: Report,
}

fn send(sending: &Sending, signals: &Signals) -> Result<(), Error> {
    let report = Report::create(sending.report.as_deref())?;
    let (library, flow) = Library::connect(sending.peer).map_err(|source| match source.kind() {
        ErrorKind::ConnectionRefused => Error::Refused { peer: sending.peer },
        _ => Error::System { doing: "cannot send", source },
    })?;
    if report.is_wanted() {
        library.take_samples();
    }
    let mut sender = Sender { library, flow, sending, signals, report };
    sender.connect()?;
    sender.stream()?;
    sender.finish()
}

impl Sender<'_> {
    /// Waits for the other end.
    fn connect(&self) -> Result<(), Error> {
        let peer = self.sending.peer;
        let start = Instant::now();
        while start.elapsed() < PATIENCE && !self.signals.is_asked() {
            for event in turn(&self.library)? {
                match event {
                    Event::Connected => return Ok(()),
                    Event::Refused => return Err(Error::Refused { peer }),
                    Event::Failed(_) | Event::Gone(_) => return Err(Error::NoAnswer { peer }),
                    Event::Ended(_) => {}
                }
            }
        }
        if self.signals.is_asked() { Ok(()) } else { Err(Error::NoAnswer { peer }) }
    }

    /// Hands over the load, as much as passes, while there is time.
    fn stream(&mut self) -> Result<(), Error> {
        let start = Instant::now();
        let mut rest = self.sending.load.unwrap_or(u64::MAX);
        let is_over = || self.sending.time.is_some_and(|time| start.elapsed() >= time);
        while rest > 0 && !is_over() && !self.signals.is_asked() {
            while let taken @ 1.. = self.library.write(self.flow, rest) {
                rest -= taken;
            }
            self.go_on()?;
        }
        Ok(())
    }

    /// Ends the flow; where it had a size, only when all of it has arrived.
    fn finish(mut self) -> Result<(), Error> {
        self.library.close(self.flow);
        let start = Instant::now();
        let mut is_gone = false;
        while !is_gone && start.elapsed() < PATIENCE && !self.signals.is_asked() {
            is_gone = self.go_on()?;
        }
        let is_whole = is_gone || self.sending.load.is_none() || self.signals.is_asked();
        self.report.finish()?;
        if is_whole { Ok(()) } else { Err(Error::WentAway { peer: self.sending.peer }) }
    }

    /// One turn; whether the flow is gone.
    fn go_on(&mut self) -> Result<bool, Error> {
        let events = turn(&self.library)?;
        self.report.write(&self.library.samples())?;
        if events.iter().any(|event| matches!(event, Event::Failed(_) | Event::Refused)) {
            return Err(Error::WentAway { peer: self.sending.peer });
        }
        Ok(events.contains(&Event::Gone(self.flow)))
    }
}

fn turn(library: &Library) -> Result<Vec<Event>, Error> {
    library.turn(TICK).map_err(Error::from_io("cannot receive"))
}
