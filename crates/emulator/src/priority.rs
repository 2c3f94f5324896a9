//! Real-time priority where it is permitted, given up while it would starve others.

use trialwise_units::{Duration, Time};

use crate::clock;

/// Above every ordinary process, below what else may be real-time on the machine.
const REALTIME: libc::c_int = 1;
const PERIOD: Duration = Duration::from_milliseconds(50);
/// Of one processor: above it the programs whose packets these are need the processor more.
const MAX_PERCENT: u64 = 85;

/// How the emulator's thread was scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// `SCHED_FIFO`, the lowest real-time priority.
    Realtime,
    /// As any other thread: real-time priority is not permitted.
    Ordinary,
}

/// Gives real-time priority up for a while when the thread takes most of a processor.
pub(crate) struct Scheduling {
    permitted: Priority,
    current: Priority,
    period_start: Time,
    processor_time: Duration,
    /// How often priority was given up.
    pub(crate) yielded: u64,
}

impl Scheduling {
    pub(crate) fn start() -> Self {
        let permitted = if set(Priority::Realtime) { Priority::Realtime } else { Priority::Ordinary };
        let processor_time = clock::processor_time();
        Self { permitted, current: permitted, period_start: Time::ZERO, processor_time, yielded: 0 }
    }

    pub(crate) fn permitted(&self) -> Priority {
        self.permitted
    }

    /// Looks, once in a period, how much of a processor was used.
    pub(crate) fn check(&mut self, now: Time) {
        let period = now - self.period_start;
        if self.permitted == Priority::Ordinary || period < PERIOD {
            return;
        }
        let processor_time = clock::processor_time();
        let used = processor_time.saturating_sub(self.processor_time);
        let busy = used.nanoseconds() * 100 > period.nanoseconds() * MAX_PERCENT;
        self.change(if busy { Priority::Ordinary } else { Priority::Realtime });
        (self.period_start, self.processor_time) = (now, processor_time);
    }

    fn change(&mut self, wanted: Priority) {
        if wanted != self.current && set(wanted) {
            self.current = wanted;
            self.yielded += u64::from(wanted == Priority::Ordinary);
        }
    }
}

fn set(priority: Priority) -> bool {
    let (policy, level) = match priority {
        Priority::Realtime => (libc::SCHED_FIFO, REALTIME),
        Priority::Ordinary => (libc::SCHED_OTHER, 0),
    };
    // SAFETY: all fields of the parameters may be zero.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = level;
    // SAFETY: changes this thread alone; children start as ordinary ones.
    unsafe { libc::sched_setscheduler(0, policy | libc::SCHED_RESET_ON_FORK, &raw const parameters) == 0 }
}
