//! ONNX files for tests, made field by field.

/// Encodes a number.
pub(crate) fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(number as u8 & 0x7f | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A field of a number.
pub(crate) fn whole(field: u64, number: i64) -> Vec<u8> {
    [varint(field << 3), varint(number.cast_unsigned())].concat()
}

/// A field of a text or a message.
pub(crate) fn bytes(field: u64, content: &[u8]) -> Vec<u8> {
    [&varint(field << 3 | 2)[..], &varint(content.len() as u64), content].concat()
}

fn shaped(name: &str, shape: &[i64]) -> Vec<u8> {
    let dims: Vec<_> = shape.iter().flat_map(|length| bytes(1, &whole(1, *length))).collect();
    let kind = [whole(1, 1), bytes(2, &dims)].concat();
    [bytes(1, name.as_bytes()), bytes(2, &bytes(1, &kind))].concat()
}

/// A tensor of this type and these bytes.
pub(crate) fn tensor(name: &str, shape: &[i64], kind: i64, raw: &[u8]) -> Vec<u8> {
    let dims: Vec<_> = shape.iter().flat_map(|length| whole(1, *length)).collect();
    [dims, whole(2, kind), bytes(8, name.as_bytes()), bytes(9, raw)].concat()
}

/// A model from `in` to `out`.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) graph: Vec<u8>,
    pub(crate) domain: &'static str,
}

impl Model {
    pub(crate) fn new(input: &[i64], output: &[i64]) -> Self {
        let graph = [bytes(11, &shaped("in", input)), bytes(12, &shaped("out", output))].concat();
        Self { graph, domain: "" }
    }

    pub(crate) fn field(mut self, field: Vec<u8>) -> Self {
        self.graph.extend(field);
        self
    }

    pub(crate) fn node(self, operator: &str, inputs: &[&str], output: &str, wholes: &[(&str, i64)]) -> Self {
        let attributes = wholes
            .iter()
            .map(|(name, value)| [bytes(1, name.as_bytes()), whole(3, *value), whole(20, 2)].concat());
        self.node_with(operator, inputs, &[output], &attributes.collect::<Vec<_>>())
    }

    pub(crate) fn node_with(
        self,
        operator: &str,
        inputs: &[&str],
        outputs: &[&str],
        attributes: &[Vec<u8>],
    ) -> Self {
        let mut node = bytes(4, operator.as_bytes());
        inputs.iter().for_each(|name| node.extend(bytes(1, name.as_bytes())));
        outputs.iter().for_each(|name| node.extend(bytes(2, name.as_bytes())));
        attributes.iter().for_each(|attribute| node.extend(bytes(5, attribute)));
        self.field(bytes(1, &node))
    }

    pub(crate) fn floats(self, name: &str, shape: &[i64], values: &[f32]) -> Self {
        let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.field(bytes(5, &tensor(name, shape, 1, &raw)))
    }

    pub(crate) fn wholes(self, name: &str, values: &[i64]) -> Self {
        let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.field(bytes(5, &tensor(name, &[i64::try_from(values.len()).unwrap()], 7, &raw)))
    }

    /// An input that is fed with an output.
    pub(crate) fn state(self, input: &str, output: &str, shape: &[i64]) -> Self {
        self.field(bytes(11, &shaped(input, shape))).field(bytes(12, &shaped(output, shape)))
    }

    pub(crate) fn file(&self) -> Vec<u8> {
        [bytes(7, &self.graph), bytes(8, &[bytes(1, self.domain.as_bytes()), whole(2, 17)].concat())].concat()
    }
}
