//! Rows of elements that lie side by side -> one row of half their length.
//!
//! ```text
//! mean of [1, 3, 5, 8, 9] and [1, 3, 5, 6, 9]   ->   [2, 6, 9]      the last one has no neighbour
//! ```

use crate::graph::types::Element;
use crate::io::half;

/// What becomes of elements that become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shrink {
    /// Their mean; that of integers is rounded down.
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The most frequent, for labels; of several the smallest.
    Mode,
}

impl Shrink {
    /// As the command line and the metadata call it.
    pub fn name(self) -> &'static str {
        match self {
            Shrink::Mean => "mean",
            Shrink::Min => "min",
            Shrink::Max => "max",
            Shrink::Mode => "mode",
        }
    }
}

/// An element as numbers are compared and added.
trait Cell: Copy + PartialOrd {
    /// What holds the sum of as many as become one.
    type Sum: Copy;
    const BYTES: usize;
    const NOTHING: Self::Sum;
    fn load(bytes: &[u8]) -> Self;
    fn store(self, bytes: &mut [u8]);
    fn plus(self, sum: Self::Sum) -> Self::Sum;
    fn mean(sum: Self::Sum, count: usize) -> Self;
}

macro_rules! whole {
    ($($t:ident $sum:ident)*) => { $(
        impl Cell for $t {
            type Sum = $sum;
            const BYTES: usize = size_of::<$t>();
            const NOTHING: $sum = 0;
            fn load(bytes: &[u8]) -> $t {
                $t::from_le_bytes(bytes.try_into().expect("as long as the type"))
            }
            fn store(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
            fn plus(self, sum: $sum) -> $sum {
                sum + $sum::from(self)
            }
            fn mean(sum: $sum, count: usize) -> $t {
                sum.div_euclid(count as $sum) as $t
            }
        }
    )* };
}
whole!(u8 i64 u16 i64 u32 i64 u64 i128 i8 i64 i16 i64 i32 i64 i64 i128);

macro_rules! broken {
    ($($t:ident)*) => { $(
        impl Cell for $t {
            type Sum = f64;
            const BYTES: usize = size_of::<$t>();
            const NOTHING: f64 = 0.0;
            fn load(bytes: &[u8]) -> $t {
                $t::from_le_bytes(bytes.try_into().expect("as long as the type"))
            }
            fn store(self, bytes: &mut [u8]) {
                let value = if self.is_nan() { $t::NAN } else { self };
                bytes.copy_from_slice(&value.to_le_bytes());
            }
            fn plus(self, sum: f64) -> f64 {
                sum + f64::from(self)
            }
            fn mean(sum: f64, count: usize) -> $t {
                (sum / count as f64) as $t
            }
        }
    )* };
}
broken!(f32 f64);

/// An f16 by its value.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Half(f32);

impl Cell for Half {
    type Sum = f64;
    const BYTES: usize = 2;
    const NOTHING: f64 = 0.0;
    fn load(bytes: &[u8]) -> Half {
        Half(half::to_f32(u16::from_le_bytes([bytes[0], bytes[1]])))
    }
    fn store(self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&half::from_f32(self.0).to_le_bytes());
    }
    fn plus(self, sum: f64) -> f64 {
        sum + f64::from(self.0)
    }
    fn mean(sum: f64, count: usize) -> Half {
        Half((sum / count as f64) as f32)
    }
}

/// Makes one row of rows of the same length: elements 2·i and 2·i + 1 of all of them become element i.
pub(super) fn shrink_rows(element: Element, shrink: Shrink, rows: &[&[u8]], out: &mut [u8]) {
    match element {
        Element::Bool | Element::U8 => shrink_cells::<u8>(shrink, rows, out),
        Element::U16 => shrink_cells::<u16>(shrink, rows, out),
        Element::U32 => shrink_cells::<u32>(shrink, rows, out),
        Element::U64 => shrink_cells::<u64>(shrink, rows, out),
        Element::I8 => shrink_cells::<i8>(shrink, rows, out),
        Element::I16 => shrink_cells::<i16>(shrink, rows, out),
        Element::I32 => shrink_cells::<i32>(shrink, rows, out),
        Element::I64 => shrink_cells::<i64>(shrink, rows, out),
        Element::F16 => shrink_cells::<Half>(shrink, rows, out),
        Element::F32 => shrink_cells::<f32>(shrink, rows, out),
        Element::F64 => shrink_cells::<f64>(shrink, rows, out),
    }
}

fn shrink_cells<C: Cell>(shrink: Shrink, rows: &[&[u8]], out: &mut [u8]) {
    let better = |wins: fn(C, C) -> bool| {
        move |best: Option<C>, cell: C| match best {
            Some(best) if wins(best, cell) => Some(best),
            Some(_) | None => Some(cell),
        }
    };
    let found = |best: Option<C>, _| best.expect("a pair has an element");
    match shrink {
        Shrink::Mean => fold::<C, _>(rows, out, C::NOTHING, |sum, cell| cell.plus(sum), C::mean),
        Shrink::Min => fold(rows, out, None, better(|best, cell| best < cell), found),
        Shrink::Max => fold(rows, out, None, better(|best, cell| cell < best), found),
        Shrink::Mode => modes::<C>(rows, out),
    }
}

/// Folds the elements that become one, for every element of `out`; `end` hears how many they were.
fn fold<C: Cell, A: Copy>(
    rows: &[&[u8]],
    out: &mut [u8],
    start: A,
    add: impl Fn(A, C) -> A,
    end: impl Fn(A, usize) -> C,
) {
    let pair = 2 * C::BYTES;
    for (at, to) in out.chunks_exact_mut(C::BYTES).enumerate() {
        let (mut sum, mut count) = (start, 0);
        for row in rows {
            let cells = &row[at * pair..row.len().min((at + 1) * pair)];
            count += cells.len() / C::BYTES;
            sum = cells.chunks_exact(C::BYTES).fold(sum, |sum, cell| add(sum, C::load(cell)));
        }
        end(sum, count).store(to);
    }
}

fn modes<C: Cell>(rows: &[&[u8]], out: &mut [u8]) {
    let pair = 2 * C::BYTES;
    let mut cells = Vec::new();
    for (at, to) in out.chunks_exact_mut(C::BYTES).enumerate() {
        cells.clear();
        for row in rows {
            let bytes = &row[at * pair..row.len().min((at + 1) * pair)];
            cells.extend(bytes.chunks_exact(C::BYTES).map(C::load));
        }
        mode(&cells).store(to);
    }
}

/// The most frequent element; of several the smallest.
fn mode<C: Cell>(cells: &[C]) -> C {
    let count = |cell: C| cells.iter().filter(|other| **other == cell).count();
    let better = |old: C, new: C| {
        let (had, has) = (count(old), count(new));
        has > had || has == had && new < old
    };
    cells.iter().fold(cells[0], |old, new| if better(old, *new) { *new } else { old })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_become_one() {
        let check = |shrink: Shrink, rows: &[[i8; 3]], expect: [i8; 2]| {
            let bytes: Vec<Vec<u8>> = rows.iter().map(|row| row.map(|cell| cell as u8).to_vec()).collect();
            let mut out = [0; 2];
            shrink_rows(Element::I8, shrink, &bytes.iter().map(|row| &row[..]).collect::<Vec<_>>(), &mut out);
            assert_eq!(out.map(|cell| cell as i8), expect, "{shrink:?} {rows:?}");
        };
        check(Shrink::Mean, &[[1, 2, 7], [2, 2, 8]], [1, 7]);
        check(Shrink::Mean, &[[-1, -2, 5]], [-2, 5]);
        check(Shrink::Min, &[[3, 1, -9], [2, 4, 9]], [1, -9]);
        check(Shrink::Max, &[[3, 1, -9], [9, 4, -8]], [9, -8]);
        check(Shrink::Mode, &[[7, 3, 2], [3, 9, 1]], [3, 1]);
        check(Shrink::Mode, &[[7, 3, 4], [9, 1, 4]], [1, 4]);
    }

    #[test]
    fn every_type_is_halved() {
        for element in Element::ALL {
            let size = element.bytes() as usize;
            for shrink in [Shrink::Mean, Shrink::Min, Shrink::Max, Shrink::Mode] {
                let (row, mut out) = (vec![0; 5 * size], vec![9; 3 * size]);
                shrink_rows(element, shrink, &[&row, &row], &mut out);
                assert_eq!(out, vec![0; 3 * size], "{element} {shrink:?}");
            }
        }
        let row: Vec<u8> =
            [0.5f32, 2.0, f32::MAX, f32::MAX].iter().flat_map(|cell| cell.to_le_bytes()).collect();
        let mut out = [0; 8];
        shrink_rows(Element::F32, Shrink::Mean, &[&row], &mut out);
        assert_eq!(out[..], [1.25f32, f32::MAX].map(f32::to_le_bytes).concat());
        let row: Vec<u8> = [u64::MAX; 4].iter().flat_map(|cell| cell.to_le_bytes()).collect();
        let mut out = [0; 16];
        shrink_rows(Element::U64, Shrink::Mean, &[&row, &row], &mut out);
        assert_eq!(out, [255; 16]);
    }
}
