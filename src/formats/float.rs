//! A float -> its text, as Julia prints it: the fewest digits that mean it, with an exponent from a million on.
//!
//! ```text
//! 0.1   123456.7   1.0e6   0.0001   1.0e-5   -0.0   Inf   NaN
//! ```

use crate::graph::types::Element;
use crate::io::{half_bits, half_value};

/// The text of an element that is a float, by its value.
pub(super) fn float(element: Element, value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_infinite() {
        return format!("{sign}Inf");
    }
    let (digits, point) = shortest(element, value.abs());
    // Julia takes exponents from a thousand on for what has four digits at the most.
    let widest = if element == Element::F16 { 3 } else { 6 };
    let text =
        if (-3..=widest).contains(&point) { plain(&digits, point) } else { scientific(&digits, point) };
    format!("{sign}{text}")
}

/// The fewest digits that mean a value, and before which of them the point stands.
fn shortest(element: Element, value: f64) -> (String, i32) {
    let text = match element {
        Element::F64 => format!("{value:e}"),
        Element::F16 => shortest_half(value as f32),
        _ => format!("{:e}", value as f32),
    };
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (digits.replace('.', ""), exponent.parse().unwrap_or(0) + 1)
}

/// Five digits tell every f16 from the others.
fn shortest_half(value: f32) -> String {
    let same = |text: &String| text.parse().is_ok_and(|read| half_value(half_bits(read)) == value);
    let texts = (0..5).map(|digits| format!("{value:.digits$e}"));
    texts.into_iter().find(same).unwrap_or_else(|| format!("{value:e}"))
}

fn plain(digits: &str, point: i32) -> String {
    let (zeros, before) = (point.min(0).unsigned_abs() as usize, point.max(0) as usize);
    if before == 0 {
        return format!("0.{}{digits}", "0".repeat(zeros));
    }
    match digits.split_at_checked(before) {
        Some((whole, "")) => format!("{whole}.0"),
        Some((whole, rest)) => format!("{whole}.{rest}"),
        None => format!("{digits}{}.0", "0".repeat(before - digits.len())),
    }
}

fn scientific(digits: &str, point: i32) -> String {
    let (first, rest) = digits.split_at(1);
    format!("{first}.{}e{}", if rest.is_empty() { "0" } else { rest }, point - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(element: Element, texts: &[&str]) {
        for text in texts {
            let value = text.replace("Inf", "inf").parse().unwrap();
            let value = if element == Element::F64 { value } else { f64::from(value as f32) };
            let value =
                if element == Element::F16 { f64::from(half_value(half_bits(value as f32))) } else { value };
            assert_eq!(float(element, value), *text, "{element}");
        }
    }

    #[test]
    fn floats_are_written_as_in_julia() {
        let shared = ["0.0", "-0.0", "1.0", "-2.5", "0.1", "Inf", "-Inf", "NaN", "0.0001", "1.0e-5", "120.0"];
        let long = ["123456.7", "100000.0", "999999.0", "1.0e6", "-1.234567e6", "1.0e16", "1.2345e-7"];
        check(Element::F64, &shared);
        check(Element::F64, &long[..4]);
        check(Element::F64, &long[4..]);
        check(Element::F64, &["1.7976931348623157e308", "5.0e-324", "0.30000000000000004", "1.0e22"]);
        check(Element::F32, &shared);
        check(Element::F32, &["1.0e-45", "3.4028235e38", "1.6777216e7", "0.33333334"]);
        check(Element::F16, &shared);
        check(Element::F16, &["999.0", "1.0e3", "2.05e3", "6.55e4", "6.0e-8", "0.3333"]);
    }
}
