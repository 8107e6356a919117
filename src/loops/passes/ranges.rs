//! What the integers of a kernel can be, from the constants and types they are made of.
//!
//! ```text
//! v3: u8 = load b0 v2       0 to 255
//! v4: i64 = cast v3         0 to 255
//! v5: i64 = mul v4 v4       0 to 65025
//! v6: i64 = and v2 v1       0 to 7, with v1 = 7, whatever v2 is
//! ```

use crate::graph::scalar::{BinaryFn, Scalar, UnaryFn};
use crate::graph::types::Element;
use crate::loops::ir::{Block, Kernel, Op, Statement, ValueId};

/// The smallest and the largest number that an integer can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) lo: i128,
    pub(super) hi: i128,
}

impl Range {
    /// Every number of an integer type; of floats nothing is said.
    fn of(element: Element) -> Range {
        let (lo, hi) = element.int_range().unwrap_or((i128::MIN, i128::MAX));
        Range { lo, hi }
    }

    fn point(value: i128) -> Range {
        Range { lo: value, hi: value }
    }

    fn hull(self, other: Range) -> Range {
        Range { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// Whether all of it lies in `other`.
    pub(super) fn is_in(self, other: Range) -> bool {
        other.lo <= self.lo && self.hi <= other.hi
    }

    /// Whether a type holds all of it.
    pub(super) fn fits(self, element: Element) -> bool {
        element.is_int() && self.is_in(Range::of(element))
    }
}

/// The range of every value; floats have one that says nothing.
pub(super) fn ranges(kernel: &Kernel) -> Vec<Range> {
    let mut ranges: Vec<Range> = kernel.values.iter().map(|value| Range::of(value.element)).collect();
    block(kernel, &kernel.body, &mut ranges);
    ranges
}

fn block(kernel: &Kernel, body: &Block, ranges: &mut Vec<Range>) {
    for statement in &body.statements {
        match statement {
            Statement::Let(id) => ranges[id.index()] = computed(kernel, *id, ranges),
            Statement::Store(..) => {}
            Statement::For(looped) => {
                let (lo, hi) = (ranges[looped.lo.index()].lo, ranges[looped.hi.index()].hi);
                // Without a step nothing inside is computed, whatever is said about it.
                ranges[looped.var.index()] = Range { lo: lo.min(hi - 1), hi: hi - 1 };
                block(kernel, &looped.body, ranges);
            }
            Statement::If(choice) => {
                block(kernel, &choice.then, ranges);
                block(kernel, &choice.otherwise, ranges);
                for (result, a, b) in &choice.results {
                    ranges[result.index()] = ranges[a.index()].hull(ranges[b.index()]);
                }
            }
        }
    }
}

fn computed(kernel: &Kernel, id: ValueId, ranges: &[Range]) -> Range {
    let value = kernel.value(id);
    let (all, range) = (Range::of(value.element), |id: ValueId| ranges[id.index()]);
    if value.element.is_float() {
        return all;
    }
    let found = match &value.op {
        Op::Const(number) => number.as_int().map(Range::point),
        Op::Unary(function, a) => unary(*function, range(*a)),
        Op::Binary(function, a, b) if !kernel.value(*a).element.is_float() => {
            binary(*function, kernel.value(*a).element, range(*a), range(*b))
        }
        Op::Select(_, a, b) => Some(range(*a).hull(range(*b))),
        Op::Cast(a) if !kernel.value(*a).element.is_float() => Some(range(*a)),
        Op::Table(table, _) => entries(&kernel.tables[*table as usize]),
        Op::Arg(_) | Op::Var | Op::Carried | Op::Result => None,
        Op::Binary(..) | Op::Fma(..) | Op::Cast(_) | Op::Load(..) => None,
    };
    // What leaves the type wraps, and could then be anything.
    found.filter(|found| found.is_in(all)).unwrap_or(all)
}

fn entries(table: &[Scalar]) -> Option<Range> {
    let values = || table.iter().filter_map(|entry| entry.as_int());
    Some(Range { lo: values().min()?, hi: values().max()? })
}

fn unary(function: UnaryFn, a: Range) -> Option<Range> {
    match function {
        UnaryFn::Neg => Some(Range { lo: -a.hi, hi: -a.lo }),
        UnaryFn::Abs if a.lo >= 0 => Some(a),
        UnaryFn::Abs => Some(Range { lo: 0, hi: a.hi.max(-a.lo) }),
        UnaryFn::Sign => Some(Range { lo: a.lo.signum(), hi: a.hi.signum() }),
        UnaryFn::Popcount => Some(Range { lo: 0, hi: 64 }),
        UnaryFn::Floor | UnaryFn::Ceil | UnaryFn::Round | UnaryFn::Trunc => Some(a),
        UnaryFn::Not | UnaryFn::Sqrt | UnaryFn::Bits | UnaryFn::FloatBits | UnaryFn::RoundF16 => None,
    }
}

fn binary(function: BinaryFn, element: Element, a: Range, b: Range) -> Option<Range> {
    let known = (b.lo == b.hi).then_some(b.lo);
    // Shifts look at as much of their count as the width of the type says.
    let count = known.map(|by| by as u32 & (element.bits().next_power_of_two() - 1));
    match function {
        BinaryFn::Add => Some(Range { lo: a.lo + b.lo, hi: a.hi + b.hi }),
        BinaryFn::Sub => Some(Range { lo: a.lo - b.hi, hi: a.hi - b.lo }),
        BinaryFn::Mul => {
            let corner = |(x, y): (i128, i128)| x.saturating_mul(y);
            let corners = [(a.lo, b.lo), (a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)].map(corner);
            Some(corners.into_iter().map(Range::point).fold(Range::point(corners[0]), Range::hull))
        }
        BinaryFn::FloorDiv => known.filter(|by| *by > 0).map(|by| quotients(a, by)),
        BinaryFn::Rem => known.filter(|by| *by > 0).map(|by| remainders(a, by)),
        BinaryFn::Shr => count.map(|by| quotients(a, 1 << by)),
        BinaryFn::Shl => {
            let by = count.filter(|by| *by < 32)?;
            Some(Range { lo: a.lo << by, hi: a.hi << by })
        }
        BinaryFn::And => match (a.lo >= 0, b.lo >= 0) {
            (true, true) => Some(Range { lo: 0, hi: a.hi.min(b.hi) }),
            (true, false) => Some(Range { lo: 0, hi: a.hi }),
            (false, true) => Some(Range { lo: 0, hi: b.hi }),
            (false, false) => None,
        },
        BinaryFn::Or | BinaryFn::Xor if a.lo >= 0 && b.lo >= 0 => {
            Some(Range { lo: 0, hi: (1 << bits(a.hi.max(b.hi))) - 1 })
        }
        BinaryFn::Min => Some(Range { lo: a.lo.min(b.lo), hi: a.hi.min(b.hi) }),
        BinaryFn::Max => Some(Range { lo: a.lo.max(b.lo), hi: a.hi.max(b.hi) }),
        BinaryFn::Or | BinaryFn::Xor | BinaryFn::Pow | BinaryFn::Div => None,
        BinaryFn::Eq | BinaryFn::Ne | BinaryFn::Lt | BinaryFn::Le | BinaryFn::Gt | BinaryFn::Ge => None,
    }
}

fn quotients(a: Range, by: i128) -> Range {
    Range { lo: a.lo.div_euclid(by), hi: a.hi.div_euclid(by) }
}

fn remainders(a: Range, by: i128) -> Range {
    if a.lo >= 0 && a.hi < by { a } else { Range { lo: 0, hi: by - 1 } }
}

/// How many bits a number that is not negative has.
pub(super) fn bits(value: i128) -> u32 {
    128 - value.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::ranges;
    use crate::loops::parse::parse;

    #[track_caller]
    fn check(op: &str, expect: (i128, i128)) {
        let head = "kernel a(n)\n  b0: u8 in\n  t0: i64 = 9 -4 7\n  v0: i64 = arg 0\n  v1: i64 = const 12\n  v2: u8 = load b0 v0\n  v3: i64 = cast v2\n";
        let text = format!("{head}  for v4 in v3..v1\n    v5: i64 = sub v3 v1\n    v6: {op}\n");
        let kernel = parse(&text).expect("parses");
        let range = ranges(&kernel)[6];
        assert_eq!((range.lo, range.hi), expect, "{op}");
    }

    #[test]
    fn operations_bound_their_results() {
        let all = (i64::MIN.into(), i64::MAX.into());
        check("i64 = add v3 v4", (0, 266));
        check("i64 = mul v5 v5", (-2916, 59049));
        check("i64 = add v0 v3", all);
        check("i64 = rem v0 v1", (0, 11));
        check("i64 = rem v3 v3", all);
        check("i64 = floordiv v5 v1", (-1, 20));
        check("i64 = and v0 v3", (0, 255));
        check("i64 = or v3 v1", (0, 255));
        check("i64 = xor v5 v3", all);
        check("i64 = shr v5 v1", (-1, 0));
        check("i64 = shl v5 v1", (-49152, 995328));
        check("i64 = min v0 v1", (i64::MIN.into(), 12));
        check("i64 = max v5 v1", (12, 243));
        check("i64 = abs v5", (0, 243));
        check("i64 = sign v3", (0, 1));
        check("i64 = neg v5", (-243, 12));
        check("i64 = table t0 v4", (-4, 9));
        check("u8 = cast v5", (0, 255));
        check("i8 = cast v4", (0, 11));
        check("u8 = shr v2 v2", (0, 255));
        check("bool = lt v4 v3", (0, 1));
    }
}
