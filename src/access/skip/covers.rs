//! Maps that are a constant where their sources hold nothing but their fills.
//!
//! ```text
//! if m[y, x] then a[y, x] else 0                    0, but where m is stored
//! any(i in -1..=1) m.fill(false)[y, x + i]          false, but within 1 of what m stores
//! sum(i in 0..3) a.fill(0)[y, x + i] * w[i]         0.0, but near what a stores, if every w[i] is finite
//! ```

use super::Sight;
use super::known::{Judge, Known};
use super::walks::List;
use crate::access::Access;
use crate::access::linear::{Atom, Linear};
use crate::graph::body::{Coord, TensorId};
use crate::graph::scalar::Scalar;
use crate::index::Interval;
use std::collections::BTreeSet;

/// A body that is a constant where its sources hold nothing but their fills.
#[derive(Clone, Debug, PartialEq)]
pub struct Cover {
    /// Reads whose stored elements matter: an element is computed if one lies at its place moved by something in the box.
    pub reads: Vec<(TensorId, Vec<Interval>)>,
    /// The value everywhere else.
    pub background: Scalar,
    /// Tensors that must be without NaN and infinities.
    pub finite: BTreeSet<TensorId>,
}

impl Cover {
    /// What it goes by: runs along the last dimension, whatever the format.
    pub fn lists(&self) -> Vec<List> {
        self.reads.iter().map(|(tensor, moved)| around(*tensor, moved)).collect()
    }
}

/// The list that a read of a cover goes by.
pub fn around(tensor: TensorId, moved: &[Interval]) -> List {
    List { tensor, dim: moved.len() - 1, runs: true }
}

impl Sight<'_> {
    /// A constant beside the stored elements of sources that are read near the place that is computed, or why there is none.
    pub(super) fn cover(&self, rank: usize) -> Result<Cover, &'static str> {
        let near = self.access.reads.iter().filter(|read| self.formats.contains_key(&read.tensor));
        let near = near.filter_map(|read| Some((read, self.moved(read, rank)?)));
        let (mut fills, mut reads) = (Vec::new(), Vec::new());
        for (read, moved) in near {
            fills.push((read.read, self.formats[&read.tensor].fill));
            reads.push((read.tensor, moved));
        }
        if reads.is_empty() {
            return Err("it is not read at a fixed distance from the place that is computed");
        }
        let known = |finite| {
            let judge = Judge { graph: self.graph, body: self.body(), fills: &fills, finite };
            judge.known(self.resolved.root)
        };
        let others = || {
            let others = self.access.reads.iter().filter(|read| fills.iter().all(|(id, _)| *id != read.read));
            let others = others.map(|read| read.tensor);
            others.filter(|tensor| self.graph.tensor(*tensor).element.is_float()).collect()
        };
        match (known(false), known(true)) {
            (Known::Exact(background), _) => Ok(Cover { reads, background, finite: BTreeSet::new() }),
            (_, Known::Exact(background)) => Ok(Cover { reads, background, finite: others() }),
            _ => Err("the result is not one known number where only its fill is read"),
        }
    }

    /// How far from its own place, per dimension, a body reads; `None` if that is not a box.
    fn moved(&self, read: &Access, rank: usize) -> Option<Vec<Interval>> {
        if read.map.len() != rank || rank == 0 {
            return None;
        }
        let dims = read.map.iter().enumerate();
        dims.map(|(dim, form)| self.moved_along(form, dim as u32)).collect()
    }

    fn moved_along(&self, form: &Linear, dim: u32) -> Option<Interval> {
        let (mut lo, mut hi, mut own) = (form.offset, form.offset, false);
        for (atom, factor) in &form.terms {
            match atom {
                Atom::Coord(Coord::Global(with)) if *with == dim && *factor == 1 => own = true,
                Atom::Coord(Coord::Bound(var)) => {
                    let binder = &self.body().binders[*var as usize];
                    let (a, b) = (binder.lo.checked_mul(*factor)?, (binder.hi - 1).checked_mul(*factor)?);
                    (lo, hi) = (lo.checked_add(a.min(b))?, hi.checked_add(a.max(b))?);
                }
                Atom::Coord(_) | Atom::Floor(_) | Atom::Node(_) => return None,
            }
        }
        own.then(|| Interval::new(lo, hi.checked_add(1)?).ok()).flatten()
    }
}
