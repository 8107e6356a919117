//! Integer nodes as linear forms: `offset + Σ factor · atom`, with floor divisions as atoms of their own.
//!
//! ```text
//! 2 * (x + 1) - y         2·x - y + 2
//! x // 2 - 1 + 2 * (x % 2)    2·x - 3·⌊x / 2⌋ - 1        since x % 2 is x - 2·⌊x / 2⌋
//! (6 * a + b) // 6        a                              when b is in 0..6
//! ```
//!
//! In a windowed body a global coordinate is `offset + stride · window + local`, so that forms agree on what moves.

use crate::graph::body::{Body, Coord, NodeId, Op};
use crate::graph::scalar::{BinaryFn, UnaryFn};
use crate::graph::types::{Element, Ty};
use crate::index::{Interval, Window};
use std::collections::BTreeMap;

/// What a linear form is linear in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    /// A coordinate.
    Coord(Coord),
    /// Entry of [`Forms::floors`].
    Floor(u32),
    /// The value of an integer node that is not linear.
    Node(NodeId),
}

/// `offset + Σ factor · atom`; atoms ascend, no factor is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Linear {
    /// The constant part.
    pub offset: i64,
    /// Atoms and their factors.
    pub terms: Vec<(Atom, i64)>,
}

/// `⌊form / by⌋`, `by` at least 2.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Floor {
    /// What is divided.
    pub form: Linear,
    /// By what.
    pub by: i64,
}

/// Floor divisions inside floor divisions beyond which a quotient is a value of its own.
const MAX_NESTED_FLOORS: usize = 4;

/// `2 ** count` for a shift inside the width of its type; a count beyond it wraps, and is not linear.
fn power(count: i64, ty: Ty) -> Option<i64> {
    let width = ty.strong()?.bits();
    u32::try_from(count).ok().filter(|count| *count < width.min(62)).map(|count| 1i64 << count)
}

/// The linear form of every integer node of a body.
#[derive(Debug, Default)]
pub struct Forms {
    /// Floor divisions that occur in forms.
    pub floors: Vec<Floor>,
    forms: Vec<Option<Linear>>,
    windows: Vec<Window>,
    /// The first node with the value of each, so that one value is one atom.
    first: Vec<NodeId>,
}

impl Linear {
    /// A constant.
    pub fn constant(offset: i64) -> Self {
        Linear { offset, terms: Vec::new() }
    }

    /// One atom.
    pub fn atom(atom: Atom) -> Self {
        Linear { offset: 0, terms: vec![(atom, 1)] }
    }

    /// The value of a form without atoms.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.offset)
    }

    /// `self + factor · other`, unless a number leaves i64.
    pub fn plus(&self, factor: i64, other: &Linear) -> Option<Linear> {
        let mut terms = BTreeMap::new();
        for (atom, own) in &self.terms {
            terms.insert(*atom, *own);
        }
        for (atom, theirs) in &other.terms {
            let sum: &mut i64 = terms.entry(*atom).or_default();
            *sum = sum.checked_add(theirs.checked_mul(factor)?)?;
        }
        let offset = self.offset.checked_add(other.offset.checked_mul(factor)?)?;
        Some(Linear { offset, terms: terms.into_iter().filter(|(_, factor)| *factor != 0).collect() })
    }

    /// `factor · self`
    pub fn times(&self, factor: i64) -> Option<Linear> {
        Linear::default().plus(factor, self)
    }
}

impl Forms {
    /// Works out the form of every integer node, children first. `range` bounds a form whatever the guards.
    pub fn new(body: &Body, windows: &[Window], range: impl Fn(&Forms, &Linear) -> Interval) -> Self {
        let mut forms = Forms { windows: windows.to_vec(), first: body.same_values(), ..Forms::default() };
        for (id, node) in body.nodes() {
            let form = match node.ty {
                Ty::Strong(element) if element.is_int() => forms.form(body, id, element, &range),
                _ => None,
            };
            forms.forms.push(form);
        }
        forms
    }

    /// The form of an integer node.
    pub fn get(&self, id: NodeId) -> &Linear {
        self.forms[id.index()].as_ref().expect("every integer node has a form")
    }

    /// The first node that has the value of `id`.
    pub fn first(&self, id: NodeId) -> NodeId {
        self.first[id.index()]
    }

    /// The forms by node, and the floor divisions they refer to.
    pub fn into_parts(self) -> (BTreeMap<NodeId, Linear>, Vec<Floor>) {
        let forms = self.forms.into_iter().enumerate();
        let forms = forms.filter_map(|(id, form)| Some((NodeId(id as u32), form?))).collect();
        (forms, self.floors)
    }

    fn form(
        &mut self,
        body: &Body,
        id: NodeId,
        element: Element,
        range: &impl Fn(&Forms, &Linear) -> Interval,
    ) -> Option<Linear> {
        let opaque = Linear::atom(Atom::Node(self.first(id)));
        let form = self.linear(body, id, range).unwrap_or_else(|| opaque.clone());
        // Narrow integers wrap; 64-bit coordinates are checked when a region is asked for.
        let wraps = element != Element::I64 && {
            let values = range(self, &form);
            let (lo, hi) = element.int_range().expect("an integer type");
            !(values.is_bounded() && lo <= values.first().into() && i128::from(values.last()) <= hi)
        };
        Some(if wraps { opaque } else { form })
    }

    fn linear(
        &mut self,
        body: &Body,
        id: NodeId,
        range: &impl Fn(&Forms, &Linear) -> Interval,
    ) -> Option<Linear> {
        let constant = |node: NodeId| body.constant_int(node);
        match body.node(id).op {
            Op::Const(value) => {
                value.as_int().and_then(|value| i64::try_from(value).ok()).map(Linear::constant)
            }
            Op::Coord(Coord::Global(dim)) => Some(self.global(dim)),
            Op::Coord(coord) => Some(Linear::atom(Atom::Coord(coord))),
            Op::Unary(UnaryFn::Neg, a) => self.get(a).times(-1),
            // A large u64 is a negative i64.
            Op::Cast(a)
                if body.ty(a) == Ty::Strong(Element::U64) && !range(self, self.get(a)).is_bounded() =>
            {
                None
            }
            Op::Cast(a) if body.ty(a).is_int() => Some(self.get(a).clone()),
            Op::Binary(function, a, b) => match function {
                BinaryFn::Add => self.get(a).plus(1, self.get(b)),
                BinaryFn::Sub => self.get(a).plus(-1, self.get(b)),
                BinaryFn::Mul => match (self.get(a).as_constant(), self.get(b).as_constant()) {
                    (_, Some(factor)) => self.get(a).times(factor),
                    (Some(factor), None) => self.get(b).times(factor),
                    (None, None) => None,
                },
                BinaryFn::Shl => self.get(a).times(power(constant(b)?, body.ty(id))?),
                BinaryFn::Shr => self.floor(&self.get(a).clone(), power(constant(b)?, body.ty(id))?, range),
                BinaryFn::FloorDiv => self.floor(&self.get(a).clone(), constant(b)?, range),
                BinaryFn::Rem => self.rest(&self.get(a).clone(), constant(b)?, range),
                BinaryFn::And => {
                    let (form, mask) = constant(b).map_or((b, constant(a)), |mask| (a, Some(mask)));
                    let by = mask?.checked_add(1).filter(|by| by.count_ones() == 1 && *by > 0)?;
                    self.rest(&self.get(form).clone(), by, range)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// A global coordinate; in a windowed body by window number and local coordinate.
    fn global(&self, dim: u32) -> Linear {
        match self.windows.get(dim as usize) {
            None => Linear::atom(Atom::Coord(Coord::Global(dim))),
            Some(window) => Linear {
                offset: window.offset(),
                terms: vec![
                    (Atom::Coord(Coord::Local(dim)), 1),
                    (Atom::Coord(Coord::Window(dim)), window.stride()),
                ],
            },
        }
    }

    /// `form - by · ⌊form / by⌋`
    fn rest(
        &mut self,
        form: &Linear,
        by: i64,
        range: &impl Fn(&Forms, &Linear) -> Interval,
    ) -> Option<Linear> {
        let floor = self.floor(form, by, range)?;
        form.plus(by.checked_neg()?, &floor)
    }

    /// `⌊form / by⌋` for a positive `by`: what divides evenly is taken out, and a rest that stays in one step is constant.
    fn floor(
        &mut self,
        form: &Linear,
        by: i64,
        range: &impl Fn(&Forms, &Linear) -> Interval,
    ) -> Option<Linear> {
        if by <= 1 {
            return (by == 1).then(|| form.clone());
        }
        let mut even = Linear::constant(form.offset.div_euclid(by));
        let mut rest = Linear::constant(form.offset.rem_euclid(by));
        for (atom, factor) in &form.terms {
            let (side, factor) =
                if factor % by == 0 { (&mut even, factor / by) } else { (&mut rest, *factor) };
            side.terms.push((*atom, factor));
        }
        if self.nesting(&rest) >= MAX_NESTED_FLOORS {
            return None;
        }
        let steps = range(self, &rest).floor_div(by);
        match steps.single() {
            Some(step) => even.plus(1, &Linear::constant(step)),
            None => {
                let floor = self.intern(Floor { form: rest, by });
                even.plus(1, &Linear::atom(Atom::Floor(floor)))
            }
        }
    }

    /// How deep floor divisions are nested in a form.
    fn nesting(&self, form: &Linear) -> usize {
        let inside = |(atom, _): &(Atom, i64)| match atom {
            Atom::Floor(floor) => 1 + self.nesting(&self.floors[*floor as usize].form),
            Atom::Coord(_) | Atom::Node(_) => 0,
        };
        form.terms.iter().map(inside).max().unwrap_or(0)
    }

    fn intern(&mut self, floor: Floor) -> u32 {
        let found = self.floors.iter().position(|known| *known == floor);
        found.unwrap_or_else(|| {
            self.floors.push(floor);
            self.floors.len() - 1
        }) as u32
    }
}
