//! The wire format of protocol buffers (<https://protobuf.dev/programming-guides/encoding/>), for reading: fields of a message, one after
//! the other. Nothing is copied, and no length that is written is believed beyond what is there.

const MOST_VARINT_BYTES: usize = 10;

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Varint(u64),
    Fixed32([u8; 4]),
    Fixed64,
    Bytes(&'a [u8]),
}

/// The fields of a message, each with its number.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) const fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], String> {
        let cut = usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
        let (taken, rest) = cut.ok_or_else(|| {
            format!("is no ONNX file, or cut off: {length} bytes are said to follow, {} do", self.rest.len())
        })?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn varint(&mut self) -> Result<u64, String> {
        let mut value = 0;
        for place in 0..MOST_VARINT_BYTES {
            let byte = self.take(1)?[0];
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("is no ONNX file: a number has more than ten bytes".to_owned())
    }

    fn field(&mut self) -> Result<(u64, Value<'a>), String> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => self.take(8).map(|_| Value::Fixed64)?,
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(length)?)
            }
            5 => {
                let mut bytes = [0; 4];
                bytes.copy_from_slice(self.take(4)?);
                Value::Fixed32(bytes)
            }
            kind => return Err(format!("is no ONNX file: a field is of kind {kind}")),
        };
        Ok((tag >> 3, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

impl<'a> Value<'a> {
    /// A text or a message.
    pub(crate) fn bytes(self) -> Result<&'a [u8], String> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err("is no ONNX file: a number stands where a text or a message belongs".to_owned()),
        }
    }

    pub(crate) fn text(self) -> Result<&'a str, String> {
        str::from_utf8(self.bytes()?).map_err(|_| "is no ONNX file: a name is no text".to_owned())
    }

    /// A whole number; negative ones are written as their two's complement.
    pub(crate) fn whole(self) -> Result<i64, String> {
        match self {
            Self::Varint(number) => Ok(number.cast_signed()),
            _ => Err("is no ONNX file: a text stands where a number belongs".to_owned()),
        }
    }

    /// Adds the whole numbers of a repeated field, whether each is a field or all are packed into one.
    pub(crate) fn wholes(self, into: &mut Vec<i64>) -> Result<(), String> {
        let Self::Bytes(bytes) = self else {
            into.push(self.whole()?);
            return Ok(());
        };
        let mut packed = Fields::of(bytes);
        while !packed.rest.is_empty() {
            into.push(packed.varint()?.cast_signed());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(message: &[u8]) -> Result<Vec<(u64, Value<'_>)>, String> {
        Fields::of(message).collect()
    }

    /// The examples of the encoding guide: field 1 is 150; field 2 is "testing"; field 6 is 3, 270 and 86942, packed.
    #[test]
    fn the_examples_of_the_guide_are_read() {
        assert_eq!(all(&[0x08, 0x96, 0x01]), Ok(vec![(1, Value::Varint(150))]));
        let text = [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67];
        assert_eq!(all(&text), Ok(vec![(2, Value::Bytes(b"testing"))]));
        let packed = [0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05];
        let mut numbers = Vec::new();
        all(&packed).unwrap()[0].1.wholes(&mut numbers).unwrap();
        assert_eq!(numbers, [3, 270, 86_942]);
        // -2 as an int64.
        let negative = [0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(all(&negative).unwrap()[0].1.whole(), Ok(-2));
    }

    #[test]
    fn what_is_cut_off_or_lies_about_its_length_is_refused() {
        for (message, said) in [
            (&[0x08_u8, 0x96][..], "cut off"),
            (&[0x0a, 0x05, 0x01], "5 bytes are said to follow, 1 do"),
            (&[0x0a, 0xff, 0xff, 0xff, 0xff, 0x07], "2147483647 bytes are said to follow, 0 do"),
            (&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], "said to follow, 0 do"),
            (&[0xff; 11], "more than ten bytes"),
            (&[0x0b], "of kind 3"),
            (&[0x0d, 0x01], "4 bytes"),
        ] {
            let error = all(message).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
