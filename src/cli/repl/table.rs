//! A bounded view -> a table with its coordinates, with as many columns as fit; no more is computed than could fit.
//!
//! ```text
//!   y\x      -1       0       1
//!     0  0.2500  0.5000  1.2500
//!     1  3.0000     NaN     inf
//! ```

use crate::engine::{Engine, Error};
use crate::graph::types::Element;
use crate::graph::view::View;
use crate::index::walk::each;
use crate::index::{Dim, Interval};
use crate::io::scalar_at;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows that are shown of a table, and of its top and end when there are more.
const ROWS: (i64, i64) = (16, 6);
/// Tables that are shown of an array of more than two dimensions, per dimension.
const TABLES: (i64, i64) = (4, 1);

/// Cells by their coordinates.
type Cells = BTreeMap<Vec<i64>, String>;

/// The elements of a view as text, `columns` characters wide at the most, if two columns of elements fit there.
pub fn table(engine: &Engine, view: &Arc<View>, columns: usize) -> Result<String, Error> {
    let dims = view.domain().dims();
    let narrow = if view.element.is_float() { 6 } else { 3 };
    let most = ((columns / narrow) as i64).max(2);
    let widest = shown(dims, most);
    if widest.iter().any(Vec::is_empty) {
        return Ok("no elements".to_owned());
    }
    let cells = read(engine, view, &widest)?;
    let texts = (2..=most).rev().map(|fit| text(&cells, &shown(dims, fit), dims, fit));
    let fits = |text: &String| text.lines().all(|line| line.chars().count() <= columns);
    let narrowest = || text(&cells, &shown(dims, 2), dims, 2);
    Ok(texts.into_iter().find(fits).unwrap_or_else(narrowest))
}

/// What is shown of each dimension where so many columns fit.
fn shown(dims: &[Dim], fit: i64) -> Vec<Vec<Interval>> {
    let limits = |dim: usize| match dims.len() - 1 - dim {
        0 if dims.len() == 1 => (fit * ROWS.0, fit * 2),
        0 => (fit, fit / 2),
        1 => ROWS,
        _ => TABLES,
    };
    dims.iter().enumerate().map(|(at, dim)| ends(dim.interval, limits(at))).collect()
}

/// What is shown, as text; of one dimension, so many elements in a row.
fn text(cells: &Cells, shown: &[Vec<Interval>], dims: &[Dim], fit: i64) -> String {
    match dims.len() {
        0 => cells.values().next().cloned().unwrap_or_default(),
        1 => row_text(cells, &shown[0], fit),
        _ => tables(cells, shown, dims),
    }
}

/// All of a range, or both of its ends.
fn ends(range: Interval, (most, edge): (i64, i64)) -> Vec<Interval> {
    let len = range.len().unwrap_or(0);
    if len == 0 {
        return Vec::new();
    }
    if len <= most {
        return vec![range];
    }
    let (first, last) = (range.first(), range.last());
    vec![Interval::trusted(first, first + edge - 1), Interval::trusted(last - edge + 1, last)]
}

/// Computes what is shown, box by box.
fn read(engine: &Engine, view: &Arc<View>, shown: &[Vec<Interval>]) -> Result<Cells, Error> {
    let mut cells = Cells::new();
    let mut boxes: Vec<Vec<Interval>> = vec![Vec::new()];
    for ranges in shown {
        let longer = |region: &Vec<Interval>| {
            let region = region.clone();
            ranges.iter().map(move |range| region.iter().copied().chain([*range]).collect::<Vec<_>>())
        };
        boxes = boxes.iter().flat_map(longer).collect();
    }
    for region in boxes {
        let Ok(part) = view.narrowed(&region) else { continue };
        let (array, _) = engine.prepare_view(Arc::new(part))?.read_array()?;
        let bytes = array.element.bytes() as usize;
        let mut elements = array.data.chunks_exact(bytes);
        let mut take = |at: &[i64]| {
            let text = elements.next().map(|element| cell(array.element, element)).unwrap_or_default();
            cells.insert(at.to_vec(), text);
        };
        if region.is_empty() { take(&[]) } else { each(&region, &mut take) }
    }
    if shown.is_empty()
        && let Some(only) = cells.get_mut(&Vec::new())
    {
        let (array, _) = engine.prepare_view(view.clone())?.read_array()?;
        *only = scalar_text(array.element, &array.data);
    }
    Ok(cells)
}

/// One dimension: rows of as many cells as fit, each after the coordinate of its first.
fn row_text(cells: &Cells, shown: &[Interval], fit: i64) -> String {
    let seen = shown.iter().flat_map(|range| range.first()..=range.last());
    let width = seen.map(|x| cells[&vec![x]].chars().count()).max().unwrap_or(0);
    let label = shown.iter().flat_map(|range| [range.first(), range.last()]);
    let label = label.map(|at| at.to_string().len()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for (number, range) in shown.iter().enumerate() {
        if number > 0 {
            lines.push(format!("  {:>label$}", "…"));
        }
        let mut at = range.first();
        while at <= range.last() {
            let end = (at + fit).min(range.last() + 1);
            let row: String = (at..end).map(|x| format!("  {:>width$}", cells[&vec![x]])).collect();
            lines.push(format!("  {at:>label$}:{row}"));
            at = end;
        }
    }
    lines.join("\n")
}

/// Two dimensions as a table; more of them as several.
fn tables(cells: &Cells, shown: &[Vec<Interval>], dims: &[Dim]) -> String {
    let rank = dims.len();
    let mut outer: Vec<Vec<i64>> = vec![Vec::new()];
    for ranges in &shown[..rank - 2] {
        let coordinates = || ranges.iter().flat_map(|range| range.first()..=range.last());
        outer = outer
            .iter()
            .flat_map(|at| coordinates().map(move |x| at.iter().copied().chain([x]).collect::<Vec<_>>()))
            .collect();
    }
    let cut = shown[..rank - 2].iter().any(|ranges| ranges.len() > 1);
    let texts = outer.iter().map(|at| {
        let names: Vec<String> = at.iter().zip(dims).map(|(x, dim)| format!("{} = {x}", name(dim))).collect();
        let head = if names.is_empty() { String::new() } else { format!("{}\n", names.join(", ")) };
        head + &table_text(cells, at, &shown[rank - 2..], &dims[rank - 2..])
    });
    let texts: Vec<String> = texts.collect();
    texts.join("\n") + if cut { "\n(and others between them)" } else { "" }
}

fn name(dim: &Dim) -> &str {
    if dim.label.is_empty() { "_" } else { &dim.label }
}

/// The coordinates that are shown of a dimension, `None` for those left out.
fn coordinates(ranges: &[Interval]) -> Vec<Option<i64>> {
    let parts: Vec<Vec<Option<i64>>> =
        ranges.iter().map(|range| (range.first()..=range.last()).map(Some).collect()).collect();
    parts.join(&None)
}

fn table_text(cells: &Cells, outer: &[i64], shown: &[Vec<Interval>], dims: &[Dim]) -> String {
    let (rows, columns) = (coordinates(&shown[0]), coordinates(&shown[1]));
    let text = |at: &Option<i64>| at.map_or("…".to_owned(), |at| at.to_string());
    let cell = |row: i64, column: i64| {
        let at: Vec<i64> = outer.iter().copied().chain([row, column]).collect();
        cells.get(&at).cloned().unwrap_or_default()
    };
    let corner = format!("{}\\{}", name(&dims[0]), name(&dims[1]));
    let label =
        rows.iter().map(|row| text(row).chars().count()).max().unwrap_or(0).max(corner.chars().count());
    let width = |column: &Option<i64>| {
        let Some(at) = column else { return 1 };
        let cells = rows.iter().flatten().map(|row| cell(*row, *at).chars().count());
        cells.chain([text(column).chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = columns.iter().map(width).collect();
    let line = |head: &str, cells: &mut dyn Iterator<Item = String>| {
        let cells: String = cells.zip(&widths).map(|(cell, width)| format!("  {cell:>width$}")).collect();
        format!("  {head:>label$}{cells}")
    };
    let mut lines = vec![line(&corner, &mut columns.iter().map(text))];
    for row in &rows {
        let between = |column: &Option<i64>| match (row, column) {
            (Some(row), Some(column)) => cell(*row, *column),
            (None, _) | (_, None) => "…".to_owned(),
        };
        lines.push(line(&text(row), &mut columns.iter().map(between)));
    }
    lines.join("\n")
}

/// An element with all of its digits.
pub fn scalar_text(element: Element, bytes: &[u8]) -> String {
    let value = scalar_at(element, bytes);
    match (element, value.as_float()) {
        (Element::F64, Some(float)) => format!("{float:?}"),
        (_, Some(float)) => format!("{:?}", float as f32),
        (Element::Bool, None) => value.is_true().to_string(),
        (_, None) => value.to_string(),
    }
}

/// An element with five digits or so.
fn cell(element: Element, bytes: &[u8]) -> String {
    match scalar_at(element, bytes).as_float() {
        Some(float) => float_text(float),
        None => scalar_text(element, bytes),
    }
}

/// `0.5`, `1234.5`, `1.2346e-9`
pub fn float_text(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() || size == 0.0 {
        return if value == 0.0 { "0".to_owned() } else { format!("{value}") };
    }
    if !(1e-4..1e7).contains(&size) {
        return format!("{value:.4e}");
    }
    let before = size.log10().floor() as i32 + 1;
    let places = usize::try_from(5 - before.max(1)).unwrap_or(0).max(usize::from(before < 7));
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(script: &str, slice: &str, expect: &str) {
        let engine = Engine::compile(script).expect("compiles");
        let view = engine.view(slice).expect("a slice");
        assert_eq!(table(&engine, &view, 60).expect("a table"), expect.trim_matches('\n'));
    }

    #[test]
    fn small_tables_are_whole() {
        check("tensor a: u8[] = 7", "a[]", "7");
        check("tensor a: u8[x: inf] = 7 + x", "a[-1:3]", "  -1:  6  7  8  9");
        check("tensor a: u8[x: inf] = 7", "a[3:3]", "no elements");
        check(
            "tensor a: f32[y: inf, x: inf] = y + x / 4",
            "a[0:2, -1:2]",
            "
  y\\x     -1  0     1
    0  -0.25  0  0.25
    1   0.75  1  1.25",
        );
        check(
            "tensor a: bool[c: 2, y: inf, _: 2] = c == y",
            "a[:, 0:1, :]",
            "
c = 0
  y\\_     0     1
    0  true  true
c = 1
  y\\_      0      1
    0  false  false",
        );
    }

    #[test]
    fn of_large_tables_only_the_edges_are_computed() {
        let script = "tensor a: i32[y: inf, x: inf] = 10 * y + x";
        let engine = Engine::compile(script).expect("compiles");
        let view = engine.view("a[0:1000000000, 0:1000000000]").expect("a slice");
        let text = table(&engine, &view, 40).expect("a table");
        assert_eq!(text.lines().count(), 1 + 6 + 1 + 6);
        assert!(text.lines().last().is_some_and(|line| line.starts_with("  999999999  ")), "{text}");
    }

    #[test]
    fn tables_have_as_many_columns_as_fit() {
        let check = |script: &str, slice: &str, width: usize, expect: &str| {
            let engine = Engine::compile(script).expect("compiles");
            let view = engine.view(slice).expect("a slice");
            let text = table(&engine, &view, width).expect("a table");
            assert_eq!(text, expect.trim_matches('\n'));
        };
        let far = "tensor far: i64[y: inf, x: inf] = 1000000000000000 * y + x";
        check(
            far,
            "far[1:2, 7:99]",
            60,
            "
  y\\x                 7  …                98
    1  1000000000000007  …  1000000000000098",
        );
        let digits = "tensor digits: u8[y: inf, x: inf] = (y + x) % 10";
        check(
            digits,
            "digits[0:1, 0:18]",
            67,
            "
  y\\x  0  1  2  3  4  5  6  7  8  9  10  11  12  13  14  15  16  17
    0  0  1  2  3  4  5  6  7  8  9   0   1   2   3   4   5   6   7",
        );
        // Too narrow for anything: both ends, whatever it takes.
        check(
            digits,
            "digits[0:1, 0:18]",
            4,
            "
  y\\x  0  …  17
    0  0  …   7",
        );
        check(
            "tensor a: i64[x: inf] = 100000000 * x",
            "a[1:6]",
            40,
            "
  1:  100000000  200000000  300000000
  4:  400000000  500000000",
        );
    }

    #[test]
    fn floats_have_five_digits() {
        let check = |value: f64, expect: &str| assert_eq!(float_text(value), expect);
        check(0.0, "0");
        check(-0.5, "-0.5");
        check(1.0 / 3.0, "0.3333");
        check(12.345678, "12.346");
        check(1234567.0, "1234567");
        check(-99999.96, "-100000");
        check(1e-9, "1.0000e-9");
        check(f64::NAN, "NaN");
        check(f64::NEG_INFINITY, "-inf");
    }
}
