//! Small networks of ONNX files: perceptrons and LSTMs, with one step of one flow at a time. All shapes are known before the first step,
//! which allocates nothing. Sums are of 32-bit floats in one order, and functions are not those of a platform, so that results are the
//! same on every machine.
//!
//! A network has one input, or more, and each further input is what the further output of the same place was at the step before: the
//! state of its units, zeros at first.

mod compile;
mod shapes;

use crate::onnx::Graph;

/// A part of the values of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    start: usize,
    length: usize,
}

impl Span {
    fn of(self, values: &[f32]) -> &[f32] {
        &values[self.start..][..self.length]
    }

    fn of_mut(self, values: &mut [f32]) -> &mut [f32] {
        &mut values[self.start..][..self.length]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Curve {
    Relu,
    Tanh,
    Sigmoid,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// Weights by input: those of the first input for all outputs, then those of the second.
#[derive(Clone, Debug)]
struct Layer {
    weights: Box<[f32]>,
    biases: Box<[f32]>,
}

#[derive(Clone, Debug)]
struct Lstm {
    /// Outputs are the input, output and forget gates and the cells, in the order of ONNX.
    inputs: Layer,
    /// Without biases.
    recurrent: Box<[f32]>,
    hidden: Option<Span>,
    cells: Option<Span>,
}

#[derive(Clone, Debug)]
enum Operation {
    Layer(Layer, Span),
    Lstm(Lstm, Span),
    Curve(Curve, Span),
    /// A side of one value counts for all.
    Pair(Arithmetic, Span, Span),
}

/// An operation writes behind all that it reads.
#[derive(Clone, Debug)]
struct Step {
    operation: Operation,
    to: Span,
}

/// A network that is whole.
#[derive(Debug)]
pub(crate) struct Network {
    /// All values before the first step: constants, and zeros.
    first: Box<[f32]>,
    steps: Box<[Step]>,
    input: Span,
    output: Span,
    /// What the state of units is after a step, and where it is wanted before the next.
    memory: Box<[(Span, Span)]>,
}

impl Network {
    /// The network of a file.
    ///
    /// # Errors
    /// What is wrong with the file, in words that follow its name.
    pub(crate) fn read(file: &[u8]) -> Result<Self, String> {
        compile::network(&Graph::read(file)?)
    }

    pub(crate) const fn inputs(&self) -> usize {
        self.input.length
    }

    pub(crate) const fn outputs(&self) -> usize {
        self.output.length
    }

    /// The values of a flow before its first step.
    pub(crate) fn first_values(&self) -> Box<[f32]> {
        self.first.clone()
    }

    /// The outputs for these inputs, and the state for the next step into `values`. Nothing where one of them is not finite: then the
    /// flow begins anew.
    pub(crate) fn step<'a>(&self, values: &'a mut [f32], inputs: &[f32]) -> Option<&'a [f32]> {
        self.input.of_mut(values).copy_from_slice(inputs);
        self.steps.iter().for_each(|step| step.run(values));
        let kept = self.memory.iter().map(|(from, _)| from).chain([&self.output]);
        let is_finite =
            kept.map(|span| span.of(values)).all(|part| part.iter().all(|value| value.is_finite()));
        if !is_finite {
            values.copy_from_slice(&self.first);
            return None;
        }
        for (from, to) in &self.memory {
            values.copy_within(from.start..from.start + from.length, to.start);
        }
        Some(self.output.of(values))
    }
}

impl Step {
    fn run(&self, values: &mut [f32]) {
        let (before, rest) = values.split_at_mut(self.to.start);
        let to = &mut rest[..self.to.length];
        match &self.operation {
            Operation::Layer(layer, from) => layer.run(from.of(before), to),
            Operation::Lstm(lstm, from) => lstm.run(from.of(before), before, to),
            Operation::Curve(curve, from) => {
                to.iter_mut().zip(from.of(before)).for_each(|(to, value)| *to = curve.at(*value));
            }
            Operation::Pair(arithmetic, left, right) => {
                let at =
                    |span: &Span, place: usize| span.of(before)[if span.length == 1 { 0 } else { place }];
                to.iter_mut()
                    .enumerate()
                    .for_each(|(place, to)| *to = arithmetic.of(at(left, place), at(right, place)));
            }
        }
    }
}

impl Layer {
    fn run(&self, inputs: &[f32], outputs: &mut [f32]) {
        outputs.copy_from_slice(&self.biases);
        add(inputs, &self.weights, outputs);
    }
}

/// Adds weighed inputs to outputs, input by input.
fn add(inputs: &[f32], weights: &[f32], outputs: &mut [f32]) {
    for (input, weights) in inputs.iter().zip(weights.chunks_exact(outputs.len())) {
        outputs.iter_mut().zip(weights).for_each(|(output, weight)| *output += input * weight);
    }
}

impl Lstm {
    /// Into the four gates, the units and the cells.
    fn run(&self, inputs: &[f32], before: &[f32], to: &mut [f32]) {
        let units = to.len() / 6;
        let (gates, state) = to.split_at_mut(4 * units);
        let (hidden, cells) = state.split_at_mut(units);
        self.inputs.run(inputs, gates);
        if let Some(last) = self.hidden {
            add(last.of(before), &self.recurrent, gates);
        }
        for unit in 0..units {
            let [entry, exit, keep] = [0, 1, 2].map(|gate| Curve::Sigmoid.at(gates[gate * units + unit]));
            let last = self.cells.map_or(0.0, |last| last.of(before)[unit]);
            cells[unit] = keep * last + entry * libm::tanhf(gates[3 * units + unit]);
            hidden[unit] = exit * libm::tanhf(cells[unit]);
        }
    }
}

impl Curve {
    fn at(self, value: f32) -> f32 {
        match self {
            Self::Relu => value.max(0.0),
            Self::Tanh => libm::tanhf(value),
            Self::Sigmoid => 1.0 / (1.0 + libm::expf(-value)),
        }
    }
}

impl Arithmetic {
    fn of(self, left: f32, right: f32) -> f32 {
        match self {
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
            Self::Divide => left / right,
        }
    }
}

#[cfg(test)]
mod tests;
