//! Samples in the ring: a word of length and point, a word of time, then the values.

use super::ring::{Claim, Consumer};
use crate::protocol::{ElementType, FieldType, Slot, Span, Value, Vector};

/// Words before the values.
pub(super) const HEAD: usize = 2;
/// Set in the first word when the time is UNIX nanoseconds given by the program.
const GIVEN_TIME: u64 = 1 << 31;

/// A sample's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stamp {
    /// Ticks of the client's clock.
    Ticks(u64),
    /// UNIX nanoseconds.
    Unix(u64),
}

/// Words of a value in the ring.
pub(super) const fn words(value: &Value<'_>) -> usize {
    match value {
        Value::String(bytes) | Value::Blob(bytes) => 1 + bytes.len().div_ceil(8),
        Value::Vector(vector) => 1 + (vector.len() * vector.element_type().width()).div_ceil(8),
        _ => 1,
    }
}

/// Whether a value of a type is always one word in the ring.
pub(super) const fn is_one_word(field_type: FieldType) -> bool {
    !matches!(field_type, FieldType::String | FieldType::Blob | FieldType::Vector(_))
}

/// Puts the words before the values of a sample of `total` words.
pub(super) fn put_head(claim: &mut Claim<'_>, total: usize, point: u32, stamp: Stamp) {
    let (given, time) = match stamp {
        Stamp::Ticks(ticks) => (0, ticks),
        Stamp::Unix(nanoseconds) => (GIVEN_TIME, nanoseconds),
    };
    claim.put((total as u64) << 32 | given | u64::from(point));
    claim.put(time);
}

/// Puts the values of a sample.
pub(super) fn put_values(claim: &mut Claim<'_>, values: &[Value<'_>]) {
    values.iter().for_each(|value| put_value(claim, value));
}

fn put_value(claim: &mut Claim<'_>, value: &Value<'_>) {
    match *value {
        Value::Int32(value) => claim.put(u64::from(value.cast_unsigned())),
        Value::UInt32(value) => claim.put(u64::from(value)),
        Value::Int64(value) => claim.put(value.cast_unsigned()),
        Value::UInt64(value) | Value::Guid(value) => claim.put(value),
        Value::Double(value) => claim.put(value.to_bits()),
        Value::Bool(value) => claim.put(u64::from(value)),
        Value::Null => claim.put(0), // no point has fields of its type
        Value::String(bytes) | Value::Blob(bytes) => {
            claim.put(bytes.len() as u64);
            claim.put_bytes(bytes);
        }
        Value::Vector(vector) => {
            claim.put(vector.len() as u64);
            put_vector(claim, vector);
        }
    }
}

/// Puts the packed form, without memory of its own.
fn put_vector(claim: &mut Claim<'_>, vector: Vector<'_>) {
    let width = vector.element_type().width();
    let (mut word, mut filled) = ([0_u8; 8], 0);
    for element in vector.iter() {
        let bits = element.packed_bits().to_be_bytes();
        word[filled..filled + width].copy_from_slice(&bits[8 - width..]);
        filled += width;
        if filled == 8 {
            claim.put(u64::from_le_bytes(word));
            (word, filled) = ([0; 8], 0);
        }
    }
    if filled > 0 {
        claim.put(u64::from_le_bytes(word));
    }
}

/// The head of the next sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) words: u64,
    pub(super) point: u32,
    pub(super) stamp: Stamp,
}

/// Reads the head of the sample that begins at a word; there must be one.
pub(super) fn head_at(consumer: &Consumer, offset: u64) -> Head {
    let (first, time) = (consumer.word(offset), consumer.word(offset + 1));
    Head {
        words: first >> 32,
        point: (first & (GIVEN_TIME - 1)) as u32,
        stamp: if first & GIVEN_TIME == 0 { Stamp::Ticks(time) } else { Stamp::Unix(time) },
    }
}

/// Memory into which one sample after another is read.
#[derive(Debug, Default)]
pub(super) struct Sample {
    slots: Vec<Slot>,
    bytes: Vec<u8>,
}

impl Sample {
    /// Reads the values of the sample that waits first.
    pub(super) fn read(&mut self, consumer: &Consumer, types: &[FieldType]) {
        self.slots.clear();
        self.bytes.clear();
        let mut offset = HEAD as u64;
        for &field_type in types {
            let word = consumer.word(offset);
            offset += 1;
            let slot = match field_type {
                FieldType::Int32 => Slot::Int32((word as u32).cast_signed()),
                FieldType::UInt32 => Slot::UInt32(word as u32),
                FieldType::Int64 => Slot::Int64(word.cast_signed()),
                FieldType::UInt64 => Slot::UInt64(word),
                FieldType::Guid => Slot::Guid(word),
                FieldType::Double => Slot::Double(f64::from_bits(word)),
                FieldType::Bool => Slot::Bool(word != 0),
                FieldType::String => Slot::String(self.read_bytes(consumer, &mut offset, word as usize)),
                FieldType::Blob => Slot::Blob(self.read_bytes(consumer, &mut offset, word as usize)),
                FieldType::Vector(element) => self.read_vector(consumer, &mut offset, word as usize, element),
            };
            self.slots.push(slot);
        }
    }

    fn read_vector(
        &mut self,
        consumer: &Consumer,
        offset: &mut u64,
        count: usize,
        element: ElementType,
    ) -> Slot {
        Slot::Vector(element, self.read_bytes(consumer, offset, count * element.width()))
    }

    fn read_bytes(&mut self, consumer: &Consumer, offset: &mut u64, length: usize) -> Span {
        let start = self.bytes.len();
        consumer.bytes(*offset, length, &mut self.bytes);
        *offset += length.div_ceil(8) as u64;
        Span::input(start, self.bytes.len())
    }

    /// Puts the values into `values`, which must be empty.
    pub(super) fn fill<'a>(&'a self, values: &mut Vec<Value<'a>>) {
        values.extend(self.slots.iter().map(|slot| slot.value(&self.bytes, &[])));
    }
}

#[cfg(test)]
mod tests {
    use super::super::ring::ring;
    use super::*;

    #[test]
    fn every_type_goes_through_the_ring_unchanged() {
        let values = [
            Value::Int32(-5),
            Value::UInt32(u32::MAX),
            Value::Int64(i64::MIN),
            Value::UInt64(u64::MAX),
            Value::Double(-0.5),
            Value::String(b"nine bytes"),
            Value::Blob(&[]),
            Value::Guid(7),
            Value::Bool(true),
            Value::Vector(Vector::Int32(&[1, -2, 3])),
            Value::Vector(Vector::Double(&[1.5, -2.5])),
            Value::Vector(Vector::Bool(&[true, false, true])),
            Value::Vector(Vector::UInt64(&[])),
        ];
        let types: Vec<_> = values.iter().filter_map(Value::field_type).collect();
        let total = HEAD + values.iter().map(words).sum::<usize>();
        let (mut producer, consumer) = ring(1024);
        let mut claim = producer.claim(total).unwrap();
        put_head(&mut claim, total, 3, Stamp::Unix(9));
        put_values(&mut claim, &values);
        claim.commit();
        assert_eq!(consumer.len(), total as u64);
        let head = head_at(&consumer, 0);
        assert_eq!((head.words, head.point, head.stamp), (total as u64, 3, Stamp::Unix(9)));
        let mut sample = Sample::default();
        sample.read(&consumer, &types);
        let mut read = Vec::new();
        sample.fill(&mut read);
        assert_eq!(read, values);
    }
}
