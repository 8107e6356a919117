//! Domains: which coordinates exist, dimension by dimension.
//!
//! ```text
//! [y: -5*..20, x: inf, _: 3]     y from -5 (implicit, so not enforced) to 20; x unbounded; 0..3 without a label
//! ```
//!
//! An implicit bound is a hint: it is what a read of everything gives, but reads beyond it are allowed.

use super::error::{IndexError, Result, invalid};
use super::interval::{INF, Interval};
use std::fmt;

/// The largest number of dimensions.
pub const MAX_RANK: usize = 32;

/// One dimension: its coordinates, which of its ends are implicit, and its label.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Dim {
    /// The coordinates, implicit ends included.
    pub interval: Interval,
    /// The lower end is not enforced.
    pub implicit_lower: bool,
    /// The upper end is not enforced.
    pub implicit_upper: bool,
    /// Unique within a domain; empty for none.
    pub label: String,
}

/// A product of dimensions with unique labels, at most [`MAX_RANK`] of them.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Domain {
    dims: Vec<Dim>,
}

/// How a script names a dimension: `y`, `0`, or `-1` for the last one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DimRef {
    /// From the front, or from the back when negative.
    Position(i64),
    /// By its label.
    Label(String),
}

impl Dim {
    /// A dimension with explicit bounds and no label.
    pub fn explicit(interval: Interval) -> Self {
        Dim { interval, implicit_lower: false, implicit_upper: false, label: String::new() }
    }

    /// `-inf*..inf*`: the dimension that accepts everything.
    pub fn free() -> Self {
        Dim { implicit_lower: true, implicit_upper: true, ..Dim::explicit(Interval::all()) }
    }

    /// `0*..1*`: what adding a dimension adds.
    pub fn added() -> Self {
        Dim { interval: Interval::trusted(0, 0), ..Dim::free() }
    }

    /// The same under another label.
    #[must_use]
    pub fn labelled(self, label: impl Into<String>) -> Self {
        Dim { label: label.into(), ..self }
    }

    /// The same with other coordinates.
    #[must_use]
    pub fn with_interval(&self, interval: Interval) -> Self {
        Dim { interval, ..self.clone() }
    }

    /// The coordinates that are enforced: implicit ends count as unbounded.
    pub fn enforced(&self) -> Interval {
        let first = if self.implicit_lower { -INF } else { self.interval.first() };
        let last = if self.implicit_upper { INF } else { self.interval.last() };
        // An empty interval with one implicit end opens up, so only fully explicit ones stay empty.
        Interval::trusted(first, last.max(first - 1))
    }

    /// Whether it is empty for certain: no read can ever reach anything.
    pub fn is_explicitly_empty(&self) -> bool {
        self.interval.is_empty() && !self.implicit_lower && !self.implicit_upper
    }

    /// The smallest dimension with both in it.
    fn hull(&self, other: &Dim) -> Dim {
        let interval = self.interval.hull(other.interval);
        self.merged(other, interval, interval.first(), interval.last())
    }

    /// What both have in common.
    fn intersect(&self, other: &Dim) -> Dim {
        let (a, b) = (self.interval, other.interval);
        // The ends are those before an empty result is pulled to its place: they decide what is implicit.
        self.merged(other, a.intersect(b), a.first().max(b.first()), a.last().min(b.last()))
    }

    /// `interval`, whose ends were `first` and `last`: each is implicit if it was so where it comes from,
    /// and where both have it, if both say so.
    fn merged(&self, other: &Dim, interval: Interval, first: i64, last: i64) -> Dim {
        let (a, b) = (self.interval, other.interval);
        let pick = |both: bool, ours: bool, (x, y): (bool, bool)| {
            if both {
                x && y
            } else if ours {
                x
            } else {
                y
            }
        };
        let lower = (self.implicit_lower, other.implicit_lower);
        let upper = (self.implicit_upper, other.implicit_upper);
        Dim {
            interval,
            implicit_lower: pick(a.first() == b.first(), a.first() == first, lower),
            implicit_upper: pick(a.last() == b.last(), a.last() == last, upper),
            label: String::new(),
        }
    }

    /// Both bounds at once, where an explicit bound beats an implicit one even if it is wider.
    pub(crate) fn prefer_explicit(&self, other: &Dim) -> Dim {
        let (a, b, hard_a, hard_b) = (self.interval, other.interval, self.enforced(), other.enforced());
        let both_lower = self.implicit_lower == other.implicit_lower;
        let both_upper = self.implicit_upper == other.implicit_upper;
        let first = if both_lower { a.first().max(b.first()) } else { hard_a.first().max(hard_b.first()) };
        let last = if both_upper { a.last().min(b.last()) } else { hard_a.last().min(hard_b.last()) };
        Dim {
            interval: Interval::trusted(first, last.max(first - 1)),
            implicit_lower: self.implicit_lower && other.implicit_lower,
            implicit_upper: self.implicit_upper && other.implicit_upper,
            label: String::new(),
        }
    }
}

impl Domain {
    /// These dimensions, if there are not too many and their labels differ.
    pub fn new(dims: Vec<Dim>) -> Result<Self> {
        if dims.len() > MAX_RANK {
            return Err(invalid(format!("{} dimensions, but at most {MAX_RANK} are possible", dims.len())));
        }
        for (i, dim) in dims.iter().enumerate() {
            if !dim.label.is_empty() && dims[..i].iter().any(|other| other.label == dim.label) {
                return Err(invalid(format!("label `{}` names two dimensions", dim.label)));
            }
        }
        Ok(Domain { dims })
    }

    /// `[0..n, …]` for a shape, explicit and without labels.
    pub fn of_shape(shape: &[i64]) -> Result<Self> {
        let sized = |&n: &i64| Interval::sized(0, n).map(Dim::explicit);
        Domain::new(shape.iter().map(sized).collect::<Result<_>>()?)
    }

    /// How many dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The dimensions in order.
    pub fn dims(&self) -> &[Dim] {
        &self.dims
    }

    /// Where its coordinates lie.
    pub fn intervals(&self) -> Vec<Interval> {
        self.dims.iter().map(|dim| dim.interval).collect()
    }

    /// The sizes, or `None` when a dimension is unbounded.
    pub fn shape(&self) -> Option<Vec<i64>> {
        self.dims.iter().map(|dim| dim.interval.len()).collect()
    }

    /// Whether some dimension is empty for certain.
    pub fn is_explicitly_empty(&self) -> bool {
        self.dims.iter().any(Dim::is_explicitly_empty)
    }

    /// Whether a read at `point` is allowed.
    pub fn allows(&self, point: &[i64]) -> bool {
        point.len() == self.rank() && self.dims.iter().zip(point).all(|(dim, &x)| dim.enforced().contains(x))
    }

    /// The position of the dimension with that label.
    pub fn position(&self, label: &str) -> Option<usize> {
        self.dims.iter().position(|dim| !label.is_empty() && dim.label == label)
    }

    /// The positions of distinct dimensions, named by label or position.
    pub fn select(&self, refs: &[DimRef]) -> Result<Vec<usize>> {
        let mut positions = Vec::with_capacity(refs.len());
        for dim in refs {
            let position = self.resolve(dim)?;
            if positions.contains(&position) {
                return Err(invalid(format!("dimension {position} is named twice")));
            }
            positions.push(position);
        }
        Ok(positions)
    }

    fn resolve(&self, dim: &DimRef) -> Result<usize> {
        match dim {
            DimRef::Position(at) => resolve_position(*at, self.rank()),
            DimRef::Label(label) => self
                .position(label)
                .ok_or_else(|| invalid(format!("no dimension of {self} has the label `{label}`"))),
        }
    }

    /// The smallest domain with both in it.
    pub fn hull(&self, other: &Domain) -> Result<Domain> {
        self.combine(other, Dim::hull).map_err(|e| e.context(format_args!("hull of {self} and {other}")))
    }

    /// What both have in common.
    pub fn intersect(&self, other: &Domain) -> Result<Domain> {
        self.combine(other, Dim::intersect)
            .map_err(|e| e.context(format_args!("intersection of {self} and {other}")))
    }

    fn combine(&self, other: &Domain, combine: impl Fn(&Dim, &Dim) -> Dim) -> Result<Domain> {
        if self.rank() != other.rank() {
            return Err(rank_mismatch(self.rank(), other.rank()));
        }
        let pairs = self.dims.iter().zip(&other.dims);
        let merge = |(a, b): (&Dim, &Dim)| Ok(combine(a, b).labelled(merge_labels(&a.label, &b.label)?));
        Domain::new(pairs.map(merge).collect::<Result<_>>()?)
    }
}

/// `at` counted from the front, or from the back when negative.
pub(crate) fn resolve_position(at: i64, rank: usize) -> Result<usize> {
    let n = i64::try_from(rank).expect("ranks are at most 32");
    let position = if at < 0 { at.saturating_add(n) } else { at };
    usize::try_from(position)
        .ok()
        .filter(|&p| p < rank)
        .ok_or_else(|| invalid(format!("dimension {at} does not exist, there are {rank} dimensions")))
}

pub(crate) fn rank_mismatch(a: usize, b: usize) -> IndexError {
    invalid(format!("{a} dimensions do not match {b} dimensions"))
}

fn merge_labels(a: &str, b: &str) -> Result<String> {
    if a.is_empty() || b.is_empty() || a == b {
        return Ok(if a.is_empty() { b } else { a }.to_owned());
    }
    Err(invalid(format!("label `{a}` does not match label `{b}`")))
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.label.is_empty() { "_" } else { &self.label };
        let (lower, upper) = (star(self.implicit_lower), star(self.implicit_upper));
        write!(f, "{name}: ")?;
        match (self.interval.lower(), self.interval.upper()) {
            (None, None) if self.implicit_lower == self.implicit_upper => write!(f, "inf{upper}"),
            (Some(0), Some(hi)) if !self.implicit_lower => write!(f, "{hi}{upper}"),
            (lo, hi) => {
                let lo = lo.map_or_else(|| "-inf".to_owned(), |lo| lo.to_string());
                let hi = hi.map_or_else(|| "inf".to_owned(), |hi| hi.to_string());
                write!(f, "{lo}{lower}..{hi}{upper}")
            }
        }
    }
}

fn star(implicit: bool) -> &'static str {
    if implicit { "*" } else { "" }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, dim) in self.dims.iter().enumerate() {
            write!(f, "{}{dim}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dims: Vec<Dim>, expect: &str) {
        assert_eq!(Domain::new(dims).unwrap().to_string(), expect);
    }

    fn dim(lo: Option<i64>, hi: Option<i64>) -> Dim {
        Dim::explicit(Interval::bounds(lo, hi).unwrap())
    }

    #[test]
    fn prints_as_the_language_writes_it() {
        let implicit = Dim { implicit_lower: true, ..dim(Some(-5), Some(20)) };
        check(
            vec![implicit.labelled("y"), dim(None, None).labelled("x"), dim(Some(0), Some(3))],
            "[y: -5*..20, x: inf, _: 3]",
        );
        check(vec![Dim { implicit_upper: true, ..dim(Some(0), Some(512)) }], "[_: 512*]");
        check(vec![Dim::added(), Dim::free()], "[_: 0*..1*, _: inf*]");
        check(vec![dim(Some(7), None), dim(None, Some(7))], "[_: 7..inf, _: -inf..7]");
    }

    #[test]
    fn hulls_and_intersections_keep_the_implicitness_of_the_end_they_take() {
        let a = Domain::new(vec![Dim { implicit_lower: true, ..dim(Some(3), Some(7)) }]).unwrap();
        let b = Domain::new(vec![dim(Some(0), Some(9)).labelled("t")]).unwrap();
        assert_eq!(a.hull(&b).unwrap().to_string(), "[t: 9]");
        assert_eq!(a.intersect(&b).unwrap().to_string(), "[t: 3*..7]");
    }

    #[test]
    fn selecting_names_each_dimension_once() {
        let domain =
            Domain::new(vec![dim(Some(0), Some(3)).labelled("y"), dim(Some(0), Some(4)).labelled("x")])
                .unwrap();
        let label = |s: &str| DimRef::Label(s.to_owned());
        assert_eq!(domain.select(&[DimRef::Position(-1), label("y")]).unwrap(), [1, 0]);
        let message = |refs: &[DimRef]| domain.select(refs).unwrap_err().message;
        assert_eq!(message(&[label("z")]), "no dimension of [y: 3, x: 4] has the label `z`");
        assert_eq!(message(&[DimRef::Position(2)]), "dimension 2 does not exist, there are 2 dimensions");
        assert_eq!(message(&[label("x"), DimRef::Position(1)]), "dimension 1 is named twice");
    }
}
