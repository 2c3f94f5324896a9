//! Keeps processors from halting while packets come fast.
//!
//! A processor that halts between two turns takes up to milliseconds to come back where it is a virtual one, because its host
//! has given the core to others; a real one leaves its deep states in tens of microseconds. Processors that never halt use
//! more power, and may run slower in turn: so this is only for as long as it is needed.

use std::fs::{File, OpenOptions};
use std::io::Write;

use trialwise_units::{Duration, Time};

/// How late processors may be back from sleep: while it is open, what was written to it holds for all of them (PM QoS, the
/// kernel's `Documentation/power/pm_qos_interface.rst`).
const DEVICE: &str = "/dev/cpu_dma_latency";
const PERIOD: Duration = Duration::from_milliseconds(50);
/// More packets than this in a period: 0.6 Gbit/s of full ones.
const FAST: u64 = 2500;

/// What one thread asks of the processors.
#[derive(Debug, Default)]
pub(crate) struct Awake {
    held: Option<File>,
    is_fast: bool,
    period_start: Time,
    packets: u64,
}

impl Awake {
    /// Looks, once in a period, at how many packets the thread has carried so far; whether they come fast.
    pub(crate) fn check(&mut self, now: Time, packets: u64) -> bool {
        if now - self.period_start < PERIOD {
            return self.is_fast;
        }
        self.is_fast = packets.saturating_sub(self.packets) > FAST;
        (self.period_start, self.packets) = (now, packets);
        if self.is_fast && self.held.is_none() {
            self.held = hold();
        } else if !self.is_fast {
            self.held = None;
        }
        self.is_fast
    }
}

/// Asks that no processor halts, for as long as the file is open; `None` where that is not permitted.
fn hold() -> Option<File> {
    let mut file = OpenOptions::new().write(true).open(DEVICE).ok()?;
    file.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(file)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// What holds now, of all who ask, in microseconds.
    fn asked() -> Option<i32> {
        let mut value = [0; 4];
        File::open(DEVICE).ok()?.read_exact(&mut value).ok()?;
        Some(i32::from_ne_bytes(value))
    }

    #[test]
    fn processors_are_kept_awake_while_packets_come_fast() {
        let Some(before) = asked().filter(|before| *before > 0 && hold().is_some()) else {
            return eprintln!("skipped: {DEVICE} is not permitted, or another program holds it");
        };
        let at = Time::from_milliseconds;
        let mut awake = Awake::default();
        assert!(!awake.check(at(60), FAST) && awake.held.is_none());
        assert!(awake.check(at(120), 2 * FAST + 1));
        assert_eq!(asked(), Some(0));
        awake.check(at(130), 2 * FAST + 1);
        assert!(awake.held.is_some(), "the period is not over");
        awake.check(at(180), 3 * FAST + 1);
        assert!(awake.held.is_none());
        awake.check(at(240), 5 * FAST);
        assert!(awake.held.is_some());
        // A path was taken off.
        awake.check(at(300), 0);
        assert!(awake.held.is_none());
        assert!(asked().is_some_and(|after| after == before || after == 0), "others may ask for it too");
    }
}
