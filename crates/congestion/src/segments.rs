//! A congestion window that grows by fractions of a segment.

use trialwise_units::Bytes;

use crate::{BuildError, Context};

/// No window grows beyond this: a terabyte, and far below where `f64` loses whole bytes.
pub(crate) const MAXIMUM_WINDOW: f64 = (1_u64 << 40) as f64;

/// A window in segments, between a minimum and a terabyte, and never NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SegmentWindow {
    segments: f64,
    minimum: f64,
    segment: Bytes,
}

impl SegmentWindow {
    /// `initial` segments of the context's size, never less than `minimum`.
    pub(crate) fn new(
        initial: u32,
        minimum: f64,
        context: &Context,
        controller: &'static str,
    ) -> Result<Self, BuildError> {
        if context.segment == Bytes::ZERO {
            return Err(BuildError::Lacking { controller, field: "segment" });
        }
        let mut window = Self { segments: minimum, minimum, segment: context.segment };
        window.set(f64::from(initial));
        Ok(window)
    }

    pub(crate) const fn segments(&self) -> f64 {
        self.segments
    }

    /// A NaN gives the minimum: `f64::max` passes it by.
    pub(crate) fn set(&mut self, segments: f64) {
        let maximum = MAXIMUM_WINDOW / self.segment.get() as f64;
        self.segments = segments.max(self.minimum).min(maximum);
    }

    pub(crate) fn grow(&mut self, segments: f64) {
        self.set(self.segments + segments);
    }

    /// How many segments so many bytes are.
    pub(crate) fn segments_in(&self, bytes: Bytes) -> f64 {
        bytes.get() as f64 / self.segment.get() as f64
    }

    /// So many segments in bytes, to the nearest (a byte too few would keep a whole segment back), and a terabyte at most.
    pub(crate) fn bytes_of(&self, segments: f64) -> Bytes {
        Bytes::new((segments * self.segment.get() as f64).min(MAXIMUM_WINDOW).round() as u64)
    }

    pub(crate) fn bytes(&self) -> Bytes {
        self.bytes_of(self.segments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::context;

    #[test]
    fn a_window_stays_between_its_bounds_and_is_a_number() {
        let mut window = SegmentWindow::new(10, 2.0, &context(), "test").unwrap();
        assert_eq!(window.bytes(), Bytes::new(10_000));
        for (wanted, found) in [(0.0, 2000), (f64::NAN, 2000), (f64::INFINITY, 1 << 40), (3.25, 3250)] {
            window.set(wanted);
            assert_eq!(window.bytes(), Bytes::new(found), "{wanted}");
        }
    }

    #[test]
    fn a_segment_of_nothing_is_refused() {
        let context = Context { segment: Bytes::ZERO, ..context() };
        let error = SegmentWindow::new(10, 2.0, &context, "test").unwrap_err().to_string();
        assert!(error.contains("Context::segment"), "{error}");
    }
}
