//! ONNX files (<https://onnx.ai/onnx/repo-docs/IR.html>): the graph of a model, its tensors and shapes, as far as small networks have them.

use std::collections::HashMap;

use crate::protobuf::{Fields, Value};

const MOST_NODES: usize = 512;
const MOST_TENSORS: usize = 1024;
const MOST_DIMENSIONS: usize = 8;
/// Weights of a file, and inputs or outputs of a graph.
const MOST_VALUES: usize = 1 << 20;
/// Types of a tensor (`TensorProto.DataType`).
pub(crate) const FLOAT: i64 = 1;
const INT64: i64 = 7;
/// `TensorProto.DataLocation`.
const IN_THE_FILE: i64 = 0;

/// A tensor that a file holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tensor {
    pub(crate) shape: Vec<usize>,
    pub(crate) content: Content,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    /// Finite.
    Floats(Vec<f32>),
    /// Shapes and axes.
    Wholes(Vec<i64>),
}

/// An operator with its attributes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node<'a> {
    pub(crate) operator: &'a str,
    pub(crate) inputs: Vec<&'a str>,
    pub(crate) outputs: Vec<&'a str>,
    pub(crate) attributes: HashMap<&'a str, Attribute<'a>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Attribute<'a> {
    Float(f32),
    Whole(i64),
    Wholes(Vec<i64>),
    Text(&'a [u8]),
    Texts,
    Tensor(Tensor),
    /// None that a small network has.
    Other,
}

/// The graph of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph<'a> {
    pub(crate) nodes: Vec<Node<'a>>,
    pub(crate) tensors: HashMap<&'a str, Tensor>,
    /// Names and shapes of what goes in (without tensors that the file holds); a dimension without a number, as that of a batch, is 1.
    pub(crate) inputs: Vec<(&'a str, Vec<usize>)>,
    pub(crate) outputs: Vec<&'a str>,
}

impl<'a> Graph<'a> {
    /// The graph of a model.
    ///
    /// # Errors
    /// What is wrong with the file, in words that follow its name.
    pub(crate) fn read(file: &'a [u8]) -> Result<Self, String> {
        let mut found = None;
        let mut has_operators = false;
        for field in Fields::of(file) {
            match field? {
                (7, graph) => found = Some(Self::of(graph.bytes()?)?),
                (8, set) => {
                    check_domain(set.bytes()?)?;
                    has_operators = true;
                }
                (25, _) => return Err("has functions of its own, which is not known here".to_owned()),
                _ => {}
            }
        }
        // Every model says whose operators it uses; the last thing that is cut off where a file is.
        match found {
            Some(graph) if has_operators => Ok(graph),
            _ => Err("is no ONNX file, or cut off: it has no graph, or does not say whose operators it uses"
                .to_owned()),
        }
    }

    fn of(message: &'a [u8]) -> Result<Self, String> {
        let mut graph = Self::default();
        let mut inputs = Vec::new();
        for field in Fields::of(message) {
            let (number, value) = field?;
            match number {
                1 => graph.nodes.push(Node::of(value.bytes()?)?),
                5 => {
                    let (name, tensor) = tensor(value.bytes()?)?;
                    graph.tensors.insert(name, tensor);
                }
                11 => inputs.push(shaped(value.bytes()?)?),
                12 => graph.outputs.push(shaped(value.bytes()?)?.0),
                15 => return Err("has sparse tensors, which are not known here".to_owned()),
                _ => {}
            }
            let size = graph.tensors.len() + inputs.len() + graph.outputs.len();
            if graph.nodes.len() > MOST_NODES || size > MOST_TENSORS {
                return Err(format!("has more than {MOST_NODES} operators or {MOST_TENSORS} tensors"));
            }
        }
        // Old files list tensors that they hold among the inputs.
        graph.inputs = inputs.into_iter().filter(|(name, _)| !graph.tensors.contains_key(name)).collect();
        Ok(graph)
    }
}

impl<'a> Node<'a> {
    fn of(message: &'a [u8]) -> Result<Self, String> {
        let mut node = Self::default();
        let mut domain = "";
        for field in Fields::of(message) {
            match field? {
                (1, name) => node.inputs.push(name.text()?),
                (2, name) => node.outputs.push(name.text()?),
                (4, name) => node.operator = name.text()?,
                (5, attribute) => {
                    let (name, attribute) = Attribute::of(attribute.bytes()?)?;
                    node.attributes.insert(name, attribute);
                }
                (7, name) => domain = name.text()?,
                _ => {}
            }
        }
        check_domain_name(domain)?;
        Ok(node)
    }
}

impl<'a> Attribute<'a> {
    fn of(message: &'a [u8]) -> Result<(&'a str, Self), String> {
        let (mut name, mut wholes, mut attribute) = ("", Vec::new(), None);
        for field in Fields::of(message) {
            let (number, value) = field?;
            match (number, value) {
                (1, value) => name = value.text()?,
                (2, Value::Fixed32(bytes)) => attribute = Some(Self::Float(f32::from_le_bytes(bytes))),
                (3, value) => attribute = Some(Self::Whole(value.whole()?)),
                (4, value) => attribute = Some(Self::Text(value.bytes()?)),
                (5, value) => attribute = Some(Self::Tensor(tensor(value.bytes()?)?.1)),
                (8, value) => value.wholes(&mut wholes)?,
                (9, _) => attribute = Some(Self::Texts),
                (13 | 20 | 21, _) => {}
                _ => attribute = Some(Self::Other),
            }
        }
        Ok((name, attribute.unwrap_or(Self::Wholes(wholes))))
    }
}

fn check_domain(message: &[u8]) -> Result<(), String> {
    let mut domain = "";
    for field in Fields::of(message) {
        if let (1, name) = field? {
            domain = name.text()?;
        }
    }
    check_domain_name(domain)
}

fn check_domain_name(domain: &str) -> Result<(), String> {
    if matches!(domain, "" | "ai.onnx") {
        Ok(())
    } else {
        Err(format!("uses operators of {domain:?}; known are those of ONNX"))
    }
}

/// A name, and the shape of its values.
fn shaped(message: &[u8]) -> Result<(&str, Vec<usize>), String> {
    let (mut name, mut shape, mut kind) = ("", Vec::new(), FLOAT);
    for field in Fields::of(message) {
        match field? {
            (1, value) => name = value.text()?,
            (2, value) => {
                for field in inside(value.bytes()?, 1)? {
                    match field? {
                        (1, value) => kind = value.whole()?,
                        (2, value) => shape = dimensions(value.bytes()?)?,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    if kind != FLOAT {
        return Err(format!("{name:?} is not of 32-bit floats"));
    }
    match size(&shape) {
        Some(1..) => Ok((name, shape)),
        _ => Err(format!("{name:?} of shape {shape:?} has no values, or too many")),
    }
}

/// The fields of the message that is this field of a message; of an empty one where there is none.
fn inside(message: &[u8], number: u64) -> Result<Fields<'_>, String> {
    let mut found: &[u8] = &[];
    for field in Fields::of(message) {
        let (this, value) = field?;
        if this == number {
            found = value.bytes()?;
        }
    }
    Ok(Fields::of(found))
}

fn dimensions(message: &[u8]) -> Result<Vec<usize>, String> {
    let mut shape = Vec::new();
    for field in Fields::of(message) {
        let (1, dimension) = field? else { continue };
        // A dimension that has a name, or nothing, can be 1.
        let mut length = 1;
        for field in Fields::of(dimension.bytes()?) {
            if let (1, value) = field? {
                length = value.whole()?;
            }
        }
        shape.push(length);
    }
    lengths(&shape)
}

fn lengths(dimensions: &[i64]) -> Result<Vec<usize>, String> {
    if dimensions.len() > MOST_DIMENSIONS {
        return Err(format!("has a tensor of more than {MOST_DIMENSIONS} dimensions"));
    }
    let length = |written: &i64| {
        let length = usize::try_from(*written).ok().filter(|length| *length <= MOST_VALUES);
        length.ok_or_else(|| format!("has an axis of length {written}"))
    };
    dimensions.iter().map(length).collect()
}

/// How many values a shape has; none where these are more than any file may have.
pub(crate) fn size(shape: &[usize]) -> Option<usize> {
    shape
        .iter()
        .try_fold(1_usize, |size, length| size.checked_mul(*length))
        .filter(|size| *size <= MOST_VALUES)
}

fn tensor(message: &[u8]) -> Result<(&str, Tensor), String> {
    let (mut name, mut dims, mut kind, mut location) = ("", Vec::new(), 0, IN_THE_FILE);
    let (mut floats, mut wholes, mut raw) = (Vec::new(), Vec::new(), None);
    for field in Fields::of(message) {
        match field? {
            (1, value) => value.wholes(&mut dims)?,
            (2, value) => kind = value.whole()?,
            (4, Value::Fixed32(bytes)) => floats.push(f32::from_le_bytes(bytes)),
            (4, value) => floats.extend(floats_of(value.bytes()?)?),
            (7, value) => value.wholes(&mut wholes)?,
            (8, value) => name = value.text()?,
            (9, value) => raw = Some(value.bytes()?),
            (14, value) => location = value.whole()?,
            _ => {}
        }
    }
    let refused = |problem: String| format!("the tensor {name:?} {problem}");
    if location != IN_THE_FILE {
        return Err(refused("is in another file: save the model with its weights inside".to_owned()));
    }
    let shape = lengths(&dims).map_err(&refused)?;
    let wanted = size(&shape).ok_or_else(|| refused(format!("has more than {MOST_VALUES} values")))?;
    let content = match kind {
        FLOAT => Content::Floats(raw.map_or(Ok(floats), floats_of).map_err(&refused)?),
        INT64 => Content::Wholes(raw.map_or(Ok(wholes), wholes_of).map_err(&refused)?),
        _ => {
            return Err(refused(format!(
                "is of type {kind}; known are 32-bit floats ({FLOAT}) and 64-bit integers ({INT64})"
            )));
        }
    };
    let (length, is_finite) = match &content {
        Content::Floats(values) => (values.len(), values.iter().all(|value| value.is_finite())),
        Content::Wholes(values) => (values.len(), true),
    };
    if length != wanted {
        return Err(refused(format!("has {length} values where its shape {shape:?} has {wanted}")));
    }
    if kind == FLOAT && length == 0 {
        return Err(refused("has no values".to_owned()));
    }
    if !is_finite {
        return Err(refused("has a value that is not finite".to_owned()));
    }
    Ok((name, Tensor { shape, content }))
}

fn floats_of(raw: &[u8]) -> Result<Vec<f32>, String> {
    let (values, rest) = raw.as_chunks();
    if rest.is_empty() {
        Ok(values.iter().copied().map(f32::from_le_bytes).collect())
    } else {
        Err("ends within a value".to_owned())
    }
}

fn wholes_of(raw: &[u8]) -> Result<Vec<i64>, String> {
    let (values, rest) = raw.as_chunks();
    if rest.is_empty() {
        Ok(values.iter().copied().map(i64::from_le_bytes).collect())
    } else {
        Err("ends within a value".to_owned())
    }
}

#[cfg(test)]
pub(crate) mod testing;
