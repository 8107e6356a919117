//! Integer nodes as linear forms: `offset + Σ factor · atom`, with floor divisions as atoms of their own.
//!
//! ```text
//! 2 * (x + 1) - y         2·x - y + 2
//! x // 2 - 1 + 2 * (x % 2)    2·x - 3·⌊x / 2⌋ - 1        since x % 2 is x - 2·⌊x / 2⌋
//! (6 * a + b) // 6        a                              when b is in 0..6
//! (6 * a + b) // 24       ⌊a / 4⌋                        the same
//! ```
//!
//! In a windowed body a global coordinate is `offset + stride · window + local`, so that forms agree on what moves.

use super::bounds::{Known, bound};
use super::exact::{self, Space};
use super::ranges::type_range;
use crate::graph::body::{Body, Coord, NodeId, Op};
use crate::graph::scalar::{BinaryFn, UnaryFn};
use crate::graph::types::{Element, Ty};
use crate::index::interval::gcd;
use crate::index::{Interval, Window};
use std::collections::{BTreeMap, BTreeSet, HashMap};

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
pub struct Linear<A = Atom> {
    /// The constant part.
    pub offset: i64,
    /// Atoms and their factors.
    pub terms: Vec<(A, i64)>,
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

/// Terms beyond which a sum is a value of its own: every sum on the way to it would hold nearly all of them once more.
const MAX_TERMS: usize = 64;

/// Steps in which a quotient is looked for, at the most.
const MAX_STEPS: usize = 4;

/// The numbers by which `⌊rest / by⌋` may be divided first, largest first: `by` itself, and what it shares with a factor.
///
/// `⌊(g·a + r) / (g·m)⌋` is `⌊a / m⌋` where `r` stays in `0..g`.
fn steps(rest: &Linear, by: i64) -> impl Iterator<Item = i64> {
    let shared = rest.terms.iter().map(|(_, factor)| gcd(*factor, by)).filter(|shared| *shared > 1);
    let steps: BTreeSet<i64> = shared.chain([by]).collect();
    steps.into_iter().rev().take(MAX_STEPS)
}

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
    /// Where each of them is.
    places: HashMap<Floor, u32>,
    forms: Vec<Option<Linear>>,
    /// What `u64` nodes are as an `i64`, whose bits they share: `u64(x) - 1` is `x - 1` below 0, too.
    signed: HashMap<NodeId, Linear>,
    windows: Vec<Window>,
    /// The first node with the value of each, so that one value is one atom.
    first: Vec<NodeId>,
    /// Where the coordinates lie; absent ones are unbounded.
    domains: HashMap<Coord, Interval>,
    /// Where those lie that have no bounds.
    space: Space,
    /// What is known of nodes that are atoms, whatever the conditions.
    values: HashMap<NodeId, Interval>,
}

impl<A: Copy + Ord> Linear<A> {
    /// A constant.
    pub fn constant(offset: i64) -> Self {
        Linear { offset, terms: Vec::new() }
    }

    /// One atom.
    pub fn atom(atom: A) -> Self {
        Linear { offset: 0, terms: vec![(atom, 1)] }
    }

    /// The value of a form without atoms.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.offset)
    }

    /// `self + factor · other`, unless a number leaves i64.
    pub fn plus(&self, factor: i64, other: &Self) -> Option<Self> {
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

    /// The factor of an atom, 0 if it is not there.
    pub fn factor(&self, atom: A) -> i64 {
        self.terms.iter().find(|(own, _)| *own == atom).map_or(0, |(_, factor)| *factor)
    }

    /// The form with a value in place of one of its atoms.
    pub fn with(&self, atom: A, value: i64) -> Option<Self> {
        self.plus(self.factor(atom), &Linear::constant(value).plus(-1, &Linear::atom(atom))?)
    }

    /// The form as `by · whole + rest`: what `by` divides evenly, and the others, with an offset in `0..by`.
    fn split(&self, by: i64) -> (Self, Self) {
        let mut whole = Linear::constant(self.offset.div_euclid(by));
        let mut rest = Linear::constant(self.offset.rem_euclid(by));
        for (atom, factor) in &self.terms {
            match factor % by {
                0 => whole.terms.push((*atom, factor / by)),
                _ => rest.terms.push((*atom, *factor)),
            }
        }
        (whole, rest)
    }

    /// `factor · self`
    pub fn times(&self, factor: i64) -> Option<Self> {
        Linear::constant(0).plus(factor, self)
    }
}

impl Forms {
    /// No forms yet, for coordinates that lie in `domains`.
    pub fn new(body: &Body, windows: &[Window], domains: HashMap<Coord, Interval>, space: Space) -> Self {
        Forms { windows: windows.to_vec(), first: body.same_values(), domains, space, ..Forms::default() }
    }

    /// Works out the form of the next node, whose children have theirs.
    pub fn add(&mut self, body: &Body, id: NodeId) {
        let form = match body.ty(id) {
            Ty::Strong(element) if element.is_int() => Some(self.form(body, id, element)),
            Ty::Strong(_) | Ty::WeakInt | Ty::WeakFloat => None,
        };
        self.forms.push(form);
        if body.ty(id) == Ty::Strong(Element::U64)
            && let Some(signed) = self.signed(body, id)
        {
            self.signed.insert(id, signed);
        }
    }

    /// The `i64` with the bits of a `u64`: sums and products wrap alike for both.
    fn signed(&self, body: &Body, id: NodeId) -> Option<Linear> {
        let of = |node: NodeId| match body.ty(node) {
            Ty::Strong(Element::U64) => self.signed.get(&node),
            _ => Some(self.get(node)),
        };
        let form = match body.node(id).op {
            Op::Const(value) => value.as_int().map(|value| Linear::constant(value as i64)),
            Op::Unary(UnaryFn::Neg, a) => of(a)?.times(-1),
            Op::Cast(a) if body.ty(a).is_int() => of(a).cloned(),
            Op::Binary(BinaryFn::Add, a, b) => of(a)?.plus(1, of(b)?),
            Op::Binary(BinaryFn::Sub, a, b) => of(a)?.plus(-1, of(b)?),
            // What changes nothing: other quotients are those of a large number.
            Op::Binary(BinaryFn::FloorDiv, a, b) if body.constant_int(b) == Some(1) => of(a).cloned(),
            Op::Binary(BinaryFn::Shr, a, b) if body.constant_int(b) == Some(0) => of(a).cloned(),
            Op::Binary(BinaryFn::Mul, a, b) => match (of(a)?, of(b)?) {
                (form, factor) | (factor, form) if factor.as_constant().is_some() => {
                    form.times(factor.offset)
                }
                _ => None,
            },
            _ => None,
        };
        form.filter(|form| form.terms.len() <= MAX_TERMS)
    }

    /// Notes the values of a node that is an atom.
    pub fn note(&mut self, id: NodeId, values: Interval) {
        self.values.insert(self.first(id), values);
    }

    /// Where a coordinate lies.
    pub fn domain(&self, coord: Coord) -> Interval {
        self.domains.get(&coord).copied().unwrap_or(Interval::all())
    }

    /// Whether a form stays inside i64, so that wrapping arithmetic has its value.
    pub fn is_exact(&self, body: &Body, form: &Linear) -> bool {
        self.fits(body, form, &|atom| self.range_of(body, atom))
    }

    /// The same where atoms have these ranges.
    pub fn fits(&self, body: &Body, form: &Linear, range: &dyn Fn(Atom) -> Interval) -> bool {
        exact::fits(form, &self.floors, &|atom| self.ends(body, atom, range(atom)))
    }

    /// The lowest and the highest value of a form where atoms have these ranges.
    pub fn extremes(&self, body: &Body, form: &Linear, range: &dyn Fn(Atom) -> Interval) -> exact::Ends {
        exact::extremes(form, &self.floors, &|atom| self.ends(body, atom, range(atom)))
    }

    /// The ends of an atom's range as numbers: of coordinates those of the index space, of data those of its type.
    fn ends(&self, body: &Body, atom: Atom, range: Interval) -> exact::Ends {
        let (least, most) = match atom {
            Atom::Coord(Coord::Window(dim)) => {
                let window = self.windows.get(dim as usize);
                window.map_or(self.space.coordinates(), |window| self.space.window_numbers(window))
            }
            Atom::Coord(Coord::Global(_) | Coord::Local(_)) => self.space.coordinates(),
            Atom::Coord(Coord::Bound(_)) | Atom::Floor(_) => exact::I64,
            Atom::Node(id) => body.ty(id).strong().and_then(Element::int_range).unwrap_or(exact::I64),
        };
        (range.lower().map_or(least, i128::from), range.upper().map_or(most, |end| i128::from(end) - 1))
    }

    /// What an atom can be whatever the conditions.
    pub(super) fn range_of(&self, body: &Body, atom: Atom) -> Interval {
        match atom {
            Atom::Coord(coord) => self.domain(coord),
            Atom::Node(id) => self.values.get(&id).copied().unwrap_or_else(|| type_range(body.ty(id))),
            Atom::Floor(_) => Interval::all(),
        }
    }

    fn range(&self, body: &Body, form: &Linear) -> Interval {
        let atom = |atom| self.range_of(body, atom);
        bound(form, &self.floors, Known { atom: &atom, sum: &|_| None })
    }

    /// The form of an integer node.
    pub fn get(&self, id: NodeId) -> &Linear {
        self.forms[id.index()].as_ref().expect("every integer node has a form")
    }

    /// What a `u64` node is as an `i64` with the same bits, if that is linear.
    pub fn as_signed(&self, id: NodeId) -> Option<&Linear> {
        self.signed.get(&id)
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

    fn form(&mut self, body: &Body, id: NodeId, element: Element) -> Linear {
        let opaque = Linear::atom(Atom::Node(self.first(id)));
        let short = self.linear(body, id).filter(|form| form.terms.len() <= MAX_TERMS);
        let form = short.unwrap_or_else(|| opaque.clone());
        // Narrow integers wrap; so do 64-bit ones, but a form is as good as its value until it is compared or divided:
        // a coordinate beyond the index space is refused when a region is asked for.
        let wraps = element != Element::I64 && {
            let values = self.range(body, &form);
            let (lo, hi) = element.int_range().expect("an integer type");
            !(values.is_bounded() && lo <= values.first().into() && i128::from(values.last()) <= hi)
        };
        if wraps { opaque } else { form }
    }

    fn linear(&mut self, body: &Body, id: NodeId) -> Option<Linear> {
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
                if body.ty(a) == Ty::Strong(Element::U64) && !self.range(body, self.get(a)).is_bounded() =>
            {
                self.signed.get(&a).filter(|_| body.ty(id) == Ty::Strong(Element::I64)).cloned()
            }
            Op::Cast(a) if body.ty(a).is_int() => Some(self.get(a).clone()),
            // So it is divided as what it is.
            Op::Binary(BinaryFn::FloorDiv | BinaryFn::Rem | BinaryFn::Shr, a, _)
                if body.ty(a) == Ty::Strong(Element::U64) && !self.range(body, self.get(a)).is_bounded() =>
            {
                None
            }
            Op::Binary(function, a, b) => match function {
                BinaryFn::Add => self.get(a).plus(1, self.get(b)),
                BinaryFn::Sub => self.get(a).plus(-1, self.get(b)),
                BinaryFn::Mul => match (self.get(a).as_constant(), self.get(b).as_constant()) {
                    (_, Some(factor)) => self.get(a).times(factor),
                    (Some(factor), None) => self.get(b).times(factor),
                    (None, None) => None,
                },
                BinaryFn::Shl => self.get(a).times(power(constant(b)?, body.ty(id))?),
                BinaryFn::Shr => {
                    let dividend = self.dividend(body, a);
                    self.floor(body, &dividend, power(constant(b)?, body.ty(id))?)
                }
                BinaryFn::FloorDiv => self.quotient(body, a, constant(b)?),
                BinaryFn::Rem => {
                    let dividend = self.dividend(body, a);
                    self.rest(body, &dividend, constant(b)?)
                }
                BinaryFn::And => {
                    let (form, mask) = constant(b).map_or((b, constant(a)), |mask| (a, Some(mask)));
                    let by = mask?.checked_add(1).filter(|by| by.count_ones() == 1 && *by > 0)?;
                    let dividend = self.dividend(body, form);
                    self.rest(body, &dividend, by)
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

    /// What is divided: the form of a node if that is its value, else the node itself.
    fn dividend(&self, body: &Body, id: NodeId) -> Linear {
        let form = self.get(id);
        if self.is_exact(body, form) { form.clone() } else { Linear::atom(Atom::Node(self.first(id))) }
    }

    /// `⌊a / by⌋`; by a negative number it is `⌊-a / -by⌋`.
    fn quotient(&mut self, body: &Body, a: NodeId, by: i64) -> Option<Linear> {
        let dividend = self.dividend(body, a);
        if by > 0 {
            return self.floor(body, &dividend, by);
        }
        let turned = dividend.times(-1).filter(|turned| self.is_exact(body, turned))?;
        self.floor(body, &turned, by.checked_neg()?)
    }

    /// `form - by · ⌊form / by⌋`
    fn rest(&mut self, body: &Body, form: &Linear, by: i64) -> Option<Linear> {
        let floor = self.floor(body, form, by)?;
        form.plus(by.checked_neg()?, &floor)
    }

    /// `⌊form / by⌋` for a positive `by`: what divides evenly is taken out, and so is what never completes a step.
    fn floor(&mut self, body: &Body, form: &Linear, by: i64) -> Option<Linear> {
        if by <= 1 {
            return (by == 1).then(|| form.clone());
        }
        let (even, rest) = self.split(body, form, by);
        if self.nesting(&rest) >= MAX_NESTED_FLOORS {
            return None;
        }
        for step in steps(&rest, by) {
            if let Some(whole) = self.in_steps(body, form, step) {
                return self.floor(body, &whole, by / step);
            }
        }
        let floor = self.intern(Floor { form: rest, by });
        even.plus(1, &Linear::atom(Atom::Floor(floor)))
    }

    /// The form as `by · even + rest`. Nothing is taken out of a form with bounds that would leave a rest without: code
    /// computes the rest in 64 bits, and a quotient does not survive that they wrap.
    ///
    /// ```text
    /// 15·(y % 6), which is 15·y - 90·⌊y / 6⌋, by 10      not 15·y, with 9·⌊y / 6⌋ taken out
    /// ```
    fn split(&self, body: &Body, form: &Linear, by: i64) -> (Linear, Linear) {
        let (even, rest) = form.split(by);
        let torn = self.range(body, form).is_bounded() && !self.range(body, &rest).is_bounded();
        if torn { (Linear::constant(0), form.clone()) } else { (even, rest) }
    }

    /// `⌊form / step⌋` where what is no multiple of `step` stays in one step, so that nothing is left to divide.
    ///
    /// ```text
    /// 1024·i + j              in steps of 1024, j in 0..1024        i
    /// x + 4032·⌊x / 64⌋       in steps of 4096                      ⌊x / 64⌋, since x - 64·⌊x / 64⌋ is in 0..64
    /// ```
    fn in_steps(&self, body: &Body, form: &Linear, step: i64) -> Option<Linear> {
        let splits = [Some(form.split(step)), self.split_remainders(form, step)];
        splits.into_iter().flatten().find_map(|(whole, rest)| {
            let single = self.range(body, &rest).floor_div(step).single()?;
            whole.plus(1, &Linear::constant(single))
        })
    }

    /// The form as `step · whole + rest` where remainders stay whole; `None` if there are none.
    fn split_remainders(&self, form: &Linear, step: i64) -> Option<(Linear, Linear)> {
        let mut remainders = Linear::constant(0);
        for (atom, factor) in &form.terms {
            if let Some(own) = self.in_remainder(form, *atom, step)
                && factor.checked_sub(own)? % step == 0
            {
                remainders = remainders.plus(own, &Linear::atom(*atom))?;
            }
        }
        let (whole, rest) = form.plus(-1, &remainders)?.split(step);
        (!remainders.terms.is_empty()).then_some((whole, rest.plus(1, &remainders)?))
    }

    /// The factor that a quotient has in a remainder of what it is a quotient of: -64·n where the form has n·x, for `⌊x / 64⌋`;
    /// `None` where n·x is taken out in whole steps.
    fn in_remainder(&self, form: &Linear, atom: Atom, step: i64) -> Option<i64> {
        let Atom::Floor(number) = atom else { return None };
        let Floor { form: Linear { terms, .. }, by } = &self.floors[number as usize];
        let [(divided, 1)] = terms[..] else { return None };
        let (_, times) =
            form.terms.iter().find(|(other, _)| *other == divided).filter(|(_, times)| times % step != 0)?;
        times.checked_mul(by.checked_neg()?)
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
        let next = self.floors.len() as u32;
        let place = *self.places.entry(floor.clone()).or_insert(next);
        if place == next {
            self.floors.push(floor);
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::interval::floor_div;

    const Y: Atom = Atom::Coord(Coord::Global(0));
    const X: Atom = Atom::Coord(Coord::Global(1));
    const C: Atom = Atom::Coord(Coord::Global(2));

    /// Forms of three coordinates in `lo..hi` each.
    fn forms(ranges: [(i64, i64); 3]) -> Forms {
        let domain = |(dim, (lo, hi))| (Coord::Global(dim), Interval::new(lo, hi).unwrap());
        let domains = (0..).zip(ranges).map(domain).collect();
        Forms::new(&Body::default(), &[], domains, Space::Whole)
    }

    fn form(offset: i64, terms: &[(Atom, i64)]) -> Linear {
        Linear { offset, terms: terms.iter().copied().filter(|(_, factor)| *factor != 0).collect() }
    }

    /// The value of a form where the coordinates are these.
    fn value(forms: &Forms, form: &Linear, at: [i64; 3]) -> i64 {
        let atom = |atom: &Atom| match atom {
            Atom::Coord(Coord::Global(dim)) => at[*dim as usize],
            Atom::Floor(floor) => {
                let Floor { form, by } = &forms.floors[*floor as usize];
                floor_div(value(forms, form, at), *by)
            }
            Atom::Coord(_) | Atom::Node(_) => unreachable!("a form of coordinates"),
        };
        form.offset + form.terms.iter().map(|(part, factor)| factor * atom(part)).sum::<i64>()
    }

    /// `⌊form / by⌋`, which is compared with the division everywhere.
    #[track_caller]
    fn divided(ranges: [(i64, i64); 3], divided: &Linear, by: i64) -> (Linear, Vec<Floor>) {
        let mut forms = forms(ranges);
        let found = forms.floor(&Body::default(), divided, by).unwrap();
        let rest = forms.rest(&Body::default(), divided, by).unwrap();
        let [ys, xs, cs] = ranges.map(|(lo, hi)| lo..hi);
        for (y, x) in ys.flat_map(|y| xs.clone().map(move |x| (y, x))) {
            for at in cs.clone().map(|c| [y, x, c]) {
                let dividend = value(&forms, divided, at);
                let expected = (floor_div(dividend, by), dividend.rem_euclid(by));
                let both = (value(&forms, &found, at), value(&forms, &rest, at));
                assert_eq!(both, expected, "{divided:?} by {by} at {at:?}");
            }
        }
        (found, forms.floors)
    }

    #[test]
    fn what_stays_in_a_step_is_not_divided() {
        let ranges = [(0, 64), (0, 8), (0, 1)];
        let (found, floors) = divided(ranges, &form(0, &[(Y, 8), (X, 1)]), 32);
        assert_eq!(
            (found, floors),
            (form(0, &[(Atom::Floor(0), 1)]), vec![Floor { form: form(0, &[(Y, 1)]), by: 4 }])
        );
        // Moved by a whole step, and by as much of one as leaves room.
        let (_, floors) = divided([(-9, 9), (8, 15), (0, 1)], &form(1, &[(Y, 8), (X, 1)]), 32);
        assert_eq!(floors, [Floor { form: form(1, &[(Y, 1)]), by: 4 }]);
        let (found, _) = divided(ranges, &form(0, &[(Y, -8), (X, -1)]), 8);
        assert_eq!(found.terms, [(Y, -1), (Atom::Floor(0), 1)], "one step is left where x is 0");
        let (_, floors) = divided(ranges, &form(1, &[(Y, 8), (X, 1)]), 32);
        assert_eq!(floors, [Floor { form: form(1, &[(Y, 8), (X, 1)]), by: 32 }], "x + 1 leaves its step");
    }

    #[test]
    fn steps_inside_steps_are_taken_apart() {
        let three = form(0, &[(Y, 12), (X, 4), (C, 1)]);
        let (_, floors) = divided([(0, 9), (0, 3), (0, 4)], &three, 24);
        assert_eq!(floors, [Floor { form: form(0, &[(Y, 1)]), by: 2 }]);
        let (_, floors) = divided([(0, 9), (0, 6), (0, 4)], &three, 24);
        assert_eq!(floors, [Floor { form: form(0, &[(Y, 3), (X, 1)]), by: 6 }], "only c stays in its step");
        let (_, floors) = divided([(0, 9), (0, 6), (0, 5)], &three, 24);
        assert_eq!(floors[0].by, 24);
    }

    /// `⌊x / 5⌋ + 2·y` where the quotient is a step of its own: `[6, 10]` that is cut to `[4, 15]`.
    #[test]
    fn quotients_stay_in_steps_as_coordinates_do() {
        let mut forms = forms([(0, 4), (0, 15), (0, 1)]);
        let fifth = forms.floor(&Body::default(), &form(0, &[(X, 1)]), 5).unwrap();
        let rows = fifth.plus(3, &Linear::atom(Y)).unwrap();
        let sixth = forms.floor(&Body::default(), &rows, 6).unwrap();
        let Atom::Floor(number) = sixth.terms[0].0 else { panic!("{sixth:?}") };
        assert_eq!(forms.floors[number as usize], Floor { form: Linear::atom(Y), by: 2 });
    }

    /// `[4, 8, 4, 4]` with the middle dimensions in turn, as `[16, 32]`: the sheet of a volume.
    #[test]
    fn remainders_stay_in_steps() {
        let mut forms = forms([(0, 16), (0, 32), (0, 1)]);
        let body = Body::default();
        let [p, q] = [Y, X].map(|atom| forms.floor(&body, &Linear::atom(atom), 4).unwrap());
        let [r, s] = [Y, X].map(|atom| forms.rest(&body, &Linear::atom(atom), 4).unwrap());
        let add = |a: Linear, factor, b: &Linear| a.plus(factor, b).unwrap();
        let flat = add(add(add(p.times(128).unwrap(), 16, &q), 4, &r), 1, &s);
        let plane = forms.floor(&body, &flat, 16).unwrap();
        assert_eq!(plane, add(p.times(8).unwrap(), 1, &q));
        let inside = forms.rest(&body, &flat, 16).unwrap();
        assert_eq!(forms.floor(&body, &inside, 4).unwrap(), r);
        assert_eq!(forms.rest(&body, &inside, 4).unwrap(), s);
    }

    #[test]
    fn divisions_are_those_of_numbers() {
        for seed in 0..3_000i64 {
            let pick =
                |place: u32, count: i64| (seed * 7_919 + 13).wrapping_mul(31i64.pow(place)) / 64 % count;
            let range = |place| (pick(place, 9) - 4, pick(place, 9) - 4 + 1 + pick(place + 1, 6).abs());
            let factor = |place| [1, -1, 2, 3, 4, -4, 6, 8, 12, 0][pick(place, 10).unsigned_abs() as usize];
            let terms = [(Y, factor(7)), (X, factor(8)), (C, factor(9))];
            let by = [2, 3, 4, 6, 8, 12, 24][pick(10, 7).unsigned_abs() as usize];
            divided([range(1), range(3), range(5)], &form(pick(6, 30), &terms), by);
        }
    }
}
