//! Decimal numbers as people write them, exactly.

use std::fmt::Write as _;

/// Digits that are kept of a number; what lies beyond decides nothing among 64 bits.
const KEPT: u32 = 20;
/// Powers of ten that a number may have, beyond which it is zero or too large.
const MAX_POWER: i32 = 60;

/// `digits` times ten to the power of `power`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: u128,
    power: i32,
}

impl Decimal {
    /// The number at the beginning of a text, such as `1.5` or `2e-3`, and what stands behind it; none where there is none.
    pub(crate) fn read(text: &str) -> Option<(Self, &str)> {
        let mut number = Self { digits: 0, power: 0 };
        let (mut kept, mut point, mut end, mut any) = (0, false, 0, false);
        for (place, byte) in text.bytes().enumerate() {
            match byte {
                b'0'..=b'9' => {
                    any = true;
                    if kept < KEPT {
                        number.digits = number.digits * 10 + u128::from(byte - b'0');
                        kept += u32::from(number.digits > 0);
                        number.power = number.power.saturating_sub(i32::from(point));
                    } else {
                        number.power = number.power.saturating_add(i32::from(!point));
                    }
                }
                b'.' if !point => point = true,
                _ => break,
            }
            end = place + 1;
        }
        if !any {
            return None;
        }
        let (exponent, behind) = exponent(&text[end..]);
        number.power = number.power.saturating_add(exponent);
        Some((number, behind))
    }

    pub(crate) const fn is_zero(self) -> bool {
        self.digits == 0
    }

    /// The product, halves rounded up; none beyond 64 bits.
    pub(crate) fn times(self, factor: u64) -> Option<u64> {
        let product = self.digits * u128::from(factor);
        if product == 0 || self.power < -MAX_POWER {
            return Some(0);
        }
        if self.power > MAX_POWER {
            return None;
        }
        let power = self.power.unsigned_abs();
        let value = if self.power >= 0 {
            10_u128.checked_pow(power).and_then(|power| product.checked_mul(power))?
        } else {
            // Whatever is divided by more than 128 bits hold is less than a half.
            10_u128
                .checked_pow(power)
                .map_or(0, |divisor| product / divisor + u128::from(product % divisor >= divisor.div_ceil(2)))
        };
        u64::try_from(value).ok()
    }

    /// The text of `value` by `divisor`, a power of ten.
    pub(crate) fn quotient(value: u64, divisor: u64) -> String {
        let mut text = (value / divisor).to_string();
        let rest = value % divisor;
        if rest > 0 {
            // Writing to a string cannot fail.
            let _ = write!(text, ".{rest:0digits$}", digits = divisor.ilog10() as usize);
            text.truncate(text.trim_end_matches('0').len());
        }
        text
    }
}

/// The exponent at the beginning of a text, 0 where there is none, and what stands behind it.
fn exponent(text: &str) -> (i32, &str) {
    let Some(rest) = text.strip_prefix(['e', 'E']) else { return (0, text) };
    let (sign, digits) = match rest.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, rest.strip_prefix('+').unwrap_or(rest)),
    };
    let end = digits.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(digits.len());
    if end == 0 {
        return (0, text);
    }
    // More digits than fit are a power beyond all bounds.
    (sign * digits[..end].parse().unwrap_or(i32::MAX / 2), &digits[end..])
}
