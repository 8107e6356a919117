//! The limits that SECURITY.md tells are those of the code.

use crate::{none, read};

/// What a constant of the code is: `16 << 20`, `1_000_000`.
fn constant(path: &str, name: &str) -> Option<i128> {
    let text = read(path);
    let (_, rest) = text.split_once(&format!("const {name}: "))?;
    let (_, value) = rest.split_once(';')?.0.split_once('=')?;
    let value = value.replace('_', "");
    let number = |text: &str| text.trim().parse::<i128>().ok();
    match value.split_once("<<") {
        Some((base, shift)) => Some(number(base)? << number(shift)?),
        None => number(&value),
    }
}

/// What the page says: `16 MiB`, `1,000,000`, `2^24`.
fn told(text: &str) -> Option<i128> {
    let plain = text.replace(',', "");
    if let Some(mebibytes) = plain.strip_suffix(" MiB") {
        return Some(mebibytes.parse::<i128>().ok()? << 20);
    }
    match plain.strip_prefix("2^") {
        Some(exponent) => Some(1 << exponent.parse::<u32>().ok()?),
        None => plain.parse().ok(),
    }
}

/// What is wrong with a row of the table.
fn wrong(row: &str) -> Option<String> {
    let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
    let [_, limit, place] = cells[..] else { return Some(format!("three cells are expected: {row}")) };
    let (path, name) = place.split_once(' ').unwrap_or_default();
    let code = constant(path.trim_matches('`'), name.trim_matches('`'));
    match (told(limit), code) {
        (Some(told), Some(code)) if told == code => None,
        (told, code) => Some(format!("{row}\n    the page says {told:?}, the code {code:?}")),
    }
}

#[test]
fn limits_are_those_of_the_code() {
    let page = read("SECURITY.md");
    let (_, table) = page.split_once("| what | at most | where |\n| --- | --- | --- |\n").unwrap();
    let rows: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() >= 15, "only {} limits", rows.len());
    none(&rows.iter().filter_map(|row| wrong(row)).collect::<Vec<_>>());
}

#[test]
fn a_wrong_limit_is_found() {
    assert_eq!(wrong("| a | 16 MiB | `src/source.rs` `MAX_SOURCE_BYTES` |"), None);
    assert!(wrong("| a | 17 MiB | `src/source.rs` `MAX_SOURCE_BYTES` |").is_some());
    assert!(wrong("| a | 16 MiB | `src/source.rs` `MAX_OTHER` |").is_some());
}
