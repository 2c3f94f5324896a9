//! A ring of words between one injecting thread and the writer.
//!
//! The words are atomics read and written without ordering of their own; the two positions order them: a producer's
//! release of `tail` is seen before the words behind it are read, and a consumer's release of `head` before they are
//! written again. On the usual machines each of these is one plain load or store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Keeps the two positions on cache lines of their own.
#[repr(align(128))]
struct Padded<T>(T);

struct Ring {
    words: Box<[AtomicU64]>,
    /// Words taken out since the start.
    head: Padded<AtomicU64>,
    /// Words put in since the start.
    tail: Padded<AtomicU64>,
    /// The producer is gone: nothing follows.
    ended: AtomicBool,
}

/// The injecting thread's end.
pub(super) struct Producer {
    ring: Arc<Ring>,
    tail: u64,
    /// What `head` was when last looked at.
    head: u64,
}

/// The writer's end.
pub(super) struct Consumer {
    ring: Arc<Ring>,
    head: u64,
}

/// Words promised to one record; they come to light together in [`Claim::commit`].
pub(super) struct Claim<'a> {
    producer: &'a mut Producer,
    position: u64,
}

/// A ring of at least `bytes`; its pages are taken from the machine when first written.
pub(super) fn ring(bytes: usize) -> (Producer, Consumer) {
    let ring = Arc::new(Ring {
        words: zeroed((bytes / 8).next_power_of_two()),
        head: Padded(AtomicU64::new(0)),
        tail: Padded(AtomicU64::new(0)),
        ended: AtomicBool::new(false),
    });
    (Producer { ring: Arc::clone(&ring), tail: 0, head: 0 }, Consumer { ring, head: 0 })
}

fn zeroed(words: usize) -> Box<[AtomicU64]> {
    let plain = Box::into_raw(vec![0_u64; words].into_boxed_slice());
    // SAFETY: `AtomicU64` has the size, alignment (on every target with 64-bit atomics of this crate: 8) and bit
    // validity of `u64`, and `plain` was just given up by the box that owned it alone.
    unsafe { Box::from_raw(plain as *mut [AtomicU64]) }
}

const _: () = assert!(align_of::<AtomicU64>() == align_of::<u64>());

impl Ring {
    fn word(&self, position: u64) -> &AtomicU64 {
        &self.words[position as usize & (self.words.len() - 1)]
    }
}

impl Producer {
    /// Words that the ring holds.
    pub(super) fn capacity(&self) -> usize {
        self.ring.words.len()
    }

    /// Room for a record of so many words, if there is.
    pub(super) fn claim(&mut self, words: usize) -> Option<Claim<'_>> {
        let capacity = self.capacity() as u64;
        if self.tail - self.head + words as u64 > capacity {
            self.head = self.ring.head.0.load(Ordering::Acquire);
            if self.tail - self.head + words as u64 > capacity {
                return None;
            }
        }
        let position = self.tail;
        Some(Claim { producer: self, position })
    }

    /// Whether the writer is gone for good.
    pub(super) fn is_orphan(&self) -> bool {
        Arc::strong_count(&self.ring) == 1
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.ring.ended.store(true, Ordering::Release);
    }
}

impl Claim<'_> {
    /// Puts the next word.
    pub(super) fn put(&mut self, word: u64) {
        self.producer.ring.word(self.position).store(word, Ordering::Relaxed);
        self.position += 1;
    }

    /// Puts bytes, the last word filled with zeros.
    pub(super) fn put_bytes(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.put(u64::from_le_bytes(word));
        }
    }

    /// Gives the record to the writer.
    pub(super) fn commit(self) {
        self.producer.tail = self.position;
        self.producer.ring.tail.0.store(self.position, Ordering::Release);
    }
}

impl Consumer {
    /// Words that wait.
    pub(super) fn len(&self) -> u64 {
        self.ring.tail.0.load(Ordering::Acquire) - self.head
    }

    /// Words that the ring holds.
    pub(super) fn capacity(&self) -> u64 {
        self.ring.words.len() as u64
    }

    /// A waiting word; `offset` is below [`Self::len`].
    pub(super) fn word(&self, offset: u64) -> u64 {
        self.ring.word(self.head + offset).load(Ordering::Relaxed)
    }

    /// Appends `length` bytes that start at a word.
    pub(super) fn bytes(&self, offset: u64, length: usize, out: &mut Vec<u8>) {
        let end = out.len() + length;
        for word in 0..length.div_ceil(8) as u64 {
            out.extend_from_slice(&self.word(offset + word).to_le_bytes());
        }
        out.truncate(end);
    }

    /// Gives words back to the producer.
    pub(super) fn release(&mut self, words: u64) {
        self.head += words;
        self.ring.head.0.store(self.head, Ordering::Release);
    }

    /// Whether nothing waits and nothing follows.
    pub(super) fn is_over(&self) -> bool {
        self.ring.ended.load(Ordering::Acquire) && self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_refuses_and_goes_on_when_read() {
        let (mut producer, mut consumer) = ring(64);
        for record in 0..4 {
            let mut claim = producer.claim(2).unwrap();
            claim.put(record);
            claim.put(record);
            claim.commit();
        }
        assert!(producer.claim(1).is_none());
        assert_eq!((consumer.word(0), consumer.len()), (0, 8));
        consumer.release(2);
        assert!(producer.claim(3).is_none() && producer.claim(2).is_some());
    }

    #[test]
    fn what_is_not_committed_is_not_seen() {
        let (mut producer, consumer) = ring(64);
        producer.claim(1).unwrap().put(7);
        assert_eq!(consumer.len(), 0);
    }

    #[test]
    fn records_cross_between_threads_whole_and_in_order() {
        let (mut producer, mut consumer) = ring(1 << 10);
        let records = if cfg!(miri) { 1000 } else { 300_000_u64 };
        let writer = std::thread::spawn(move || {
            for record in 0..records {
                let words = 1 + record % 7;
                while producer.claim(words as usize).is_none() {
                    std::thread::yield_now();
                }
                let mut claim = producer.claim(words as usize).unwrap();
                (0..words).for_each(|_| claim.put(record));
                claim.commit();
            }
        });
        let mut record = 0;
        while record < records {
            if consumer.len() == 0 {
                std::thread::yield_now();
                continue;
            }
            let words = 1 + record % 7;
            assert!(consumer.len() >= words, "half a record");
            (0..words).for_each(|offset| assert_eq!(consumer.word(offset), record));
            consumer.release(words);
            record += 1;
        }
        writer.join().unwrap();
        assert!(consumer.is_over());
    }
}
