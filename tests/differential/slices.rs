//! Slices as views: `a[3, :]`, `a[2:9:3, ...]`, `a[:5]`, with the domain that each leaves.

use crate::scope::{Array, Dim, Gen};

impl Gen {
    /// A slice of some dimensions, and what is left.
    pub(crate) fn slice(&mut self, a: &Array) -> Option<(String, Array)> {
        let (mut texts, mut dims) = (Vec::new(), Vec::new());
        for dim in &a.dims {
            let (text, left) = self.sliced(dim);
            texts.push(text);
            dims.extend(left);
        }
        // Plain places for every dimension would be an element.
        if dims.is_empty() {
            return None;
        }
        self.shorten(&mut texts);
        Some((format!("[{}]", texts.join(", ")), Array { dims, ..a.clone() }))
    }

    /// One entry, and the dimension unless it is dropped.
    fn sliced(&mut self, dim: &Dim) -> (String, Option<Dim>) {
        let whole = (":".to_owned(), Some(dim.clone()));
        if dim.len() == Some(0) {
            return whole;
        }
        let (a, b) = (self.place(dim), self.place(dim));
        let (from, to) = (a.min(b), a.max(b) + 1);
        let between = |lo, hi| Some(Dim { lo, hi, ..dim.clone() });
        match self.rng.below(10) {
            0 | 1 => (from.to_string(), None),
            2 | 3 => (format!("{from}:{to}"), between(Some(from), Some(to))),
            4 => (format!("{from}:"), between(Some(from), dim.hi)),
            5 => (format!(":{to}"), between(dim.lo, Some(to))),
            6 | 7 => {
                let step = self.rng.within(2, 3);
                let (start, count) = (from / step, (to - from + step - 1) / step);
                (format!("{from}:{to}:{step}"), between(Some(start), Some(start + count)))
            }
            8 if from + 1 < to => {
                self.hit("view with a negative step");
                let step = self.rng.within(1, 2);
                let (start, count) = ((to - 1) / -step, (to - 1 - from + step - 1) / step);
                (format!("{}:{from}:-{step}", to - 1), between(Some(start), Some(start + count)))
            }
            _ => whole,
        }
    }

    /// Leaves whole dimensions out at the end, or puts `...` in their place.
    fn shorten(&mut self, texts: &mut Vec<String>) {
        if self.rng.chance(30) {
            self.hit("slice of leading dimensions");
            while texts.len() > 1 && texts.last().is_some_and(|text| text == ":") {
                texts.pop();
            }
        } else if let Some(at) = texts.iter().position(|text| text == ":")
            && self.rng.chance(30)
        {
            self.hit("slice with ...");
            while texts.get(at + 1).is_some_and(|text| text == ":") {
                texts.remove(at + 1);
            }
            texts[at] = "...".to_owned();
        }
    }
}
