//! Quantities as people write them: `12Mbit/s`, `1min 30s`, `75kB`, `0.4%`. One grammar for every place that reads one.
//!
//! ```text
//! quantity = part *( ws? part )            several parts for times alone
//! part     = number ws? unit
//! number   = [ "+" ] ( digits [ "." *digits ] / "." digits ) [ ( "e" / "E" ) [ "+" / "-" ] digits ]
//! times    = ps ns us µs μs ms s sec min m h d w
//! rates    = [ k K M G T ] ( "bit/s" / "bps" / "b/s" )
//! sizes    = "" / [ k K M G T ] "B" / ( K M G T ) "iB"
//! shares   = "" / "%"
//! numbers  = ""
//! ```
//!
//! [`parse`] computes times, rates and sizes in whole numbers: `0.1ms` is 100,000,000 ps. Halves of the smallest unit are rounded
//! up. [`parse_float`] reads the same texts as binary numbers of seconds, bits per second or bytes, which have no largest one.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use crate::decimal::Decimal;
use crate::{Bytes, Duration, Rate};

/// What a quantity measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// In picoseconds.
    Time,
    /// In bits per second.
    Rate,
    /// In bytes.
    Size,
    /// A part of something.
    Share,
    /// A bare number.
    Number,
}

/// Units and what one is worth in the smallest.
type Factors = &'static [(&'static str, u64)];

const KIBI: u64 = 1024;
/// Of one second.
const PICOSECONDS: f64 = 1e12;
/// Bytes of a text; a longer one is no quantity.
const LONGEST: usize = 200;
/// Letters of a text that a message repeats.
const REPEATED: usize = 60;
/// Words for units of time.
const WORDS: [(&str, &str); 7] = [
    ("millisecond", "ms"),
    ("microsecond", "us"),
    ("second", "s"),
    ("minute", "min"),
    ("hour", "h"),
    ("day", "d"),
    ("week", "w"),
];

const TIMES: Factors = &[
    ("s", 1_000_000_000_000),
    ("ms", 1_000_000_000),
    ("us", 1_000_000),
    ("ns", 1000),
    ("ps", 1),
    ("µs", 1_000_000),
    ("μs", 1_000_000),
    ("sec", 1_000_000_000_000),
    ("min", 60_000_000_000_000),
    ("m", 60_000_000_000_000),
    ("h", 3_600_000_000_000_000),
    ("d", 86_400_000_000_000_000),
    ("w", 604_800_000_000_000_000),
];

const SIZES: Factors = &[
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1000),
    ("B", 1),
    ("", 1),
    ("KB", 1000),
    ("KiB", KIBI),
    ("MiB", KIBI * KIBI),
    ("GiB", KIBI * KIBI * KIBI),
    ("TiB", KIBI * KIBI * KIBI * KIBI),
];

/// Prefixes of the units of rates, and how these are spelled; the first is the one that is written.
const PREFIXES: Factors =
    &[("T", 1_000_000_000_000), ("G", 1_000_000_000), ("M", 1_000_000), ("k", 1000), ("", 1), ("K", 1000)];
const BITS_PER_SECOND: [&str; 3] = ["bit/s", "bps", "b/s"];

impl Dimension {
    const fn what(self) -> &'static str {
        match self {
            Self::Time => "duration",
            Self::Rate => "rate",
            Self::Size => "size",
            Self::Share => "fraction",
            Self::Number => "number",
        }
    }

    const fn example(self) -> &'static str {
        match self {
            Self::Time => "500ms or 1h 30min",
            Self::Rate => "12Mbit/s",
            Self::Size => "75kB",
            Self::Share => "0.4%",
            Self::Number => "1.5",
        }
    }

    /// Units as messages list them.
    const fn shown(self) -> &'static str {
        match self {
            Self::Time => "ps, ns, us, ms, s, min, h, d, w",
            Self::Rate => "bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s",
            Self::Size => "B (or nothing), kB, MB, GB, TB, KiB, MiB, GiB, TiB",
            Self::Share => "% (or nothing, for a number from 0 to 1)",
            Self::Number => "none",
        }
    }

    /// What one of this unit is in the smallest.
    fn factor(self, unit: &str) -> Option<u64> {
        let find = |factors: Factors, name: &str| {
            factors.iter().find(|(known, _)| *known == name).map(|(_, factor)| *factor)
        };
        match self {
            Self::Time => find(TIMES, unit),
            Self::Size => find(SIZES, unit),
            Self::Rate => {
                let prefix = BITS_PER_SECOND.iter().find_map(|bits| unit.strip_suffix(bits))?;
                find(PREFIXES, prefix)
            }
            Self::Share | Self::Number => find(&[("", 1)], unit),
        }
    }

    /// What one of this unit is in seconds, bits per second, bytes, or as a number; the nearest binary number.
    fn scale(self, unit: &str) -> Option<f64> {
        match (self, unit) {
            (Self::Share, "%") => Some(0.01),
            (Self::Time, _) => self.factor(unit).map(|picoseconds| picoseconds as f64 / PICOSECONDS),
            _ => self.factor(unit).map(|factor| factor as f64),
        }
    }

    /// The unit that a word for one stands for, such as `h` for `hours`.
    fn meant(self, word: &str) -> Option<&'static str> {
        let singular = word.strip_suffix('s').unwrap_or(word);
        let known = WORDS.iter().find(|(long, _)| *long == singular)?;
        (self == Self::Time).then_some(known.1)
    }
}

/// Text that is not the quantity wanted; its message says why and what to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseQuantityError {
    text: String,
    dimension: Dimension,
    problem: Problem,
}

/// Why a text is not the quantity wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Problem {
    Negative,
    NotANumber,
    MissingUnit,
    UnknownUnit(String),
    TooLarge,
    TooLong,
    AboveOne,
}

impl ParseQuantityError {
    fn new(text: &str, dimension: Dimension, problem: Problem) -> Self {
        let mut repeated: String = text.chars().take(REPEATED).collect();
        if repeated.len() < text.len() {
            repeated.push('…');
        }
        Self { text: repeated, dimension, problem }
    }

    /// Why the text is not the quantity wanted and what to write, without the text: `not a rate: it is negative; …`.
    pub fn reason(&self) -> String {
        let (what, example) = (self.dimension.what(), self.dimension.example());
        format!("not a {what}: {}; write one like {example}", self.problem.words(self.dimension))
    }
}

impl Problem {
    fn words(&self, dimension: Dimension) -> String {
        let units = dimension.shown();
        match self {
            Self::Negative => "it is negative".to_owned(),
            Self::NotANumber => "it does not start with a number".to_owned(),
            Self::MissingUnit => format!("the unit is missing (units: {units})"),
            Self::UnknownUnit(unit) => match dimension.meant(unit) {
                Some(meant) => format!("unknown unit `{unit}`; did you mean {meant}? (units: {units})"),
                None => format!("unknown unit `{unit}` (units: {units})"),
            },
            Self::TooLarge => "it is too large".to_owned(),
            Self::TooLong => format!("it is longer than {LONGEST} bytes"),
            Self::AboveOne => "it is larger than 1 (100%)".to_owned(),
        }
    }
}

impl fmt::Display for ParseQuantityError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` is {}", self.text, self.reason())
    }
}

impl Error for ParseQuantityError {}

/// Read a time in picoseconds, a rate in bits per second, or a size in bytes, rounded to the nearest whole number.
///
/// # Errors
/// Text that is no such quantity, or one beyond 64 bits.
pub fn parse(text: &str, dimension: Dimension) -> Result<u64, ParseQuantityError> {
    let wrong = |problem| ParseQuantityError::new(text.trim(), dimension, problem);
    let mut sum = 0_u64;
    for part in Parts::of(text, dimension).map_err(wrong)? {
        let Part { number, unit, .. } = part.map_err(wrong)?;
        let factor = dimension.factor(unit).ok_or_else(|| wrong(unknown(unit)))?;
        let part = number.times(factor).and_then(|part| sum.checked_add(part));
        sum = part.ok_or_else(|| wrong(Problem::TooLarge))?;
    }
    Ok(sum)
}

/// Read a time in seconds, a rate in bits per second, a size in bytes, a share or a number, as the sum of its parts: each is the
/// nearest binary fraction of its number, times its unit.
///
/// # Errors
/// Text that is no such quantity, or one beyond all binary numbers.
pub fn parse_float(text: &str, dimension: Dimension) -> Result<f64, ParseQuantityError> {
    let wrong = |problem| ParseQuantityError::new(text.trim(), dimension, problem);
    let mut sum = 0.0;
    for part in Parts::of(text, dimension).map_err(wrong)? {
        let Part { text, unit, .. } = part.map_err(wrong)?;
        let scale = dimension.scale(unit).ok_or_else(|| wrong(unknown(unit)))?;
        let number: f64 = text.parse().map_err(|_| wrong(Problem::NotANumber))?;
        sum += number.abs() * scale;
    }
    if sum.is_finite() { Ok(sum) } else { Err(wrong(Problem::TooLarge)) }
}

fn unknown(unit: &str) -> Problem {
    if unit.is_empty() { Problem::MissingUnit } else { Problem::UnknownUnit(unit.to_owned()) }
}

/// A number and its unit.
struct Part<'a> {
    /// The number as it is written.
    text: &'a str,
    number: Decimal,
    unit: &'a str,
}

/// The parts of a quantity, one after the other; at least one.
struct Parts<'a> {
    rest: &'a str,
    dimension: Dimension,
    is_first: bool,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str, dimension: Dimension) -> Result<Self, Problem> {
        if text.len() > LONGEST {
            Err(Problem::TooLong)
        } else {
            Ok(Self { rest: text.trim(), dimension, is_first: true })
        }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Result<Part<'a>, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() && !self.is_first {
            return None;
        }
        self.is_first = false;
        let begin = self.rest;
        Some(number(begin).map(|(number, behind)| {
            let (unit, after) = unit(behind.trim_start(), self.dimension);
            self.rest = after.trim_start();
            Part { text: &begin[..begin.len() - behind.len()], number, unit }
        }))
    }
}

/// The number at the beginning of a text, and what stands behind it.
fn number(text: &str) -> Result<(Decimal, &str), Problem> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(unsigned) => (true, unsigned),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (number, behind) =
        Decimal::read(unsigned).ok_or(if negative { Problem::Negative } else { Problem::NotANumber })?;
    if negative && !number.is_zero() { Err(Problem::Negative) } else { Ok((number, behind)) }
}

/// The unit at the beginning of a text, and what stands behind it: for times the letters, for others all of it.
fn unit(text: &str, dimension: Dimension) -> (&str, &str) {
    match dimension {
        Dimension::Time => text.split_at(
            text.find(|letter: char| {
                letter.is_ascii_digit() || letter.is_whitespace() || ".+-".contains(letter)
            })
            .unwrap_or(text.len()),
        ),
        _ => (text, ""),
    }
}

/// Write a time in picoseconds, a rate in bits per second, or a size in bytes: the shortest text that reads back as it.
pub fn write(value: u64, dimension: Dimension) -> String {
    let factors = match dimension {
        Dimension::Time => &TIMES[..5],
        Dimension::Size => &SIZES[..5],
        Dimension::Rate => &PREFIXES[..5],
        Dimension::Share | Dimension::Number => &[("", 1)],
    };
    let bits = if dimension == Dimension::Rate { BITS_PER_SECOND[0] } else { "" };
    let spelled =
        factors.iter().map(|(unit, factor)| format!("{}{unit}{bits}", Decimal::quotient(value, *factor)));
    // Of several that are as short, the one in the largest unit.
    spelled.min_by_key(String::len).unwrap_or_default()
}

impl FromStr for Rate {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text, Dimension::Rate).map(Self::from_bits_per_second)
    }
}

impl FromStr for Duration {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text, Dimension::Time).map(Self::from_picoseconds)
    }
}

impl FromStr for Bytes {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text, Dimension::Size).map(Self::new)
    }
}

/// A share of any size, written `30%` or `0.3`, as the nearest binary fraction of the number, and of its hundredth.
///
/// # Errors
/// Text that is no number from 0 on, or has another unit.
pub fn parse_share(text: &str) -> Result<f64, ParseQuantityError> {
    parse_float(text, Dimension::Share)
}

/// A fraction from 0 to 1, written `0.4%` or `0.004`.
///
/// # Errors
/// Text that is no number, has another unit, or lies outside 0 to 1.
pub fn parse_fraction(text: &str) -> Result<f64, ParseQuantityError> {
    let value = parse_share(text)?;
    if value > 1.0 {
        return Err(ParseQuantityError::new(text.trim(), Dimension::Share, Problem::AboveOne));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_read_as_written() {
        assert_eq!("12Mbit/s".parse(), Ok(Rate::from_megabits_per_second(12)));
        assert_eq!("0.57 Mbps".parse(), Ok(Rate::from_bits_per_second(570_000)));
        assert_eq!("28ms".parse(), Ok(Duration::from_milliseconds(28)));
        assert_eq!("1.5us".parse(), Ok(Duration::from_nanoseconds(1_500)));
        assert_eq!("75000".parse(), Ok(Bytes::new(75_000)));
        assert_eq!("2KiB".parse(), Ok(Bytes::new(2_048)));
        assert_eq!(parse_fraction("0.4%"), Ok(0.4 * 0.01));
        assert_eq!(parse_fraction("1"), Ok(1.0));
    }

    /// Spellings that one of the places took that read quantities by themselves before: each is read everywhere now.
    #[test]
    fn every_spelling_has_its_value() {
        use Dimension::{Rate, Size, Time};
        for (text, dimension, value) in [
            ("1min 30s", Time, 90_000_000_000_000),
            ("1h 30min 10s", Time, 5_410_000_000_000_000),
            ("30s1min", Time, 90_000_000_000_000),
            ("2m", Time, 120_000_000_000_000),
            ("1d", Time, 86_400_000_000_000_000),
            ("1w", Time, 604_800_000_000_000_000),
            ("3 sec", Time, 3_000_000_000_000),
            ("7ps", Time, 7),
            ("0.5ps", Time, 1),
            ("0.1ms", Time, 100_000_000),
            ("0.001ms", Time, 1_000_000),
            ("1.us", Time, 1_000_000),
            (".5us", Time, 500_000),
            ("1e3ns", Time, 1_000_000),
            ("1E+3 ns", Time, 1_000_000),
            ("+2us", Time, 2_000_000),
            ("-0us", Time, 0),
            ("5µs", Time, 5_000_000),
            ("5μs", Time, 5_000_000),
            ("0.000025ms", Time, 25_000),
            ("10Gb/s", Rate, 10_000_000_000),
            ("1e1Gbit/s", Rate, 10_000_000_000),
            ("10Gbps", Rate, 10_000_000_000),
            ("3Kbps", Rate, 3000),
            ("3kb/s", Rate, 3000),
            ("1.6Tbit/s", Rate, 1_600_000_000_000),
            ("0.5 bit/s", Rate, 1),
            ("25000000000.0bps", Rate, 25_000_000_000),
            ("1000000", Size, 1_000_000),
            ("1000000B", Size, 1_000_000),
            ("1.5KB", Size, 1500),
            ("1.5kB", Size, 1500),
            ("32MiB", Size, 32 << 20),
            ("2TiB", Size, 2 << 40),
            ("1e3", Size, 1000),
            ("18446744073709551615", Size, u64::MAX),
            ("0.00000000000000000000000000001GB", Size, 0),
            ("1e-999999999999GB", Size, 0),
        ] {
            assert_eq!(parse(text, dimension), Ok(value), "{text}");
        }
        assert_eq!(parse_share("150%"), Ok(1.5));
        assert_eq!(parse_share("3e-1"), Ok(0.3));
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        use Dimension::{Rate, Size, Time};
        for (text, dimension, problem) in [
            ("5", Time, "the unit is missing"),
            ("5", Rate, "the unit is missing"),
            ("1min 30", Time, "the unit is missing"),
            ("1min -30s", Time, "it is negative"),
            ("", Time, "does not start with a number"),
            ("ms", Time, "does not start with a number"),
            (".ms", Time, "does not start with a number"),
            ("1.2.3ms", Time, "the unit is missing"),
            ("1 fortnight", Time, "unknown unit `fortnight`"),
            ("10GB/s", Rate, "unknown unit `GB/s`"),
            ("10Gbit/s 5Mbit/s", Rate, "unknown unit `Gbit/s 5Mbit/s`"),
            ("infGbit/s", Rate, "does not start with a number"),
            ("1e999999999999B", Size, "too large"),
            ("18446744073709551616", Size, "too large"),
            ("1e", Size, "unknown unit `e`"),
        ] {
            let refused = parse(text, dimension).unwrap_err().to_string();
            assert!(refused.contains(problem), "{text}: {refused}");
        }
        let long = parse(&"1s".repeat(101), Time).unwrap_err().to_string();
        assert!(long.contains("longer than 200 bytes") && long.len() < 200, "{long}");
        assert!(parse_share("x").is_err() && parse_share("-1%").is_err() && parse_share("nan").is_err());
    }

    #[test]
    fn what_is_wrong_is_named_with_what_to_write() {
        let message = |text: &str| text.parse::<Rate>().unwrap_err().to_string();
        assert_eq!(
            message("12Mbit"),
            "`12Mbit` is not a rate: unknown unit `Mbit` (units: bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s); write one like 12Mbit/s"
        );
        assert!(message("12").contains("the unit is missing"));
        assert!(message("fast").contains("does not start with a number"));
        assert!(message("-1bit/s").contains("negative"));
        assert!(message("99999999999999Gbit/s").contains("too large"));
        assert!(parse_fraction("101%").unwrap_err().to_string().contains("larger than 1"));
        assert!("1.2.3ms".parse::<Duration>().is_err());
    }

    #[test]
    fn a_word_for_a_unit_is_told_with_the_unit() {
        let hour = parse("1 hours", Dimension::Time).unwrap_err();
        assert!(hour.reason().starts_with("not a duration: unknown unit `hours`; did you mean h?"), "{hour}");
        let rate = parse("1 hour", Dimension::Rate).unwrap_err();
        assert!(!rate.to_string().contains("did you mean"));
    }

    /// As Python computes `number * unit` in the same order.
    #[test]
    fn binary_numbers_are_products_of_number_and_unit() {
        use Dimension::{Number, Rate, Share, Size, Time};
        for (text, dimension, value) in [
            ("1.1us", Time, 1.1 * 1e-6),
            ("0.7ms", Time, 0.7 * 1e-3),
            ("3ps", Time, 3.0 * 1e-12),
            ("1h 0.1min", Time, 3600.0 + 0.1 * 60.0),
            ("1000w", Time, 604_800_000.0),
            ("1.7 Gbps", Rate, 1.7 * 1e9),
            ("0.3KiB", Size, 0.3 * 1024.0),
            ("1e30B", Size, 1e30),
            ("7%", Share, 7.0 * 0.01),
            ("+1e-3", Number, 1e-3),
        ] {
            assert_eq!(parse_float(text, dimension), Ok(value), "{text}");
        }
        for (text, dimension) in [("5", Time), ("5%", Number), ("1e999s", Time), ("-1%", Share), ("", Number)]
        {
            assert!(parse_float(text, dimension).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_written_is_short() {
        let written = |value, dimension| write(value, dimension);
        assert_eq!(written(10_000_000_000, Dimension::Rate), "10Gbit/s");
        assert_eq!(written(1_500_000, Dimension::Time), "1.5us");
        assert_eq!(written(1001, Dimension::Time), "1001ps");
        assert_eq!(written(0, Dimension::Size), "0B");
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(value in prop_oneof![any::<u64>(), 0_u64..10_000, any::<u32>().prop_map(|value| u64::from(value) * 1_000_000)]) {
            for dimension in [Dimension::Time, Dimension::Rate, Dimension::Size] {
                prop_assert_eq!(parse(&write(value, dimension), dimension), Ok(value));
            }
        }

        #[test]
        fn whole_milliseconds_are_exact(milliseconds in 0_u64..1_000_000_000) {
            prop_assert_eq!(format!("{milliseconds}ms").parse(), Ok(Duration::from_milliseconds(milliseconds)));
        }

        /// Both ways of reading take the same texts, and agree as far as a binary number is exact.
        #[test]
        fn whole_and_binary_numbers_agree(text in "[-+]?[0-9]{0,9}(\\.[0-9]{0,4})?(e[-+]?[0-3])? ?(ms|min|s 3us|Gbit/s|kb/s|kB|KiB|%|x|)") {
            for (dimension, unit) in [(Dimension::Time, 1e12), (Dimension::Rate, 1.0), (Dimension::Size, 1.0)] {
                let (whole, binary) = (parse(&text, dimension), parse_float(&text, dimension));
                match (whole, binary) {
                    (Ok(whole), Ok(binary)) => prop_assert!((whole as f64 - binary * unit).abs() <= 0.5 + 1e-9 * whole as f64),
                    (Err(whole), Err(binary)) => prop_assert_eq!(whole, binary),
                    (whole, binary) => prop_assert!(whole.is_err_and(|error| error.problem == Problem::TooLarge) && binary.is_ok()),
                }
            }
        }

        /// Numbers as a binary reader with rounding has them, where it is exact enough.
        #[test]
        fn numbers_are_those_of_the_standard_library(digits in 0_u64..1_000_000_000, places in 0_usize..7) {
            let text = format!("{:.places$}", digits as f64 / 1000.0);
            let expected = (text.parse::<f64>().unwrap() * 1e6).round() as u64;
            prop_assert_eq!(parse(&format!("{text}us"), Dimension::Time), Ok(expected));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = (text.parse::<Rate>(), text.parse::<Duration>(), text.parse::<Bytes>(), parse_fraction(&text));
        }

        #[test]
        fn no_number_panics(text in "[-+]?[0-9.]{0,60}([eE][-+]?[0-9]{0,12})? ?(ms|Gbit/s|kB|min|%)") {
            let _ = (text.parse::<Rate>(), text.parse::<Duration>(), text.parse::<Bytes>(), parse_fraction(&text));
        }
    }
}
