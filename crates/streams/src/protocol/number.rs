//! Numbers as text, read the way a C server reads them, and OML's 38-bit binary doubles.

use std::io::Write;

/// An integer's sign and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Integer {
    negative: bool,
    magnitude: u64,
}

impl Integer {
    pub(super) fn to_i64(self) -> Option<i64> {
        if self.negative {
            0_i64.checked_sub_unsigned(self.magnitude)
        } else {
            i64::try_from(self.magnitude).ok()
        }
    }

    pub(super) fn to_u64(self) -> Option<u64> {
        (!self.negative || self.magnitude == 0).then_some(self.magnitude)
    }

    pub(super) fn to_i32(self) -> Option<i32> {
        i32::try_from(self.to_i64()?).ok()
    }

    pub(super) fn to_u32(self) -> Option<u32> {
        u32::try_from(self.to_u64()?).ok()
    }
}

/// Reads an integer as `strtol(…, 0)` does: blanks, sign, `0x` hexadecimal, leading 0 octal, else decimal.
/// Anything after the digits, or no digit, is refused.
pub(super) fn parse_integer(text: &[u8]) -> Option<Integer> {
    let text = text.trim_ascii_start();
    let (negative, digits) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, text),
    };
    let magnitude = match digits {
        [b'0', b'x' | b'X', rest @ ..] => parse_radix(rest, 16)?,
        [b'0', rest @ ..] if !rest.is_empty() => parse_radix(rest, 8)?,
        _ => parse_decimal(digits)?,
    };
    Some(Integer { negative, magnitude })
}

/// Reads an integer as [`parse_integer`] does, also with blanks behind it or written as a double that is whole (`15.0`, `1e3`).
pub(super) fn parse_whole(text: &[u8]) -> Option<Integer> {
    let text = text.trim_ascii();
    parse_integer(text).or_else(|| parse_whole_double(text))
}

fn parse_whole_double(text: &[u8]) -> Option<Integer> {
    /// Beyond 2^53 a double stands for several integers.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let written = text.iter().any(|byte| b".eE".contains(byte));
    let value = parse_double(text).filter(|value| written && value.fract() == 0.0 && value.abs() <= EXACT)?;
    Some(Integer { negative: value < 0.0, magnitude: value.abs() as u64 })
}

/// Reads digits alone.
pub(super) fn parse_decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    let mut number = 0_u64;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(number)
}

fn parse_radix(digits: &[u8], radix: u32) -> Option<u64> {
    let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
    u64::from_str_radix(digits, radix).ok()
}

/// Reads a double: decimal with or without exponent, `nan`, `inf`, blanks around it. What is beyond the largest
/// is infinite: liboml2's 15 digits of the largest double are.
pub(super) fn parse_double(text: &[u8]) -> Option<f64> {
    let text = text.trim_ascii();
    parse_short_decimal(text).or_else(|| parse_any_double(text))
}

fn parse_any_double(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    match text.trim_start_matches(['+', '-']) {
        unsigned if unsigned.len() >= 3 && unsigned.as_bytes()[..3].eq_ignore_ascii_case(b"nan") => {
            Some(f64::NAN)
        }
        _ => text.parse().ok(),
    }
}

/// Powers of ten that a double holds exactly.
const EXACT_POWERS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// Reads `[-]digits[.digits]` of at most 15 digits: both parts are exact, so one division rounds once (Clinger 1990).
#[expect(clippy::cast_precision_loss, reason = "at most 15 digits: below 2^53")]
fn parse_short_decimal(text: &[u8]) -> Option<f64> {
    let (negative, digits) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        _ => (false, text),
    };
    if digits.len() > 16 || digits.is_empty() {
        return None;
    }
    let mut number = 0_u64;
    let mut point = None;
    for (position, &byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => number = number * 10 + u64::from(byte - b'0'),
            b'.' if point.is_none() => point = Some(position),
            _ => return None,
        }
    }
    let count = digits.len() - usize::from(point.is_some());
    if count == 0 || count > 15 {
        return None;
    }
    let decimals = point.map_or(0, |point| digits.len() - point - 1);
    let value = number as f64 / EXACT_POWERS[decimals];
    Some(if negative { -value } else { value })
}

/// Appends the shortest text that reads back as the same double (`nan`, `inf`, `-inf` as C reads them).
pub(super) fn write_double(out: &mut Vec<u8>, value: f64) {
    if value.is_nan() {
        out.extend_from_slice(b"nan");
    } else {
        let _ = write!(out, "{value:?}"); // writing to a Vec cannot fail
    }
}

/// Appends a decimal integer.
pub(super) fn write_unsigned(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0_u8; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

/// Appends a decimal integer with its sign.
pub(super) fn write_signed(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    write_unsigned(out, value.unsigned_abs());
}

/// Appends seconds with six decimals, as liboml2 writes time stamps.
pub(super) fn write_seconds(out: &mut Vec<u8>, seconds: f64) {
    if seconds.is_nan() || seconds.abs() >= 9e18 {
        return write_double(out, seconds);
    }
    let whole = seconds.abs().trunc();
    let micros = ((seconds.abs() - whole) * 1e6).round_ties_even() as u64;
    if seconds < 0.0 && (whole > 0.0 || micros > 0) {
        out.push(b'-');
    }
    write_unsigned(out, whole as u64 + micros / 1_000_000);
    out.push(b'.');
    let mut rest = micros % 1_000_000;
    let mut decimals = [b'0'; 6];
    for digit in decimals.iter_mut().rev() {
        *digit += (rest % 10) as u8;
        rest /= 10;
    }
    out.extend_from_slice(&decimals);
}

/// 2^30: the scale of the mantissa of a binary double.
const MANTISSA_SCALE: f64 = 1_073_741_824.0;

/// Mantissa and exponent of the binary double (OML.md section 5), or `None` where only NaN can be sent.
pub(super) fn pack_double(value: f64) -> Option<(i32, i8)> {
    if value == 0.0 {
        return Some((0, 0));
    }
    let (fraction, exponent) = split_double(value)?;
    Some(((fraction * MANTISSA_SCALE) as i32, i8::try_from(exponent).ok()?))
}

/// What becomes of a double in a binary double.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packed {
    /// It is read as it was.
    Exact,
    /// It keeps 30 bits.
    Rounded,
    /// It goes as NaN.
    Lost,
}

pub(super) fn packed(value: f64) -> Packed {
    match pack_double(value) {
        None if value.is_nan() => Packed::Exact,
        None => Packed::Lost,
        Some((mantissa, exponent)) if unpack_double(mantissa, exponent) == value => Packed::Exact,
        Some(_) => Packed::Rounded,
    }
}

/// C's `frexp`: a fraction of 0.5 ≤ |f| < 1 and a power of two, for a finite value other than 0.
fn split_double(value: f64) -> Option<(f64, i32)> {
    if !value.is_finite() {
        return None;
    }
    let bits = value.to_bits();
    let biased = (bits >> 52 & 0x7ff) as i32;
    if biased == 0 {
        let (fraction, exponent) = split_double(value * 2_f64.powi(64))?;
        return Some((fraction, exponent - 64));
    }
    Some((f64::from_bits(bits & !(0x7ff << 52) | 1022 << 52), biased - 1022))
}

/// The value of a mantissa and an exponent: M/2^30 · 2^x.
pub(super) fn unpack_double(mantissa: i32, exponent: i8) -> f64 {
    let power = f64::from_bits(((1023 - 30 + i64::from(exponent)) as u64) << 52);
    f64::from(mantissa) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_c_reads_them() {
        let read = |text: &str| parse_integer(text.as_bytes()).and_then(Integer::to_i64);
        assert_eq!(read(" -17"), Some(-17));
        assert_eq!(read("0x1F"), Some(31));
        assert_eq!(read("010"), Some(8));
        assert_eq!(read("0"), Some(0));
        assert_eq!(read("-9223372036854775808"), Some(i64::MIN));
        for wrong in ["", "-", "12a", "0x", "0x+1", "08", "9223372036854775808", "1.5"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn whole_numbers_may_be_written_as_doubles() {
        let read = |text: &str| parse_whole(text.as_bytes()).and_then(Integer::to_i64);
        assert_eq!(read("5 "), Some(5));
        assert_eq!(read("15.0"), Some(15));
        assert_eq!(read("-1e3"), Some(-1000));
        assert_eq!(read("9007199254740992.0"), Some(1 << 53));
        for wrong in ["15.5", "9007199254740994.0", "08", "1,5", "inf", "nan", ".", "1 2", "1e-1"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn short_decimals_equal_the_correctly_rounded_reader() {
        for text in ["0.1", "123456.789012", "-0.0", "999999999999.999", "5", ".5", "7.", "0.000001"] {
            let short = parse_short_decimal(text.as_bytes()).unwrap();
            assert_eq!(short.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
        }
        assert_eq!(parse_short_decimal(b"1234567890123456"), None);
        assert_eq!(parse_double(b"."), None);
    }

    #[test]
    fn binary_doubles_keep_thirty_bits_and_the_range_of_the_tag() {
        for value in [1.0, -1.5, 0.1, 123456.789, 1e38, 1e-38, -2.75] {
            let (mantissa, exponent) = pack_double(value).unwrap();
            let back = unpack_double(mantissa, exponent);
            assert!((back - value).abs() <= value.abs() * 2_f64.powi(-29), "{value} became {back}");
        }
        assert_eq!(pack_double(-0.0), Some((0, 0)));
        for outside in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e39, 5e-324] {
            assert_eq!(pack_double(outside), None);
        }
    }

    #[test]
    fn seconds_have_six_decimals() {
        let written = |seconds| {
            let mut out = Vec::new();
            write_seconds(&mut out, seconds);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(0.270795), "0.270795");
        assert_eq!(written(-99.5), "-99.500000");
        assert_eq!(written(-1e-7), "0.000000");
        assert_eq!(written(1e12 + 0.25), "1000000000000.250000");
        assert_eq!(written(f64::NAN), "nan");
    }
}
