//! Measurements in real time on a machine that may stand still in the middle of one: of a virtual machine, a hypervisor takes
//! processors away.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "shared by several programs"
)]

use std::fmt::{Debug, Display};
use std::fs;
use std::ops::RangeBounds;

/// So often is one made that comes out as it should not.
const ATTEMPTS: usize = 8;
/// So many of them on a machine that went on are enough to say that it is not the machine.
const CALM: usize = 4;
/// At most this share of the processor time it wanted was kept from a machine that went on.
const CALM_SHARE: f64 = 0.02;

/// Measures until what comes out is as it should be. Panics with what came out each time if it is not, though the machine
/// went on; says that it is skipped if the machine stood still almost each time.
pub fn until_undisturbed(mut measure: impl FnMut() -> Result<(), String>) {
    let (mut problems, mut calm) = (Vec::new(), 0);
    while problems.len() < ATTEMPTS && calm < CALM {
        let before = ProcessorTime::read();
        let Err(problem) = measure() else { return };
        let stolen = ProcessorTime::read().stolen_since(&before);
        let problem = format!("{problem}; of processor time, {:.1} % was stolen", 100.0 * stolen);
        eprintln!("measured again: {problem}");
        calm += usize::from(stolen <= CALM_SHARE);
        problems.push(problem);
    }
    assert!(calm < CALM, "{problems:#?}");
    eprintln!("skipped: processor time is stolen too often to measure here: {problems:#?}");
}

/// Of all processors since boot, in ticks (`/proc/stat`, proc_stat(5)).
struct ProcessorTime {
    used: u64,
    stolen: u64,
}

impl ProcessorTime {
    fn read() -> Self {
        let text = fs::read_to_string("/proc/stat").unwrap();
        let words = text.lines().next().unwrap().split_whitespace().skip(1);
        let ticks: Vec<u64> = words.map(|word| word.parse().unwrap()).collect();
        let [user, nice, system, _idle, _waiting, interrupts, soft_interrupts, stolen] =
            ticks[..8].try_into().unwrap();
        Self { used: user + nice + system + interrupts + soft_interrupts, stolen }
    }

    /// The share of what was wanted.
    fn stolen_since(&self, before: &Self) -> f64 {
        let (used, stolen) = (self.used - before.used, self.stolen - before.stolen);
        stolen as f64 / (used + stolen).max(1) as f64
    }
}

/// That the value is in the range.
pub fn within<V: PartialOrd + Display + Copy>(
    what: impl Display,
    value: V,
    range: impl RangeBounds<V> + Debug,
) -> Result<(), String> {
    if range.contains(&value) { Ok(()) } else { Err(format!("{what} is {value}, not in {range:?}")) }
}
