//! How values are spread: counts in bins, and quantiles from a mergeable sketch.

use sketches_ddsketch::{Config, DDSketch};

use super::registry::{FilterError, Properties};
use super::{Filter, Output};
use crate::protocol::{ElementType, FieldType, Value, Vector};

/// `histogram`: counts in `bins` equal bins from `low` to `high`, before them the values below, behind them the values
/// at or above `high`. Output `hist`, a vector of bins+2 counts; NaN counts nowhere. Zeros over an empty window.
#[derive(Clone, Debug)]
pub struct Histogram {
    low: f64,
    high: f64,
    counts: Vec<u64>,
}

/// Most bins: the counts have to fit the 65535 elements of a vector.
const MAX_BINS: usize = 65_533;

impl Histogram {
    /// # Errors
    /// No bin, too many, or bounds out of order.
    pub fn new(low: f64, high: f64, bins: usize) -> Result<Self, FilterError> {
        let sound = low.is_finite() && high.is_finite() && low < high && (1..=MAX_BINS).contains(&bins);
        if !sound {
            let reason =
                format!("needs finite low < high and 1 to {MAX_BINS} bins, not {low}, {high}, {bins}");
            return Err(FilterError::Property { filter: "histogram", reason });
        }
        Ok(Self { low, high, counts: vec![0; bins + 2] })
    }

    pub(super) fn from_properties(properties: &Properties) -> Result<Self, FilterError> {
        let low = properties.number("histogram", "low", None)?;
        let high = properties.number("histogram", "high", None)?;
        let bins = properties.number("histogram", "bins", Some(10.0))?;
        Self::new(low, high, bins as usize)
    }

    fn place(&self, value: f64) -> usize {
        let bins = self.counts.len() - 2;
        if value < self.low {
            return 0;
        }
        if value >= self.high {
            return bins + 1;
        }
        let position = ((value - self.low) / (self.high - self.low) * bins as f64) as usize;
        1 + position.min(bins - 1)
    }
}

impl Filter for Histogram {
    fn outputs(&self) -> Vec<Output> {
        vec![Output::new("hist", FieldType::Vector(ElementType::UInt64))]
    }

    fn add(&mut self, value: Value<'_>, _time: f64) {
        if let Some(value) = value.to_f64().filter(|value| !value.is_nan()) {
            let place = self.place(value);
            self.counts[place] += 1;
        }
    }

    fn output(&self, _index: usize) -> Option<Value<'_>> {
        Some(Value::Vector(Vector::UInt64(&self.counts)))
    }

    fn next_window(&mut self) {
        self.counts.fill(0);
    }
}

/// `quantiles`: the quantiles `q` (default `0.5,0.9,0.99`) within relative error `accuracy` (default 0.01), by
/// DDSketch (Masson, Rim, Lee: PVLDB 12(12), 2019, Theorem 2). Outputs `p50`, `p90`, `p99` and so on, `p99_9` for 0.999.
/// NaN and infinities are left out; NaN over an empty window.
#[derive(Clone)]
pub struct Quantiles {
    quantiles: Vec<f64>,
    accuracy: f64,
    sketch: DDSketch,
}

/// Most bins of a sketch: the range of 10^±17 at 1 %; beyond it the smallest values fall together.
const SKETCH_BINS: u32 = 4096;
/// Values nearer to zero are zero.
const SKETCH_SMALLEST: f64 = 1e-12;

impl Quantiles {
    /// # Errors
    /// A quantile outside 0 to 1, or an accuracy outside 0 to 1.
    pub fn new(quantiles: Vec<f64>, accuracy: f64) -> Result<Self, FilterError> {
        let sound = quantiles.iter().all(|quantile| (0.0..=1.0).contains(quantile));
        if !sound || quantiles.is_empty() || !(accuracy > 0.0 && accuracy < 1.0) {
            let reason =
                format!("needs quantiles from 0 to 1 and 0 < accuracy < 1, not {quantiles:?}, {accuracy}");
            return Err(FilterError::Property { filter: "quantiles", reason });
        }
        Ok(Self { quantiles, accuracy, sketch: new_sketch(accuracy) })
    }

    pub(super) fn from_properties(properties: &Properties) -> Result<Self, FilterError> {
        let list = properties.get("q").unwrap_or("0.5,0.9,0.99");
        let quantiles = list.split(',').map(|text| text.trim().parse().unwrap_or(f64::NAN)).collect();
        Self::new(quantiles, properties.number("quantiles", "accuracy", Some(0.01))?)
    }

    /// Adds the values of another window or thread, without loss of accuracy.
    ///
    /// # Errors
    /// The accuracies differ.
    pub fn merge(&mut self, other: &Self) -> Result<(), FilterError> {
        self.sketch.merge(&other.sketch).map_err(|_| FilterError::Property {
            filter: "quantiles",
            reason: format!("cannot merge accuracies {} and {}", self.accuracy, other.accuracy),
        })
    }
}

fn new_sketch(accuracy: f64) -> DDSketch {
    DDSketch::new(Config::new(accuracy, SKETCH_BINS, SKETCH_SMALLEST))
}

/// `p50` of 0.5, `p99_9` of 0.999.
fn quantile_suffix(quantile: f64) -> String {
    let percent = format!("{:.6}", quantile * 100.0);
    format!("p{}", percent.trim_end_matches('0').trim_end_matches('.').replace('.', "_"))
}

impl Filter for Quantiles {
    fn outputs(&self) -> Vec<Output> {
        let suffixes = self.quantiles.iter().map(|&quantile| quantile_suffix(quantile));
        suffixes.map(|suffix| Output { suffix, field_type: FieldType::Double }).collect()
    }

    fn add(&mut self, value: Value<'_>, _time: f64) {
        if let Some(value) = value.to_f64().filter(|value| value.is_finite()) {
            self.sketch.add(value);
        }
    }

    fn output(&self, index: usize) -> Option<Value<'_>> {
        let quantile = self.sketch.quantile(self.quantiles[index]).ok().flatten();
        Some(Value::Double(quantile.unwrap_or(f64::NAN)))
    }

    fn next_window(&mut self) {
        self.sketch = new_sketch(self.accuracy);
    }
}
