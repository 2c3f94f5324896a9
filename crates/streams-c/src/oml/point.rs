//! A measurement point as OML's calls know it.

use streams::client::Point;

use super::value::{Kind, OmlValueU};
use crate::values::with_values;

/// What an `OmlMP *` leads to.
pub(crate) struct OmlMP {
    point: Point,
    kinds: Box<[Kind]>,
}

impl OmlMP {
    pub(super) const fn new(point: Point, kinds: Box<[Kind]>) -> Self {
        Self { point, kinds }
    }

    pub(super) const fn point(&self) -> &Point {
        &self.point
    }

    /// Whether the sample was taken.
    ///
    /// # Safety
    /// `values` holds a value for each field, set as the field's type says.
    pub(super) unsafe fn inject(&self, values: *const OmlValueU) -> bool {
        if self.point.is_fixed() {
            // SAFETY: `index` is below the number of fields.
            let word = |index: usize| unsafe { self.kinds[index].word(&*values.add(index)) };
            return self.point.inject_words(word).is_ok();
        }
        let value = |index: usize| {
            // SAFETY: `index` is below the number of fields.
            unsafe { self.kinds[index].read(&*values.add(index)) }
        };
        let inject = |values: &[_]| self.point.inject(values).is_ok();
        with_values(self.kinds.len(), value, inject).unwrap_or_else(|| self.point.inject(&[]).is_ok())
    }
}
