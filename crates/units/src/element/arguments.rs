//! `head,key=value,key=value`.

use std::fmt::Display;
use std::num::NonZeroU64;

use super::words;
use super::{ElementError, Form, Takes};
use crate::{Bytes, Duration, ParseQuantityError, Rate, parse_fraction};

/// The key under which [`Arguments`] has the head.
pub const HEAD: &str = "";

/// How texts read the files that they name: from a path to the text, or why not.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// What reads no file, for text that should name none.
///
/// # Errors
/// Always.
pub fn no_file(_path: &str) -> Result<String, String> {
    Err("files are not read here; hand in a reader of files".to_owned())
}

/// What an element is set to, as written.
pub struct Arguments<'a> {
    form: &'static Form,
    what: String,
    head: &'a str,
    pairs: Vec<(&'a str, &'a str)>,
    read_file: ReadFile<'a>,
}

impl<'a> Arguments<'a> {
    /// Reads what follows the name; only the keys of the form may be there, each once unless the last holds.
    pub(super) fn parse(
        form: &'static Form,
        last_holds: bool,
        kind: &str,
        text: &'a str,
        read_file: ReadFile<'a>,
    ) -> Result<Self, ElementError> {
        let (head, rest) = match form.head {
            None => ("", text),
            Some(_) if form.keys.is_empty() => (text, ""),
            Some(_) => text.split_once(',').unwrap_or((text, "")),
        };
        let mut arguments =
            Self { form, what: form.of(kind), head: head.trim(), pairs: Vec::new(), read_file };
        for item in rest.split(',').map(str::trim).filter(|_| !rest.trim().is_empty()) {
            let (key, value) = arguments.split(item)?;
            if !last_holds && arguments.text(key).is_some() {
                return Err(ElementError::Twice { what: arguments.what, key: key.to_owned() });
            }
            arguments.pairs.push((key, value));
        }
        Ok(arguments)
    }

    fn split(&self, item: &'a str) -> Result<(&'a str, &'a str), ElementError> {
        let (key, value) = item.split_once('=').ok_or_else(|| ElementError::NotAPair {
            what: self.what.clone(),
            found: item.to_owned(),
            known: self.form.key_names(),
        })?;
        let (key, value) = (key.trim(), value.trim());
        if !self.form.keys.iter().any(|known| known.name == key) {
            return Err(words::unknown(format!("key of {}", self.what), key, self.form.key_names()));
        }
        Ok((key, value))
    }

    /// The name of the form.
    pub const fn name(&self) -> &'static str {
        self.form.name
    }

    /// Whether nothing is set beside the head.
    pub const fn is_head_alone(&self) -> bool {
        self.pairs.is_empty()
    }

    fn text(&self, key: &str) -> Option<&'a str> {
        if key == HEAD {
            return Some(self.head).filter(|head| !head.is_empty());
        }
        self.pairs.iter().rfind(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    /// What a key takes, as declared.
    fn takes(&self, key: &str) -> Option<Takes> {
        let named = || self.form.keys.iter().find(|known| known.name == key).copied();
        let declared = if key == HEAD { self.form.head } else { named() };
        declared.map(|declared| declared.takes)
    }

    /// The value of a key by a reader; it is declared to take just that.
    fn read<T, E: Display>(
        &self,
        key: &str,
        takes: Takes,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, ElementError> {
        debug_assert_eq!(self.takes(key), Some(takes), "{}: {key}", self.what);
        self.with(key, read)
    }

    /// The value of a key, by a reader of its own.
    ///
    /// # Errors
    /// What the reader says.
    pub fn with<T, E: Display>(
        &self,
        key: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, ElementError> {
        let value = self.text(key).map(read).transpose();
        value.map_err(|error| self.bad(key, error.to_string()))
    }

    /// A time, zero included.
    ///
    /// # Errors
    /// It is none.
    pub fn time(&self, key: &str) -> Result<Option<Duration>, ElementError> {
        self.read(key, Takes::Time, str::parse)
    }

    /// A time above zero.
    ///
    /// # Errors
    /// It is none.
    pub fn span(&self, key: &str) -> Result<Option<Duration>, ElementError> {
        match self.read(key, Takes::Span, str::parse)? {
            Some(Duration::ZERO) => Err(self.bad(key, "it must be above 0; write one like 5ms")),
            span => Ok(span),
        }
    }

    /// A rate above zero.
    ///
    /// # Errors
    /// It is none.
    pub fn rate(&self, key: &str) -> Result<Option<Rate>, ElementError> {
        match self.read(key, Takes::Rate, str::parse)? {
            Some(Rate::ZERO) => {
                Err(self.bad(key, "at rate 0 nothing would ever pass; write one like 12Mbit/s"))
            }
            rate => Ok(rate),
        }
    }

    /// A size, zero included.
    ///
    /// # Errors
    /// It is none.
    pub fn size(&self, key: &str) -> Result<Option<Bytes>, ElementError> {
        self.read(key, Takes::Size, str::parse)
    }

    /// Bytes, above zero.
    ///
    /// # Errors
    /// It is no size.
    pub fn amount(&self, key: &str) -> Result<Option<NonZeroU64>, ElementError> {
        let zero = || "the size must be above zero; write one like 75kB".to_owned();
        self.read(key, Takes::Amount, |text| {
            let size: Bytes = text.parse().map_err(|error: ParseQuantityError| error.to_string())?;
            NonZeroU64::new(size.get()).ok_or_else(zero)
        })
    }

    /// A whole number above zero.
    ///
    /// # Errors
    /// It is none.
    pub fn count(&self, key: &str) -> Result<Option<u64>, ElementError> {
        self.read(key, Takes::Count, |text| match text.parse() {
            Ok(0) => Err("0 would let nothing pass; write 1 or more".to_owned()),
            Ok(count) => Ok(count),
            Err(_) => Err(format!("`{text}` is not a whole number; write one like 50")),
        })
    }

    /// A number above zero.
    ///
    /// # Errors
    /// It is none.
    pub fn number(&self, key: &str) -> Result<Option<f64>, ElementError> {
        self.read(key, Takes::Number, |text| match text.parse() {
            Ok(number) if number > 0.0 && number < 1e9 => Ok(number),
            _ => Err(format!("`{text}` is not a number above 0; write one like 1.5")),
        })
    }

    /// A part from 0 to 1.
    ///
    /// # Errors
    /// It is none.
    pub fn share(&self, key: &str) -> Result<Option<f64>, ElementError> {
        self.read(key, Takes::Share, parse_fraction)
    }

    /// `yes` or `no`.
    ///
    /// # Errors
    /// It is neither.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, ElementError> {
        self.read(key, Takes::Flag, |text| match text {
            "yes" => Ok(true),
            "no" => Ok(false),
            _ => Err(format!("`{text}` is neither yes nor no")),
        })
    }

    /// One of the words that the key is declared to take.
    ///
    /// # Errors
    /// It is none of them.
    pub fn word<T: Copy>(&self, key: &str, values: &[T]) -> Result<Option<T>, ElementError> {
        let (Some(text), Some(Takes::Word(words))) = (self.text(key), self.takes(key)) else {
            return Ok(None);
        };
        debug_assert_eq!(words.len(), values.len(), "{}: {key}", self.what);
        let place = words.iter().position(|word| *word == text);
        let value = place.and_then(|place| values.get(place).copied());
        value.map(Some).ok_or_else(|| words::unknown(key, text, words.to_vec()))
    }

    /// What a file holds, every error saying which it is.
    ///
    /// # Errors
    /// It cannot be read, or is not what it should be.
    pub fn file<T, E: Display>(
        &self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, ElementError> {
        debug_assert_eq!(self.takes(key), Some(Takes::File), "{}: {key}", self.what);
        let path = self.text(key).unwrap_or_default();
        let read = (self.read_file)(path).and_then(|text| parse(&text).map_err(|error| error.to_string()));
        read.map_err(|problem| ElementError::BadValue {
            what: self.what.clone(),
            key: path.to_owned(),
            problem,
        })
    }

    /// A value that must be there.
    ///
    /// # Errors
    /// It is not.
    pub fn needed<T>(&self, value: Option<T>, what: &'static str) -> Result<T, ElementError> {
        value.ok_or_else(|| self.missing(what))
    }

    /// What a key that was not given, but must be, makes of the whole.
    pub fn missing(&self, missing: &'static str) -> ElementError {
        ElementError::Missing { what: self.what.clone(), missing, example: self.form.example }
    }

    /// What a value that cannot be makes of the whole.
    pub fn bad(&self, key: &str, problem: impl Into<String>) -> ElementError {
        let key = if key == HEAD { self.head } else { key };
        ElementError::BadValue { what: self.what.clone(), key: key.to_owned(), problem: problem.into() }
    }
}
