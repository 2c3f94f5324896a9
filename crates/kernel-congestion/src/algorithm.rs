//! The algorithms, their names and their programs.

use std::fmt::Write;
use std::str::FromStr;

/// A congestion control of ours: one of the list below, each of which is `programs/NAME.c`.
macro_rules! algorithms {
    ($($(#[$documentation:meta])* $variant:ident = $name:literal,)+) => {
        /// A congestion control of ours.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Algorithm {
            $($(#[$documentation])* $variant,)+
        }

        impl Algorithm {
            /// All of them.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// As scheme files name it.
            pub const fn short_name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// As the kernel lists it and as `TCP_CONGESTION` takes it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => concat!("tw_", $name),)+ }
            }

            /// What `programs/build.sh` made.
            #[cfg(feature = "bpf")]
            pub(crate) fn program(self) -> &'static [u8] {
                match self {
                    $(Self::$variant => {
                        static PROGRAM: &Aligned<[u8]> =
                            &Aligned(*include_bytes!(concat!("../programs/", $name, ".bpf.o")));
                        &PROGRAM.0
                    })+
                }
            }
        }
    };
}

/// Aligned as libbpf reads the headers inside.
#[cfg(feature = "bpf")]
#[repr(align(8))]
struct Aligned<T: ?Sized>(T);

algorithms! {
    /// TCP Vegas (Brakmo and Peterson, IEEE JSAC 13(8), 1995).
    Vegas = "vegas",
    /// Data Center TCP (RFC 8257): both ends of a connection must choose it, the receiver before it listens.
    Dctcp = "dctcp",
    /// TCP Westwood+ (Grieco and Mascolo, ACM SIGCOMM CCR 34(2), 2004).
    Westwood = "westwood",
    /// Scalable TCP (Kelly, ACM SIGCOMM CCR 33(2), 2003).
    Scalable = "scalable",
    /// HighSpeed TCP (RFC 3649).
    Highspeed = "highspeed",
    /// TCP Hybla (Caini and Firrincieli, IJSCN 22(5), 2004).
    Hybla = "hybla",
    /// BIC-TCP (Xu, Harfoush and Rhee, IEEE INFOCOM 2004).
    Bic = "bic",
    /// TCP-Illinois (Liu, Basar and Srikant, VALUETOOLS 2006).
    Illinois = "illinois",
    /// H-TCP (Leith and Shorten, draft-leith-tcp-htcp-06).
    Htcp = "htcp",
    /// YeAH-TCP (Baiocchi, Castellani and Vacirca, PFLDnet 2007).
    Yeah = "yeah",
    /// CAIA Delay-Gradient (Hayes and Armitage, IFIP Networking 2011).
    Cdg = "cdg",
}

/// A name that is none of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no kernel congestion control {0:?} here; there are {known}", known = known())]
pub struct UnknownAlgorithm(pub String);

/// All names in one phrase.
fn known() -> String {
    let mut said = String::new();
    for (place, algorithm) in Algorithm::ALL.into_iter().enumerate() {
        let before = match place {
            0 => "",
            _ if place + 1 == Algorithm::ALL.len() => " and ",
            _ => ", ",
        };
        let _ = write!(said, "{before}{}", algorithm.short_name());
    }
    said
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    /// From its [`Algorithm::short_name`].
    fn from_str(text: &str) -> Result<Self, UnknownAlgorithm> {
        let found = Self::ALL.into_iter().find(|algorithm| algorithm.short_name() == text);
        found.ok_or_else(|| UnknownAlgorithm(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_fit_the_kernel() {
        assert_eq!("vegas".parse().map(Algorithm::name), Ok("tw_vegas"));
        for algorithm in Algorithm::ALL {
            assert_eq!(algorithm.short_name().parse(), Ok(algorithm));
            assert!(algorithm.name().len() <= 15); // TCP_CA_NAME_MAX is 16 with its zero
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let said = "cubic".parse::<Algorithm>().unwrap_err().to_string();
        let (known, last) = said.split_once("there are ").unwrap().1.split_once(" and ").unwrap();
        let names: Vec<_> = known.split(", ").chain([last]).collect();
        assert_eq!(names, Algorithm::ALL.map(Algorithm::short_name));
    }
}
