//! Filters behind filters.

use super::{Filter, Output};
use crate::protocol::Value;

/// `a|b`: every value goes through `a` as a window of its own, the first output of which goes into `b`.
pub struct Chain {
    first: Box<dyn Filter>,
    then: Box<dyn Filter>,
    prefix: String,
}

impl Chain {
    /// Puts `then` behind the first output of `first`.
    pub fn new(first: Box<dyn Filter>, then: Box<dyn Filter>) -> Self {
        let prefix = first.outputs().first().map(|output| output.suffix.clone()).unwrap_or_default();
        Self { first, then, prefix }
    }
}

impl Filter for Chain {
    fn outputs(&self) -> Vec<Output> {
        let mut outputs = self.then.outputs();
        for output in &mut outputs {
            let parts = [self.prefix.as_str(), output.suffix.as_str()];
            output.suffix = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_");
        }
        outputs
    }

    fn add(&mut self, value: Value<'_>, time: f64) {
        self.first.add(value, time);
        if let Some(value) = self.first.output(0) {
            self.then.add(value, time);
        }
        self.first.next_window();
    }

    fn output(&self, index: usize) -> Option<Value<'_>> {
        self.then.output(index)
    }

    fn next_window(&mut self) {
        self.then.next_window();
    }
}
