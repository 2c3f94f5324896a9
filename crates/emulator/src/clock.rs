//! The clock and the wait of the emulator's thread.

use std::fs::File;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::fs::FileExt;

use trialwise_units::{Duration, Time};

/// What is left of a wait below this is polled away, as far as the budget goes: a sleeping thread wakes late.
const SPIN: Duration = Duration::from_microseconds(60);
/// Of all time, one part in this many may be spent on spinning.
const SPIN_SHARE: u64 = 20;
const MAX_SPIN: Duration = Duration::from_milliseconds(1);
/// Otherwise what is due leaves no sooner than this after what left before, so that packets gather when there are many: each wake
/// costs a processor some 30 µs. Where a round trip takes long it is a hundredth of it, up to the most; while packets are fast,
/// there are enough of them sooner.
const LEAST_GATHERING: Duration = Duration::from_microseconds(150);
const MOST_GATHERING: Duration = Duration::from_microseconds(600);
const MOST_GATHERING_OF_FAST: Duration = Duration::from_microseconds(400);
const GATHERING_SHARE: u64 = 100;
/// Nothing lies unread for longer: the queue of a device has room for that.
const MOST_PATIENCE: Duration = Duration::from_milliseconds(1);
/// Spinning pays only where events are further apart than so many gatherings, or than this: there a packet's own delay is what
/// is looked at.
const RARE: u64 = 2;
const RARELY: Duration = Duration::from_microseconds(800);

/// Monotonic time since the clock was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: i64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { origin: nanoseconds(libc::CLOCK_MONOTONIC) }
    }

    /// Nanoseconds on `CLOCK_MONOTONIC` at which this clock was at zero.
    pub(crate) fn origin(self) -> u64 {
        self.origin.unsigned_abs()
    }

    pub(crate) fn now(self) -> Time {
        Time::from_nanoseconds((nanoseconds(libc::CLOCK_MONOTONIC) - self.origin).unsigned_abs())
    }

    /// What it showed at so many nanoseconds on `CLOCK_MONOTONIC`; zero before it was made.
    pub(crate) fn time_at(self, nanoseconds: u64) -> Time {
        Time::from_nanoseconds(nanoseconds.saturating_sub(self.origin()))
    }

    /// What this clock shows when a later one shows `time`.
    pub(crate) fn time_of(self, later: Self, time: Time) -> Time {
        time + Duration::from_nanoseconds((later.origin - self.origin).unsigned_abs())
    }
}

/// Nanoseconds of a clock of the system.
pub(crate) fn nanoseconds(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is written to; the clocks asked for exist everywhere.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Time on a processor that this thread has had.
pub(crate) fn processor_time() -> Duration {
    Duration::from_nanoseconds(nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID).unsigned_abs())
}

/// How long this thread was ready to run and did not (`/proc/thread-self/schedstat`): for so long a packet that woke it lay
/// unseen. Always zero on a kernel that does not count it.
pub(crate) struct RunDelay {
    file: Option<File>,
    seen: u64,
}

impl RunDelay {
    pub(crate) fn start() -> Self {
        let mut run_delay = Self { file: File::open("/proc/thread-self/schedstat").ok(), seen: 0 };
        run_delay.since_last();
        run_delay
    }

    /// What was added since the last call.
    pub(crate) fn since_last(&mut self) -> Duration {
        let seen = self.read().unwrap_or(self.seen);
        let added = seen.saturating_sub(self.seen);
        self.seen = seen;
        Duration::from_nanoseconds(added)
    }

    fn read(&self) -> Option<u64> {
        let mut text = [0; 80];
        let length = self.file.as_ref()?.read_at(&mut text, 0).ok()?;
        str::from_utf8(&text[..length]).ok()?.split_whitespace().nth(1)?.parse().ok()
    }
}

/// Waits for packets or an instant, spinning at the end where there is budget for it.
pub(crate) struct Waiter {
    /// What wakes the thread, then the two devices of each path.
    watched: Vec<libc::pollfd>,
    /// How long packets gather, and until when they do.
    gathering: Duration,
    gathered: Time,
    is_fast: bool,
    /// Whether arrivals do not end the last wait.
    is_deaf: bool,
    budget: Duration,
    last: Time,
    /// The instant waited for, and the one before it.
    awaited: [Time; 2],
}

impl Waiter {
    /// Waits for no path yet; the descriptor ends any wait.
    pub(crate) fn new(waking: RawFd) -> Self {
        make_timers_exact();
        Self {
            watched: vec![readable(waking)],
            gathering: LEAST_GATHERING,
            is_fast: false,
            is_deaf: false,
            gathered: Time::ZERO,
            budget: MAX_SPIN,
            last: Time::ZERO,
            awaited: [Time::ZERO; 2],
        }
    }

    /// Waits for packets of these paths from now on, the round trip of which takes at least so long. Where there are many, a
    /// wake serves them all, so that no longer gathering is needed.
    pub(crate) fn watch(&mut self, paths: impl ExactSizeIterator<Item = [RawFd; 2]>, round_trip: Duration) {
        let most = if paths.len() > 1 { LEAST_GATHERING } else { MOST_GATHERING };
        self.watched.truncate(1);
        self.watched.extend(paths.flatten().map(readable));
        self.gathering = (round_trip / GATHERING_SHARE).clamp(LEAST_GATHERING, most);
    }

    /// Waits until `until`, or until a descriptor is readable; may return earlier. The turn that ends `now` began at `start`. What
    /// comes may lie unread for `patience`: where `until` is no further away, it ends no wait.
    pub(crate) fn wait(
        &mut self,
        clock: Clock,
        [start, now]: [Time; 2],
        until: Option<Time>,
        patience: Duration,
    ) -> io::Result<()> {
        let earned = Duration::from_picoseconds((now - self.last).picoseconds() / SPIN_SHARE);
        self.budget = (self.budget + earned).min(MAX_SPIN);
        self.last = now;
        let Some(until) = until else {
            self.is_deaf = false;
            return self.sleep(None);
        };
        let patience = patience.min(MOST_PATIENCE);
        if until != self.awaited[0] {
            self.awaited = [until, self.awaited[0]];
        }
        let rare = (self.gathering * RARE).min(RARELY);
        if self.budget < SPIN || self.awaited[0] - self.awaited[1] < rare {
            self.gather([start, now], until);
            let span = until.max(self.gathered) - now;
            self.is_deaf = span <= patience;
            return self.sleep(Some(span));
        }
        self.gathered = now;
        self.is_deaf = until - now <= patience;
        self.sleep(Some((until - now).saturating_sub(SPIN)))?;
        self.spin(clock, until)
    }

    /// Takes packets as fast ones from now on, or as others.
    pub(crate) fn expect(&mut self, is_fast: bool) {
        self.is_fast = is_fast;
    }

    /// Whether what is due waits for others: packets that come end a wait, and not the gathering.
    pub(crate) fn gathers(&self, now: Time) -> bool {
        now < self.gathered
    }

    /// Looks at the descriptors without waiting.
    pub(crate) fn look(&mut self) -> io::Result<()> {
        self.is_deaf = false;
        self.sleep(Some(Duration::ZERO))
    }

    /// A gathering begins with the turn, so that where much is carried, and turns are long, what comes does not wait for both;
    /// it leaves some time for sleep.
    fn gather(&mut self, [start, now]: [Time; 2], until: Time) {
        let most = if self.is_fast { MOST_GATHERING_OF_FAST } else { MOST_GATHERING };
        let gathered = (start + self.gathering.min(most)).max(now + LEAST_GATHERING / 2);
        if !self.gathers(now) && until < gathered {
            self.gathered = gathered;
        }
    }

    /// Whether anything that it listened to was readable when the last wait ended.
    pub(crate) fn any_is_ready(&self) -> bool {
        self.listened_to().iter().any(|watched| watched.revents != 0)
    }

    /// Whether the devices of the path of this place were, or may have been.
    pub(crate) fn ready(&self, place: usize) -> [bool; 2] {
        [1, 2].map(|device| self.is_deaf || self.watched[2 * place + device].revents != 0)
    }

    fn listened_to(&self) -> &[libc::pollfd] {
        if self.is_deaf { &self.watched[..1] } else { &self.watched }
    }

    /// Looks at the descriptors again and again until `until`.
    fn spin(&mut self, clock: Clock, until: Time) -> io::Result<()> {
        let start = clock.now();
        let mut now = start;
        while now < until && !self.any_is_ready() {
            self.sleep(Some(Duration::ZERO))?;
            now = clock.now();
        }
        self.budget = self.budget.saturating_sub(now - start);
        Ok(())
    }

    fn sleep(&mut self, span: Option<Duration>) -> io::Result<()> {
        let timeout = span.map(|span| libc::timespec {
            tv_sec: (span.nanoseconds() / 1_000_000_000).cast_signed(),
            tv_nsec: (span.nanoseconds() % 1_000_000_000).cast_signed(),
        });
        let pointer = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let count = self.listened_to().len() as libc::nfds_t;
        // SAFETY: `watched` has `count` entries or more; the timeout is null or lives on; no signal mask is given.
        if unsafe { libc::ppoll(self.watched.as_mut_ptr(), count, pointer, std::ptr::null()) } < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        Ok(())
    }
}

fn readable(fd: RawFd) -> libc::pollfd {
    libc::pollfd { fd, events: libc::POLLIN, revents: 0 }
}

/// Ordinary threads are woken up to 50 µs late on purpose unless they ask otherwise.
fn make_timers_exact() {
    // SAFETY: sets a property of this thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn waiter_of(device: &UnixStream, round_trip: Duration) -> Waiter {
        let descriptor = device.as_raw_fd();
        let mut waiter = Waiter::new(descriptor);
        waiter.watch(std::iter::once([descriptor; 2]), round_trip);
        waiter
    }

    #[test]
    fn arrivals_end_a_wait_and_no_gathering() {
        let (near, far) = UnixStream::pair().unwrap();
        io::Write::write_all(&mut &far, b"x").unwrap();
        let at = |microseconds: u64| Time::from_milliseconds(10) + Duration::from_microseconds(microseconds);
        for (round_trip, gathering) in [(2, 150), (30, 300), (56, 560), (600, 600)] {
            let round_trip = Duration::from_milliseconds(round_trip);
            let mut waiter = waiter_of(&near, round_trip);
            (waiter.budget, waiter.last) = (Duration::ZERO, at(0));
            let clock = Clock::start();
            // Something is due soon, and something else has come; then what is due goes on waiting.
            for now in [0, 100, gathering - 1] {
                waiter.wait(clock, [at(now); 2], Some(at(60)), Duration::ZERO).unwrap();
                assert_eq!(waiter.ready(0), [true; 2]);
                assert_eq!([gathering - 1, gathering].map(|now| waiter.gathers(at(now))), [true, false]);
            }
            // What is due later than that gathers with nothing.
            waiter.wait(clock, [at(gathering); 2], Some(at(5 * gathering)), Duration::ZERO).unwrap();
            assert!(!waiter.gathers(at(gathering)));
        }
    }

    #[test]
    fn what_may_lie_unread_ends_no_wait() {
        let (near, far) = UnixStream::pair().unwrap();
        let (waking, _other) = UnixStream::pair().unwrap();
        io::Write::write_all(&mut &far, b"x").unwrap();
        let patience = MOST_PATIENCE * 2;
        for (span, waits) in [(MOST_PATIENCE, true), (Duration::from_seconds(20.0), false)] {
            for budget in [Duration::ZERO, MAX_SPIN] {
                let mut waiter = Waiter::new(waking.as_raw_fd());
                waiter.watch(std::iter::once([near.as_raw_fd(); 2]), Duration::from_milliseconds(2));
                let clock = Clock::start();
                let now = clock.now();
                (waiter.budget, waiter.last) = (budget, now);
                waiter.wait(clock, [now; 2], Some(now + span), patience).unwrap();
                assert_eq!(clock.now() >= now + span, waits);
                assert_eq!(waiter.ready(0), [true; 2]);
            }
        }
    }

    #[test]
    fn a_turn_is_part_of_the_gathering_after_it() {
        let (near, far) = UnixStream::pair().unwrap();
        io::Write::write_all(&mut &far, b"x").unwrap();
        let at = |microseconds: u64| Time::from_milliseconds(10) + Duration::from_microseconds(microseconds);
        // A path alone gathers for 300 us at this round trip, many for 150 us, from the start of the turn; 75 us are left after
        // the longest.
        for (paths, turn, gathered) in
            [(1, 0, 300), (1, 100, 300), (1, 250, 325), (2, 0, 150), (2, 50, 150), (2, 100, 175)]
        {
            let mut waiter = waiter_of(&near, Duration::from_milliseconds(30));
            let devices = vec![[near.as_raw_fd(); 2]; paths];
            waiter.watch(devices.into_iter(), Duration::from_milliseconds(30));
            (waiter.budget, waiter.last) = (Duration::ZERO, at(turn));
            waiter.wait(Clock::start(), [at(0), at(turn)], Some(at(turn + 10)), Duration::ZERO).unwrap();
            assert_eq!([gathered - 1, gathered].map(|now| waiter.gathers(at(now))), [true, false]);
        }
    }

    #[test]
    fn packets_of_many_paths_gather_for_the_least_time() {
        let (near, _far) = UnixStream::pair().unwrap();
        for (paths, gathering) in [(1, MOST_GATHERING), (2, LEAST_GATHERING), (64, LEAST_GATHERING)] {
            let mut waiter = Waiter::new(near.as_raw_fd());
            let devices = vec![[near.as_raw_fd(); 2]; paths];
            waiter.watch(devices.into_iter(), Duration::from_milliseconds(60));
            assert_eq!(waiter.gathering, gathering);
        }
    }

    #[test]
    fn fast_packets_gather_for_less() {
        let (near, far) = UnixStream::pair().unwrap();
        io::Write::write_all(&mut &far, b"x").unwrap();
        let at = |microseconds: u64| Time::from_milliseconds(10) + Duration::from_microseconds(microseconds);
        for (is_fast, round_trip, gathered) in [(false, 56, 560), (true, 56, 400), (true, 30, 300)] {
            let mut waiter = waiter_of(&near, Duration::from_milliseconds(round_trip));
            waiter.expect(is_fast);
            (waiter.budget, waiter.last) = (Duration::ZERO, at(0));
            waiter.wait(Clock::start(), [at(0); 2], Some(at(10)), Duration::ZERO).unwrap();
            assert_eq!([gathered - 1, gathered].map(|now| waiter.gathers(at(now))), [true, false]);
        }
    }

    #[test]
    fn what_is_rare_gathers_with_nothing() {
        let (near, far) = UnixStream::pair().unwrap();
        io::Write::write_all(&mut &far, b"x").unwrap();
        let at = |microseconds: u64| Time::from_milliseconds(10) + Duration::from_microseconds(microseconds);
        for (gap, gathers) in [(299, true), (300, false)] {
            let mut waiter = waiter_of(&near, Duration::ZERO);
            for step in 0..2 {
                waiter
                    .wait(Clock::start(), [at(gap * step); 2], Some(at(gap * step + 10)), Duration::ZERO)
                    .unwrap();
            }
            assert_eq!(waiter.gathers(at(gap + 20)), gathers);
        }
    }
}
