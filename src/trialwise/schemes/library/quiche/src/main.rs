//! One QUIC flow over quiche: a sender under one of quiche's congestion controls, and a receiver that drops what comes.

mod endpoint;
mod receiver;
mod sender;

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::sender::{Load, Sending};

const HELP: &str = "\
One QUIC flow over quiche.

  receive PORT CERTIFICATE KEY
      Prints `ready` once it listens; takes one flow after the other until it is ended. Both files are PEM.
  send ADDRESS PORT --congestion reno|cubic|bbr2 --load bulk|rate:BIT/S|bytes:BYTES [--mtu BYTES] [--report FILE]
      Sends until all of the load has been acknowledged. --mtu: the largest IP packet, default 1500.
      --report: a JSON object a line, one each 10 ms at most: time_ns (CLOCK_MONOTONIC), cwnd_bytes, rtt_ms, retransmits.

Exit codes: 0 done, 1 failed.
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<()> {
    match *words {
        ["receive", port, certificate, key] => receiver::receive(number(port, "PORT")?, certificate, key),
        ["send", address, port, ref options @ ..] => {
            let address: IpAddr = address.parse().with_context(|| format!("`{address}` is no IP address"))?;
            sender::send((address, number(port, "PORT")?).into(), &sending(options)?)
        }
        ["--help"] => {
            print!("{HELP}");
            Ok(())
        }
        _ => bail!("write `send ADDRESS PORT …` or `receive PORT CERTIFICATE KEY`; see --help"),
    }
}

fn sending(options: &[&str]) -> Result<Sending> {
    let mut sending = Sending { congestion: String::new(), load: Load::Bulk, mtu: 1500, report: None };
    for pair in options.chunks(2) {
        match *pair {
            ["--congestion", name] => sending.congestion = name.to_owned(),
            ["--load", load] => sending.load = load.parse()?,
            ["--mtu", mtu] => sending.mtu = number(mtu, "--mtu")?,
            ["--report", path] => sending.report = Some(PathBuf::from(path)),
            _ => bail!("no option is written `{} VALUE`; see --help", pair[0]),
        }
    }
    if sending.congestion.is_empty() {
        bail!("--congestion is missing; see --help");
    }
    Ok(sending)
}

fn number<T: std::str::FromStr>(text: &str, name: &str) -> Result<T>
where
    T::Err: std::error::Error + Send + Sync + 'static,
{
    text.parse().with_context(|| format!("{name}: `{text}` is no number that fits"))
}
