//! The command line.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use trialwise_units::{Bytes, Duration, Ecn};

use crate::error::Error;
use crate::settings::{ReceiveSettings, SendSettings};
use trialwise_protocol::load::Load;
use trialwise_protocol::opening::{NAME_BYTES, Task};
use trialwise_protocol::scheme::{MAX_MTU, MIN_MTU, Marking, known};

/// Packets in frames of Ethernet.
const USUAL_MTU: u16 = 1500;

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    Help,
    TcpReceive(ReceiveSettings),
    TcpSend(SendSettings),
    UdpReceive(ReceiveSettings),
    UdpSend(SendSettings),
}

/// The help text.
pub(crate) fn help() -> String {
    let names = known();
    let loads = Load::KIND.examples();
    format!(
        "Flows of real packets.

  tcp receive --port P [--address A] [--buffer SIZE]
  tcp send ADDRESS PORT --congestion NAME [options]       kernel TCP; NAME as in tcp_available_congestion_control
  udp receive --port P [--address A] [--buffer SIZE] [--report FILE]   FILE: when frames of media had arrived, JSON lines
  udp send ADDRESS PORT --congestion NAME [options]       one of {names}

`receive` prints `ready` once it listens, and takes any number of connections until SIGTERM or SIGINT.

Options of send:
  --load LOAD       {loads}   [bulk]
  --time TIME       end after this time                                  [none: at SIGTERM, or when the load is done]
  --report FILE     samples, completions and summary as JSON lines       [only the summary, on standard output]
  --interval TIME   between samples                                      [10ms]
  --timeout TIME    give up when nothing answers for so long             [5s]
  --buffer SIZE     send buffer of the socket                            [tcp: tuned by the kernel; udp: 4MiB]
  --mtu BYTES       udp: the largest IP packet, {MIN_MTU} to {MAX_MTU}                    [{USUAL_MTU}]
  --ecn on|off|ect0|ect1  udp: whether packets may be marked, and as which of the two   [as the controller declares]

Exit codes: 0 done, also when SIGTERM, SIGINT or --time ended it; 1 it failed; 2 usage.
"
    )
}

/// Reads a command line.
///
/// # Errors
/// `Usage`.
pub(crate) fn parse(arguments: &[String]) -> Result<Request, Error> {
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        return Ok(Request::Help);
    }
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["tcp", "receive", rest @ ..] => receive(rest, false).map(Request::TcpReceive),
        ["udp", "receive", rest @ ..] => receive(rest, true).map(Request::UdpReceive),
        ["tcp", "send", rest @ ..] => send(rest, false).map(Request::TcpSend),
        ["udp", "send", rest @ ..] => send(rest, true).map(Request::UdpSend),
        [] => Err(usage("say what to do: tcp receive, tcp send, udp receive or udp send")),
        _ => Err(usage(format!("`{}` is nothing to do here", words.join(" ")))),
    }
}

fn usage(message: impl Into<String>) -> Error {
    Error::Usage(message.into())
}

/// Options (`--name value` or `--name=value`), each at most once, and the words beside them.
struct Options<'a> {
    pairs: Vec<(&'a str, &'a str)>,
    words: Vec<&'a str>,
}

impl<'a> Options<'a> {
    fn split(arguments: &[&'a str], known: &[&str]) -> Result<Self, Error> {
        let (mut pairs, mut words): (Vec<(&str, &str)>, Vec<&str>) = (Vec::new(), Vec::new());
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let Some(option) = argument.strip_prefix("--") else {
                words.push(argument);
                continue;
            };
            let (name, value) = match option.split_once('=') {
                Some(pair) => pair,
                None => (option, *rest.next().ok_or_else(|| usage(format!("--{option} lacks its value")))?),
            };
            if !known.contains(&name) {
                return Err(usage(format!(
                    "no option is called --{name}; there are --{}",
                    known.join(", --")
                )));
            }
            if pairs.iter().any(|(other, _)| *other == name) {
                return Err(usage(format!("--{name} is there twice")));
            }
            pairs.push((name, value));
        }
        Ok(Self { pairs, words })
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.pairs.iter().find(|(other, _)| *other == name).map(|(_, value)| *value)
    }

    fn value<T: FromStr<Err: std::fmt::Display>>(&self, name: &str) -> Result<Option<T>, Error> {
        let parse = |text: &str| text.parse().map_err(|error| usage(format!("--{name}: {error}")));
        self.text(name).map(parse).transpose()
    }

    fn size(&self, name: &str) -> Result<Option<u64>, Error> {
        Ok(self.value::<Bytes>(name)?.map(Bytes::get))
    }
}

const RECEIVE_OPTIONS: [&str; 4] = ["port", "address", "buffer", "report"];

fn receive(arguments: &[&str], is_udp: bool) -> Result<ReceiveSettings, Error> {
    let known = if is_udp { &RECEIVE_OPTIONS[..] } else { &RECEIVE_OPTIONS[..3] };
    let options = Options::split(arguments, known)?;
    if let Some(word) = options.words.first() {
        return Err(usage(format!("`{word}` is no option of receive: write --port P [--address A]")));
    }
    let port = options.text("port").ok_or_else(|| usage("--port is missing"))?;
    Ok(ReceiveSettings {
        port: parse_port(port)?,
        address: options.value::<IpAddr>("address")?,
        report: options.text("report").map(Into::into),
        buffer: options.size("buffer")?,
    })
}

const SEND_OPTIONS: [&str; 9] =
    ["congestion", "load", "time", "report", "interval", "timeout", "buffer", "mtu", "ecn"];

fn send(arguments: &[&str], is_udp: bool) -> Result<SendSettings, Error> {
    let known = if is_udp { &SEND_OPTIONS[..] } else { &SEND_OPTIONS[..7] };
    let options = Options::split(arguments, known)?;
    let [address, port] = options.words[..] else {
        return Err(usage(format!("send takes ADDRESS PORT; there is `{}`", options.words.join(" "))));
    };
    let congestion = options.text("congestion").ok_or_else(|| usage("--congestion is missing"))?;
    let load_text = options.text("load").unwrap_or("bulk");
    let read_file = |path: &str| std::fs::read_to_string(path).map_err(|error| error.to_string());
    let load = Load::read(load_text, &read_file).map_err(|error| usage(error.to_string()))?;
    if matches!(load, Load::Media(_)) && !is_udp {
        return Err(usage("load media goes over udp only; take udp send, or another load"));
    }
    check_name(congestion, &load)?;
    Ok(SendSettings {
        peer: resolve(address, parse_port(port)?)?,
        congestion: congestion.to_owned(),
        load,
        load_text: load_text.to_owned(),
        time: positive("time", options.value("time")?)?,
        report: options.text("report").map(Into::into),
        interval: positive("interval", options.value("interval")?)?
            .unwrap_or(Duration::from_milliseconds(10)),
        timeout: positive("timeout", options.value("timeout")?)?
            .unwrap_or(Duration::from_milliseconds(5_000)),
        buffer: options.size("buffer")?,
        mtu: mtu(options.value("mtu")?)?,
        marking: options.text("ecn").map_or(Ok(Marking::Declared), marking)?,
    })
}

/// The end that answers requests is told which congestion control to use.
fn check_name(congestion: &str, load: &Load) -> Result<(), Error> {
    let is_told = load.jobs().iter().any(|job| matches!(job.supply.task(), Task::Answer { .. }));
    if is_told && congestion.len() > NAME_BYTES {
        return Err(usage(format!(
            "--congestion {congestion}: the end that answers requests can be told {NAME_BYTES} bytes at most"
        )));
    }
    Ok(())
}

fn positive(name: &str, span: Option<Duration>) -> Result<Option<Duration>, Error> {
    if span == Some(Duration::ZERO) {
        return Err(usage(format!("--{name} must be longer than zero")));
    }
    Ok(span)
}

fn mtu(bytes: Option<u16>) -> Result<u16, Error> {
    let mtu = bytes.unwrap_or(USUAL_MTU);
    if (MIN_MTU..=MAX_MTU).contains(&mtu) {
        return Ok(mtu);
    }
    Err(usage(format!("--mtu {mtu}: it must be from {MIN_MTU} to {MAX_MTU}")))
}

fn marking(text: &str) -> Result<Marking, Error> {
    match text {
        "on" => Ok(Marking::On),
        "off" => Ok(Marking::Field(Ecn::NotCapable)),
        "ect0" => Ok(Marking::Field(Ecn::Capable0)),
        "ect1" => Ok(Marking::Field(Ecn::Capable1)),
        _ => Err(usage(format!("--ecn {text}: write on, off, ect0 or ect1"))),
    }
}

fn parse_port(text: &str) -> Result<u16, Error> {
    let port = text.parse().ok().filter(|port| *port > 0);
    port.ok_or_else(|| usage(format!("`{text}` is no port: it must be from 1 to 65535")))
}

fn resolve(address: &str, port: u16) -> Result<SocketAddr, Error> {
    let found = (address, port).to_socket_addrs().map(|mut found| found.next());
    match found {
        Ok(Some(peer)) => Ok(peer),
        Ok(None) => Err(usage(format!("`{address}` has no address"))),
        Err(error) => Err(usage(format!("`{address}` is not a valid address: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use trialwise_units::Rate;

    use super::*;
    use trialwise_protocol::load::Steady;

    fn read(line: &str) -> Result<Request, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn commands_read_as_written() {
        let settings = ReceiveSettings { address: None, port: 5001, report: None, buffer: None };
        assert_eq!(read("tcp receive --port 5001"), Ok(Request::TcpReceive(settings)));
        let Ok(Request::UdpSend(settings)) = read(
            "udp send 100.64.0.2 5001 --congestion=copa --load rate:5Mbit/s --time 10s --mtu 1400 --ecn off",
        ) else {
            panic!();
        };
        assert_eq!(settings.peer, "100.64.0.2:5001".parse().unwrap());
        assert_eq!(settings.load, Load::Rate(Steady(Rate::from_megabits_per_second(5))));
        assert_eq!((settings.time, settings.mtu), (Some(Duration::from_milliseconds(10_000)), 1400));
        assert_eq!(
            (settings.marking, settings.congestion.as_str()),
            (Marking::Field(Ecn::NotCapable), "copa")
        );
        assert_eq!(read("tcp send --help"), Ok(Request::Help));
        assert!(help().contains("udp send"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let message = |line: &str| read(line).unwrap_err();
        assert!(message("").contains("say what to do"));
        assert!(message("sctp send").contains("nothing to do"));
        assert!(message("tcp receive").contains("--port is missing"));
        assert!(message("tcp receive --port 0").contains("from 1 to 65535"));
        assert!(message("tcp receive 5001").contains("no option of receive"));
        assert!(message("tcp receive --port").contains("lacks its value"));
        assert!(message("tcp send 127.0.0.1 5001").contains("--congestion is missing"));
        assert!(message("tcp send 127.0.0.1 --congestion cubic").contains("ADDRESS PORT"));
        assert!(message("tcp send 127.0.0.1 5001 --congestion cubic --mtu 1400").contains("no option"));
        assert!(message("udp send 127.0.0.1 5001 --congestion cubic --mtu 9001").contains("576 to 9000"));
        assert!(message("udp send 127.0.0.1 5001 --congestion cubic --time 0s").contains("longer than zero"));
        assert!(
            message("udp send 127.0.0.1 5001 --congestion cubic --ecn maybe")
                .contains("on, off, ect0 or ect1")
        );
        assert!(message("udp send 127.0.0.1 5001 --congestion cubic --load x").contains("unknown load `x`"));
        let long = "udp send 127.0.0.1 5001 --congestion copa:delta=1,mode=default,slow_start=false --load";
        assert!(message(&format!("{long} requests:request=1B,response=1kB")).contains("40 bytes at most"));
        assert!(read(&format!("{long} bulk")).is_ok());
        assert!(message("udp send nowhere.invalid 5001 --congestion cubic").contains("not a valid address"));
        assert!(message("tcp send ::1 5 --congestion cubic --congestion reno").contains("twice"));
    }
}
