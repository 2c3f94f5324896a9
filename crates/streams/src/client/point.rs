//! Measurement points: what a program holds to inject.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use super::clock::unix_nanoseconds;
use super::ring::{Claim, Producer, ring};
use super::sample::{self, Stamp};
use super::shared::{Shared, State};
use crate::protocol::{Field, FieldType, Value};

/// A named tuple that the program measures. Cheap to clone; any thread may inject.
#[derive(Clone, Debug)]
pub struct Point {
    pub(super) inner: Arc<PointState>,
    pub(super) shared: Arc<Shared>,
}

/// What all handles of a point share.
#[derive(Debug)]
pub(super) struct PointState {
    pub(super) id: u32,
    pub(super) name: String,
    pub(super) fields: Vec<Field>,
    pub(super) types: Vec<FieldType>,
    /// Every value is one word in the ring.
    pub(super) fixed: bool,
    /// Taken over by the writer, which alone writes it.
    pub(super) injected: AtomicU64,
    /// Lost at the inject, by any thread.
    pub(super) dropped: AtomicU64,
}

/// Why a sample was lost; it was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InjectError {
    /// The writer does not keep up: the thread's ring is full.
    #[error("the buffer of this thread is full: inject less, filter more, or give a larger --oml-bufsize")]
    Full,
    /// The sample is larger than a ring.
    #[error("the sample is larger than the buffer of a thread: give a larger --oml-bufsize")]
    TooLong,
    /// The values are not those of the point.
    #[error("the values do not have the number and types of the measurement point's fields")]
    Values,
    /// The client is closed.
    #[error("the client is closed")]
    Closed,
}

thread_local! {
    /// This thread's rings by client; the one used last is first.
    static PRODUCERS: RefCell<Vec<(u64, Producer)>> = const { RefCell::new(Vec::new()) };
}

impl PointState {
    pub(super) fn new(id: u32, name: &str, fields: Vec<Field>) -> Arc<Self> {
        Arc::new(Self {
            id,
            name: name.to_owned(),
            types: fields.iter().map(|field| field.field_type).collect(),
            fixed: fields.iter().all(|field| sample::is_one_word(field.field_type)),
            fields,
            injected: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        })
    }
}

impl Point {
    /// The name, without the program's.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The fields.
    pub fn fields(&self) -> &[Field] {
        &self.inner.fields
    }

    /// Samples lost at the inject so far.
    pub fn dropped(&self) -> u64 {
        self.inner.dropped.load(Ordering::Relaxed)
    }

    /// What encodings do not carry of the client's streams, a sentence for each that lost its first value since the last call of
    /// this client's; to be asked after injects. The writer sees samples some time later.
    #[inline]
    pub fn first_losses(&self) -> Vec<String> {
        self.shared.first_losses()
    }

    /// Gives a sample, stamped now, to this thread's ring. Takes no lock, makes no system call and no memory (but at
    /// the thread's first inject, which makes the ring).
    ///
    /// # Errors
    /// The sample is lost, and counted.
    #[inline]
    pub fn inject(&self, values: &[Value<'_>]) -> Result<(), InjectError> {
        self.count(self.try_inject(values, |shared| Stamp::Ticks(shared.ticks.now())))
    }

    /// Whether every field is a number, a guid or a bool, so that [`Self::inject_words`] takes samples.
    pub fn is_fixed(&self) -> bool {
        self.inner.fixed
    }

    /// As [`Self::inject`], for a point with [`Self::is_fixed`]: `word` gives the bits of the value of each field, those of
    /// 32-bit integers in the low half, 0 or 1 for a bool. For interfaces whose values are words already.
    ///
    /// # Errors
    /// The sample is lost, and counted; [`InjectError::Values`] for another kind of point.
    #[inline]
    pub fn inject_words(&self, word: impl Fn(usize) -> u64) -> Result<(), InjectError> {
        let count = self.inner.types.len();
        let outcome = self.check_open().and_then(|open| {
            if !open || !self.inner.fixed {
                return if open { Err(InjectError::Values) } else { Ok(()) };
            }
            let stamp = Stamp::Ticks(self.shared.ticks.now());
            self.put(sample::HEAD + count, stamp, |claim| (0..count).for_each(|at| claim.put(word(at))))
        });
        self.count(outcome)
    }

    /// As [`Self::inject`], with the program's own time stamp.
    ///
    /// # Errors
    /// The sample is lost, and counted.
    pub fn inject_at(&self, time: SystemTime, values: &[Value<'_>]) -> Result<(), InjectError> {
        self.count(self.try_inject(values, |_| Stamp::Unix(unix_nanoseconds(time))))
    }

    /// Like [`Self::inject`] (or [`Self::inject_at`], where a time is given), but waits for room until `deadline`; for
    /// batches, which fill any buffer. Blocks its thread.
    ///
    /// # Errors
    /// As [`Self::inject`]; [`InjectError::Full`] when there was no room until then.
    pub fn inject_until(
        &self,
        deadline: Instant,
        time: Option<SystemTime>,
        values: &[Value<'_>],
    ) -> Result<(), InjectError> {
        const NAP: Duration = Duration::from_micros(200);
        loop {
            let outcome = self.try_inject(values, |shared| match time {
                Some(time) => Stamp::Unix(unix_nanoseconds(time)),
                None => Stamp::Ticks(shared.ticks.now()),
            });
            if outcome != Err(InjectError::Full) || Instant::now() >= deadline {
                return self.count(outcome);
            }
            std::thread::sleep(NAP);
        }
    }

    fn count(&self, outcome: Result<(), InjectError>) -> Result<(), InjectError> {
        if outcome.is_err() {
            self.inner.dropped.fetch_add(1, Ordering::Relaxed);
        }
        outcome
    }

    #[inline]
    fn try_inject(
        &self,
        values: &[Value<'_>],
        stamp: impl FnOnce(&Shared) -> Stamp,
    ) -> Result<(), InjectError> {
        if !self.check_open()? {
            return Ok(());
        }
        let total = self.measure(values)?;
        self.put(total, stamp(&self.shared), |claim| sample::put_values(claim, values))
    }

    /// Whether samples are taken at all; an error when they no longer are.
    #[inline]
    fn check_open(&self) -> Result<bool, InjectError> {
        match self.shared.state() {
            State::Open => Ok(true),
            State::Closed => Err(InjectError::Closed),
            State::Disabled => Ok(false),
        }
    }

    /// Puts a sample of `total` words into this thread's ring; `fill` puts its values.
    #[inline]
    fn put(&self, total: usize, stamp: Stamp, fill: impl FnOnce(&mut Claim<'_>)) -> Result<(), InjectError> {
        with_producer(&self.shared, |producer| {
            let Some(mut claim) = producer.claim(total) else {
                let never = total > producer.capacity();
                return Err(if never { InjectError::TooLong } else { InjectError::Full });
            };
            sample::put_head(&mut claim, total, self.inner.id, stamp);
            fill(&mut claim);
            claim.commit();
            Ok(())
        })
    }

    #[inline]
    fn measure(&self, values: &[Value<'_>]) -> Result<usize, InjectError> {
        if values.len() != self.inner.types.len() {
            return Err(InjectError::Values);
        }
        let mut total = sample::HEAD;
        for (value, field_type) in values.iter().zip(&self.inner.types) {
            if value.field_type() != Some(*field_type) {
                return Err(InjectError::Values);
            }
            total += sample::words(value);
        }
        Ok(total)
    }
}

/// Calls `act` with this thread's ring of the client, made if there is none.
#[inline]
fn with_producer<T>(
    shared: &Arc<Shared>,
    act: impl FnOnce(&mut Producer) -> Result<T, InjectError>,
) -> Result<T, InjectError> {
    let found = PRODUCERS.try_with(|producers| {
        let mut producers = producers.borrow_mut();
        if producers.first().is_none_or(|(client, _)| *client != shared.id) {
            bring_first(&mut producers, shared);
        }
        act(&mut producers[0].1)
    });
    found.unwrap_or(Err(InjectError::Closed)) // the thread is past its end
}

#[cold]
fn bring_first(producers: &mut Vec<(u64, Producer)>, shared: &Arc<Shared>) {
    let known = producers.iter().position(|(client, _)| *client == shared.id);
    let position = known.unwrap_or_else(|| {
        producers.retain(|(_, producer)| !producer.is_orphan());
        let (producer, consumer) = ring(shared.ring_bytes);
        shared.adopt(consumer);
        producers.push((shared.id, producer));
        producers.len() - 1
    });
    producers.swap(0, position);
}
