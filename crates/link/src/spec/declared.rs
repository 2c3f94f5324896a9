//! What an element of a link says of itself, once, beside its law: its name, its keys, how it is read.

use crate::spec::SpecError;
use crate::spec::arguments::Arguments;

/// A key of an element, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// As it is written before `=`.
    pub name: &'static str,
    /// What it takes, such as `a time` or `yes or no`.
    pub takes: &'static str,
    /// What it means, with the default.
    pub words: &'static str,
}

/// An element that can be written as `name:key=value,…`.
pub(crate) trait Declared: Sized {
    /// The name.
    const NAME: &'static str;
    /// What it does, in a sentence, with its source.
    const WORDS: &'static str;
    /// What may be set of it.
    const KEYS: &'static [Key];

    /// Reads what is set; only [`Self::KEYS`] are there.
    fn read(arguments: &Arguments<'_>) -> Result<Self, SpecError>;
}

/// An element that can be written, for whoever lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The name.
    pub name: &'static str,
    /// What it does.
    pub words: &'static str,
    /// What may be set of it.
    pub keys: &'static [Key],
}

impl Listed {
    pub(crate) const fn of<E: Declared>() -> Self {
        Self { name: E::NAME, words: E::WORDS, keys: E::KEYS }
    }
}
