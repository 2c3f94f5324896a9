//! A measurement point as OML's calls know it.

use std::sync::atomic::{AtomicU64, Ordering};

use streams::client::Point;

use super::value::{Kind, OmlValueU};
use crate::log::{WARN, log};
use crate::values::with_values;

/// What an `OmlMP *` leads to.
pub(crate) struct OmlMP {
    point: Point,
    kinds: Box<[Kind]>,
    /// Longs that went as the nearest of 32 bits.
    clamped: AtomicU64,
}

impl OmlMP {
    pub(super) const fn new(point: Point, kinds: Box<[Kind]>) -> Self {
        Self { point, kinds, clamped: AtomicU64::new(0) }
    }

    pub(super) const fn point(&self) -> &Point {
        &self.point
    }

    /// How many longs were beyond 32 bits since the last look.
    pub(super) fn take_clamped(&self) -> u64 {
        self.clamped.swap(0, Ordering::Relaxed)
    }

    /// Whether the sample was taken.
    ///
    /// # Safety
    /// `values` holds a value for each field, set as the field's type says.
    pub(super) unsafe fn inject(&self, values: *const OmlValueU) -> bool {
        // SAFETY: as the caller promises.
        let is_clamped = |index: usize| unsafe { self.kinds[index].clamps(&*values.add(index)) };
        let clamped = (0..self.kinds.len()).filter(|&index| is_clamped(index)).count();
        if clamped > 0 {
            self.clamped.fetch_add(clamped as u64, Ordering::Relaxed);
        }
        if self.point.is_fixed() {
            // SAFETY: `index` is below the number of fields.
            let word = |index: usize| unsafe { self.kinds[index].word(&*values.add(index)) };
            return self.told(self.point.inject_words(word).is_ok());
        }
        let value = |index: usize| {
            // SAFETY: `index` is below the number of fields.
            unsafe { self.kinds[index].read(&*values.add(index)) }
        };
        let inject = |values: &[_]| self.point.inject(values).is_ok();
        self.told(
            with_values(self.kinds.len(), value, inject).unwrap_or_else(|| self.point.inject(&[]).is_ok()),
        )
    }

    /// The same, once what encodings do not carry is logged, for each stream at its first such value.
    #[inline]
    fn told(&self, taken: bool) -> bool {
        self.point.first_losses().iter().for_each(|text| log(WARN, text));
        taken
    }
}
