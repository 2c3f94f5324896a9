//! Mean, sum and spread.

use super::{Filter, Output};
use crate::protocol::Value;

/// `avg`: arithmetic mean, minimum, maximum; NaN over an empty window.
#[derive(Clone, Debug)]
pub struct Average {
    count: u64,
    sum: f64,
    minimum: f64,
    maximum: f64,
}

impl Default for Average {
    fn default() -> Self {
        Self { count: 0, sum: 0.0, minimum: f64::NAN, maximum: f64::NAN }
    }
}

impl Filter for Average {
    fn outputs(&self) -> Vec<Output> {
        Output::doubles(&["avg", "min", "max"])
    }

    fn add(&mut self, value: Value<'_>, _time: f64) {
        let Some(value) = value.to_f64() else { return };
        self.count += 1;
        self.sum += value;
        self.minimum = self.minimum.min(value);
        self.maximum = self.maximum.max(value);
    }

    fn output(&self, index: usize) -> Option<Value<'_>> {
        Some(Value::Double(match index {
            0 => self.sum / self.count as f64, // 0/0 is NaN: an empty window has no mean
            1 => self.minimum,
            _ => self.maximum,
        }))
    }

    fn next_window(&mut self) {
        *self = Self::default();
    }
}

/// `sum`: 0 over an empty window.
#[derive(Clone, Debug, Default)]
pub struct Sum(f64);

impl Filter for Sum {
    fn outputs(&self) -> Vec<Output> {
        Output::doubles(&["sum"])
    }

    fn add(&mut self, value: Value<'_>, _time: f64) {
        self.0 += value.to_f64().unwrap_or(0.0);
    }

    fn output(&self, _index: usize) -> Option<Value<'_>> {
        Some(Value::Double(self.0))
    }

    fn next_window(&mut self) {
        self.0 = 0.0;
    }
}

/// `stddev`: sample standard deviation and variance S/(n−1) by Welford's updating (Technometrics 4(3), 1962);
/// NaN below two values.
#[derive(Clone, Debug, Default)]
pub struct StandardDeviation {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Filter for StandardDeviation {
    fn outputs(&self) -> Vec<Output> {
        Output::doubles(&["stddev", "variance"])
    }

    fn add(&mut self, value: Value<'_>, _time: f64) {
        let Some(value) = value.to_f64() else { return };
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    fn output(&self, index: usize) -> Option<Value<'_>> {
        let variance = if self.count < 2 { f64::NAN } else { self.squares / (self.count - 1) as f64 };
        Some(Value::Double(if index == 0 { variance.sqrt() } else { variance }))
    }

    fn next_window(&mut self) {
        *self = Self::default();
    }
}
