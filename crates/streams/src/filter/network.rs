//! What a network does to a flow: loss and jitter.

use super::registry::{FilterError, Properties};
use super::{Filter, Output};
use crate::protocol::{FieldType, Value};

/// `loss`: gaps in a sequence of integers that wrap at `bits` (default: the field's own width; 16 for RTP).
///
/// Outputs: `received`; `lost`, numbers passed over (one that comes late within 64 is taken back, in the window in
/// which it comes, so that a window can have less than none); `duplicate`; `reordered`, those that came late.
/// The sequence goes on from window to window.
#[derive(Clone, Debug)]
pub struct Loss {
    bits: u32,
    highest: Option<u64>,
    /// Numbers from the first to the highest.
    expected: u64,
    /// Bit k: `highest` − k has come.
    history: u64,
    window: LossWindow,
}

#[derive(Clone, Copy, Debug, Default)]
struct LossWindow {
    received: i64,
    lost: i64,
    duplicate: i64,
    reordered: i64,
}

impl Loss {
    /// # Errors
    /// `bits` outside 2 to 64.
    pub fn new(bits: u32) -> Result<Self, FilterError> {
        if !(2..=64).contains(&bits) {
            return Err(FilterError::Property {
                filter: "loss",
                reason: format!("needs 2 to 64 bits, not {bits}"),
            });
        }
        Ok(Self { bits, highest: None, expected: 1, history: 1, window: LossWindow::default() })
    }

    pub(super) fn from_properties(
        field_type: FieldType,
        properties: &Properties,
    ) -> Result<Self, FilterError> {
        let wide = matches!(field_type, FieldType::Int64 | FieldType::UInt64);
        Self::new(properties.number("loss", "bits", Some(if wide { 64.0 } else { 32.0 }))? as u32)
    }

    /// How far `number` is ahead of `highest`, modulo 2^bits, as the nearer way round.
    fn distance(&self, number: u64, highest: u64) -> i64 {
        let spare = 64 - self.bits;
        (number.wrapping_sub(highest) << spare).cast_signed() >> spare
    }

    fn take_ahead(&mut self, number: u64, distance: u64) {
        self.window.lost += (distance - 1).cast_signed();
        self.history = self.history.checked_shl(distance.min(64) as u32).unwrap_or(0) | 1;
        self.expected = self.expected.saturating_add(distance);
        self.highest = Some(number);
    }

    fn take_behind(&mut self, distance: u64) {
        let seen = distance < 64 && self.history >> distance & 1 == 1;
        if seen {
            self.window.duplicate += 1;
            return;
        }
        self.window.reordered += 1;
        if distance < 64 && distance < self.expected {
            self.history |= 1 << distance;
            self.window.lost -= 1;
        }
    }
}

/// The number's bits; widths beyond the field's own do not matter modulo 2^bits.
const fn sequence_number(value: Value<'_>) -> Option<u64> {
    Some(match value {
        Value::Int32(value) => (value as i64).cast_unsigned(),
        Value::UInt32(value) => value as u64,
        Value::Int64(value) => value.cast_unsigned(),
        Value::UInt64(value) => value,
        _ => return None,
    })
}

impl Filter for Loss {
    fn outputs(&self) -> Vec<Output> {
        ["received", "lost", "duplicate", "reordered"]
            .map(|name| Output::new(name, FieldType::Int64))
            .to_vec()
    }

    fn add(&mut self, value: Value<'_>, _time: f64) {
        let Some(number) = sequence_number(value) else { return };
        self.window.received += 1;
        let Some(highest) = self.highest else {
            self.highest = Some(number);
            return;
        };
        match self.distance(number, highest) {
            distance @ 1.. => self.take_ahead(number, distance.cast_unsigned()),
            distance => self.take_behind(distance.unsigned_abs()),
        }
    }

    fn output(&self, index: usize) -> Option<Value<'_>> {
        let window = &self.window;
        Some(Value::Int64([window.received, window.lost, window.duplicate, window.reordered][index]))
    }

    fn next_window(&mut self) {
        self.window = LossWindow::default();
    }
}

/// `jitter`: interarrival jitter of RFC 1889 (section 6.3.1, appendix A.8). The field is the sender's time stamp in units
/// of 1/`rate` seconds (default 1), the arrival is the time of the inject. Output `jitter` in seconds: the running
/// estimate J after the window; NaN over an empty window and until two packets have come.
#[derive(Clone, Debug)]
pub struct Jitter {
    rate: f64,
    transit: Option<f64>,
    jitter: f64,
    fresh: bool,
}

/// Weight of a new difference (RFC 1889, 6.3.1: J = J + (|D(i-1,i)| − J)/16).
const GAIN: f64 = 1.0 / 16.0;

impl Jitter {
    /// # Errors
    /// A rate that is not positive.
    pub fn new(rate: f64) -> Result<Self, FilterError> {
        if !(rate > 0.0 && rate.is_finite()) {
            let reason = format!("needs a positive rate, not {rate}");
            return Err(FilterError::Property { filter: "jitter", reason });
        }
        Ok(Self { rate, transit: None, jitter: 0.0, fresh: false })
    }

    pub(super) fn from_properties(properties: &Properties) -> Result<Self, FilterError> {
        Self::new(properties.number("jitter", "rate", Some(1.0))?)
    }
}

impl Filter for Jitter {
    fn outputs(&self) -> Vec<Output> {
        Output::doubles(&["jitter"])
    }

    fn add(&mut self, value: Value<'_>, time: f64) {
        let Some(sent) = value.to_f64() else { return };
        let transit = time - sent / self.rate;
        if let Some(before) = self.transit.replace(transit) {
            self.jitter += ((transit - before).abs() - self.jitter) * GAIN;
            self.fresh = true;
        }
    }

    fn output(&self, _index: usize) -> Option<Value<'_>> {
        Some(Value::Double(if self.fresh { self.jitter } else { f64::NAN }))
    }

    fn next_window(&mut self) {
        self.fresh = false;
    }
}
