//! What runs at an end of a real path, in one program that is sent there: `flow …` and `utp …`, as `python -m trialwise.schemes.flow` and
//! its neighbour take them; `attach NAME PROGRAM …`, which makes a congestion control known to the kernel until that program ends;
//! `capture INTERFACE FILE KEY PORT=FLOW…`, which writes packets down until its standard input ends;
//! `tunnel FILE SIDE MTU SOCKET CONTROL FRAMES [ipv6] PORT=FLOW…`, which carries packets of programs and writes them down until then; and
//! `enter PROCESS WORDS…`, which becomes a program in the network of a tunnel.
//!
//! Both print `ready` when they hear, a tunnel with the process to enter, then the bytes that have left so far, twenty times a
//! second, and at their end `seen PACKETS dropped DROPPED steps STEPS`, a tunnel `strangers COUNT too_large COUNT` too. KEY has 32
//! hexadecimal digits. SIDE is `first` or `second`, MTU that of packets inside, SOCKET and CONTROL are descriptors, FRAMES the
//! flow of the meeting's frames; with `ipv6` there is no tunnel without IPv6 inside; the key of a tunnel, which lets packets in, is the variable
//! TRIALWISE_TUNNEL_KEY, because arguments are shown to everybody.

use std::io::{self, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use trialwise_capture::{Key, Sightings, Wanted};
use trialwise_kernel_congestion::{Algorithm, UnknownAlgorithm};
use trialwise_tunnel::{Settings, Side, Tunnel, enter};

mod record;

use record::record;

const USAGE: &str = "flow … | utp … | attach NAME PROGRAM … | capture INTERFACE FILE KEY PORT=FLOW… | \
                     tunnel FILE SIDE MTU SOCKET CONTROL FRAMES [ipv6] PORT=FLOW… | enter PROCESS WORDS…";
const TUNNEL_KEY: &str = "TRIALWISE_TUNNEL_KEY";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((what, rest)) = arguments.split_first() else { return said(USAGE) };
    let done = match what.as_str() {
        "flow" => {
            return u8::try_from(trialwise_transport::program::main(rest))
                .map_or(ExitCode::FAILURE, ExitCode::from);
        }
        #[cfg(feature = "utp")]
        "utp" => {
            return u8::try_from(trialwise_utp::program::main(rest))
                .map_or(ExitCode::FAILURE, ExitCode::from);
        }
        #[cfg(not(feature = "utp"))]
        "utp" => Err(trialwise_utp::NotBuilt.to_string()),
        "attach" => Err(attach(rest)),
        "capture" => capture(rest),
        "tunnel" => tunnel(rest),
        "enter" => become_program(rest),
        _ => Err(USAGE.to_owned()),
    };
    done.map_or_else(|text| said(&text), |()| ExitCode::SUCCESS)
}

fn said(text: &str) -> ExitCode {
    // Nobody may be there to hear it.
    let _ = writeln!(io::stderr(), "trialwise-end: {text}");
    ExitCode::FAILURE
}

/// Attaches a congestion control, and becomes a program that holds it until it ends; returns why not.
fn attach(arguments: &[String]) -> String {
    let [name, program, rest @ ..] = arguments else { return USAGE.to_owned() };
    let held =
        name.parse().map_err(|error: UnknownAlgorithm| error.to_string()).and_then(|algorithm: Algorithm| {
            trialwise_kernel_congestion::attach(algorithm).map_err(|error| error.to_string())
        });
    match held.and_then(|held| held.outlast_exec().map(|()| held).map_err(|error| error.to_string())) {
        Ok(_held) => format!("{program}: {}", Command::new(program).args(rest).exec()),
        Err(text) => text,
    }
}

fn capture(arguments: &[String]) -> Result<(), String> {
    let [interface, file, key, flows @ ..] = arguments else { return Err(USAGE.to_owned()) };
    let wanted = Wanted { interface: interface.clone(), key: key_of(key)?, flows: flows_of(flows)? };
    record(Sightings::new(Path::new(file), &wanted).map_err(|error| error.to_string())?)
}

fn tunnel(arguments: &[String]) -> Result<(), String> {
    let [file, side, mtu, socket, control, frames, flows @ ..] = arguments else {
        return Err(USAGE.to_owned());
    };
    let number = |text: &String| text.parse::<u16>().map_err(|_| format!("{text} is no number"));
    let side = match side.as_str() {
        "first" => Side::First,
        "second" => Side::Second,
        _ => return Err(format!("{side} is not first or second")),
    };
    let (needs_v6, flows) = match flows {
        [word, flows @ ..] if word == "ipv6" => (true, flows),
        _ => (false, flows),
    };
    let key = key_of(&std::env::var(TUNNEL_KEY).unwrap_or_default())?;
    let (mtu, frames) = (number(mtu)?.into(), number(frames)?);
    let settings = Settings { side, key, mtu, needs_v6, frames, flows: flows_of(flows)? };
    let [socket, control] = [descriptor(socket)?, descriptor(control)?];
    record(Tunnel::new(Path::new(file), socket, control, settings).map_err(|error| error.to_string())?)
}

/// A descriptor that whoever started this has left open for it.
fn descriptor(text: &str) -> Result<OwnedFd, String> {
    let number = text.parse().ok().filter(|number| *number > 2);
    // SAFETY: asks for the flags of a descriptor, which fails where there is none.
    let number = number.filter(|number| unsafe { libc::fcntl(*number, libc::F_GETFD) } >= 0);
    // SAFETY: it is open, and named once by whoever gave it to this program.
    number.map(|number| unsafe { OwnedFd::from_raw_fd(number) }).ok_or(format!("{text} is no descriptor"))
}

fn become_program(arguments: &[String]) -> Result<(), String> {
    let [process, words @ ..] = arguments else { return Err(USAGE.to_owned()) };
    let process = process.parse().map_err(|_| format!("{process} is no process"))?;
    let Err(error) = enter(process, words);
    Err(error.to_string())
}

fn key_of(text: &str) -> Result<Key, String> {
    Key::read(text).ok_or_else(|| "the key must have 32 hexadecimal digits".to_owned())
}

fn flows_of(words: &[String]) -> Result<Vec<(u16, u16)>, String> {
    let flow = |word: &String| {
        let (port, flow) = word.split_once('=')?;
        Some((port.parse().ok()?, flow.parse().ok()?))
    };
    words.iter().map(|word| flow(word).ok_or_else(|| format!("{word} is not PORT=FLOW"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_flows_are_read_or_refused() {
        assert!(matches!(key_of("0000000000000001000000000000000f"), Ok(Key(1, 15))));
        for wrong in ["", "1", "g0000000000000010000000000000002", "00000000000000010000000000000002f"] {
            assert!(key_of(wrong).is_err(), "{wrong}");
        }
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(flows_of(&words("5201=1 5202=2")), Ok(vec![(5201, 1), (5202, 2)]));
        for wrong in ["5201", "x=1", "70000=1", "1=-1"] {
            assert_eq!(flows_of(&words(wrong)), Err(format!("{wrong} is not PORT=FLOW")));
        }
    }
}
