//! What runs at an end of a real path, in one program that is sent there: `flow …`, as `python -m trialwise.schemes.flow` takes it, and
//! `capture INTERFACE FILE KEY PORT=FLOW…`, which writes packets down until its standard input ends.
//!
//! A capture prints `ready` when it hears, then the bytes that have left so far, twenty times a second, and at its end
//! `seen PACKETS dropped DROPPED steps STEPS`. KEY has 32 hexadecimal digits.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use trialwise_capture::{Key, Sightings, Wanted};

const USAGE: &str = "flow … | capture INTERFACE FILE KEY PORT=FLOW…";
/// Between two lines with bytes.
const TURN: Duration = Duration::from_millis(50);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((what, rest)) if what == "flow" => {
            u8::try_from(trialwise_transport::program::main(rest)).map_or(ExitCode::FAILURE, ExitCode::from)
        }
        Some((what, rest)) if what == "capture" => match capture(rest) {
            Ok(()) => ExitCode::SUCCESS,
            Err(text) => said(&text),
        },
        _ => said(USAGE),
    }
}

fn said(text: &str) -> ExitCode {
    // Nobody may be there to hear it.
    let _ = writeln!(io::stderr(), "trialwise-end: {text}");
    ExitCode::FAILURE
}

fn capture(arguments: &[String]) -> Result<(), String> {
    let [interface, file, key, flows @ ..] = arguments else { return Err(USAGE.to_owned()) };
    let wanted = Wanted { interface: interface.clone(), key: key_of(key)?, flows: flows_of(flows)? };
    let mut sightings = Sightings::new(Path::new(file), &wanted).map_err(|error| error.to_string())?;
    print("ready")?;
    let is_over = until_input_ends();
    while !is_over.load(Ordering::Relaxed) {
        sightings.run(TURN).map_err(|error| error.to_string())?;
        print(&sightings.sent_bytes().to_string())?;
    }
    let seen = sightings.finish().map_err(|error| error.to_string())?;
    print(&format!("seen {} dropped {} steps {}", seen.packets, seen.kernel_dropped, seen.steps))
}

fn print(line: &str) -> Result<(), String> {
    let mut output = io::stdout();
    writeln!(output, "{line}").and_then(|()| output.flush()).map_err(|error| error.to_string())
}

/// True once the standard input has ended: whoever started this is gone, or wants no more.
fn until_input_ends() -> Arc<AtomicBool> {
    let is_over = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_over);
    std::thread::spawn(move || {
        let mut bytes = [0; 64];
        while io::stdin().read(&mut bytes).is_ok_and(|count| count > 0) {}
        flag.store(true, Ordering::Relaxed);
    });
    is_over
}

fn key_of(text: &str) -> Result<Key, String> {
    let half = |range| text.get(range).and_then(|digits| u64::from_str_radix(digits, 16).ok());
    match (text.len(), half(0..16), half(16..32)) {
        (32, Some(first), Some(second)) => Ok(Key(first, second)),
        _ => Err("the key must have 32 hexadecimal digits".to_owned()),
    }
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
