//! From the graph of a file to the steps of a [`Network`]: each value gets its place, and every shape is checked.

use std::collections::HashMap;
use std::rc::Rc;

use super::{Arithmetic, Curve, Layer, Lstm, Network, Operation, Span, Step, shapes};
use crate::onnx::{Attribute, Content, FLOAT, Graph, Node, Tensor, size};

/// Weights that a step goes through: 200 microseconds of a slow core.
const MOST_WEIGHTS: usize = 1 << 18;
/// Values of a flow.
const MOST_VALUES: usize = 1 << 16;
const KNOWN: &str = "Gemm, MatMul, LSTM, Relu, Tanh, Sigmoid, Add, Sub, Mul, Div, Constant, Identity, Cast, Dropout, Reshape, Flatten, \
                     Squeeze, Unsqueeze, Transpose and Gather";

/// What a name stands for.
#[derive(Clone, Debug)]
enum Named {
    /// A value of each step.
    Value(Span, Vec<usize>),
    /// One that the file holds.
    Constant(Rc<Content>, Vec<usize>),
}

impl Named {
    fn shape(&self) -> &[usize] {
        match self {
            Self::Value(_, shape) | Self::Constant(_, shape) => shape,
        }
    }

    fn with_shape(self, shape: Vec<usize>) -> Self {
        match self {
            Self::Value(span, _) => Self::Value(span, shape),
            Self::Constant(content, _) => Self::Constant(content, shape),
        }
    }

    fn of(tensor: &Tensor) -> Self {
        Self::Constant(Rc::new(tensor.content.clone()), tensor.shape.clone())
    }
}

#[derive(Default)]
struct Compiler<'a> {
    names: HashMap<&'a str, Named>,
    first: Vec<f32>,
    steps: Vec<Step>,
    weights: usize,
}

pub(super) fn network(graph: &Graph<'_>) -> Result<Network, String> {
    let mut compiler = Compiler::default();
    for (name, tensor) in &graph.tensors {
        compiler.names.insert(name, Named::of(tensor));
    }
    let mut inputs = Vec::new();
    for (name, shape) in &graph.inputs {
        let length = size(shape).unwrap_or(usize::MAX);
        let span = compiler.place(length)?;
        inputs.push(span);
        compiler.names.insert(name, Named::Value(span, shape.clone()));
    }
    for node in &graph.nodes {
        compiler.add(node).map_err(|problem| match node.outputs.iter().find(|name| !name.is_empty()) {
            Some(name) => format!("{problem} (the operator that makes {name:?})"),
            None => problem,
        })?;
    }
    let outputs = graph
        .outputs
        .iter()
        .map(|name| compiler.value(name).map(|(span, _)| span))
        .collect::<Result<Vec<_>, _>>()?;
    let (Some(input), Some(output)) = (inputs.first(), outputs.first()) else {
        return Err("has no input or no output".to_owned());
    };
    Ok(Network {
        memory: memory(&inputs, &outputs)?,
        input: *input,
        output: *output,
        first: compiler.first.into_boxed_slice(),
        steps: compiler.steps.into_boxed_slice(),
    })
}

/// From each further output into the further input of the same place.
fn memory(inputs: &[Span], outputs: &[Span]) -> Result<Box<[(Span, Span)]>, String> {
    if outputs.len() < inputs.len() {
        return Err(format!(
            "has {} inputs and {} outputs: each input beyond the first is fed with the output of the same place",
            inputs.len(),
            outputs.len()
        ));
    }
    let pairs: Vec<_> = outputs.iter().copied().zip(inputs.iter().copied()).skip(1).collect();
    if let Some(place) = pairs.iter().position(|(output, input)| output.length != input.length) {
        let (output, input) = pairs[place];
        return Err(format!(
            "has {} values of output {}, and {} of the input that they feed",
            output.length,
            place + 2,
            input.length
        ));
    }
    let is_overwritten = |from: &Span| {
        pairs.iter().any(|(_, to)| from.start < to.start + to.length && to.start < from.start + from.length)
    };
    if let Some(place) = outputs.iter().position(is_overwritten) {
        return Err(format!("has a state that goes in as output {}", place + 1));
    }
    Ok(pairs.into_boxed_slice())
}

impl<'a> Compiler<'a> {
    /// A place behind all others.
    fn place(&mut self, length: usize) -> Result<Span, String> {
        let start = self.first.len();
        if length > MOST_VALUES - start {
            return Err(format!("has more than {MOST_VALUES} values in a step"));
        }
        self.first.resize(start + length, 0.0);
        Ok(Span { start, length })
    }

    fn named(&self, name: &str) -> Result<&Named, String> {
        self.names.get(name).ok_or_else(|| format!("has nothing of the name {name:?} where it is wanted"))
    }

    fn value(&self, name: &str) -> Result<(Span, &[usize]), String> {
        match self.named(name)? {
            Named::Value(span, shape) => Ok((*span, shape)),
            Named::Constant(..) => {
                Err(format!("has a constant, {name:?}, where a value of each step is wanted"))
            }
        }
    }

    fn floats(&self, name: &str) -> Result<(&[f32], &[usize]), String> {
        match self.named(name)? {
            Named::Constant(content, shape) if let Content::Floats(values) = &**content => {
                Ok((values, shape))
            }
            _ => Err(format!("has no constant floats as {name:?}")),
        }
    }

    fn wholes(&self, name: &str) -> Result<&[i64], String> {
        match self.named(name)? {
            Named::Constant(content, _) if let Content::Wholes(values) = &**content => Ok(values),
            _ => Err(format!("has no constant whole numbers as {name:?}")),
        }
    }

    fn step(&mut self, operation: Operation, length: usize) -> Result<Span, String> {
        let to = self.place(length)?;
        self.steps.push(Step { operation, to });
        Ok(to)
    }

    fn name(&mut self, node: &Node<'a>, place: usize, value: Named) {
        if let Some(name) = node.outputs.get(place).filter(|name| !name.is_empty()) {
            self.names.insert(name, value);
        }
    }

    fn add(&mut self, node: &Node<'a>) -> Result<(), String> {
        let made = match node.operator {
            "LSTM" => return self.lstm(node),
            "Gemm" => self.gemm(node)?,
            "MatMul" => self.layer(node.input(0)?, node.input(1)?, false, None)?,
            "Relu" => self.curve(node, Curve::Relu)?,
            "Tanh" => self.curve(node, Curve::Tanh)?,
            "Sigmoid" => self.curve(node, Curve::Sigmoid)?,
            "Add" => self.pair(node, Arithmetic::Add)?,
            "Sub" => self.pair(node, Arithmetic::Subtract)?,
            "Mul" => self.pair(node, Arithmetic::Multiply)?,
            "Div" => self.pair(node, Arithmetic::Divide)?,
            "Constant" => match node.attributes.get("value") {
                Some(Attribute::Tensor(tensor)) => Named::of(tensor),
                _ => return Err("has a Constant without a tensor".to_owned()),
            },
            "Cast" if node.whole("to", 0)? != FLOAT => {
                return Err("has a Cast to what is no 32-bit float".to_owned());
            }
            "Identity" | "Dropout" | "Cast" => self.named(node.input(0)?)?.clone(),
            "Transpose" => self.transposed(node)?,
            "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" | "Gather" => {
                let before = self.named(node.input(0)?)?.clone();
                let shape = self.shape(node, before.shape())?;
                before.with_shape(shape)
            }
            other => {
                return Err(format!(
                    "has the operator {other:?}, which is not known here: known are {KNOWN}"
                ));
            }
        };
        self.name(node, 0, made);
        Ok(())
    }

    fn shape(&self, node: &Node<'_>, before: &[usize]) -> Result<Vec<usize>, String> {
        // Axes were attributes before version 13.
        let axes = match node.inputs.get(1).filter(|name| !name.is_empty()) {
            Some(name) => Some(self.wholes(name)?),
            None => node.wholes("axes")?,
        };
        match node.operator {
            "Reshape" => shapes::reshaped(before, axes.unwrap_or_default()),
            "Flatten" => shapes::flattened(before, node.whole("axis", 1)?),
            "Squeeze" => shapes::squeezed(before, axes),
            "Unsqueeze" => shapes::unsqueezed(before, axes.unwrap_or_default()),
            _ => shapes::gathered(before, node.whole("axis", 0)?, axes.unwrap_or_default()),
        }
        .map_err(|problem| format!("has a {} that cannot be: {problem}", node.operator))
    }

    fn transposed(&mut self, node: &Node<'_>) -> Result<Named, String> {
        let before = self.named(node.input(0)?)?.clone();
        if let Named::Constant(content, shape) = &before
            && let (Content::Floats(values), [rows, columns]) = (&**content, &**shape)
        {
            self.count(values.len())?;
            let turned = Rc::new(Content::Floats(turned(values, *rows, *columns)));
            return Ok(Named::Constant(turned, vec![*columns, *rows]));
        }
        let shape = shapes::transposed(before.shape(), node.wholes("perm")?);
        Ok(before.with_shape(shape.map_err(|problem| format!("has a Transpose that cannot be: {problem}"))?))
    }

    fn count(&mut self, weights: usize) -> Result<(), String> {
        self.weights = self.weights.saturating_add(weights);
        if self.weights > MOST_WEIGHTS {
            Err(format!("has more than {MOST_WEIGHTS} weights in a step"))
        } else {
            Ok(())
        }
    }

    fn gemm(&mut self, node: &Node<'_>) -> Result<Named, String> {
        let is_plain = node.float("alpha", 1.0)? == 1.0
            && node.float("beta", 1.0)? == 1.0
            && node.whole("transA", 0)? == 0;
        if !is_plain {
            return Err("has a Gemm with factors or a turned first side, which is not known here".to_owned());
        }
        let biases = node.inputs.get(2).copied().filter(|name| !name.is_empty());
        self.layer(node.input(0)?, node.input(1)?, node.whole("transB", 0)? != 0, biases)
    }

    fn layer(
        &mut self,
        from: &str,
        weights: &str,
        is_turned: bool,
        biases: Option<&str>,
    ) -> Result<Named, String> {
        let (span, before) = self.value(from)?;
        let (values, shape) = self.floats(weights)?;
        let &[rows, columns] = shape else {
            return Err(format!("has weights {weights:?} of shape {shape:?}, not of two axes"));
        };
        let (inputs, outputs) = if is_turned { (columns, rows) } else { (rows, columns) };
        if before.last() != Some(&inputs) || span.length != inputs {
            return Err(format!("has {before:?} values for the weights {weights:?} of {inputs} inputs"));
        }
        let mut after = before.to_vec();
        after.pop();
        after.push(outputs);
        let weights = if is_turned { turned(values, rows, columns) } else { values.to_vec() };
        let biases = biases.map_or(Ok(vec![0.0; outputs]), |name| self.biases(name, outputs))?;
        self.count(weights.len())?;
        let layer = Layer { weights: weights.into(), biases: biases.into() };
        let to = self.step(Operation::Layer(layer, span), outputs)?;
        Ok(Named::Value(to, after))
    }

    fn biases(&self, name: &str, outputs: usize) -> Result<Vec<f32>, String> {
        match self.floats(name)?.0 {
            [one] => Ok(vec![*one; outputs]),
            values if values.len() == outputs => Ok(values.to_vec()),
            values => Err(format!("has {} biases {name:?} for {outputs} outputs", values.len())),
        }
    }

    fn curve(&mut self, node: &Node<'_>, curve: Curve) -> Result<Named, String> {
        let (span, shape) = self.value(node.input(0)?)?;
        let shape = shape.to_vec();
        Ok(Named::Value(self.step(Operation::Curve(curve, span), span.length)?, shape))
    }

    fn pair(&mut self, node: &Node<'_>, arithmetic: Arithmetic) -> Result<Named, String> {
        let (left, left_shape) = self.side(node.input(0)?)?;
        let (right, right_shape) = self.side(node.input(1)?)?;
        let shape = shapes::broadcast(&left_shape, &right_shape);
        let length = left.length.max(right.length);
        let fits = |span: Span| span.length == 1 || span.length == length;
        if !fits(left) || !fits(right) || size(&shape) != Some(length) {
            return Err(format!("has values of {left_shape:?} and {right_shape:?} side by side"));
        }
        Ok(Named::Value(self.step(Operation::Pair(arithmetic, left, right), length)?, shape))
    }

    /// A value, or a constant that is put among the values.
    fn side(&mut self, name: &str) -> Result<(Span, Vec<usize>), String> {
        if let Named::Value(span, shape) = self.named(name)? {
            return Ok((*span, shape.clone()));
        }
        let (values, shape) = self.floats(name)?;
        let (values, shape) = (values.to_vec(), shape.to_vec());
        let span = self.place(values.len())?;
        span.of_mut(&mut self.first).copy_from_slice(&values);
        Ok((span, shape))
    }

    fn lstm(&mut self, node: &Node<'a>) -> Result<(), String> {
        let units = usize::try_from(node.whole("hidden_size", 0)?).unwrap_or_default();
        check_lstm(node)?;
        let (span, before) = self.value(node.input(0)?)?;
        if units == 0 || units > MOST_VALUES || before.last() != Some(&span.length) {
            return Err(format!(
                "has an LSTM of {units} units for values of {before:?}; one step of one flow is known"
            ));
        }
        let shaped = |name: &str, shape: &[usize]| {
            let (values, found) = self.floats(name)?;
            if found == shape {
                Ok(values)
            } else {
                Err(format!("has {name:?} of shape {found:?}; here it would be {shape:?}"))
            }
        };
        let gates = 4 * units;
        let inputs = turned(shaped(node.input(1)?, &[1, gates, span.length])?, gates, span.length);
        let recurrent = turned(shaped(node.input(2)?, &[1, gates, units])?, gates, units);
        let biases = match node.optional(3) {
            Some(name) => {
                let (entering, returning) = shaped(name, &[1, 2 * gates])?.split_at(gates);
                entering.iter().zip(returning).map(|(entering, returning)| entering + returning).collect()
            }
            None => vec![0.0; gates],
        };
        let state = |place| {
            let Some(name) = node.optional(place) else { return Ok(None) };
            let (span, shape) = self.value(name)?;
            let fits = span.length == units;
            if fits {
                Ok(Some(span))
            } else {
                Err(format!("has a state {name:?} of {shape:?} for {units} units"))
            }
        };
        let (hidden, cells) = (state(5)?, state(6)?);
        self.count(inputs.len() + recurrent.len())?;
        let inputs = Layer { weights: inputs.into(), biases: biases.into() };
        let lstm = Lstm { inputs, recurrent: recurrent.into(), hidden, cells };
        let to = self.step(Operation::Lstm(lstm, span), 6 * units)?;
        let part = |number: usize| Span { start: to.start + (4 + number) * units, length: units };
        self.name(node, 0, Named::Value(part(0), vec![1, 1, 1, units]));
        self.name(node, 1, Named::Value(part(0), vec![1, 1, units]));
        self.name(node, 2, Named::Value(part(1), vec![1, 1, units]));
        Ok(())
    }
}

fn check_lstm(node: &Node<'_>) -> Result<(), String> {
    let is_forward = matches!(node.attributes.get("direction"), None | Some(Attribute::Text(b"forward")));
    let has_more = ["activations", "activation_alpha", "activation_beta", "clip"]
        .iter()
        .any(|name| node.attributes.contains_key(name));
    let is_plain = node.whole("input_forget", 0)? == 0 && node.whole("layout", 0)? == 0;
    if !is_forward || has_more || !is_plain || node.optional(4).is_some() || node.optional(7).is_some() {
        return Err("has an LSTM that goes both ways or has functions, lengths, peepholes, a clip or a layout of its own, which is not known here".to_owned());
    }
    Ok(())
}

/// Rows become columns.
fn turned(values: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|column| (0..rows).map(move |row| values[row * columns + column])).collect()
}

impl<'a> Node<'a> {
    fn input(&self, place: usize) -> Result<&'a str, String> {
        self.optional(place)
            .ok_or_else(|| format!("has the operator {:?} without its input {}", self.operator, place + 1))
    }

    fn optional(&self, place: usize) -> Option<&'a str> {
        self.inputs.get(place).copied().filter(|name| !name.is_empty())
    }

    fn wrong(&self, name: &str) -> String {
        format!("has the operator {:?} with an attribute {name:?} of another kind", self.operator)
    }

    fn whole(&self, name: &str, default: i64) -> Result<i64, String> {
        match self.attributes.get(name) {
            None => Ok(default),
            Some(Attribute::Whole(value)) => Ok(*value),
            Some(_) => Err(self.wrong(name)),
        }
    }

    fn float(&self, name: &str, default: f32) -> Result<f32, String> {
        match self.attributes.get(name) {
            None => Ok(default),
            Some(Attribute::Float(value)) => Ok(*value),
            Some(_) => Err(self.wrong(name)),
        }
    }

    fn wholes(&self, name: &str) -> Result<Option<&[i64]>, String> {
        match self.attributes.get(name) {
            None => Ok(None),
            Some(Attribute::Wholes(values)) => Ok(Some(values)),
            Some(_) => Err(self.wrong(name)),
        }
    }
}
