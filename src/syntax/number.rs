//! Number literals: `1_000`, `0xff`, `1.5`, `1e-3` -> the number, or what is wrong with it.

/// The value of a number literal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// Up to 2^64 - 1.
    Int(u64),
    /// Finite.
    Float(f64),
}

/// Why a literal has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NumberError {
    /// `12abc`: the letters at this byte belong to no number.
    Letters(usize),
    /// `0x`
    NoHexDigits,
    /// `1e`, `1e+`
    NoExponent,
    /// `1__0`, `1_`
    Separator,
    /// Above 2^64 - 1.
    IntTooLarge,
    /// Above the largest f64.
    FloatTooLarge,
}

/// The value of `text`, which starts with a digit.
pub(super) fn parse_number(text: &str) -> Result<Number, NumberError> {
    match text.strip_prefix("0x") {
        Some(digits) => parse_hex(digits),
        None => parse_decimal(text),
    }
}

fn parse_hex(digits: &str) -> Result<Number, NumberError> {
    if let Some(at) = digits.find(|c: char| !c.is_ascii_hexdigit() && c != '_') {
        return Err(NumberError::Letters(at + 2));
    }
    if digits.is_empty() {
        return Err(NumberError::NoHexDigits);
    }
    check_separators(digits)?;
    u64::from_str_radix(&digits.replace('_', ""), 16).map(Number::Int).map_err(|_| NumberError::IntTooLarge)
}

fn parse_decimal(text: &str) -> Result<Number, NumberError> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    check_digits(whole, 0)?;
    fraction.map_or(Ok(()), |digits| check_digits(digits, whole.len() + 1))?;
    exponent.map_or(Ok(()), |digits| check_exponent(digits, mantissa.len() + 1))?;
    let plain = text.replace('_', "");
    if fraction.is_none() && exponent.is_none() {
        return plain.parse().map(Number::Int).map_err(|_| NumberError::IntTooLarge);
    }
    match plain.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Number::Float(value)),
        _ => Err(NumberError::FloatTooLarge),
    }
}

fn check_exponent(exponent: &str, at: usize) -> Result<(), NumberError> {
    let digits = exponent.trim_start_matches(['+', '-']);
    let at = at + exponent.len() - digits.len();
    match digits.as_bytes().first() {
        None => Err(NumberError::NoExponent),
        // `12else`: the `e` starts a word, not an exponent.
        Some(first) if !first.is_ascii_digit() => Err(NumberError::Letters(at - 1)),
        Some(_) => check_digits(digits, at),
    }
}

/// Digits with single `_` between them; `at` is where they stand in the literal.
fn check_digits(digits: &str, at: usize) -> Result<(), NumberError> {
    match digits.find(|c: char| !c.is_ascii_digit() && c != '_') {
        Some(letter) => Err(NumberError::Letters(at + letter)),
        None => check_separators(digits),
    }
}

fn check_separators(digits: &str) -> Result<(), NumberError> {
    if digits.starts_with('_') || digits.ends_with('_') || digits.contains("__") {
        return Err(NumberError::Separator);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Result<Number, NumberError>) {
        assert_eq!(parse_number(text), expect, "{text}");
    }

    #[test]
    fn integers() {
        check("0", Ok(Number::Int(0)));
        check("1_000", Ok(Number::Int(1000)));
        check("0xff_FF", Ok(Number::Int(0xffff)));
        check("18446744073709551615", Ok(Number::Int(u64::MAX)));
        check("0xffffffffffffffff", Ok(Number::Int(u64::MAX)));
    }

    #[test]
    fn floats() {
        check("1.5", Ok(Number::Float(1.5)));
        check("1e-3", Ok(Number::Float(1e-3)));
        check("1_0.2_5E+2", Ok(Number::Float(1025.0)));
        check("1e-400", Ok(Number::Float(0.0)));
    }

    #[test]
    fn slips() {
        check("12abc", Err(NumberError::Letters(2)));
        check("1.5f", Err(NumberError::Letters(3)));
        check("12else", Err(NumberError::Letters(2)));
        check("0xfg", Err(NumberError::Letters(3)));
        check("0b101", Err(NumberError::Letters(1)));
        check("0x", Err(NumberError::NoHexDigits));
        check("0x_", Err(NumberError::Separator));
        check("1e", Err(NumberError::NoExponent));
        check("1e-", Err(NumberError::NoExponent));
        check("1__0", Err(NumberError::Separator));
        check("1_", Err(NumberError::Separator));
        check("1_.5", Err(NumberError::Separator));
        check("18446744073709551616", Err(NumberError::IntTooLarge));
        check("1e999", Err(NumberError::FloatTooLarge));
    }
}
