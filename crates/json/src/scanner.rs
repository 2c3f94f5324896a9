//! Reads the values of JSON (RFC 8259), and `NaN`, `Infinity` and `-Infinity`, one after another.

use std::borrow::Cow;

/// Nested so deep at most.
pub(crate) const MAX_DEPTH: usize = 200;
/// A whole number has so many characters at most: all of these are in the range of doubles.
const MAX_WHOLE: usize = 300;

/// A place in a text of valid UTF-8. Whatever it is asked for, it returns None if that does not stand there.
pub(crate) struct Scanner<'text> {
    pub(crate) text: &'text [u8],
    pub(crate) at: usize,
}

/// The characters of a string between its quotes, as they are written.
#[derive(Clone, Copy)]
pub(crate) struct Written<'text> {
    pub(crate) bytes: &'text [u8],
    is_escaped: bool,
}

#[derive(Clone, Copy)]
pub(crate) struct Number<'text> {
    bytes: &'text [u8],
    pub(crate) is_whole: bool,
}

impl<'text> Scanner<'text> {
    /// None unless the text is UTF-8.
    pub(crate) fn new(text: &'text [u8]) -> Option<Self> {
        std::str::from_utf8(text).ok().map(|_| Self { text, at: 0 })
    }

    /// The next byte that is no blank.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.text.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    /// Passes a byte that has to stand here, after blanks.
    pub(crate) fn pass(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Passes a comma, or what closes: then false.
    pub(crate) fn goes_on(&mut self, close: u8) -> Option<bool> {
        let byte = self.peek()?;
        self.at += 1;
        match byte {
            b',' => Some(true),
            _ if byte == close => Some(false),
            _ => None,
        }
    }

    /// Passes what opens; true if it closes at once, and then is passed as a whole.
    pub(crate) fn opens_empty(&mut self, open: u8, close: u8) -> Option<bool> {
        self.pass(open)?;
        let is_empty = self.peek()? == close;
        self.at += usize::from(is_empty);
        Some(is_empty)
    }

    pub(crate) fn word(&mut self, word: &[u8]) -> Option<()> {
        self.text[self.at..].starts_with(word).then(|| self.at += word.len())
    }

    /// A key with its colon.
    pub(crate) fn key(&mut self) -> Option<Written<'text>> {
        let key = self.string()?;
        self.pass(b':')?;
        Some(key)
    }

    pub(crate) fn string(&mut self) -> Option<Written<'text>> {
        self.pass(b'"')?;
        let begin = self.at;
        let mut is_escaped = false;
        loop {
            match *self.text.get(self.at)? {
                b'"' => break,
                b'\\' => {
                    is_escaped = true;
                    self.at += 1;
                    self.escape()?;
                }
                0..0x20 => return None,
                _ => self.at += 1,
            }
        }
        let bytes = &self.text[begin..self.at];
        self.at += 1;
        Some(Written { bytes, is_escaped })
    }

    /// Passes what follows a backslash; half a character of UTF-16 is refused.
    fn escape(&mut self) -> Option<char> {
        let byte = *self.text.get(self.at)?;
        self.at += 1;
        Some(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.unit()?;
                let second = if (0xd800..0xdc00).contains(&first) {
                    self.word(b"\\u")?;
                    Some(self.unit()?)
                } else {
                    None
                };
                char::decode_utf16(std::iter::once(first).chain(second)).next()?.ok()?
            }
            _ => return None,
        })
    }

    fn unit(&mut self) -> Option<u16> {
        let digits = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |unit, digit| {
            let digit = char::from(*digit).to_digit(16)?;
            Some(unit << 4 | u16::try_from(digit).ok()?)
        })
    }

    pub(crate) fn number(&mut self) -> Option<Number<'text>> {
        let begin = self.at;
        if self.text.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        let mut is_whole = true;
        match self.text.get(self.at)? {
            b'N' if begin == self.at => (is_whole, ()) = (false, self.word(b"NaN")?),
            b'I' => (is_whole, ()) = (false, self.word(b"Infinity")?),
            b'0' => self.at += 1,
            _ => self.digits()?,
        }
        if self.text.get(self.at) == Some(&b'.') {
            (is_whole, self.at) = (false, self.at + 1);
            self.digits()?;
        }
        if matches!(self.text.get(self.at), Some(b'e' | b'E')) {
            (is_whole, self.at) = (false, self.at + 1);
            if matches!(self.text.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let bytes = &self.text[begin..self.at];
        (!is_whole || bytes.len() <= MAX_WHOLE).then_some(Number { bytes, is_whole })
    }

    fn digits(&mut self) -> Option<()> {
        let begin = self.at;
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        (self.at > begin).then_some(())
    }

    /// Passes a value whatever it is, of which nothing is asked.
    pub(crate) fn skip(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.peek()? {
            b'{' => {
                if self.opens_empty(b'{', b'}')? {
                    return Some(());
                }
                loop {
                    self.key()?;
                    self.skip(depth + 1)?;
                    if !self.goes_on(b'}')? {
                        return Some(());
                    }
                }
            }
            b'[' => {
                if self.opens_empty(b'[', b']')? {
                    return Some(());
                }
                loop {
                    self.skip(depth + 1)?;
                    if !self.goes_on(b']')? {
                        return Some(());
                    }
                }
            }
            _ => self.scalar(),
        }
    }

    /// Passes a value that is neither a list nor an object.
    pub(crate) fn scalar(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => self.string().map(|_| ()),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number().map(|_| ()),
        }
    }
}

impl<'text> Written<'text> {
    /// The characters that it stands for.
    pub(crate) fn unescaped(self) -> Option<Cow<'text, [u8]>> {
        if !self.is_escaped {
            return Some(Cow::Borrowed(self.bytes));
        }
        let mut found = Vec::with_capacity(self.bytes.len());
        let mut scanner = Scanner { text: self.bytes, at: 0 };
        while let Some(byte) = scanner.text.get(scanner.at) {
            scanner.at += 1;
            if *byte == b'\\' {
                let character = scanner.escape()?;
                found.extend(character.encode_utf8(&mut [0; 4]).bytes());
            } else {
                found.push(*byte);
            }
        }
        Some(Cow::Owned(found))
    }
}

impl Number<'_> {
    /// The nearest double; infinite beyond their range.
    pub(crate) fn value(self) -> Option<f64> {
        std::str::from_utf8(self.bytes).ok()?.parse().ok()
    }
}
