//! Words of other languages -> what to write here: `log10(x)` -> `log(x) / log(10)`, `True` -> `true`.

/// What to write for a call of a function that other languages have; `given` is what stands in its parentheses.
pub(super) fn call(name: &str, given: &str) -> Option<String> {
    let own = match name {
        "log10" => return Some(format!("log({given}) / log(10)")),
        "ln" => "log",
        "fabs" => "abs",
        "power" => "pow",
        "int" | "long" => "i64",
        "arctan2" => "atan2",
        "arctan" => "atan",
        "arcsin" => "asin",
        "arccos" => "acos",
        "where" => "select",
        "mix" => "lerp",
        _ => element(name)?,
    };
    Some(format!("{own}({given})"))
}

/// What to write for a name of a value.
pub(super) fn value(name: &str) -> Option<&'static str> {
    Some(match name {
        "True" | "TRUE" => "true",
        "False" | "FALSE" => "false",
        "nan" | "NaN" | "NAN" => "inf - inf",
        "Inf" | "INF" | "infinity" | "Infinity" => "inf",
        "pi" | "PI" => "3.141592653589793",
        "tau" | "TAU" => "6.283185307179586",
        _ => return None,
    })
}

/// What to write for a type.
pub(in crate::graph) fn element(name: &str) -> Option<&'static str> {
    Some(match name {
        "half" | "float16" => "f16",
        "float" | "float32" | "single" => "f32",
        "double" | "float64" => "f64",
        "int8" => "i8",
        "int16" | "short" => "i16",
        "int" | "int32" => "i32",
        "int64" | "long" => "i64",
        "byte" | "uint8" => "u8",
        "uint16" => "u16",
        "uint" | "uint32" => "u32",
        "uint64" => "u64",
        "boolean" => "bool",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_functions_become_our_own() {
        let check =
            |name: &str, expect: Option<&str>| assert_eq!(call(name, "x").as_deref(), expect, "{name}");
        check("log10", Some("log(x) / log(10)"));
        check("float", Some("f32(x)"));
        check("int", Some("i64(x)"));
        check("float32", Some("f32(x)"));
        check("hills", None);
    }
}
