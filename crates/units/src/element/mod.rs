//! Elements that are chosen by name, and the one reader of their texts: `name:head,key=value,…`.
//!
//! What is to be said of an element stands once, beside its law ([`Declared`]); [`elements!`](crate::elements) makes a kind of
//! several, such as the queues of a link. What stands first, without a key, is the head: the file of `trace:FILE`, the time of
//! `28ms,jitter=5ms`. A form without a name begins with its head, or with a key where it has none.

mod arguments;
mod error;
mod words;

use std::fmt;

pub use arguments::{Arguments, HEAD, ReadFile, no_file};
pub use error::ElementError;
pub use words::unknown;

/// A setting of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// As it is written before `=`; of a head, what it is in a word.
    pub name: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// What it means, with the default.
    pub words: &'static str,
}

/// What a setting takes: a quantity with its range, or something else in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// A time, zero included.
    Time,
    /// A time above zero.
    Span,
    /// A rate above zero.
    Rate,
    /// A size, zero included.
    Size,
    /// A size above zero.
    Amount,
    /// A whole number above zero.
    Count,
    /// A number above zero.
    Number,
    /// A part from 0 to 1, also written in percent.
    Share,
    /// `yes` or `no`.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// The path of a file.
    File,
    /// What these words say.
    Other(&'static str),
}

impl fmt::Display for Takes {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Time => "a time",
            Self::Span => "a time above 0",
            Self::Rate => "a rate above 0",
            Self::Size => "a size",
            Self::Amount => "a size above 0",
            Self::Count => "a whole number from 1",
            Self::Number => "a number above 0",
            Self::Share => "a share from 0 to 1",
            Self::Flag => "yes or no",
            Self::Word(words) => return to.write_str(&words.join(", ")),
            Self::File => "a file",
            Self::Other(words) => words,
        })
    }
}

/// One way of writing an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// What stands before `:`; empty where the text begins with the head.
    pub name: &'static str,
    /// What it does, in a sentence, with its source.
    pub words: &'static str,
    /// What stands first, without a key.
    pub head: Option<Key>,
    /// What else may be set. With none, all that follows the name is the head, commas included.
    pub keys: &'static [Key],
    /// A whole text.
    pub example: &'static str,
}

impl Form {
    /// What messages call this form of the elements of a kind.
    fn of(&self, kind: &str) -> String {
        format!("{kind} {}", self.name).trim_end().to_owned()
    }

    /// The names of the keys.
    fn key_names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }
}

/// An element that can be written. An implementation and a line of its kind are all that a new one takes.
pub trait Declared: Sized {
    /// How it can be written.
    const FORMS: &'static [Form];
    /// Whether a key may be given twice, and the last holds.
    const LAST_HOLDS: bool = false;

    /// Reads what is set; keys that the form does not have are not there.
    ///
    /// # Errors
    /// What is wrong with a value, or what is missing.
    fn read(written: &Arguments<'_>) -> Result<Self, ElementError>;
}

/// Several elements that stand in the same place, such as the queues of a link.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// What one of them is called in messages.
    pub name: &'static str,
    /// The forms of each.
    pub elements: &'static [&'static [Form]],
}

impl Kind {
    /// Every way of writing one of them.
    pub fn forms(&self) -> impl Iterator<Item = &'static Form> + use<> {
        self.elements.iter().copied().flatten()
    }

    /// What `text` sets, where it is written in one of the forms of this element.
    ///
    /// # Errors
    /// It is in none of the forms of the kind, or has an unknown key or one twice.
    pub fn arguments<'a, E: Declared>(
        &self,
        text: &'a str,
        read_file: ReadFile<'a>,
    ) -> Option<Result<Arguments<'a>, ElementError>> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let name = name.trim();
        let forms = E::FORMS;
        let (form, rest) = match forms.iter().find(|form| !form.name.is_empty() && form.name == name) {
            Some(form) => (form, rest),
            None => (forms.iter().find(|form| form.name.is_empty() && self.is_bare(name))?, text),
        };
        Some(Arguments::parse(form, E::LAST_HOLDS, self.name, rest, read_file))
    }

    /// Whether a text that begins so has no name: it begins as no name does, or there are none.
    fn is_bare(&self, beginning: &str) -> bool {
        !beginning.starts_with(char::is_alphabetic) || self.forms().all(|form| form.name.is_empty())
    }

    /// A text of each form, for a line of help.
    pub fn examples(&self) -> String {
        self.forms().map(|form| form.example).collect::<Vec<_>>().join(" | ")
    }

    /// The error of a text in none of the forms.
    pub fn unknown(&self, text: &str) -> ElementError {
        let beginning = |text: &'static str| text.split(',').next().unwrap_or_default();
        let known =
            self.forms().map(|form| if form.name.is_empty() { beginning(form.example) } else { form.name });
        let found = text.split([':', ',']).next().unwrap_or_default().trim();
        unknown(self.name, found, known.collect())
    }
}

/// Makes a kind of elements: an enum with a variant for each, which is read by name, and a macro that does the same with whichever
/// it is, `each!(value, inner => inner.method())`.
#[macro_export]
macro_rules! elements {
    (
        $(#[$outer:meta])*
        $visibility:vis enum $type:ident of $kind:literal, $each:ident! {
            $($(#[$attribute:meta])* $name:ident($spec:ty)),* $(,)?
        }
    ) => {
        $(#[$outer])*
        $visibility enum $type {
            $($(#[$attribute])* #[doc = concat!("`", stringify!($spec), "`.")] $name($spec)),*
        }

        impl $type {
            /// What there is, and how it is written.
            $visibility const KIND: $crate::element::Kind = $crate::element::Kind {
                name: $kind,
                elements: &[$($(#[$attribute])* <$spec as $crate::element::Declared>::FORMS),*],
            };

            /// Reads one, and the file that it names, where it names one.
            ///
            /// # Errors
            /// What is wrong with the text or the file, and what to write.
            $visibility fn read(
                text: &str,
                read_file: $crate::element::ReadFile<'_>,
            ) -> Result<Self, $crate::element::ElementError> {
                $($(#[$attribute])* {
                    if let Some(written) = Self::KIND.arguments::<$spec>(text, read_file) {
                        return <$spec as $crate::element::Declared>::read(&written?).map(Self::$name);
                    }
                })*
                Err(Self::KIND.unknown(text))
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::element::ElementError;

            /// Reads one that names no file.
            fn from_str(text: &str) -> Result<Self, $crate::element::ElementError> {
                Self::read(text, &$crate::element::no_file)
            }
        }

        macro_rules! $each {
            ($value:expr, $inner:ident => $call:expr) => {
                match $value {
                    $($(#[$attribute])* $type::$name($inner) => $call),*
                }
            };
        }
    };
}

#[cfg(test)]
mod tests;
