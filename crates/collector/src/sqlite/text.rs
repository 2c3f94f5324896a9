//! Vectors as OML's server writes them: `[ 1, 2 ]`, empty when there is no element (OML.md section 8).

use std::fmt::Write;

use trialwise_streams::protocol::{Element, Vector};

/// Writes a vector in place of what `out` held.
pub(super) fn write_vector(vector: Vector<'_>, out: &mut String) {
    out.clear();
    let mut before = "[ ";
    for element in vector.iter() {
        out.push_str(before);
        write_element(element, out);
        before = ", ";
    }
    if !out.is_empty() {
        out.push_str(" ]");
    }
}

fn write_element(element: Element, out: &mut String) {
    let _ = match element {
        // Writing to a String cannot fail.
        Element::Int32(value) => write!(out, "{value}"),
        Element::UInt32(value) => write!(out, "{value}"),
        Element::Int64(value) => write!(out, "{value}"),
        Element::UInt64(value) => write!(out, "{value}"),
        Element::Bool(value) => write!(out, "{value}"),
        Element::Double(value) => {
            write_double(value, out);
            Ok(())
        }
    };
}

/// Appends C's `%.15g`.
fn write_double(value: f64, out: &mut String) {
    if !value.is_finite() {
        let text = if value.is_nan() { "nan" } else { "inf" };
        out.push_str(if value < 0.0 { "-inf" } else { text });
        return;
    }
    let scientific = format!("{value:.14e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..15).contains(&exponent) {
        let decimals = usize::try_from(14 - exponent).unwrap_or(0);
        out.push_str(without_zeros(&format!("{value:.decimals$}")));
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "{}e{sign}{:02}", without_zeros(digits), exponent.abs());
    }
}

/// Without zeros at the end of decimals.
fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_written_as_c_writes_them() {
        // Printed by printf("%.15g").
        for (value, text) in [
            (1.0 / 3.0, "0.333333333333333"),
            (100.0, "100"),
            (-0.0, "-0"),
            (f64::MAX, "1.79769313486232e+308"),
            (5e-324, "4.94065645841247e-324"),
            (1e15, "1e+15"),
            (999999999999999.0, "999999999999999"),
            (0.0001, "0.0001"),
            (0.00001234, "1.234e-05"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
            (9.999999999999999e14, "1e+15"),
        ] {
            let mut out = String::new();
            write_double(value, &mut out);
            assert_eq!(out, text);
        }
    }
}
