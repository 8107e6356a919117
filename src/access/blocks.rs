//! Forms with floor divisions by quotient and remainder: exact for divisors of any size, and for remainders of
//! remainders.
//!
//! ```text
//! x - ⌊(x % 5000) / 2⌋  with x in 0..12000
//!     x = 5000·a + r      5000·a + r - ⌊r / 2⌋
//!     r = 2·b + s         5000·a + b + s             a in 0..2, b in 0..2500, s in 0..2, then a = 2, b in 0..1000
//! ```
//!
//! What is divided becomes a variable of its own, `by · quotient + remainder`; where other parts of the form go on to
//! refer to what it was made of, they count as independent, which makes the result wider, never narrower.

use super::bounds::Known;
use super::linear::{Atom, Floor, Linear};
use crate::graph::body::Coord;
use crate::index::Interval;
use crate::index::interval::{ceil_div, floor_div, floor_rem};
use std::collections::BTreeSet;

/// Each division is looked at in three pieces, so that more of them take too long.
const MAX_DIVISIONS: usize = 4;

/// What forms are linear in while they are taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// Entry of [`Problem::ranges`].
    Variable(usize),
    /// Entry of [`Problem::divisions`].
    Division(usize),
}

/// `⌊inside / by⌋`
#[derive(Clone, Debug)]
struct Division {
    inside: Linear<Part>,
    by: i64,
    /// What conditions say about `inside`.
    values: Interval,
}

/// A form that is being taken apart.
#[derive(Clone, Debug)]
struct Problem {
    form: Linear<Part>,
    /// What a division divides refers to earlier ones only.
    divisions: Vec<Division>,
    /// Where the variables lie.
    ranges: Vec<Interval>,
}

/// A form that one coordinate moves: `stride · ⌊coord / per⌋ + range`.
pub struct Moved {
    /// A global coordinate or a window number.
    pub coord: Coord,
    /// At least 2.
    pub per: i64,
    /// Not 0.
    pub stride: i64,
    /// Everything else.
    pub range: Interval,
}

/// The values of a form; `None` without floor divisions, with too many, or where they cannot be taken apart.
pub fn block_bound(form: &Linear, floors: &[Floor], known: Known<'_>) -> Option<Interval> {
    let (problem, _) = problem(form, floors, known)?;
    solve(problem)
}

/// The coordinate that moves a form, if one alone does, and by blocks.
pub fn moved_by_block(form: &Linear, floors: &[Floor], known: Known<'_>) -> Option<Moved> {
    let (mut problem, atoms) = problem(form, floors, known)?;
    let mover = |part: Part| match part {
        Part::Variable(at) => match atoms[at] {
            Atom::Coord(coord @ (Coord::Global(_) | Coord::Window(_))) => Some(coord),
            Atom::Coord(Coord::Local(_) | Coord::Bound(_)) | Atom::Floor(_) | Atom::Node(_) => None,
        },
        Part::Division(_) => None,
    };
    if atoms.iter().enumerate().filter(|(at, _)| mover(Part::Variable(*at)).is_some()).count() != 1 {
        return None;
    }
    let outer =
        |at: &usize| matches!(problem.divisions[*at].inside.terms[..], [(part, 1)] if mover(part).is_some());
    let at = (0..problem.divisions.len()).filter(outer).max_by_key(|at| problem.divisions[*at].by)?;
    let Division { inside, by, .. } = problem.divisions[at].clone();
    let (coord, quotient) = (mover(inside.terms[0].0)?, problem.divide(at)?);
    // ⌊(x + c) / by⌋ is ⌊x / by⌋ + ⌊c / by⌋, or one more.
    let least = floor_div(inside.offset, by);
    let more = 1 + i64::from(floor_rem(inside.offset, by) != 0);
    problem.ranges.extend([Interval::sized(least, more).ok()?, Interval::new(0, by).ok()?]);
    for division in 0..problem.divisions.len() {
        problem.take_out(division)?;
    }
    let live = problem.live();
    let still_inside = live.iter().any(|at| problem.divisions[*at].inside.factor(quotient) != 0);
    let stride = problem.form.factor(quotient);
    if still_inside || stride == 0 {
        return None;
    }
    Some(Moved { coord, per: by, stride, range: solve(problem)? })
}

/// The form with numbered variables and divisions, and the atoms that the variables stand for.
fn problem(form: &Linear, floors: &[Floor], known: Known<'_>) -> Option<(Problem, Vec<Atom>)> {
    let used: Vec<u32> = used_floors(form, floors).into_iter().collect();
    if used.is_empty() || used.len() > MAX_DIVISIONS {
        return None;
    }
    let mut atoms = Vec::new();
    let mut numbered = |form: &Linear| {
        let part = |(atom, factor): &(Atom, i64)| match atom {
            Atom::Floor(number) => Some((Part::Division(used.binary_search(number).ok()?), *factor)),
            Atom::Coord(_) | Atom::Node(_) => {
                let at = atoms.iter().position(|known| known == atom).unwrap_or_else(|| {
                    atoms.push(*atom);
                    atoms.len() - 1
                });
                Some((Part::Variable(at), *factor))
            }
        };
        let mut terms = form.terms.iter().map(part).collect::<Option<Vec<_>>>()?;
        terms.sort_unstable();
        Some(Linear { offset: form.offset, terms })
    };
    let form = numbered(form)?;
    let mut divisions = Vec::new();
    for Floor { form, by } in used.iter().map(|number| &floors[*number as usize]) {
        let values = known.form(form).unwrap_or(Interval::all());
        divisions.push(Division { inside: numbered(form)?, by: *by, values });
    }
    let ranges = atoms.iter().map(|atom| (known.atom)(*atom)).collect();
    Some((Problem { form, divisions, ranges }, atoms))
}

/// The floor divisions in a form, those inside others included.
fn used_floors(form: &Linear, floors: &[Floor]) -> BTreeSet<u32> {
    let mut used = BTreeSet::new();
    let mut queue = vec![form];
    while let Some(form) = queue.pop() {
        for (atom, _) in &form.terms {
            if let Atom::Floor(number) = atom
                && used.insert(*number)
            {
                queue.push(&floors[*number as usize].form);
            }
        }
    }
    used
}

/// The values of the form: its divisions are taken apart one by one, the innermost first.
fn solve(mut problem: Problem) -> Option<Interval> {
    let innermost = |at: &usize| {
        let inside = &problem.divisions[*at].inside;
        inside.terms.iter().all(|(part, _)| matches!(part, Part::Variable(_)))
    };
    let next = problem.live().into_iter().filter(innermost).max_by_key(|at| problem.divisions[*at].by);
    let Some(at) = next else { return problem.sum(&problem.form) };
    problem.take_out(at)?;
    let Division { inside, by, values } = &problem.divisions[at];
    let (by, known) = (*by, problem.sum(inside)?);
    let values = known.intersect(*values);
    if values.is_empty() {
        return Some(Interval::EMPTY);
    }
    // What conditions say besides is kept by the remainder.
    if let Some(step) = values.floor_div(by).single().filter(|_| values == known) {
        problem.replace(at, &Linear::constant(step))?;
        return solve(problem);
    }
    problem.divide(at)?;
    let mut hull = Interval::EMPTY;
    for (quotient, remainder) in pieces(values, by)? {
        let mut piece = problem.clone();
        piece.ranges.extend([quotient, remainder]);
        let found = solve(piece)?;
        hull = if hull.is_empty() { found } else { hull.hull(found) };
    }
    Some(hull)
}

/// The quotients and remainders of `values`: those of the first block, of the last one, and of all between.
fn pieces(values: Interval, by: i64) -> Option<Vec<(Interval, Interval)>> {
    let first = values.lower().map(|lo| floor_div(lo, by));
    let end = values.upper().map(|hi| ceil_div(hi, by));
    let block = |q: i64| {
        let start = q.checked_mul(by)?;
        let remainder =
            values.intersect(Interval::sized(start, by).ok()?).shift(start.checked_neg()?).ok()?;
        Some((Interval::point(q).ok()?, remainder))
    };
    let mut pieces = Vec::new();
    if let Some(q) = first {
        pieces.push(block(q)?);
    }
    if let Some(q) = end.filter(|end| first.is_none_or(|first| first + 1 < *end)) {
        pieces.push(block(q - 1)?);
    }
    let (first, end) = (first.map(|q| q + 1), end.map(|q| q - 1));
    if first.zip(end).is_none_or(|(first, end)| first < end) {
        pieces.push((Interval::bounds(first, end).ok()?, Interval::new(0, by).ok()?));
    }
    Some(pieces)
}

impl Problem {
    /// The divisions that the form still depends on.
    fn live(&self) -> BTreeSet<usize> {
        let mut live = BTreeSet::new();
        let mut queue = vec![&self.form];
        while let Some(form) = queue.pop() {
            for (part, _) in &form.terms {
                if let Part::Division(at) = part
                    && live.insert(*at)
                {
                    queue.push(&self.divisions[*at].inside);
                }
            }
        }
        live
    }

    /// The values of a form without divisions.
    fn sum(&self, form: &Linear<Part>) -> Option<Interval> {
        let mut sum = Interval::point(form.offset).ok()?;
        for (part, factor) in &form.terms {
            let Part::Variable(at) = part else { return None };
            if self.ranges[*at].is_empty() {
                return Some(Interval::EMPTY);
            }
            sum = sum.add(self.ranges[*at].scale(*factor).ok()?).ok()?;
        }
        Some(sum)
    }

    /// The form, and what the divisions divide.
    fn forms(&mut self) -> impl Iterator<Item = &mut Linear<Part>> {
        std::iter::once(&mut self.form).chain(self.divisions.iter_mut().map(|division| &mut division.inside))
    }

    /// Puts `value` where a division was.
    fn replace(&mut self, at: usize, value: &Linear<Part>) -> Option<()> {
        for form in self.forms() {
            let times = form.factor(Part::Division(at));
            *form = form.plus(times.checked_neg()?, &Linear::atom(Part::Division(at)))?.plus(times, value)?;
        }
        Some(())
    }

    /// Takes what divides evenly out of a division.
    fn take_out(&mut self, at: usize) -> Option<()> {
        let Division { inside, by, values } = &mut self.divisions[at];
        let (even, rest): (Vec<_>, Vec<_>) = inside.terms.iter().partition(|(_, factor)| factor % *by == 0);
        if even.is_empty() {
            return Some(());
        }
        inside.terms = rest;
        *values = Interval::all();
        let terms = even.into_iter().map(|(part, factor)| (part, factor / *by)).collect();
        let whole = Linear { offset: 0, terms }.plus(1, &Linear::atom(Part::Division(at)))?;
        self.replace(at, &whole)
    }

    /// Makes what a division divides `by · quotient + remainder`, two new variables whose ranges are to follow; the
    /// division is its quotient then.
    fn divide(&mut self, at: usize) -> Option<Part> {
        let (quotient, remainder) =
            (Part::Variable(self.ranges.len()), Part::Variable(self.ranges.len() + 1));
        let Division { inside, by, .. } = self.divisions[at].clone();
        let (pivot, step) = self.pivot(at, &inside)?;
        let terms = vec![(quotient, by), (remainder, 1)];
        let difference = Linear { offset: 0, terms }.plus(-1, &inside)?;
        for form in self.forms() {
            *form = form.plus(form.factor(pivot) / step, &difference)?;
        }
        self.replace(at, &Linear::atom(quotient))?;
        Some(quotient)
    }

    /// A variable that can be told from what is divided, wherever else it stands.
    fn pivot(&mut self, at: usize, inside: &Linear<Part>) -> Option<(Part, i64)> {
        let live: BTreeSet<usize> = self.live();
        let others = live.iter().filter(|other| **other != at).map(|other| &self.divisions[*other].inside);
        let forms: Vec<&Linear<Part>> = others.chain([&self.form]).collect();
        let fits = |(part, step): &&(Part, i64)| forms.iter().all(|form| form.factor(*part) % step == 0);
        inside.terms.iter().filter(fits).min_by_key(|(_, step)| step.unsigned_abs()).copied()
    }
}
