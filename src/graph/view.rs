//! Views: a tensor seen through slices, movement ops, index transforms and boundaries. None copies.
//!
//! ```text
//! height.flip([y])[0:10, :]     one map      [y: 0..10, x: inf] -> [-y, x]
//! img.pad([1..1, 0..0], 0)      map + mask   [6, 4] -> [-1 + d0, d1], inside [4, 4] or 0
//! img.reshape([8, 3])           map + flat   position 3*d0 + d1 of [4, 6]
//! img.clamp()                   boundary     each coordinate folded into [4, 6]
//! ```
//!
//! A view is a list of steps from its own coordinates to those of its base. Neighbouring maps are one map.

use super::body::TensorId;
use super::scalar::Scalar;
use super::types::Element;
use crate::index::{self, Dim, Domain, Interval, Transform};
use std::fmt;
use std::sync::Arc;

/// A tensor, and how coordinates of the view become coordinates of it.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// As messages call it: the name of the view or the tensor.
    pub name: Arc<str>,
    /// Whose elements it shows.
    pub base: TensorId,
    /// Their type.
    pub element: Element,
    /// From the view to the base; the first is a map whose domain is the view's.
    steps: Vec<Step>,
    /// A bound on the way was not enforced: its elements may lie outside the base.
    loose: bool,
}

/// One step from the coordinates of a view toward those of its base.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Affine maps and index arrays.
    Map(Transform),
    /// The row-major position `offset + Σ strides·coordinate` in a bounded box.
    Flat {
        /// Sizes of the incoming coordinates, which start at 0.
        shape: Vec<i64>,
        /// Per incoming coordinate.
        strides: Vec<i64>,
        /// Position of coordinate 0.
        offset: i64,
        /// The box, slowest dimension first.
        storage: Vec<Interval>,
    },
    /// Coordinates outside are folded inside.
    Boundary {
        /// Per dimension; `None` passes.
        kinds: Vec<Option<Boundary>>,
        /// Where they are folded to.
        bounds: Vec<Interval>,
    },
    /// Outside the bounds the element is `value`; the steps that follow do not happen.
    Mask {
        /// Where they happen; unbounded dimensions always pass.
        bounds: Vec<Interval>,
        /// The element elsewhere.
        value: Scalar,
    },
}

/// How a coordinate outside is folded inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// The nearest one inside.
    Clamp,
    /// Modulo the size.
    Wrap,
    /// Back and forth, the edge repeated: `b a | a b`.
    Mirror,
    /// Back and forth, the edge not repeated: `c b | a b c`.
    Reflect,
}

impl Boundary {
    /// As written.
    pub fn name(self) -> &'static str {
        match self {
            Boundary::Clamp => "clamp",
            Boundary::Wrap => "wrap",
            Boundary::Mirror => "mirror",
            Boundary::Reflect => "reflect",
        }
    }
}

impl View {
    /// All of a tensor.
    pub fn whole(name: Arc<str>, base: TensorId, element: Element, domain: Domain) -> Self {
        let loose = has_implicit(&domain);
        View { name, base, element, steps: vec![Step::Map(Transform::identity(domain))], loose }
    }

    /// Whether its bounds do not show that it stays inside its base: one on the way was implicit.
    pub fn is_loose(&self) -> bool {
        self.loose
    }

    /// Where it has elements.
    pub fn domain(&self) -> &Domain {
        self.map().domain()
    }

    /// How many coordinates it takes.
    pub fn rank(&self) -> usize {
        self.domain().rank()
    }

    /// From its coordinates to those of the base.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The first step.
    fn map(&self) -> &Transform {
        match &self.steps[0] {
            Step::Map(map) => map,
            Step::Flat { .. } | Step::Boundary { .. } | Step::Mask { .. } => {
                unreachable!("the first step of a view is a map")
            }
        }
    }

    /// The view as one index transform, if it is one.
    pub fn as_transform(&self) -> Option<&Transform> {
        (self.steps.len() == 1).then(|| self.map())
    }

    /// The view after an op on its map.
    pub fn mapped(&self, op: impl FnOnce(&Transform) -> index::Result<Transform>) -> index::Result<View> {
        let mut view = self.clone();
        let map = op(self.map())?;
        view.loose |= has_implicit(map.domain());
        view.steps[0] = Step::Map(map);
        Ok(view)
    }

    /// A box of the view: the same elements at the same coordinates, fewer of them.
    pub fn narrowed(&self, region: &[Interval]) -> index::Result<View> {
        self.mapped(|map| {
            let dims = map.domain().dims().iter().zip(region);
            let domain = Domain::new(dims.map(|(dim, range)| dim.with_interval(*range)).collect())?;
            Transform::new(domain, map.outputs().to_vec())
        })
    }

    /// The view with steps of its own in front of `self`.
    fn before(&self, domain: Domain, steps: impl IntoIterator<Item = Step>) -> View {
        let first = Step::Map(Transform::identity(domain));
        let steps = std::iter::once(first).chain(steps).chain(self.steps.iter().cloned()).collect();
        View { steps, ..self.clone() }
    }

    /// The same elements in row-major order under another shape, without labels.
    pub fn reshaped(&self, shape: &[i64]) -> index::Result<View> {
        let strides = row_major(shape);
        let storage = self.intervals();
        Ok(self.before(
            Domain::of_shape(shape)?,
            [Step::Flat { shape: shape.to_vec(), strides, offset: 0, storage }],
        ))
    }

    /// The view whose elements, in row-major order, are those of `self` in row-major order: what a reshape that ends
    /// the chain was made of.
    pub fn unshaped(&self) -> View {
        let mut steps = &self.steps[..];
        while let [first, Step::Flat { shape, strides, offset: 0, storage }, rest @ ..] = steps
            && matches!(first, Step::Map(map) if first.is_identity() && is_shape(map.domain(), shape))
            && *strides == row_major(shape)
            && count(storage) == shape.iter().try_fold(1i64, |product, size| product.checked_mul(*size))
            && let [Step::Map(_), ..] = rest
        {
            steps = rest;
        }
        View { steps: steps.to_vec(), ..self.clone() }
    }

    /// Elements by position in row-major storage: the base's own if `self` shows it strided, else `self`.
    pub fn as_strided(
        &self,
        base: &Domain,
        shape: &[i64],
        strides: &[i64],
        offset: i64,
    ) -> index::Result<View> {
        let flat = |storage| Step::Flat { shape: shape.to_vec(), strides: strides.to_vec(), offset, storage };
        let domain = Domain::of_shape(shape)?;
        if self.strided(base).is_err() {
            return Ok(self.before(domain, [flat(self.intervals())]));
        }
        let whole = View::whole(self.name.clone(), self.base, self.element, base.clone());
        Ok(whole.before(domain, [flat(whole.intervals())]))
    }

    /// `(before, after)` cells of `value` around each dimension; the result starts at 0.
    pub fn padded(&self, cells: &[(i64, i64)], value: Scalar) -> index::Result<View> {
        let mut dims = Vec::new();
        let mut origin = Vec::new();
        for (dim, (before, after)) in self.domain().dims().iter().zip(cells) {
            let wider = index::Interval::bounds(
                dim.interval.lower().map(|lo| lo.saturating_sub(*before)),
                dim.interval.upper().map(|hi| hi.saturating_add(*after)),
            )?;
            dims.push(dim.with_interval(wider));
            origin.push(wider.lower().map(|_| 0));
        }
        let mask = Step::Mask { bounds: self.intervals(), value };
        let refs: Vec<_> = (0..dims.len() as i64).map(index::domain::DimRef::Position).collect();
        self.before(Domain::new(dims)?, [mask]).mapped(|map| map.translate_to(&refs, &origin))
    }

    /// Unbounded where `kinds` says how to fold.
    pub fn bounded_by(&self, kinds: Vec<Option<Boundary>>) -> index::Result<View> {
        let chosen = kinds.iter().map(Option::is_some).collect::<Vec<_>>();
        let domain = self.unbounded(&chosen)?;
        Ok(self.before(domain, [Step::Boundary { kinds, bounds: self.intervals() }]))
    }

    /// Unbounded in the chosen dimensions, holding `value` outside.
    pub fn filled(&self, chosen: &[bool], value: Scalar) -> index::Result<View> {
        let bounds = self.intervals().into_iter().zip(chosen);
        let bounds =
            bounds.map(|(interval, chosen)| if *chosen { interval } else { Interval::all() }).collect();
        Ok(self.before(self.unbounded(chosen)?, [Step::Mask { bounds, value }]))
    }

    fn unbounded(&self, chosen: &[bool]) -> index::Result<Domain> {
        let free = |dim: &Dim| Dim::explicit(Interval::all()).labelled(dim.label.clone());
        let dims = self.domain().dims().iter().zip(chosen);
        Domain::new(dims.map(|(dim, chosen)| if *chosen { free(dim) } else { dim.clone() }).collect())
    }

    /// Where it has elements, per dimension.
    pub fn intervals(&self) -> Vec<Interval> {
        self.domain().dims().iter().map(|dim| dim.interval).collect()
    }

    /// `height is f32[y: inf, x: inf]` without the name, for messages.
    pub fn describe(&self) -> String {
        format!("`{}{}`", self.element, self.domain())
    }

    /// `[y, x]`, for suggestions.
    pub fn example_index(&self) -> String {
        let label = |(at, dim): (usize, &Dim)| {
            if dim.label.is_empty() { ["i", "j", "k"][at % 3].to_owned() } else { dim.label.clone() }
        };
        let labels: Vec<_> = self.domain().dims().iter().enumerate().map(label).collect();
        format!("[{}]", labels.join(", "))
    }

    /// What to write to give every dimension an end: a slice of a tensor, or an end for the dimension `dim` of a view.
    pub fn example_slice(&self, dim: &Dim) -> String {
        let sliced = matches!(self.steps.as_slice(), [only] if only.is_identity());
        let entry = |dim: &Dim| match (dim.interval.lower(), dim.interval.upper()) {
            (Some(lo), Some(hi)) => format!("{lo}:{hi}"),
            (None, _) | (_, None) => "0:512".to_owned(),
        };
        if sliced {
            let entries: Vec<_> = self.domain().dims().iter().map(entry).collect();
            return format!("slice it: `{}[{}]`", self.name, entries.join(", "));
        }
        format!("give {} both ends with a slice such as `0:512`", dimension_name(dim))
    }
}

fn has_implicit(domain: &Domain) -> bool {
    domain.dims().iter().any(|dim| dim.implicit_lower || dim.implicit_upper)
}

/// Whether a domain is a box of that shape at 0.
fn is_shape(domain: &Domain, shape: &[i64]) -> bool {
    let matches = |(dim, size): (&Dim, &i64)| {
        dim.interval.lower() == Some(0) && dim.interval.len() == Some(*size) && *size > 0
    };
    domain.rank() == shape.len() && domain.dims().iter().zip(shape).all(matches)
}

/// Elements of a bounded box, if an i64 can say it.
fn count(storage: &[Interval]) -> Option<i64> {
    storage.iter().try_fold(1i64, |product, range| product.checked_mul(range.len()?))
}

/// The label of a dimension, or its position.
pub(crate) fn dimension_label(at: usize, dim: &Dim) -> Arc<str> {
    if dim.label.is_empty() { at.to_string().into() } else { dim.label.as_str().into() }
}

/// A dimension by its label, for messages.
pub(crate) fn dimension_name(dim: &Dim) -> String {
    if dim.label.is_empty() { format!("`{dim}`") } else { format!("`{}`", dim.label) }
}

/// Elements between neighbours along each dimension of a row-major box.
pub(crate) fn row_major(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; shape.len()];
    for at in (1..shape.len()).rev() {
        strides[at - 1] = strides[at].saturating_mul(shape[at].max(1));
    }
    strides
}

impl Step {
    /// A map that changes nothing.
    pub fn is_identity(&self) -> bool {
        matches!(self, Step::Map(map) if *map == Transform::identity(map.domain().clone()))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Map(map) => write!(f, "map {map}"),
            Step::Flat { strides, offset, storage, .. } => {
                write!(f, "position strides {strides:?} offset {offset} in {}", boxed(storage))
            }
            Step::Boundary { kinds, bounds } => {
                let kinds: Vec<_> = kinds.iter().map(|kind| kind.map_or("_", Boundary::name)).collect();
                write!(f, "boundary [{}] of {}", kinds.join(", "), boxed(bounds))
            }
            Step::Mask { bounds, value } => write!(f, "inside {} or {value}", boxed(bounds)),
        }
    }
}

fn boxed(bounds: &[Interval]) -> String {
    let bounds: Vec<_> = bounds.iter().map(ToString::to_string).collect();
    format!("[{}]", bounds.join(", "))
}
