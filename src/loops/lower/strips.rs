//! A coordinate that is divided by a large number -> a loop over the quotients, around shorter loops.
//!
//! ```text
//! b[x] = if x % 192 < 64 then a[x] * g[x // 192 - 1] else a[x] * g[x // 192]
//!
//! for q in lo // 192 ..= (hi - 1) // 192
//!   row x in max(lo, 192 * q)..min(hi, 192 * q + 64)            x // 192 is q, and the condition holds
//!   row x in max(lo, 192 * q + 64)..min(hi, 192 * q + 192)      x // 192 is q, and it does not
//! ```
//!
//! The same where other coordinates move what is divided: a row of `[4096, 4000]` as `[4000, 4096]` begins in the middle of one
//! of its source, at `(4096·y + x) % 4000`.
//!
//! In each of the loops what the quotient says is the same for all of it, so that rows are straight-line code whose reads
//! follow each other. Blended windows become such bodies (`plan/overlaps.rs`), and so do wrapped and reshaped sources.

use super::{Bound, Job, Lowerer, Source};
use crate::access::TensorAccess;
use crate::access::linear::{Atom, Floor, Linear};
use crate::graph::body::{self, Body, Coord, NodeId};
use crate::graph::scalar::{BinaryFn, Scalar};
use crate::graph::types::{Element, Ty};
use crate::index::Interval;
use crate::loops::ir::{LoopKind, ValueId};
use std::collections::HashMap;

/// Numbers that rows are divided by, at the least: shorter rows cost more than they save.
const LEAST: i64 = 32;
/// Loops that a body is written into, at the most, and how many nodes that may be in all.
const MOST_PIECES: usize = 6;
const MOST_NODES: usize = 6_000;
/// Numbers that are added to coordinates, at the most, so that nothing wraps.
const FAR: i64 = 1 << 40;

/// How a loop is cut.
#[derive(Clone, Debug)]
pub(super) struct Strip {
    /// The quotient, `⌊(coord + shift) / by⌋`, among the floors of the body; the shift has other coordinates in it, if any.
    floor: u32,
    shift: Linear,
    by: i64,
    /// What is left of what is divided, as a form.
    remainder: Linear,
    /// Where the pieces of a strip end, ascending; the last is `by`.
    ends: Vec<i64>,
    /// Comparisons that are the same for a whole piece, with where they hold.
    decided: Vec<(NodeId, Below)>,
}

/// Where a comparison holds: where the remainder is below a number, or where it is not.
#[derive(Clone, Copy, Debug)]
struct Below {
    end: i64,
    holds: bool,
}

impl Strip {
    /// Whether where strips begin is known inside the loops over some dimensions.
    pub(super) fn begins_inside(&self, dims: &[usize]) -> bool {
        let known = |(atom, _): &(Atom, i64)| match atom {
            Atom::Coord(Coord::Global(dim)) => dims.contains(&(*dim as usize)),
            Atom::Coord(_) | Atom::Floor(_) | Atom::Node(_) => false,
        };
        self.shift.terms.iter().all(known)
    }
}

/// A piece of a strip that is being lowered.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    floor: u32,
    quotient: ValueId,
    /// The remainder as a form, and where it lies: from the first to below the second.
    remainder: Linear,
    range: (i64, i64),
}

/// How the loops over a box are cut, by dimension.
pub(super) fn strips(body: &Body, access: &TensorAccess, dims: &[Interval]) -> Vec<Option<Strip>> {
    let strip = |dim| strip(body, access, divided(access, dim, dims)?, dim as u32);
    let mut strips: Vec<Option<Strip>> = (0..dims.len()).map(strip).collect();
    // Outside of rows a quotient is computed once per row: only conditions are worth a loop.
    let (row, outer) = match strips.split_last_mut() {
        Some(split) => split,
        None => return strips,
    };
    outer.iter_mut().for_each(|strip| _ = strip.take_if(|strip| strip.ends.len() == 1));
    let pieces = |strip: &Option<Strip>| strip.as_ref().map_or(1, |strip| strip.ends.len());
    let all = outer.iter().map(pieces).product::<usize>() * pieces(row);
    if all > MOST_PIECES || all * body.len() > MOST_NODES {
        strips.fill(None);
    }
    strips
}

/// The one floor division of a coordinate by a large number, or, without any, that of the coordinate of a row moved by others,
/// where something is read.
fn divided(access: &TensorAccess, dim: usize, dims: &[Interval]) -> Option<usize> {
    let coord = Atom::Coord(Coord::Global(dim as u32));
    let large = |floor: &Floor| floor.by >= LEAST && floor.form.terms.contains(&(coord, 1));
    let large = (0..access.floors.len()).filter(|at| large(&access.floors[*at]));
    let (alone, moved): (Vec<usize>, Vec<usize>) =
        large.partition(|at| access.floors[*at].form.terms.len() == 1);
    let of = |at: &usize| Atom::Floor(*at as u32);
    let is_read = |at: &usize| {
        let mut forms = access.reads.iter().flat_map(|read| &read.map);
        forms.any(|form| form.terms.iter().any(|(atom, _)| *atom == of(at)))
    };
    let one = match (&alone[..], &moved[..]) {
        ([one], _) => *one,
        ([], [one]) if dim + 1 == dims.len() && is_read(one) => *one,
        _ => return None,
    };
    let form = &access.floors[one].form;
    form.terms
        .iter()
        .try_fold(form.offset.abs(), |sum, term| sum.checked_add(reach(*term, coord, dims)?))
        .filter(|sum| *sum < FAR)?;
    Some(one)
}

/// How far a term moves what is divided, nothing for the coordinate itself; `None` if that has no end.
fn reach((atom, factor): (Atom, i64), own: Atom, dims: &[Interval]) -> Option<i64> {
    match atom {
        _ if atom == own => Some(0),
        Atom::Coord(Coord::Global(dim)) => {
            let range = dims.get(dim as usize).filter(|range| range.is_bounded())?;
            let far = range.first().abs().max(range.last().abs());
            factor.abs().checked_mul(far)
        }
        Atom::Coord(_) | Atom::Floor(_) | Atom::Node(_) => None,
    }
}

/// How the loop over one dimension is cut, if everything divides its coordinate alike.
fn strip(body: &Body, access: &TensorAccess, floor: usize, dim: u32) -> Option<Strip> {
    let coord = Atom::Coord(Coord::Global(dim));
    let Floor { form, by } = &access.floors[floor];
    let (floor, shift, by) = (floor as u32, form.plus(-1, &Linear::atom(coord))?, *by);
    let remainder = remainder(form, floor, by)?;
    let decided: Vec<(NodeId, Below)> = body
        .nodes()
        .filter_map(|(id, node)| match node.op {
            body::Op::Binary(function, a, b) => {
                Some((id, below(access, &remainder, function, [a, b], body)?))
            }
            _ => None,
        })
        .collect();
    let inner = decided.iter().map(|(_, below)| below.end).filter(|end| (1..by).contains(end));
    let mut ends: Vec<i64> = inner.chain([by]).collect();
    ends.sort_unstable();
    ends.dedup();
    Some(Strip { floor, shift, by, remainder, ends, decided })
}

/// What is left of what is divided.
fn remainder(form: &Linear, floor: u32, by: i64) -> Option<Linear> {
    form.plus(-by, &Linear::atom(Atom::Floor(floor)))
}

/// Where a comparison of the remainder with a number holds; `None` for all others.
fn below(
    access: &TensorAccess,
    remainder: &Linear,
    function: BinaryFn,
    sides: [NodeId; 2],
    body: &Body,
) -> Option<Below> {
    let whole = |id: NodeId| access.forms.get(&id).filter(|_| body.ty(id) == Ty::Strong(Element::I64));
    let [a, b] = [whole(sides[0])?, whole(sides[1])?];
    // Neither side wraps: each is the coordinate, a multiple of the quotient and a number, or part of that.
    let near = |form: &Linear| {
        let own = |(atom, factor): &(Atom, i64)| {
            remainder.terms.iter().any(|(known, by)| known == atom && by.abs() == factor.abs())
        };
        form.offset.abs() < FAR && form.terms.iter().all(own)
    };
    if !near(a) || !near(b) {
        return None;
    }
    let difference = a.plus(-1, b)?;
    let up = difference.plus(-1, remainder).filter(|rest| rest.terms.is_empty());
    let down = difference.plus(1, remainder).filter(|rest| rest.terms.is_empty());
    // `remainder + by < 0` holds below -by; turned around, `by - remainder < 0` does not hold up to `by`.
    let (by, turned) = up.map(|rest| (rest.offset, false)).or(down.map(|rest| (rest.offset, true)))?;
    let (end, holds) = match (function, turned) {
        (BinaryFn::Lt, false) => (-by, true),
        (BinaryFn::Le, false) => (1 - by, true),
        (BinaryFn::Gt, false) => (1 - by, false),
        (BinaryFn::Ge, false) => (-by, false),
        (BinaryFn::Lt, true) => (by + 1, false),
        (BinaryFn::Le, true) => (by, false),
        (BinaryFn::Gt, true) => (by, true),
        (BinaryFn::Ge, true) => (by + 1, true),
        _ => return None,
    };
    Some(Below { end, holds })
}

impl Lowerer<'_> {
    /// The loops over the strips of a box along a dimension, and what is inside.
    pub(super) fn in_strips(&mut self, job: &Job<'_>, place: usize, strip: &Strip) {
        let dim = self.order[place];
        let (lo, hi) = self.bounds(job.target.dims.len(), dim);
        let by = self.builder.int(strip.by);
        let shift = self.terms(&job.source, &strip.shift, &Bound::new());
        let shift = self.sum(shift);
        let [first, last] = [lo, hi].map(|end| self.builder.binary(BinaryFn::Add, end, shift));
        let up = self.builder.int(strip.by - 1);
        let last = self.builder.binary(BinaryFn::Add, last, up);
        let [first, end] = [first, last].map(|end| self.builder.binary(BinaryFn::FloorDiv, end, by));
        let (open, _) = self.builder.open_loop(LoopKind::Serial, first, end, &[]);
        self.scopes.push(HashMap::new());
        let start = self.builder.binary(BinaryFn::Mul, open.var, by);
        let start = self.builder.binary(BinaryFn::Sub, start, shift);
        let mut from = 0;
        for end in &strip.ends {
            let ends = [from, *end].map(|by| {
                let by = self.builder.int(by);
                self.builder.binary(BinaryFn::Add, start, by)
            });
            let piece = Piece {
                floor: strip.floor,
                quotient: open.var,
                remainder: strip.remainder.clone(),
                range: (from, *end),
            };
            self.piece(job, place, (strip, piece), (lo, hi), ends);
            from = *end;
        }
        self.scopes.pop();
        self.builder.close_loop(open, &[]);
    }

    /// The loop over a piece of a strip.
    fn piece(
        &mut self,
        job: &Job<'_>,
        place: usize,
        (strip, piece): (&Strip, Piece),
        (lo, hi): (ValueId, ValueId),
        [start, end]: [ValueId; 2],
    ) {
        let lo = self.builder.binary(BinaryFn::Max, start, lo);
        let hi = self.builder.binary(BinaryFn::Min, end, hi);
        let hi = self.builder.binary(BinaryFn::Max, hi, lo);
        let (outer, settled) = (self.settled.len(), (self.arms, self.base));
        let (from, _) = piece.range;
        self.pieces.push(piece);
        let open = self.open_box(place, (lo, hi));
        self.base = self.builder.depth();
        if strip.ends.len() > 1 {
            // A piece may be empty: what is read for it is read inside.
            self.arms = self.builder.depth();
        }
        for (condition, below) in &strip.decided {
            let holds = (from < below.end) == below.holds;
            let value = self.builder.number(Scalar::bool(holds));
            self.scopes.last_mut().expect("a loop is open").insert((*condition, Vec::new()), value);
            self.settled.push((*condition, holds));
        }
        self.inside(job, place + 1);
        self.close_box(open);
        self.settled.truncate(outer);
        (self.arms, self.base) = settled;
        self.pieces.pop();
    }

    /// The quotient that a floor is in the strip that is being lowered.
    pub(super) fn quotient(&self, floor: u32) -> Option<ValueId> {
        self.pieces.iter().find(|piece| piece.floor == floor).map(|piece| piece.quotient)
    }

    /// The value of a division whose quotient is that of a strip.
    pub(super) fn divided(&mut self, source: &Source<'_>, id: NodeId, bound: &Bound) -> Option<ValueId> {
        if self.pieces.is_empty() || source.body.ty(id) != Ty::Strong(Element::I64) {
            return None;
        }
        let form = source.access?.forms.get(&id)?;
        let known = |(atom, _): &(Atom, i64)| match atom {
            Atom::Floor(floor) => self.quotient(*floor).is_some(),
            Atom::Coord(_) => true,
            Atom::Node(_) => false,
        };
        if !form.terms.iter().all(known) {
            return None;
        }
        let terms = self.terms(source, form, bound);
        Some(self.sum(terms))
    }

    /// Whether a coordinate lies in `0..len` wherever the piece that is being lowered does.
    pub(super) fn stays_in(&self, source: &Source<'_>, coord: NodeId, len: usize) -> bool {
        let Some(form) = source.access.and_then(|access| access.forms.get(&coord)) else { return false };
        self.pieces.iter().any(|piece| {
            let rest = form.plus(-1, &piece.remainder).filter(|rest| rest.terms.is_empty());
            rest.is_some_and(|rest| {
                let (first, end) = piece.range;
                first.saturating_add(rest.offset) >= 0 && end.saturating_add(rest.offset) <= len as i64
            })
        })
    }
}
