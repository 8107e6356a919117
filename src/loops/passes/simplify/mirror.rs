//! Differences of two places one way round, so that both places share what is made of them.
//!
//! ```text
//! 0.0 + f(h[x - 1] - h[x]) + f(h[x + 1] - h[x])      with f(d) = d - clamp(d, -t, t)
//! 0.0 - f(h[x] - h[x - 1]) + f(h[x + 1] - h[x])      the first is now the second of the place before
//! ```
//!
//! `b - a` is `-(a - b)` but for the sign of a zero, and rounding is as far from both sides of zero. What is made of it by
//! sums, products, constants and a clamp to `-t..t` is then the same again, or the same but for the sign: but for that of
//! zeros, and as long as it is a number. A clamp makes `-t` of a NaN both times, so the result has to be NaN again by
//! another way. A sum that is never -0.0 shows neither the sign of a zero that is added to it nor that of a NaN.

use super::Simplifier;
use crate::graph::scalar::{BinaryFn, Scalar, UnaryFn};
use crate::loops::ir::{Op, ValueId};
use std::cmp::Ordering;

/// How many operations of a term, and of the places that it reads, are looked at: what is shared counts each time.
const MOST: usize = 256;

/// What becomes of a value if a difference inside it is taken the other way round.
#[derive(Clone, Copy)]
struct Turns {
    /// The difference; none in a constant.
    with: Option<ValueId>,
    /// Whether the sign changes.
    odd: bool,
    /// Whether it is NaN where the difference is.
    shows_nan: bool,
}

impl Simplifier<'_> {
    /// What to take off a sum that is never -0.0 instead of adding `term` to it.
    pub(super) fn taken_off(&mut self, term: ValueId) -> Option<ValueId> {
        let turns = self.turns(term, &mut { MOST })?;
        let difference = turns.with.filter(|_| turns.odd && turns.shows_nan)?;
        Some(self.turned(term, difference))
    }

    /// How a value turns with the one difference in it of which the earlier place comes first, if it does.
    fn turns(&self, id: ValueId, left: &mut usize) -> Option<Turns> {
        *left = left.checked_sub(1)?;
        match *self.builder.op(id) {
            Op::Const(_) => Some(Turns { with: None, odd: false, shows_nan: false }),
            Op::Binary(BinaryFn::Sub, a, b) => match self.order(a, b, left) {
                Some(Ordering::Less) => Some(Turns { with: Some(id), odd: true, shows_nan: true }),
                Some(Ordering::Equal | Ordering::Greater) => None,
                None => self.both_turn((a, b), left).filter(|(a, b)| a.odd == b.odd).map(joined),
            },
            Op::Binary(BinaryFn::Add, a, b) => {
                self.both_turn((a, b), left).filter(|(a, b)| a.odd == b.odd).map(joined)
            }
            Op::Binary(BinaryFn::Mul, a, b) => {
                let (a, b) = self.both_turn((a, b), left)?;
                Some(Turns { odd: a.odd != b.odd, ..joined((a, b)) })
            }
            Op::Binary(BinaryFn::Min | BinaryFn::Max, ..) => self.clamp_turns(id, left),
            Op::Unary(UnaryFn::Neg, a) => self.turns(a, left),
            Op::Unary(UnaryFn::Abs, a) => Some(Turns { odd: false, ..self.turns(a, left)? }),
            _ => None,
        }
    }

    /// How two operands turn, if they do so with one difference.
    fn both_turn(&self, (a, b): (ValueId, ValueId), left: &mut usize) -> Option<(Turns, Turns)> {
        let (a, b) = (self.turns(a, left)?, self.turns(b, left)?);
        (a.with.is_none() || b.with.is_none() || a.with == b.with).then_some((a, b))
    }

    /// `min(max(d, -t), t)`, or with `min` inside, where `d` is the difference itself.
    fn clamp_turns(&self, id: ValueId, left: &mut usize) -> Option<Turns> {
        let Op::Binary(outer, inner, last) = *self.builder.op(id) else { return None };
        let Op::Binary(function, difference, first) = *self.builder.op(inner) else { return None };
        let bound = |id: ValueId| self.builder.constant(id).and_then(Scalar::as_float);
        let (last, first) = (bound(last)?, bound(first)?);
        let rises = match (outer, function) {
            (BinaryFn::Min, BinaryFn::Max) => last > 0.0,
            (BinaryFn::Max, BinaryFn::Min) => last < 0.0,
            _ => false,
        };
        if !rises || first != -last {
            return None;
        }
        let turns = self.turns(difference, left).filter(|turns| turns.with == Some(difference))?;
        Some(Turns { shows_nan: false, ..turns })
    }

    /// A value with a difference in it the other way round.
    fn turned(&mut self, id: ValueId, difference: ValueId) -> ValueId {
        match *self.builder.op(id) {
            Op::Binary(function, a, b) if id == difference => self.builder.binary(function, b, a),
            Op::Binary(function, a, b) => {
                let (a, b) = (self.turned(a, difference), self.turned(b, difference));
                self.builder.binary(function, a, b)
            }
            Op::Unary(function, a) => {
                let a = self.turned(a, difference);
                self.builder.unary(function, a)
            }
            _ => id,
        }
    }

    /// Which of two values that are made alike is of the earlier place; none if they are not made alike.
    fn order(&self, a: ValueId, b: ValueId, left: &mut usize) -> Option<Ordering> {
        *left = left.checked_sub(1)?;
        if a == b {
            return Some(Ordering::Equal);
        }
        if let ((Some(x), c), (Some(z), d)) = (self.apart(a), self.apart(b))
            && (c, d) != (0, 0)
        {
            return Some(self.order(x, z, left)?.then(c.cmp(&d)));
        }
        let known = |id: ValueId| self.builder.constant(id).and_then(Scalar::as_int);
        match (self.builder.op(a), self.builder.op(b)) {
            (Op::Const(_), Op::Const(_)) => Some(known(a)?.cmp(&known(b)?)),
            (Op::Binary(f, a, c), Op::Binary(g, b, d)) if f == g => {
                Some(self.order(*a, *b, left)?.then(self.order(*c, *d, left)?))
            }
            (Op::Unary(f, a), Op::Unary(g, b)) if f == g => self.order(*a, *b, left),
            (Op::Load(p, a), Op::Load(q, b)) if p == q => self.order(*a, *b, left),
            (Op::Cast(a), Op::Cast(b)) => self.order(*a, *b, left),
            _ => None,
        }
    }
}

/// How the sum of two operands turns.
fn joined((a, b): (Turns, Turns)) -> Turns {
    Turns { with: a.with.or(b.with), odd: a.odd, shows_nan: a.shows_nan || b.shows_nan }
}

#[cfg(test)]
mod tests {
    use crate::loops::parse::parse;
    use crate::loops::passes::simplify::simplify;
    use crate::loops::passes::sweep::sweep;

    /// Whether something is taken off `first`, not added to it, where v10 is `a[x] - a[x + 1]` and v12 that, clamped.
    fn taken_off(first: &str, low: &str, difference: &str, term: &str) -> bool {
        let text = format!(
            "kernel a(n)\n  b0: f32 in\n  b1: f32 out\n  v0: i64 = arg 0\n  v1: i64 = const 1\n  \
             v2: f32 = const {first}\n  v3: f32 = const {low}\n  v4: f32 = const 0.5\n  row v5 in v0..v0\n    \
             v6: f32 = load b0 v5\n    v7: i64 = add v5 v1\n    v8: f32 = load b0 v7\n    v9: f32 = abs v8\n    \
             v10: f32 = {difference}\n    v11: f32 = max v10 v3\n    v12: f32 = min v11 v4\n    v13: f32 = {term}\n    \
             v14: f32 = add v2 v13\n    store b1 v5 v14\n"
        );
        let kernel = sweep(simplify(&parse(&text).expect("parses")));
        let text = kernel.to_string();
        let last = text.lines().take_while(|line| !line.contains("store")).last();
        last.is_some_and(|line| line.contains("f32 = sub"))
    }

    #[test]
    fn odd_terms_are_taken_off() {
        for term in ["sub v10 v12", "neg v10", "add v10 v10", "mul v10 v4"] {
            assert!(taken_off("0.0", "-0.5", "sub v6 v8", term), "{term}");
            assert!(!taken_off("-0.0", "-0.5", "sub v6 v8", term), "{term}, from -0.0");
            assert!(!taken_off("0.0", "-0.5", "sub v8 v6", term), "{term}, the later place first");
            assert!(!taken_off("0.0", "-0.5", "sub v6 v9", term), "{term}, of two things");
        }
    }

    #[test]
    fn others_stay() {
        // NaN is clamped to a number, the same both times; a square is the same both times; bounds that are not alike.
        assert!(!taken_off("0.0", "-0.5", "sub v6 v8", "add v12 v12"));
        assert!(!taken_off("0.0", "-0.5", "sub v6 v8", "mul v10 v10"));
        assert!(!taken_off("0.0", "-0.5", "sub v6 v8", "abs v10"));
        assert!(!taken_off("0.0", "-0.5", "sub v6 v8", "add v10 v4"));
        assert!(!taken_off("0.0", "-0.25", "sub v6 v8", "sub v10 v12"));
    }
}
