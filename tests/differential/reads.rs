//! Slices to read: steps, single places, far away, whole.

use crate::scope::{Array, Dim, Gen};

/// Operations that one read may cost, and elements that it may have.
const MOST_COST: u64 = 30_000;
const MOST_ELEMENTS: i64 = 2000;

impl Gen {
    /// `t3[-5:7:2, 3, 1000000:1000008]`, of a late array rather than an early one.
    pub(crate) fn slice_to_read(&mut self) -> String {
        let count = self.arrays.len();
        let at = count - 1 - if self.rng.chance(60) { 0 } else { self.rng.below(count) };
        let array = self.arrays[at].clone();
        if array.name.starts_with('s') {
            self.hit("read of a view");
        }
        let affordable = ((MOST_COST / array.cost.max(1)) as i64).clamp(1, MOST_ELEMENTS);
        let room = if self.rng.chance(10) { affordable } else { affordable.min(150) };
        if array.len().is_some_and(|len| len <= affordable) && self.rng.chance(35) {
            self.hit("read whole");
            return format!("{}[{}]", array.name, vec![":"; array.dims.len()].join(", "));
        }
        let one = self.rng.chance(12);
        if one {
            self.hit("read one element");
        }
        let entries = self.entries(&array, if one { 1 } else { room });
        let labelled = array.dims.iter().all(|dim| dim.label != "_");
        if !labelled || !self.rng.chance(12) {
            return format!("{}[{}]", array.name, entries.join(", "));
        }
        self.hit("read by labels");
        let named = entries.iter().zip(&array.dims).map(|(entry, dim)| format!("{}={entry}", dim.label));
        let mut named: Vec<String> = named.collect();
        self.rng.shuffle(&mut named);
        format!("{}[{}]", array.name, named.join(", "))
    }

    fn entries(&mut self, array: &Array, room: i64) -> Vec<String> {
        let mut rest = room;
        let near = array.near_only;
        let mut entries = Vec::new();
        for (at, dim) in array.dims.iter().enumerate() {
            let dim = &self.reachable(array, dim);
            let left = (array.dims.len() - at) as u32;
            let fair = (1..).find(|n: &i64| n.pow(left) >= rest).unwrap_or(1);
            let most = if self.rng.chance(25) { rest } else { fair.max(1) };
            let (entry, len) = self.entry(dim, most.min(if near { 4 } else { most }), near);
            rest = (rest / len.max(1)).max(1);
            entries.push(entry);
        }
        entries
    }

    /// What a slice may ask for: more than there is where bounds are implicit.
    fn reachable(&mut self, array: &Array, dim: &Dim) -> Dim {
        if !array.implicit || !array.name.starts_with('t') {
            return dim.clone();
        }
        self.hit("read beyond implicit bounds");
        Dim { lo: dim.lo.map(|lo| lo - 5), hi: dim.hi.map(|hi| hi + 5), ..dim.clone() }
    }

    /// One entry of a slice, at most `most` long, and its length.
    fn entry(&mut self, dim: &Dim, most: i64, near: bool) -> (String, i64) {
        if dim.len() == Some(0) {
            return (":".to_owned(), 0);
        }
        let (lo, hi) = self.range(dim, most, near);
        if self.rng.chance(15) {
            self.hit("read integer");
            return (self.rng.within(lo, hi - 1).to_string(), 1);
        }
        let len = self.rng.within(1, most.min(hi - lo).max(1));
        match self.rng.below(8) {
            0 | 1 => {
                self.hit("read step");
                let step = self.rng.within(2, 5);
                let len = len.min((hi - lo + step - 1) / step).max(1);
                let start = self.rng.within(lo, (hi - (len - 1) * step - 1).max(lo));
                (format!("{start}:{}:{step}", (start + (len - 1) * step + 1).min(hi)), len)
            }
            2 => {
                self.hit("read negative step");
                let step = self.rng.within(1, 3);
                let stop = self.rng.within(lo, hi - 1);
                let start = (stop + len * step).min(hi - 1);
                (format!("{start}:{stop}:-{step}"), len)
            }
            _ => {
                let start = self.rng.within(lo, hi - len);
                if start < 0 {
                    self.hit("read negative");
                }
                (format!("{start}:{}", start + len), len)
            }
        }
    }

    /// Where to read along a dimension: its own bounds, or somewhere on an endless one.
    fn range(&mut self, dim: &Dim, most: i64, near: bool) -> (i64, i64) {
        let far = if near { 0 } else { self.rng.below(10) };
        let sign = self.rng.pick(&[-1, 1]);
        let away = match (dim.lo, dim.hi) {
            (Some(lo), Some(hi)) => return (lo, hi),
            (_, _) if far == 8 => {
                self.hit("read far");
                1_000_000
            }
            (_, _) if far == 9 => {
                self.hit("read very far");
                1_000_000_000_000
            }
            (_, _) => 0,
        };
        let span = 5 * most + 10;
        let jitter = if away == 0 { 0 } else { self.rng.within(0, 99) };
        match (dim.lo, dim.hi) {
            (Some(lo), None) if near => (lo, lo + 8),
            (Some(lo), None) => (lo + away + jitter, lo + away + jitter + span),
            (None, Some(hi)) => (hi - away - jitter - span, hi - away - jitter),
            (_, _) => (sign * (away + jitter) - 15, sign * (away + jitter) + span),
        }
    }
}
