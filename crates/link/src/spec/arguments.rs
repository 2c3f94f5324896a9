//! `key=value,key=value`.

use std::fmt::Display;
use std::str::FromStr;

use trialwise_units::{Bytes, Duration, parse_fraction};

use crate::spec::{SpecError, words};

/// Of bytes that are added up again and again, this many at most.
pub(crate) const MAX_BYTES: Bytes = Bytes::new(u32::MAX as u64);

/// The keys and values that follow a name.
pub(crate) struct Arguments<'a> {
    what: String,
    pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> Arguments<'a> {
    /// Reads what follows the name of `what`; only `allowed` keys may be there, each once.
    pub(crate) fn parse(
        what: impl Into<String>,
        text: &'a str,
        allowed: &'static [&'static str],
    ) -> Result<Self, SpecError> {
        let mut arguments = Self { what: what.into(), pairs: Vec::new() };
        for item in text.split(',').map(str::trim).filter(|_| !text.trim().is_empty()) {
            let (key, value) = arguments.split(item, allowed)?;
            if arguments.find(key).is_some() {
                return Err(SpecError::Twice { what: arguments.what, key: key.to_owned() });
            }
            arguments.pairs.push((key, value));
        }
        Ok(arguments)
    }

    fn split(
        &self,
        item: &'a str,
        allowed: &'static [&'static str],
    ) -> Result<(&'a str, &'a str), SpecError> {
        let what = self.what.clone();
        let (key, value) = item.split_once('=').ok_or_else(|| SpecError::NotAPair {
            what,
            found: item.to_owned(),
            allowed,
        })?;
        let (key, value) = (key.trim(), value.trim());
        if !allowed.contains(&key) {
            return Err(words::unknown(format!("key of {}", self.what), key, allowed));
        }
        Ok((key, value))
    }

    fn find(&self, key: &str) -> Option<&'a str> {
        self.pairs.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    /// The value of a key, by a reader of its own.
    pub(crate) fn with<T, E: Display>(
        &self,
        key: &str,
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<T>, SpecError> {
        let value = self.find(key).map(read).transpose();
        value.map_err(|error| self.bad(key, error.to_string()))
    }

    /// The value of a key.
    pub(crate) fn get<T: FromStr<Err: Display>>(&self, key: &str) -> Result<Option<T>, SpecError> {
        self.with(key, str::parse)
    }

    /// A whole number above zero.
    pub(crate) fn count(&self, key: &str) -> Result<Option<u64>, SpecError> {
        self.with(key, |text| match text.parse() {
            Ok(0) => Err("0 would let nothing pass; write 1 or more".to_owned()),
            Ok(count) => Ok(count),
            Err(_) => Err(format!("`{text}` is not a whole number; write one like 50")),
        })
    }

    /// Bytes of a key that are added up again and again: at most 4 GiB, so that no sum of them overflows.
    pub(crate) fn bounded(
        &self,
        key: &str,
        given: Option<Bytes>,
        what: &str,
    ) -> Result<Option<Bytes>, SpecError> {
        if given.is_some_and(|bytes| bytes > MAX_BYTES) {
            return Err(self.bad(key, format!("more than {} bytes are not {what}", MAX_BYTES.get())));
        }
        Ok(given)
    }

    /// A number above zero.
    pub(crate) fn number(&self, key: &str) -> Result<Option<f64>, SpecError> {
        self.with(key, |text| match text.parse() {
            Ok(number) if number > 0.0 && number < 1e9 => Ok(number),
            _ => Err(format!("`{text}` is not a number above 0; write one like 1.5")),
        })
    }

    /// A span above zero.
    pub(crate) fn span(&self, key: &str) -> Result<Option<Duration>, SpecError> {
        match self.get(key)? {
            Some(Duration::ZERO) => Err(self.bad(key, "it must be above 0; write one like 5ms".to_owned())),
            span => Ok(span),
        }
    }

    /// A fraction from 0 to 1.
    pub(crate) fn fraction(&self, key: &str) -> Result<Option<f64>, SpecError> {
        self.with(key, parse_fraction)
    }

    /// `yes` or `no`.
    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>, SpecError> {
        self.with(key, |text| match text {
            "yes" => Ok(true),
            "no" => Ok(false),
            _ => Err(format!("`{text}` is neither yes nor no")),
        })
    }

    /// What a key that was not given, but must be, makes of the whole.
    pub(crate) fn missing(&self, missing: &'static str, example: &'static str) -> SpecError {
        SpecError::Missing { what: self.what.clone(), missing, example }
    }

    /// What a value that cannot be makes of the whole.
    pub(crate) fn bad(&self, key: &str, problem: String) -> SpecError {
        SpecError::BadValue { what: self.what.clone(), key: key.to_owned(), problem }
    }
}

/// `name:rest` or `name`.
pub(crate) fn split_name(text: &str) -> (&str, &str) {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    (name.trim(), rest)
}

/// `first,rest` or `first`.
pub(super) fn split_first(text: &str) -> (&str, &str) {
    let (first, rest) = text.split_once(',').unwrap_or((text, ""));
    (first.trim(), rest)
}

/// How specifications read the files that they name: from a path to the text, or why not.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// What reads no file, for text that should name none.
pub(super) fn no_file(_path: &str) -> Result<String, String> {
    Err("files are not read here; hand in a reader of files".to_owned())
}

/// A value from a file: `path`, read and parsed, with every error saying which file.
pub(super) fn from_file<T, E: Display>(
    what: &str,
    path: &str,
    read_file: ReadFile<'_>,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<T, SpecError> {
    let read = read_file(path).and_then(|text| parse(&text).map_err(|error| error.to_string()));
    read.map_err(|problem| SpecError::BadValue { what: what.to_owned(), key: path.to_owned(), problem })
}
