//! The threads that carry packets: one for each path as long as there are processors, then one for many.
//!
//! Threads that are more than the processors would wake each other's packets late, and each wake costs some 30 us; a thread
//! that has many paths lets the packets of all gather.

use std::fmt;
use std::io;
use std::os::fd::AsRawFd;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};

use trialwise_units::{Duration, Time};

use crate::awake::Awake;
use crate::clock::{Clock, RunDelay, Waiter, processor_time};
use crate::engine::Engine;
use crate::error::Error;
use crate::priority::{Priority, Scheduling};
use crate::wake::Wake;

/// Who comes back so soon has not slept, and has not been waiting for a processor.
const AWAKE: Duration = Duration::from_microseconds(20);

/// All threads of this process at work.
static CARRIERS: Mutex<Vec<Weak<Carrier>>> = Mutex::new(Vec::new());

/// A thread that carries the packets of paths. It ends with the last path that has it.
#[derive(Debug)]
pub(crate) struct Carrier {
    mailbox: Arc<Mailbox>,
    paths: AtomicUsize,
    /// Whose thread it is: a process that was forked has it not.
    process: u32,
    thread: Option<JoinHandle<()>>,
}

/// A path on its thread.
#[derive(Debug)]
pub(crate) struct Place {
    carrier: Arc<Carrier>,
    number: u64,
    /// In a mutex only so that threads may share the path.
    served: Mutex<Receiver<Served>>,
}

/// A path that was taken off its thread, and what the thread says of it.
pub(crate) struct Served {
    pub(crate) engine: Box<Engine>,
    /// When it was taken off, on its own clock.
    pub(crate) ended: Time,
    /// Time of a processor: of the thread's, the part in which it was at work for this path.
    pub(crate) processor_time: Duration,
    pub(crate) priority: Priority,
    pub(crate) yielded: u64,
    pub(crate) failure: Option<io::Error>,
}

#[derive(Debug)]
struct Mailbox {
    requests: Mutex<Requests>,
    asked: AtomicBool,
    wake: Wake,
}

#[derive(Default)]
struct Requests {
    list: Vec<Request>,
    /// Nobody reads them any more.
    is_closed: bool,
}

impl fmt::Debug for Requests {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} requests", self.list.len())
    }
}

enum Request {
    Take(u64, Box<Engine>, SyncSender<Served>),
    GiveBack(u64),
    End,
}

impl Place {
    /// Gives the path that is made then to a thread.
    pub(crate) fn take(make: impl FnOnce() -> Box<Engine>) -> Result<Self, Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let carrier = Carrier::for_one_more()?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let (sender, served) = sync_channel(1);
        carrier.mailbox.ask(Request::Take(number, make(), sender));
        Ok(Self { carrier, number, served: Mutex::new(served) })
    }

    /// Takes the path off its thread; `None` when the thread died.
    pub(crate) fn give_back(&self) -> Option<Served> {
        self.carrier.mailbox.ask(Request::GiveBack(self.number));
        lock(&self.served).recv().ok()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Nothing where it was given back.
        drop(self.give_back());
        self.carrier.paths.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Carrier {
    /// A new thread while there are processors without one, then the one with the fewest paths.
    fn for_one_more() -> Result<Arc<Self>, Error> {
        let processors = thread::available_parallelism().map_or(1, Into::into);
        let mut carriers = lock(&CARRIERS);
        carriers.retain(|carrier| carrier.strong_count() > 0);
        let mut living: Vec<_> =
            carriers.iter().filter_map(Weak::upgrade).filter(|carrier| carrier.is_at_work()).collect();
        living.sort_by_key(|carrier| carrier.paths.load(Ordering::Relaxed));
        let carrier = match living.first() {
            Some(carrier) if living.len() >= processors || carrier.paths.load(Ordering::Relaxed) == 0 => {
                Arc::clone(carrier)
            }
            _ => {
                let carrier = Arc::new(Self::start()?);
                carriers.push(Arc::downgrade(&carrier));
                carrier
            }
        };
        carrier.paths.fetch_add(1, Ordering::Relaxed);
        drop(carriers);
        // One that ends with `living` ends without the lock.
        Ok(carrier)
    }

    fn is_at_work(&self) -> bool {
        self.process == process::id() && !lock(&self.mailbox.requests).is_closed
    }

    fn start() -> Result<Self, Error> {
        let mailbox = Arc::new(Mailbox::new()?);
        let (theirs, clock) = (Arc::clone(&mailbox), Clock::start());
        let run = move || {
            let closing = Closing(theirs);
            // Without its wait it can do nothing more; whoever asks hears that it died.
            let _ = Crew::new(&closing.0, clock).run();
        };
        let thread = thread::Builder::new().name("emulator".to_owned()).spawn(run);
        let thread = thread.map_err(Error::from_io("starting the emulator's thread"))?;
        Ok(Self { mailbox, paths: AtomicUsize::new(0), process: process::id(), thread: Some(thread) })
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        self.mailbox.ask(Request::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Mailbox {
    fn new() -> Result<Self, Error> {
        let wake = Wake::new().map_err(Error::from_io("making an event"))?;
        Ok(Self { requests: Mutex::default(), asked: AtomicBool::new(false), wake })
    }

    /// Asks for something; what nobody reads is dropped.
    fn ask(&self, request: Request) {
        let mut requests = lock(&self.requests);
        if requests.is_closed {
            return;
        }
        requests.list.push(request);
        drop(requests);
        self.asked.store(true, Ordering::Release);
        self.wake.ring();
    }

    fn read(&self) -> Vec<Request> {
        if !self.asked.swap(false, Ordering::Acquire) {
            return Vec::new();
        }
        self.wake.clear();
        std::mem::take(&mut lock(&self.requests).list)
    }
}

/// Closes the mailbox of a thread that ends, in whatever way.
struct Closing(Arc<Mailbox>);

impl Drop for Closing {
    fn drop(&mut self) {
        let mut requests = lock(&self.0.requests);
        requests.is_closed = true;
        requests.list.clear();
    }
}

/// A path, and what its thread had used when it came.
struct Seat {
    number: u64,
    engine: Box<Engine>,
    back: SyncSender<Served>,
    worked: Duration,
    before: Usage,
}

/// What the thread has used so far.
#[derive(Clone, Copy)]
struct Usage {
    processor_time: Duration,
    /// Time at work for any path.
    worked: Duration,
    yielded: u64,
}

/// What the thread does.
struct Crew<'mailbox> {
    mailbox: &'mailbox Mailbox,
    clock: Clock,
    scheduling: Scheduling,
    awake: Awake,
    run_delay: RunDelay,
    waiter: Waiter,
    seats: Vec<Seat>,
    worked: Duration,
    /// How long the last turn took, and when it was over.
    turn: Duration,
    waited: Time,
}

impl<'mailbox> Crew<'mailbox> {
    fn new(mailbox: &'mailbox Mailbox, clock: Clock) -> Self {
        Self {
            mailbox,
            clock,
            scheduling: Scheduling::start(),
            awake: Awake::default(),
            run_delay: RunDelay::start(),
            waiter: Waiter::new(mailbox.wake.as_raw_fd()),
            seats: Vec::new(),
            worked: Duration::ZERO,
            turn: Duration::ZERO,
            waited: Time::ZERO,
        }
    }

    fn run(mut self) -> io::Result<()> {
        while self.attend() {
            let start = self.clock.now();
            self.read(start);
            let due = !self.waiter.gathers(start) && self.write();
            let now = self.clock.now();
            self.scheduling.check(now);
            let is_fast = self.awake.check(now, self.carried());
            self.waiter.expect(is_fast);
            self.waited = self.clock.now();
            self.turn = self.waited - start;
            if due || self.seats.iter().any(|seat| seat.engine.has_more()) {
                self.waiter.look()?;
            } else {
                let patience = self.patience();
                self.waiter.wait(self.clock, [start, self.waited], self.next(), patience)?;
            }
        }
        Ok(())
    }

    /// Does what was asked for; whether to go on.
    fn attend(&mut self) -> bool {
        for request in self.mailbox.read() {
            match request {
                Request::Take(number, engine, back) => {
                    let before = self.usage();
                    self.seats.push(Seat { number, engine, back, worked: Duration::ZERO, before });
                    self.watch();
                }
                Request::GiveBack(number) => {
                    let found = self.seats.iter().position(|seat| seat.number == number);
                    if let Some(place) = found {
                        let unseen = self.turn + self.run_delay.since_last();
                        let failure = self.seats[place].engine.take_in_the_last(unseen).err();
                        self.give_back(place, failure);
                    }
                }
                Request::End => return false,
            }
        }
        true
    }

    /// Reads what waits at any path.
    fn read(&mut self, start: Time) {
        // What the kernel stamps does not lie unseen.
        let slept = start - self.waited > AWAKE && self.waiter.any_is_ready();
        let ran_late = if slept && self.patience() == Duration::ZERO {
            self.run_delay.since_last()
        } else {
            Duration::ZERO
        };
        let unseen = self.turn + ran_late;
        for place in (0..self.seats.len()).rev() {
            let ready = self.waiter.ready(place);
            let is_ready = ready[0] || ready[1] || self.seats[place].engine.has_more();
            if is_ready && let Err(error) = self.work(place, |engine| engine.read(ready, unseen)) {
                self.give_back(place, Some(error));
            }
        }
    }

    /// Writes what is due at any path; whether more may be.
    fn write(&mut self) -> bool {
        let now = self.clock.now();
        let mut more = false;
        for place in (0..self.seats.len()).rev() {
            if self.due(place).is_some_and(|due| due <= now) {
                match self.work(place, Engine::write) {
                    Ok(due) => more |= due,
                    Err(error) => self.give_back(place, Some(error)),
                }
            }
        }
        more
    }

    /// Something done for one path, on its account.
    fn work<T>(&mut self, place: usize, work: impl FnOnce(&mut Engine) -> T) -> T {
        let start = self.clock.now();
        let seat = &mut self.seats[place];
        let done = work(&mut seat.engine);
        let took = self.clock.now() - start;
        seat.worked += took;
        self.worked += took;
        done
    }

    /// When something is due at a path.
    fn due(&self, place: usize) -> Option<Time> {
        let engine = &self.seats[place].engine;
        engine.next().map(|next| self.clock.time_of(engine.clock, next))
    }

    fn next(&self) -> Option<Time> {
        (0..self.seats.len()).filter_map(|place| self.due(place)).min()
    }

    /// For how long what comes may lie unread at any path.
    fn patience(&self) -> Duration {
        self.seats.iter().map(|seat| seat.engine.patience()).min().unwrap_or_default()
    }

    /// Packets so far, of the paths that are there now.
    fn carried(&self) -> u64 {
        self.seats.iter().map(|seat| seat.engine.carried()).sum()
    }

    fn watch(&mut self) {
        let paths = self.seats.iter().map(|seat| seat.engine.descriptors());
        let round_trip = self.seats.iter().map(|seat| seat.engine.round_trip()).min();
        self.waiter.watch(paths, round_trip.unwrap_or_default());
    }

    fn usage(&self) -> Usage {
        Usage { processor_time: processor_time(), worked: self.worked, yielded: self.scheduling.yielded }
    }

    /// Takes a path off.
    fn give_back(&mut self, place: usize, failure: Option<io::Error>) {
        let now = self.usage();
        let Seat { engine, back, worked, before, .. } = self.seats.swap_remove(place);
        self.watch();
        let used = now.processor_time.saturating_sub(before.processor_time);
        let served = Served {
            ended: engine.clock.now(),
            engine,
            processor_time: part(used, worked, now.worked - before.worked),
            priority: self.scheduling.permitted(),
            yielded: now.yielded - before.yielded,
            failure,
        };
        // Whoever had it may have gone.
        let _ = back.try_send(served);
    }
}

/// The part of a span that `worked` is of `all`; the whole where nobody worked.
fn part(span: Duration, worked: Duration, all: Duration) -> Duration {
    if worked == all {
        return span;
    }
    Duration::from_seconds(span.as_seconds() * (worked.as_seconds() / all.as_seconds()))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
