//! What a controller says of itself, once, beside its law: names, settings, needs.

use std::fmt::{self, Debug};

use trialwise_units::{Duration, Ecn, Rate};

use crate::policy::{Form, Policy};
use crate::{BuildError, Context, Controller, Feedback, Fidelity, ReceiverHalf, RuleTable};

/// How switches mark packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// More and more of them over a long queue, as DCQCN wants it.
    Gentle,
    /// All beyond one length, as DCTCP wants it.
    Step,
    /// From a quarter to three quarters of what a short path holds, as HTSIM does for NSCC.
    Early,
}

/// What a controller needs of the network, and how its packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// What packets must carry.
    pub feedback: Feedback,
    /// Whether it needs what only the fabric of a data centre gives, and starts at line rate: then it cannot be had over UDP.
    pub fabric: bool,
    /// The ECN field of its packets: ECT(0) where it answers a mark as a loss (RFC 3168, section 6.1.2), ECT(1) where it answers marks
    /// as L4S asks (RFC 9331, section 4), not capable where it answers none.
    pub ecn: Ecn,
    /// Whether its window is spread over the round trip where packets can be paced (RFC 9002, section 7.7).
    pub spreads_window: bool,
    /// Whether a half of it runs at the receiver ([`Declared::receiver_half`]), which paths have and hosts of a fabric have not.
    pub receiver_half: bool,
    /// Whether somebody has to say at which rate it sends: `NAME:RATE`.
    pub rate: bool,
    /// How switches mark for it where nobody says otherwise.
    pub marks: Marks,
    /// How often receivers answer over UDP, with the arrival of each packet since the last answer (RFC 8888), in whole milliseconds;
    /// zero for an answer as soon as they have read, which tells one arrival.
    pub pace: Duration,
    /// Whether it goes by the smallest of many round-trip times: machines then answer all that they have read at once, and keep no
    /// answers to fast packets apart.
    pub many_round_trips: bool,
    /// Whether acknowledgements wait with data whose class is paused.
    pub acknowledgements_wait: bool,
}

impl Needs {
    /// Whether it needs what hosts of a fabric do not give: a half of it at the receiver, or answers at a pace of its own.
    pub fn paths_only(&self) -> bool {
        self.receiver_half || self.pace > Duration::ZERO
    }

    /// A controller that sees nothing but losses.
    pub const NOTHING: Self = Self {
        feedback: Feedback::Marks,
        fabric: false,
        ecn: Ecn::NotCapable,
        spreads_window: false,
        receiver_half: false,
        rate: false,
        marks: Marks::Gentle,
        pace: Duration::ZERO,
        many_round_trips: false,
        acknowledgements_wait: false,
    };
}

/// A name of a controller, with the settings that it stands for.
#[derive(Clone, Copy, Debug)]
pub struct Named<S: 'static> {
    /// The name, of small letters, digits and underscores.
    pub name: &'static str,
    /// The settings for senders of this line rate.
    pub settings: fn(Rate) -> S,
}

/// What a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A rate.
    Rate,
    /// A span of time above zero: a timer of zero would fire for ever.
    Interval,
    /// Above 0 and at most 1.
    Weight,
    /// A number of 0 or more.
    Number,
    /// A whole number of 0 or more.
    Count,
    /// A whole number above 0.
    Positive,
    /// True or false.
    Switch,
    /// The name of a table of rules that ships, else its file.
    Table,
    /// The name of a policy of this form that ships, else its file.
    Policy(&'static Form),
    /// One of some words.
    Choice {
        /// The words.
        words: &'static [&'static str],
        /// What is to be written, in words.
        wanted: &'static str,
    },
}

/// The value of a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Of [`Quantity::Rate`].
    Rate(Rate),
    /// Of [`Quantity::Interval`].
    Interval(Duration),
    /// Of [`Quantity::Weight`] and [`Quantity::Number`].
    Number(f64),
    /// Of [`Quantity::Count`] and [`Quantity::Positive`].
    Count(u32),
    /// Of [`Quantity::Switch`].
    Switch(bool),
    /// Of [`Quantity::Table`].
    Table(RuleTable),
    /// Of [`Quantity::Policy`].
    Policy(Policy),
    /// Of [`Quantity::Choice`]: the place of the word.
    Choice(usize),
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate => f.write_str("a rate"),
            Self::Interval => f.write_str("a time above 0"),
            Self::Weight => f.write_str("above 0, at most 1"),
            Self::Number => f.write_str("a number of at least 0"),
            Self::Count => f.write_str("a whole number of at least 0"),
            Self::Positive => f.write_str("a whole number above 0"),
            Self::Switch => f.write_str("true or false"),
            Self::Table => f.write_str("the name of a table that ships, else its file"),
            Self::Policy(_) => f.write_str("the name of a policy that ships, else its ONNX file"),
            Self::Choice { words, .. } => f.write_str(&words.join(" or ")),
        }
    }
}

/// What a controller says of itself.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its names; the first is that of the law.
    pub names: Vec<&'static str>,
    /// What it does, and where that is published, in a sentence.
    pub words: &'static str,
    /// What it needs.
    pub needs: Needs,
    /// The names of its settings, with what each takes.
    pub settings: Vec<(&'static str, Quantity)>,
}

/// A setting of a controller.
#[derive(Clone, Copy, Debug)]
pub struct Setting<S: 'static> {
    /// The name of the field.
    pub name: &'static str,
    /// What it takes.
    pub quantity: Quantity,
    /// Writes a value of that quantity into the field; any other value changes nothing.
    pub set: fn(&mut S, Value),
}

/// A controller that can be chosen by name. An implementation and a line of `laws.rs` are all that a new one takes.
pub trait Declared: Controller + Sized + 'static {
    /// Its parameters.
    type Settings: Copy + Debug + PartialEq + 'static;
    /// What it is called; the first name is that of the law.
    const NAMES: &'static [Named<Self::Settings>];
    /// What it does, and where that is published, in a sentence.
    const WORDS: &'static str;
    /// What it needs.
    const NEEDS: Needs;
    /// What can be set of it.
    const SETTINGS: &'static [Setting<Self::Settings>];

    /// A flow that starts now.
    ///
    /// # Errors
    /// Something is not known that it needs, or a setting is out of its range.
    fn build(settings: &Self::Settings, context: &Context) -> Result<Self, BuildError>;

    /// Its half at the receiver of a flow, where [`Needs::receiver_half`] says that it has one.
    fn receiver_half(_settings: &Self::Settings) -> Option<Box<dyn ReceiverHalf>> {
        None
    }

    /// How a setting that was written otherwise in former versions is written now: its name and value; None for any other.
    fn respelt(_name: &str, _text: &str) -> Option<(&'static str, &'static str)> {
        None
    }

    /// The settings in this fidelity; most have only one.
    fn with_fidelity(settings: Self::Settings, _fidelity: Fidelity) -> Self::Settings {
        settings
    }

    /// The settings over UDP, where `payload` is the share of payload in a packet.
    fn over_udp(settings: Self::Settings, _payload: f64) -> Self::Settings {
        settings
    }
}

/// What a field of settings can be set to.
pub(crate) trait Field: Sized {
    /// The value of this field, where it is of its kind.
    fn of(value: Value) -> Option<Self>;
}

macro_rules! fields {
    ($($type:ty: $kind:ident),*) => {
        $(impl Field for $type {
            fn of(value: Value) -> Option<Self> {
                if let Value::$kind(inner) = value { Some(inner) } else { None }
            }
        })*
    };
}

fields!(Rate: Rate, Duration: Interval, f64: Number, u32: Count, bool: Switch, RuleTable: Table, Policy: Policy);

impl Field for usize {
    fn of(value: Value) -> Option<Self> {
        u32::of(value).map(|count| count as Self)
    }
}

/// Gives settings by the names of the fields: `settings! { gain: Weight, increase: Rate }`.
macro_rules! settings {
    ($($field:ident: $quantity:expr),* $(,)?) => {
        &[$($crate::declared::Setting {
            name: stringify!($field),
            quantity: {
                #[allow(unused_imports, reason = "not every controller has all of them")]
                use $crate::declared::Quantity::{Count, Interval, Number, Positive, Rate, Switch, Table, Weight};
                $quantity
            },
            set: |settings, value| {
                if let Some(value) = $crate::declared::Field::of(value) {
                    settings.$field = value;
                }
            },
        }),*]
    };
}

/// Says which words stand for the variants of a choice.
macro_rules! choice {
    ($type:ty, $wanted:literal; $($word:literal => $variant:ident),* $(,)?) => {
        impl $type {
            pub(crate) const CHOICE: $crate::declared::Quantity =
                $crate::declared::Quantity::Choice { words: &[$($word),*], wanted: $wanted };
        }

        impl $crate::declared::Field for $type {
            fn of(value: $crate::declared::Value) -> Option<Self> {
                let $crate::declared::Value::Choice(place) = value else { return None };
                [$(Self::$variant),*].get(place).copied()
            }
        }
    };
}

pub(crate) use {choice, settings};
