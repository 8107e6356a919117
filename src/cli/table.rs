//! An array -> text, as NumPy prints it: columns line up, and of large arrays only the edges are shown.
//!
//! ```text
//! smooth: f32[y: 0..2, x: -1..2]
//! [[ 0.5   0.25  0.0]
//!  [-3.0   1.0   2.5]]
//! ```

use crate::graph::types::Element;
use crate::io::{Array, scalar_at};

/// Arrays with more elements are shown by their edges.
const MOST_ELEMENTS: usize = 1000;

/// How many elements of each edge are shown.
const EDGE: usize = 3;

/// The elements of an array, nested by dimension.
pub(super) fn table(array: &Array) -> String {
    let shape: Vec<usize> = array.shape.iter().map(|len| usize::try_from(*len).unwrap_or(0)).collect();
    let cut = array.elements() > MOST_ELEMENTS;
    let shown: Vec<Vec<Option<usize>>> = shape.iter().map(|len| shown_indices(*len, cut)).collect();
    let mut cells = Cells { array, shape: &shape, shown: &shown, width: 0 };
    cells.width = cells.widest();
    let mut text = String::new();
    cells.write(0, 0, &mut text);
    text
}

/// The indices along a dimension that are shown; `None` stands for those left out.
fn shown_indices(len: usize, cut: bool) -> Vec<Option<usize>> {
    if !cut || len <= 2 * EDGE {
        return (0..len).map(Some).collect();
    }
    (0..EDGE).map(Some).chain([None]).chain((len - EDGE..len).map(Some)).collect()
}

struct Cells<'a> {
    array: &'a Array,
    shape: &'a [usize],
    shown: &'a [Vec<Option<usize>>],
    width: usize,
}

impl Cells<'_> {
    /// Characters of the widest cell that is shown.
    fn widest(&self) -> usize {
        let mut places = vec![0];
        for (len, shown) in self.shape.iter().zip(self.shown) {
            let seen = shown.iter().flatten();
            places = places.iter().flat_map(|at| seen.clone().map(move |index| at * len + index)).collect();
        }
        places.into_iter().map(|at| self.cell(at).chars().count()).max().unwrap_or(0)
    }

    /// Writes everything below the row-major position `at` of the dimensions before `dim`; ranks are at most 32.
    fn write(&self, dim: usize, at: usize, text: &mut String) {
        let (Some(len), Some(shown)) = (self.shape.get(dim), self.shown.get(dim)) else {
            let width = self.width;
            text.push_str(&format!("{:>width$}", self.cell(at)));
            return;
        };
        text.push('[');
        for (number, index) in shown.iter().enumerate() {
            if number > 0 {
                text.push_str(&self.between(dim));
            }
            match index {
                Some(index) => self.write(dim + 1, at * len + index, text),
                None => text.push('…'),
            }
        }
        text.push(']');
    }

    /// What stands between two neighbours: two spaces in a row, a line break and blank lines above.
    fn between(&self, dim: usize) -> String {
        let inner = self.shape.len() - 1 - dim;
        if inner == 0 { "  ".to_owned() } else { "\n".repeat(inner) + &" ".repeat(dim + 1) }
    }

    fn cell(&self, at: usize) -> String {
        let (element, bytes) = (self.array.element, self.array.element.bytes() as usize);
        let value = scalar_at(element, &self.array.data[at * bytes..][..bytes]);
        match (element, value.as_float(), value.as_int()) {
            (Element::Bool, _, _) => value.is_true().to_string(),
            (Element::F64, Some(float), _) => format!("{float:?}"),
            // The shortest text that means this f32 is shorter than that of the same f64.
            (_, Some(float), _) => format!("{:?}", float as f32),
            (_, None, int) => int.unwrap_or_default().to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(shape: &[i64], data: Vec<u8>) -> Array {
        Array { element: Element::U8, shape: shape.to_vec(), data }
    }

    #[test]
    fn arrays_are_shown_as_numpy_would() {
        let check = |array: Array, expect: &str| assert_eq!(table(&array), expect);
        check(bytes(&[], vec![7]), "7");
        check(bytes(&[3], vec![1, 20, 3]), "[ 1  20   3]");
        check(bytes(&[0], vec![]), "[]");
        check(bytes(&[2, 0], vec![]), "[[]\n []]");
        check(bytes(&[2, 2], vec![1, 2, 3, 4]), "[[1  2]\n [3  4]]");
        check(bytes(&[2, 1, 2], vec![1, 2, 3, 4]), "[[[1  2]]\n\n [[3  4]]]");
        check(bytes(&[1001], vec![5; 1001]), "[5  5  5  …  5  5  5]");
        check(
            bytes(&[500, 3], vec![5; 1500]),
            "[[5  5  5]\n [5  5  5]\n [5  5  5]\n …\n [5  5  5]\n [5  5  5]\n [5  5  5]]",
        );
    }

    #[test]
    fn elements_are_shown_in_their_type() {
        let check = |element: Element, data: &[u8], expect: &str| {
            let array = Array { element, shape: vec![], data: data.to_vec() };
            assert_eq!(table(&array), expect);
        };
        check(Element::Bool, &[1], "true");
        check(Element::I8, &[255], "-1");
        check(Element::U64, &[255; 8], "18446744073709551615");
        check(Element::F16, &[0, 0x3e], "1.5");
        check(Element::F32, &0.1f32.to_le_bytes(), "0.1");
        check(Element::F64, &1e300f64.to_le_bytes(), "1e300");
        check(Element::F32, &f32::NAN.to_le_bytes(), "NaN");
    }
}
