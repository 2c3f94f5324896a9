//! Which queues there are: a line for each, here and nowhere else. What is to be said of one stands beside its law.

use std::str::FromStr;
use std::sync::LazyLock;

use super::Queue;
use super::codel::{CoDelSpec, MahimahiCoDelSpec};
use super::drop_head::DropHeadSpec;
use super::drop_tail::{DropTailSpec, InfiniteSpec};
use super::fq_codel::FqCoDelSpec;
use super::pie::PieSpec;
use super::pie_mahimahi::MahimahiPieSpec;
use super::red::RedSpec;
use crate::packet::Packet;
use crate::spec::arguments::{Arguments, split_name};
use crate::spec::declared::{Declared, Listed};
use crate::spec::{SpecError, Surroundings, words};

/// A queue that can be chosen by name. An implementation and a line below are all that a new one takes.
pub(crate) trait DeclaredQueue: Declared {
    /// The queue, empty.
    ///
    /// # Errors
    /// A limit in BDPs without a round-trip time.
    fn build<P: Packet>(&self, surroundings: &Surroundings) -> Result<Box<dyn Queue<P>>, SpecError>;
}

/// A queue as written. Defaults are those of its RFC; where that has none, of Linux (limits of 1000 packets, fq_codel 10240).
#[derive(Clone, Debug, PartialEq)]
pub struct QueueSpec(pub(crate) Choice);

macro_rules! register {
    ($($(#[$attribute:meta])* $name:ident: $spec:ty),* $(,)?) => {
        /// Those below, as written.
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) enum Choice {
            $($(#[$attribute])* $name($spec)),*
        }

        static ALL: &[Listed] = &[$($(#[$attribute])* Listed::of::<$spec>()),*];
        const NAMES: &[&str] = &[$($(#[$attribute])* <$spec as Declared>::NAME),*];

        impl FromStr for QueueSpec {
            type Err = SpecError;

            fn from_str(text: &str) -> Result<Self, SpecError> {
                let (name, rest) = split_name(text);
                $($(#[$attribute])* if name == <$spec as Declared>::NAME {
                    static KEYS: LazyLock<Vec<&'static str>> =
                        LazyLock::new(|| <$spec as Declared>::KEYS.iter().map(|key| key.name).collect());
                    let arguments = Arguments::parse(format!("queue {name}"), rest, &KEYS)?;
                    return <$spec as Declared>::read(&arguments).map(Choice::$name).map(Self);
                })*
                Err(words::unknown("queue", name, NAMES))
            }
        }

        impl QueueSpec {
            /// All queues that can be written.
            pub const fn all() -> &'static [Listed] {
                ALL
            }

            /// The queue, empty.
            ///
            /// # Errors
            /// A limit in BDPs without a round-trip time.
            pub fn build<P: Packet>(&self, surroundings: &Surroundings) -> Result<Box<dyn Queue<P>>, SpecError> {
                match &self.0 {
                    $($(#[$attribute])* Choice::$name(spec) => spec.build(surroundings)),*
                }
            }
        }
    };
}

register! {
    Infinite: InfiniteSpec,
    DropTail: DropTailSpec,
    DropHead: DropHeadSpec,
    CoDel: CoDelSpec,
    Pie: PieSpec,
    FqCoDel: FqCoDelSpec,
    Red: RedSpec,
    MahimahiCoDel: MahimahiCoDelSpec,
    MahimahiPie: MahimahiPieSpec,
}
