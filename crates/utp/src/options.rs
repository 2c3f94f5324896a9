//! The command line.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use trialwise_units::Bytes;

use crate::error::Error;

/// What `--help` says.
pub(crate) const HELP: &str = "\
Bulk flows under LEDBAT, through libutp.

  send ADDRESS PORT [--load bulk|bytes:10MB] [--time 10s] [--report FILE]
      Sends until the load is delivered, the time is over or SIGTERM comes.
      --report: a JSON object a line, one each 10 ms while data are acknowledged:
      time_ns (CLOCK_MONOTONIC), cwnd_bytes, rtt_ms (smoothed), queueing_delay_ms.
  receive --port PORT
      Prints `ready` once it listens; takes any number of flows until SIGTERM comes.

Exit codes: 0 done, 1 failed, 2 usage.
";

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Help,
    Send(Sending),
    Receive { port: u16 },
}

/// What to send.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sending {
    pub(crate) peer: SocketAddr,
    /// Bytes; none for as much as passes.
    pub(crate) load: Option<u64>,
    /// From the connection on; none for no end.
    pub(crate) time: Option<Duration>,
    /// Path of the report.
    pub(crate) report: Option<String>,
}

impl Action {
    /// Reads a command line.
    ///
    /// # Errors
    /// `Usage`.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, Error> {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match words.as_slice() {
            words if words.contains(&"--help") => Ok(Self::Help),
            ["send", address, port, options @ ..] => {
                let ip: IpAddr = number(address, "ADDRESS")?;
                send(SocketAddr::new(ip, number(port, "PORT")?), options).map(Self::Send)
            }
            ["receive", "--port", port] => Ok(Self::Receive { port: number(port, "--port")? }),
            _ => Err(Error::Usage("write `send ADDRESS PORT …` or `receive --port PORT`".to_owned())),
        }
    }
}

fn send(peer: SocketAddr, options: &[&str]) -> Result<Sending, Error> {
    let mut sending = Sending { peer, load: None, time: None, report: None };
    for pair in options.chunks(2) {
        match *pair {
            ["--load", load] => sending.load = read_load(load)?,
            ["--time", time] => sending.time = Some(read_time(time)?),
            ["--report", path] => sending.report = Some(path.to_owned()),
            [option, ..] => {
                return Err(Error::Usage(format!("no option of send is written `{option} VALUE`")));
            }
            [] => {}
        }
    }
    Ok(sending)
}

fn read_load(text: &str) -> Result<Option<u64>, Error> {
    let wrong = |problem: String| Error::Usage(format!("load `{text}`: {problem}; write bulk or bytes:10MB"));
    match text.split_once(':') {
        None if text == "bulk" => Ok(None),
        Some(("bytes", size)) => match size.parse::<Bytes>() {
            Ok(Bytes::ZERO) => Err(wrong("0 bytes are no load".to_owned())),
            Ok(bytes) => Ok(Some(bytes.get())),
            Err(problem) => Err(wrong(problem.to_string())),
        },
        _ => Err(wrong("libutp sends no such load here".to_owned())),
    }
}

fn read_time(text: &str) -> Result<Duration, Error> {
    let time = text.parse::<trialwise_units::Duration>();
    let time = time.map_err(|problem| Error::Usage(format!("--time {text}: {problem}")))?;
    Ok(Duration::from_nanos(time.nanoseconds()))
}

fn number<T: FromStr>(text: &str, name: &str) -> Result<T, Error> {
    text.parse().map_err(|_| Error::Usage(format!("`{text}` is no {name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Action, String> {
        let arguments: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        Action::parse(&arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn command_lines_read_as_written() {
        let sending =
            |load, time| Sending { peer: "100.64.0.2:9000".parse().unwrap(), load, time, report: None };
        assert_eq!(parse("send 100.64.0.2 9000"), Ok(Action::Send(sending(None, None))));
        let full = parse("send 100.64.0.2 9000 --time 1500ms --load bytes:2MB --report r");
        let time = Some(Duration::from_millis(1500));
        let report = Some("r".to_owned());
        assert_eq!(full, Ok(Action::Send(Sending { report, ..sending(Some(2_000_000), time) })));
        assert_eq!(parse("receive --port 9000"), Ok(Action::Receive { port: 9000 }));
        assert_eq!(parse("send --help"), Ok(Action::Help));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, said) in [
            ("", "write `send"),
            ("send here 9000", "`here` is no ADDRESS"),
            ("send 100.64.0.2 90000", "`90000` is no PORT"),
            ("send 100.64.0.2 9000 --load rate:5Mbit/s", "write bulk or bytes:10MB"),
            ("send 100.64.0.2 9000 --load bytes:0B", "0 bytes are no load"),
            ("send 100.64.0.2 9000 --time", "`--time VALUE`"),
            ("send 100.64.0.2 9000 --time soon", "--time soon"),
            ("send 100.64.0.2 9000 --wish 1", "`--wish VALUE`"),
            ("receive", "receive --port"),
        ] {
            assert!(parse(line).unwrap_err().contains(said), "{line}: {:?}", parse(line));
        }
    }
}
