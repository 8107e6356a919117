//! Jams rows: a few rows of the output are computed together, and what they share is computed once.
//!
//! ```text
//! for y in lo..hi                     for j in 0..(hi - lo) // 4
//!   row x in a..b                       row x in a..b
//!     load b0 at row y - 1                load b0 at rows 4 * j + lo - 1 to 4 * j + lo + 4     6 loads instead of 12
//!     load b0 at row y                    …
//!     load b0 at row y + 1                store b1 at rows 4 * j + lo to 4 * j + lo + 3
//!     store b1 at row y               for y in lo + 4 * ((hi - lo) // 4)..hi                   what is left, as before
//! ```
//!
//! Nothing has to be searched for: `simplify` writes the row's number as `base + 0`, `base + 1`, …, constants come last, and
//! the builder finds equal values. Loops and choices inside the row are merged if they go the same way in all its copies.
//!
//! A row that reads across the rows of a source (`b[y, x] = a[x, y]`) is jammed in blocks of 16, whose loads lie side by
//! side in memory.
//!
//! Rows that divide their own coordinate may be made once more for groups in which all quotients are alike ([`alike`]), and
//! for two such groups together ([`tall`]).
//!
//! Of the three rows that [`split`](super::split) makes the middle is jammed, the ends get a loop of their own.
//!
//! Steps of a loop around a row are independent of each other, by the last promise of [`verify`](crate::loops::verify):
//! none writes what another one touches. Rings keep it as well: a call writes no more rows than a ring holds, since a
//! ring is as large as the most rows that a band holds of it, and what a band computes is part of that.

mod alike;
mod choice;
mod tall;

pub use choice::{Choice, Work};

use self::choice::work;
use super::simplify::{Simplifier, Values};
use crate::access::order::Planes;
use crate::graph::scalar::BinaryFn;
use crate::loops::ir::{Block, For, If, Kernel, LoopKind, Op, Statement, ValueId};
use crate::loops::vary::growth;
use std::collections::BTreeSet;

/// Bodies of more operations than this are not made: code has to fit its cache, and to be compiled.
const LARGEST: usize = 2_000;

/// Rows that read a source across are made in blocks of so many, which is a line of the cache or more.
pub const BLOCK: usize = 16;

/// Planes that are made together, and which arguments have to have which values for that.
#[derive(Clone, Debug)]
pub struct Together {
    /// Which planes.
    pub planes: Planes,
    /// Numbers of arguments, with what they are known to be in that code.
    pub given: Vec<(usize, i64)>,
}

/// The kernel with its rows jammed where that pays, and what was chosen.
///
/// Four rows are the norm: fewer share less, more need registers that are not there. Two are taken where four would be too
/// much code. At least a tenth of the work has to go, or the rows stay apart.
///
/// Rows that go across the rows of a source which the loop around them goes along (`b[y, x] = a[x, y]`) are made in
/// blocks: what they load lies side by side.
///
/// Where the loop around the row goes through planes, it is their rows that are made together, all of them.
pub fn jam(kernel: &Kernel, together: Option<&Together>) -> (Kernel, Choice) {
    let (single, one) = jammed(kernel, 1);
    let choice =
        |rows: usize, jammed: Work| Choice { rows, apart: one.times(rows), jammed, ..Choice::default() };
    if let Some(together) = together {
        let count = together.planes.count;
        let mut jammer = Jammer { together: Some(together), ..Jammer::new(kernel, count) };
        jammer.outside(&kernel.body);
        if (1..=LARGEST).contains(&jammer.work.total()) {
            let choice = Choice { makes_planes: true, ..choice(count, jammer.work) };
            return (jammer.simplifier.builder.finish(), choice);
        }
    }
    if one.total() * BLOCK <= LARGEST && goes_across(kernel, &kernel.body) {
        let (kernel, work) = jammed(kernel, BLOCK);
        return (kernel, choice(BLOCK, work));
    }
    let pays =
        |rows: usize, work: Work| work.total() <= LARGEST && work.total() * 10 <= one.total() * rows * 9;
    let sizes = 1..=4 * LARGEST;
    let tried = [4, 2].into_iter().filter(|rows| sizes.contains(&(one.total() * rows)));
    let mut tried = tried.map(|rows| (rows, jammed(kernel, rows)));
    match tried.find(|(rows, (_, work))| pays(*rows, *work)) {
        Some((rows, (plain, work))) => {
            alike::alike(kernel, rows, [one, work]).unwrap_or((plain, choice(rows, work)))
        }
        None => (single, choice(1, one)),
    }
}

/// The kernel with that many rows jammed, and the work of a step along the jammed rows.
pub fn jammed(kernel: &Kernel, rows: usize) -> (Kernel, Work) {
    let mut jammer = Jammer::new(kernel, rows);
    jammer.outside(&kernel.body);
    (jammer.simplifier.builder.finish(), jammer.work)
}

struct Jammer<'k> {
    simplifier: Simplifier<'k>,
    rows: usize,
    /// They are those of all planes at one place.
    together: Option<&'k Together>,
    work: Work,
    /// The work of rows that divide alike; none if there is to be no code for them.
    alike: Option<Work>,
    /// The same for two groups that are done as one.
    tall: Option<Work>,
}

impl<'k> Jammer<'k> {
    fn new(kernel: &'k Kernel, rows: usize) -> Self {
        let (simplifier, work) = (Simplifier::new(kernel), Work::default());
        Jammer { simplifier, rows, together: None, work, alike: None, tall: None }
    }
}

impl Jammer<'_> {
    /// Statements outside of rows.
    fn outside(&mut self, block: &Block) {
        for statement in &block.statements {
            match statement {
                Statement::For(looped) if looped.kind == LoopKind::Serial => self.serial(looped),
                Statement::For(_) | Statement::If(_) | Statement::Let(_) | Statement::Store(..) => {
                    self.simplifier.statements(std::slice::from_ref(statement))
                }
            }
        }
    }

    fn serial(&mut self, looped: &For) {
        match jammable(self.simplifier.kernel, looped) {
            Some(nest) if self.rows > 1 => self.nest(&nest),
            Some(nest) => {
                let (lo, hi) = (self.simplifier.get(looped.lo), self.simplifier.get(looped.hi));
                let work = self.apart(&nest, (lo, hi), &nest.rows);
                self.work += work;
            }
            None if are_strips(self.simplifier.kernel, looped) => self.strips(looped),
            None => {
                let open = self.simplifier.open(looped);
                self.outside(&looped.body);
                self.simplifier.close(looped, open);
            }
        }
    }

    /// The loop over groups of rows, that over the rows that are left, and that over the ends of rows.
    fn nest(&mut self, nest: &Nest<'_>) {
        let (lo, hi) = (self.simplifier.get(nest.looped.lo), self.simplifier.get(nest.looped.hi));
        let groups = self.groups(lo, hi);
        let quotients = alike::quotients(self.simplifier.kernel, nest);
        let work = if self.tall.is_some() && !quotients.is_empty() {
            self.pairs(nest, lo, groups, &quotients)
        } else {
            let zero = self.simplifier.builder.int(0);
            let (open, _) = self.simplifier.open_loop(LoopKind::Serial, zero, groups, &[]);
            let outside = self.simplifier.values.clone();
            for (id, number) in self.together.map(|together| self.given(together)).unwrap_or_default() {
                let number = self.simplifier.builder.int(number);
                self.simplifier.set(id, number);
            }
            let base = self.base(nest, (lo, hi), open.var);
            let mut copies = self.copies(nest, base, self.rows);
            let work = self.group(nest, base, &mut copies);
            self.simplifier.values = outside;
            self.simplifier.close_loop(open, &[]);
            work
        };
        self.work += work;
        let rest = self.rest((lo, hi), groups);
        self.apart(nest, (rest, hi), &[nest.main]);
        let ends: Vec<&For> = nest.rows.iter().copied().filter(|row| row.var != nest.main.var).collect();
        if !ends.is_empty() {
            self.apart(nest, (lo, hi), &ends);
        }
    }

    /// Rows in strips: steps of the loop around them are done together, with the loops that are in it.
    fn strips(&mut self, looped: &For) {
        let (lo, hi) = (self.simplifier.get(looped.lo), self.simplifier.get(looped.hi));
        let alone = self.rows == 1 || self.rows == BLOCK;
        let mut rest = lo;
        if !alone {
            let groups = self.groups(lo, hi);
            let zero = self.simplifier.builder.int(0);
            let (open, _) = self.simplifier.open_loop(LoopKind::Serial, zero, groups, &[]);
            let base = self.after(lo, open.var);
            let work = self.steps(looped, base, self.rows);
            self.work += work;
            self.simplifier.close_loop(open, &[]);
            rest = self.rest((lo, hi), groups);
        }
        let (open, _) = self.simplifier.open_loop(LoopKind::Serial, rest, hi, &[]);
        let work = self.steps(looped, open.var, 1);
        self.simplifier.close_loop(open, &[]);
        if alone {
            self.work += work;
        }
    }

    /// A few steps of a loop, all loops inside done together; their work.
    fn steps(&mut self, looped: &For, base: ValueId, count: usize) -> Work {
        let mut copies = Vec::with_capacity(count);
        for at in 0..count {
            let at = self.simplifier.builder.int(at as i64);
            let mut values = self.simplifier.values.clone();
            values[looped.var.index()] = Some(self.simplifier.binary(BinaryFn::Add, base, at));
            copies.push(values);
        }
        self.inside(&looped.body.statements, &mut copies);
        work(&self.simplifier.builder, self.simplifier.builder.statements())
    }

    /// How many groups of rows `lo..hi` has: coordinates are so small that their difference does not wrap. Whole ones,
    /// but for blocks, the last of which lies over the one before it: it stores the same there once more.
    fn groups(&mut self, lo: ValueId, hi: ValueId) -> ValueId {
        if let Some(together) = self.together {
            return self.all_planes(together, lo, hi);
        }
        let length = self.simplifier.binary(BinaryFn::Sub, hi, lo);
        let zero = self.simplifier.builder.int(0);
        let shift = self.simplifier.builder.int(self.rows.trailing_zeros().into());
        if self.rows == BLOCK {
            let up = self.simplifier.builder.int(BLOCK as i64 - 1);
            let raised = self.simplifier.binary(BinaryFn::Add, length, up);
            let groups = self.simplifier.binary(BinaryFn::Shr, raised, shift);
            let few = self.are_few(lo, hi);
            return self.simplifier.builder.select(few, zero, groups);
        }
        let groups = self.simplifier.binary(BinaryFn::Shr, length, shift);
        self.simplifier.binary(BinaryFn::Max, groups, zero)
    }

    /// 1 if `lo..hi` are all planes and memory is as it has to be, else 0: for the rest there is no code that makes them
    /// together.
    fn all_planes(&mut self, together: &Together, lo: ValueId, hi: ValueId) -> ValueId {
        let Planes { first, count, .. } = together.planes;
        let ends = [(lo, first), (hi, first + count as i64)];
        let args = self.given(together);
        let args = args.into_iter().map(|(id, number)| (self.simplifier.get(id), number));
        let wanted: Vec<(ValueId, i64)> = ends.into_iter().chain(args).collect();
        let builder = &mut self.simplifier.builder;
        let [one, zero] = [1, 0].map(|number| builder.int(number));
        let mut all = one;
        for (value, number) in wanted {
            let number = builder.int(number);
            let same = builder.binary(BinaryFn::Eq, value, number);
            all = builder.select(same, all, zero);
        }
        all
    }

    /// The arguments that are known in the code for all planes, as far as the kernel uses them.
    fn given(&self, together: &Together) -> Vec<(ValueId, i64)> {
        let values = self.simplifier.kernel.values.iter().enumerate();
        let known = values.filter_map(|(id, value)| {
            let Op::Arg(at) = value.op else { return None };
            let (_, number) = together.given.iter().find(|(given, _)| *given == at as usize)?;
            Some((ValueId(id as u32), *number))
        });
        known.collect()
    }

    /// Whether `lo..hi` has fewer rows than a group.
    fn are_few(&mut self, lo: ValueId, hi: ValueId) -> ValueId {
        let length = self.simplifier.binary(BinaryFn::Sub, hi, lo);
        let rows = self.simplifier.builder.int(self.rows as i64);
        self.simplifier.builder.binary(BinaryFn::Lt, length, rows)
    }

    /// The first row of a group of `lo..hi`. Blocks go up through their source, which is what processors foresee: from
    /// the last one to the first where rows go down it.
    fn base(&mut self, nest: &Nest<'_>, (lo, hi): (ValueId, ValueId), group: ValueId) -> ValueId {
        if let Some(together) = self.together {
            return self.simplifier.builder.int(together.planes.first);
        }
        if self.rows != BLOCK {
            return self.after(lo, group);
        }
        let rows = self.simplifier.builder.int(self.rows as i64);
        let last = self.simplifier.binary(BinaryFn::Sub, hi, rows);
        if across(self.simplifier.kernel, nest) == Some(Way::Down) {
            let moved = self.simplifier.binary(BinaryFn::Mul, group, rows);
            let base = self.simplifier.binary(BinaryFn::Sub, last, moved);
            return self.simplifier.binary(BinaryFn::Max, base, lo);
        }
        let base = self.after(lo, group);
        self.simplifier.binary(BinaryFn::Min, base, last)
    }

    /// The first row of `lo..hi` that is in no group.
    fn rest(&mut self, (lo, hi): (ValueId, ValueId), groups: ValueId) -> ValueId {
        if self.rows != BLOCK {
            return self.after(lo, groups);
        }
        let few = self.are_few(lo, hi);
        self.simplifier.builder.select(few, lo, hi)
    }

    /// The row after that many groups.
    fn after(&mut self, lo: ValueId, groups: ValueId) -> ValueId {
        let rows = self.simplifier.builder.int(self.rows as i64);
        let moved = self.simplifier.binary(BinaryFn::Mul, groups, rows);
        self.simplifier.binary(BinaryFn::Add, lo, moved)
    }

    /// The values outside of rows, for row `base + at`; some are `known`, an old one and its new one each.
    fn uniform(&mut self, nest: &Nest<'_>, base: ValueId, at: usize, known: &[(ValueId, ValueId)]) -> Values {
        let outer = self.simplifier.values.clone();
        let at = self.simplifier.builder.int(at as i64);
        let place = self.simplifier.binary(BinaryFn::Add, base, at);
        self.simplifier.set(nest.looped.var, place);
        for statement in &nest.looped.body.statements {
            let Statement::Let(id) = statement else { continue };
            match known.iter().find(|(old, _)| old == id) {
                Some((old, new)) => self.simplifier.set(*old, *new),
                None => self.simplifier.statements(std::slice::from_ref(statement)),
            }
        }
        std::mem::replace(&mut self.simplifier.values, outer)
    }

    /// Some of the rows, one step of the loop around them after the other; the work of the one that could be jammed.
    fn apart(&mut self, nest: &Nest<'_>, (lo, hi): (ValueId, ValueId), rows: &[&For]) -> Work {
        let (open, _) = self.simplifier.open_loop(LoopKind::Serial, lo, hi, &[]);
        let mut copies = [self.uniform(nest, open.var, 0, &[])];
        let mut work = Work::default();
        for row in rows {
            let own = self.row(row, &mut copies);
            work = if row.var == nest.main.var { own } else { work };
        }
        self.simplifier.close_loop(open, &[]);
        work
    }

    /// One row that does the work of all copies.
    fn row(&mut self, row: &For, copies: &mut [Values]) -> Work {
        let (lo, hi) = (new(&copies[0], row.lo), new(&copies[0], row.hi));
        let (open, _) = self.simplifier.open_loop(LoopKind::Row, lo, hi, &[]);
        copies.iter_mut().for_each(|copy| copy[row.var.index()] = Some(open.var));
        self.inside(&row.body.statements, copies);
        let work = work(&self.simplifier.builder, self.simplifier.builder.statements());
        self.simplifier.close_loop(open, &[]);
        work
    }

    /// Statements of a row: straight-line code copy by copy, loops and choices together.
    fn inside(&mut self, mut statements: &[Statement], copies: &mut [Values]) {
        let is_plain = |statement: &&Statement| matches!(statement, Statement::Let(_) | Statement::Store(..));
        while !statements.is_empty() {
            let plain = statements.iter().take_while(is_plain).count();
            self.each(copies, |simplifier| simplifier.statements(&statements[..plain]));
            statements = &statements[plain..];
            match statements.first() {
                Some(Statement::For(looped)) => self.looped(looped, copies),
                Some(Statement::If(choice)) => self.choice(choice, copies),
                Some(Statement::Let(_) | Statement::Store(..)) | None => continue,
            }
            statements = &statements[1..];
        }
    }

    fn each(&mut self, copies: &mut [Values], mut act: impl FnMut(&mut Simplifier<'_>)) {
        for copy in copies {
            std::mem::swap(copy, &mut self.simplifier.values);
            act(&mut self.simplifier);
            std::mem::swap(copy, &mut self.simplifier.values);
        }
    }

    /// A loop inside the row, which carries the values of all copies.
    fn looped(&mut self, looped: &For, copies: &mut [Values]) {
        if !agree(copies, looped.lo) || !agree(copies, looped.hi) {
            return self.each(copies, |simplifier| simplifier.looped(looped));
        }
        let (lo, hi) = (new(&copies[0], looped.lo), new(&copies[0], looped.hi));
        let carries = &looped.carried;
        let inits = all(copies, carries.iter().map(|carry| carry.init));
        let (open, carried) = self.simplifier.open_loop(looped.kind, lo, hi, &inits);
        copies.iter_mut().for_each(|copy| copy[looped.var.index()] = Some(open.var));
        give(copies, carries.iter().map(|carry| carry.carried), carried);
        self.inside(&looped.body.statements, copies);
        let next = all(copies, carries.iter().map(|carry| carry.next));
        let results = self.simplifier.close_loop(open, &next);
        give(copies, carries.iter().map(|carry| carry.result), results);
    }

    /// A choice inside the row, which gives the values of all copies.
    fn choice(&mut self, choice: &If, copies: &mut [Values]) {
        if !agree(copies, choice.condition) {
            return self.each(copies, |simplifier| simplifier.choice(choice));
        }
        let condition = new(&copies[0], choice.condition);
        let then = self.arm(&choice.then, choice.results.iter().map(|(_, a, _)| *a), copies);
        let otherwise = self.arm(&choice.otherwise, choice.results.iter().map(|(_, _, b)| *b), copies);
        let results = self.simplifier.builder.choose(condition, then, otherwise);
        give(copies, choice.results.iter().map(|(result, _, _)| *result), results);
    }

    fn arm(
        &mut self,
        block: &Block,
        results: impl Iterator<Item = ValueId> + Clone,
        copies: &mut [Values],
    ) -> (Block, Vec<ValueId>) {
        self.simplifier.builder.open_block();
        self.inside(&block.statements, copies);
        (self.simplifier.builder.close_block(), all(copies, results))
    }
}

/// The new value of an old one.
fn new(copy: &Values, old: ValueId) -> ValueId {
    copy[old.index()].expect("verified: computed before its use")
}

/// Whether a value is the same in all copies.
fn agree(copies: &[Values], id: ValueId) -> bool {
    copies.iter().all(|copy| new(copy, id) == new(&copies[0], id))
}

/// The new values of some old ones, copy by copy.
fn all(copies: &[Values], ids: impl Iterator<Item = ValueId> + Clone) -> Vec<ValueId> {
    copies.iter().flat_map(|copy| ids.clone().map(|id| new(copy, id))).collect()
}

/// The other way round.
fn give(copies: &mut [Values], ids: impl Iterator<Item = ValueId> + Clone, values: Vec<ValueId>) {
    let mut values = values.into_iter();
    for copy in copies {
        ids.clone().zip(&mut values).for_each(|(id, value)| copy[id.index()] = Some(value));
    }
}

/// A loop around rows, with nothing else that matters in it.
struct Nest<'k> {
    looped: &'k For,
    rows: Vec<&'k For>,
    /// The one that is jammed.
    main: &'k For,
}

/// Whether the rows of a loop may be jammed: there is one, or one between its ends, over the same bounds in every step, and
/// every step stores elsewhere.
fn jammable<'k>(kernel: &Kernel, looped: &'k For) -> Option<Nest<'k>> {
    let (mut rows, mut moving) = (Vec::new(), BTreeSet::from([looped.var]));
    for statement in &looped.body.statements {
        match statement {
            Statement::Let(id) => follow(kernel, *id, &mut moving),
            Statement::For(row) if row.kind == LoopKind::Row => rows.push(&**row),
            Statement::For(_) | Statement::If(_) | Statement::Store(..) => return None,
        }
    }
    let main = match rows[..] {
        [only] => only,
        [first, middle, last] if first.hi == middle.lo && middle.hi == last.lo => middle,
        _ => return None,
    };
    let still = |id: ValueId| !moving.contains(&id);
    let sound = looped.carried.is_empty() && still(main.lo) && still(main.hi);
    (sound && stores_move(kernel, &main.body, moving)).then_some(Nest { looped, rows, main })
}

/// Whether a loop is around strips: loops with rows in them, over the same bounds in every step, that store elsewhere in
/// every step.
fn are_strips(kernel: &Kernel, looped: &For) -> bool {
    let mut moving = BTreeSet::from([looped.var]);
    let mut any = false;
    let sound = looped.body.statements.iter().all(|statement| match statement {
        Statement::Let(id) => {
            follow(kernel, *id, &mut moving);
            true
        }
        Statement::For(strip) => {
            any = true;
            let still = !moving.contains(&strip.lo) && !moving.contains(&strip.hi);
            strip.kind == LoopKind::Serial
                && strip.carried.is_empty()
                && still
                && are_pieces(kernel, strip, &moving)
        }
        Statement::If(_) | Statement::Store(..) => false,
    });
    any && sound && looped.carried.is_empty()
}

/// Whether there is nothing but rows in a strip, which it bounds itself on both sides, the same in every step of the loop
/// around it.
fn are_pieces(kernel: &Kernel, strip: &For, moving: &BTreeSet<ValueId>) -> bool {
    let (mut moving, mut own) = (moving.clone(), BTreeSet::from([strip.var]));
    strip.body.statements.iter().all(|statement| match statement {
        Statement::Let(id) => {
            follow(kernel, *id, &mut moving);
            follow(kernel, *id, &mut own);
            true
        }
        Statement::For(row) => {
            let still = !moving.contains(&row.lo) && !moving.contains(&row.hi);
            let cut = own.contains(&row.lo) && own.contains(&row.hi);
            row.kind == LoopKind::Row && still && cut && stores_move(kernel, &row.body, moving.clone())
        }
        Statement::If(_) | Statement::Store(..) => false,
    })
}

/// Whether there are rows that load across what the loop around them goes along.
fn goes_across(kernel: &Kernel, block: &Block) -> bool {
    block.statements.iter().any(|statement| match statement {
        Statement::For(looped) if looped.kind == LoopKind::Serial => match jammable(kernel, looped) {
            Some(nest) => across(kernel, &nest).is_some(),
            None => goes_across(kernel, &looped.body),
        },
        Statement::For(_) | Statement::If(_) | Statement::Let(_) | Statement::Store(..) => false,
    })
}

/// Which way rows that follow each other go through what they load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

/// Which way the first load goes that rows do across what the loop around them goes along, if there is one. Blocks of rows
/// may overlap only if nothing that is written is read.
fn across(kernel: &Kernel, nest: &Nest<'_>) -> Option<Way> {
    let [down, along] = [nest.looped.var, nest.main.var].map(|var| growth(kernel, var));
    let mut found = None;
    for statement in &nest.main.body.statements {
        match statement {
            Statement::Let(id) => {
                let Op::Load(buffer, offset) = kernel.value(*id).op else { continue };
                if kernel.buffers[buffer.index()].written {
                    return None;
                }
                let apart = along[offset.index()].is_none_or(|step| step.unsigned_abs() > 2);
                let way = match down[offset.index()] {
                    Some(1) if apart => Some(Way::Up),
                    Some(-1) if apart => Some(Way::Down),
                    _ => None,
                };
                found = found.or(way);
            }
            Statement::Store(..) => {}
            Statement::For(_) | Statement::If(_) => return None,
        }
    }
    found
}

fn follow(kernel: &Kernel, id: ValueId, moving: &mut BTreeSet<ValueId>) {
    if kernel.value(id).op.args().iter().any(|arg| moving.contains(arg)) {
        moving.insert(id);
    }
}

/// Whether a row stores at its own level only, at offsets that differ from step to step of the loop around it.
fn stores_move(kernel: &Kernel, body: &Block, mut moving: BTreeSet<ValueId>) -> bool {
    body.statements.iter().all(|statement| match statement {
        Statement::Let(id) => {
            follow(kernel, *id, &mut moving);
            true
        }
        Statement::Store(_, offset, _) => moving.contains(offset),
        Statement::For(looped) => no_stores(&looped.body),
        Statement::If(choice) => no_stores(&choice.then) && no_stores(&choice.otherwise),
    })
}

fn no_stores(block: &Block) -> bool {
    block.statements.iter().all(|statement| match statement {
        Statement::Let(_) => true,
        Statement::Store(..) => false,
        Statement::For(looped) => no_stores(&looped.body),
        Statement::If(choice) => no_stores(&choice.then) && no_stores(&choice.otherwise),
    })
}

#[cfg(test)]
mod tests {
    use super::{jam, jammed};
    use crate::loops::execute::execute;
    use crate::loops::ir::Kernel;
    use crate::loops::parse::parse;
    use crate::loops::passes::sweep::sweep;
    use crate::loops::verify::verify;

    const HEAD: &str = "kernel a(lo, hi, n)
  b0: f32 in
  b1: f32 out
  v0: i64 = arg 0
  v1: i64 = arg 1
  v2: i64 = arg 2
  v3: i64 = const 1
  v4: i64 = const 8
  for v5 in v0..v1
    v6: i64 = mul v5 v4
    v7: i64 = add v5 v3
    v8: i64 = mul v7 v4
";

    fn kernel(body: &str) -> Kernel {
        let lines: String = body.lines().map(|line| format!("    {line}\n")).collect();
        parse(&format!("{HEAD}{lines}")).expect("parses")
    }

    /// Rows of 8 elements, one more of the input.
    #[track_caller]
    fn agree(before: &Kernel, after: &Kernel) {
        verify(after).expect("keeps the laws");
        for (lo, hi) in [(0, 0), (0, 3), (0, 4), (0, 8), (0, 11), (1, 10), (3, 11), (5, 2)] {
            let run = |kernel: &Kernel| {
                let input: Vec<u8> =
                    (0..96u16).flat_map(|at| f32::from(at * 37 % 96).to_le_bytes()).collect();
                let mut buffers = vec![input, vec![7; 4 * 88]];
                execute(kernel, &[lo, hi, 8], &mut buffers).expect("stays inside");
                buffers.remove(1)
            };
            assert_eq!(run(before), run(after), "{lo}..{hi}:\n{after}");
        }
    }

    #[track_caller]
    fn check(body: &str, expect: &str) {
        let kernel = kernel(body);
        verify(&kernel).expect("keeps the laws");
        let (after, choice) = jam(&kernel, None);
        assert_eq!(choice.to_string(), expect);
        agree(&kernel, &sweep(after));
        for rows in [2, 4, 8] {
            agree(&kernel, &sweep(jammed(&kernel, rows).0));
        }
    }

    const SUM: &str = "row v9 in v10..v2
  v11: i64 = add v6 v9
  v12: f32 = load b0 v11
  v13: i64 = add v8 v9
  v14: f32 = load b0 v13
  v15: f32 = add v12 v14
  store b1 v11 v15
";

    #[test]
    fn rows_share_what_they_read() {
        let expect = "4 rows at a time: 5 loads instead of 8, 4 operations instead of 4";
        check(&format!("v10: i64 = const 0\n{SUM}"), expect);
    }

    #[test]
    fn rows_that_share_nothing_stay_apart() {
        let body = "v9: i64 = const 0\nrow v10 in v9..v2\n  v11: i64 = add v6 v10\n  v12: f32 = load b0 v11\n  store b1 v11 v12\n";
        check(body, "one row at a time: 1 loads, 0 operations");
    }

    /// The number of a row in a ring is found once per row, or once for all lanes: what rows go along decides, not that.
    #[test]
    fn masks_of_rings_are_nothing_to_share() {
        let body = "v9: i64 = const 0\nrow v10 in v9..v4\n  v11: i64 = and v10 v2\n  v12: i64 = add v6 v11\n  v13: f32 = load b0 v12\n  v14: i64 = add v6 v10\n  store b1 v14 v13\n";
        check(body, "one row at a time: 1 loads, 0 operations");
    }

    #[test]
    fn rows_of_different_bounds_stay_apart() {
        let kernel = kernel(&format!("v10: i64 = min v5 v2\n{SUM}"));
        assert_eq!(jammed(&kernel, 4).0, jammed(&kernel, 1).0);
        assert_eq!(jam(&kernel, None).1.rows, 1);
    }

    /// A cell of eight rows; what is made of its number is made once where four rows are in it.
    const CELLS: &str = "v9: i64 = const 0
v10: i64 = const 3
v11: i64 = shr v5 v10
v12: f32 = cast v11
v13: f32 = cast v5
row v14 in v9..v2
  v15: i64 = add v6 v14
  v16: f32 = load b0 v14
  v17: f32 = mul v16 v12
  v18: f32 = sqrt v17
  v19: f32 = mul v18 v18
  v20: f32 = sub v19 v16
  v21: f32 = fma v20 v13 v16
  store b1 v15 v21
";

    #[test]
    fn rows_of_a_cell_share_what_is_made_of_its_number() {
        let expect = "4 rows at a time: 1 loads instead of 4, 20 operations instead of 20, 8 where they divide alike, 12 where 8 rows do";
        check(CELLS, expect);
        let text = sweep(jam(&kernel(CELLS), None).0).to_string();
        let counts = (text.matches("row ").count(), text.matches("sqrt").count());
        assert_eq!(counts, (4, 1 + 1 + 4 + 1), "{text}");
    }

    /// A cell of which eight rows are asked for, of which four are left, and two of which none has four.
    #[test]
    fn two_groups_of_a_cell_go_together() {
        let kernel = kernel(CELLS);
        let (after, choice) = jam(&kernel, None);
        assert_eq!(choice.tall.map(|work| work.operations), Some(4 + 8));
        agree(&kernel, &after);
        let (four, _) = jammed(&kernel, 4);
        assert_eq!(four.to_string().matches("row ").count() + 2, after.to_string().matches("row ").count());
    }

    #[test]
    fn cells_of_few_rows_are_not_looked_for() {
        let small = CELLS.replace("const 3", "const 2");
        check(&small, "4 rows at a time: 1 loads instead of 4, 20 operations instead of 20");
    }

    #[test]
    fn rounding_down_makes_cells() {
        let body = "v9: i64 = const 0
v10: f32 = const 0.125
v11: f32 = cast v5
v12: f32 = mul v11 v10
v13: f32 = floor v12
v14: i64 = cast v13
v15: f32 = cast v14
row v16 in v9..v2
  v17: i64 = add v6 v16
  v18: f32 = load b0 v16
  v19: f32 = mul v18 v15
  v20: f32 = sqrt v19
  v21: f32 = fma v20 v11 v18
  store b1 v17 v21
";
        let expect = "4 rows at a time: 1 loads instead of 4, 12 operations instead of 12, 6 where they divide alike, 10 where 8 rows do";
        check(body, expect);
    }

    const STRIPS: &str = "v9: i64 = const 0
for v10 in v9..v3
  v11: i64 = mul v10 v4
  v12: i64 = min v11 v2
  v13: i64 = add v11 v4
  v14: i64 = min v13 v2
  row v15 in v12..v14
    v16: i64 = add v6 v15
    v17: f32 = load b0 v16
    v18: i64 = add v8 v15
    v19: f32 = load b0 v18
    v20: f32 = add v17 v19
    store b1 v16 v20
";

    #[test]
    fn rows_in_strips_go_together() {
        check(STRIPS, "4 rows at a time: 5 loads instead of 8, 6 operations instead of 12");
    }

    /// Not even where the loop cuts them on one side: then they are the ends and the middle of rows.
    #[test]
    fn loops_over_rows_are_no_strips() {
        for bounds in ["v9..v2", "v12..v2", "v9..v14"] {
            let kernel = kernel(&STRIPS.replace("v12..v14", bounds));
            assert_eq!(jammed(&kernel, 4).0, jammed(&kernel, 1).0);
        }
    }

    #[test]
    fn steps_that_store_to_one_place_stay_in_order() {
        let body = "v9: i64 = const 0\nrow v10 in v9..v2\n  v11: i64 = add v6 v10\n  v12: f32 = load b0 v11\n  store b1 v10 v12\n";
        let kernel = kernel(body);
        assert_eq!(jammed(&kernel, 4).0, jammed(&kernel, 1).0);
    }

    #[test]
    fn only_the_middle_is_jammed() {
        let row = |first: u32, bounds: &str| {
            let names = [9, 11, 12, 13, 14, 15].into_iter().zip(first..);
            let named = names.fold(SUM.to_owned(), |text, (old, new)| {
                text.replace(&format!("v{old}"), &format!("#{new}"))
            });
            named.replace("v10..v2", bounds).replace('#', "v")
        };
        let rows = [row(11, "v10..v3"), row(17, "v3..v9"), row(23, "v9..v2")].concat();
        let body = format!("v9: i64 = const 6\nv10: i64 = const 0\n{rows}");
        check(&body, "4 rows at a time: 5 loads instead of 8, 4 operations instead of 4");
        assert_eq!(sweep(jam(&kernel(&body), None).0).to_string().matches("row ").count(), 4);
    }

    #[test]
    fn loops_inside_go_together() {
        let body = "v9: i64 = const 0
v10: f32 = const 0
row v11 in v9..v2
  for v12 in v9..v2
    carry v13: f32 = v10
    v14: i64 = mul v12 v4
    v15: i64 = add v14 v11
    v16: f32 = load b0 v15
    v17: i64 = add v6 v12
    v18: f32 = load b0 v17
    v19: f32 = fma v16 v18 v13
    next v19 -> v20
  v21: i64 = add v6 v11
  store b1 v21 v20
";
        check(body, "4 rows at a time: 5 loads instead of 8, 4 operations instead of 4");
    }

    #[test]
    fn choices_go_together_if_they_choose_alike() {
        let body = "v9: i64 = const 0
v10: bool = lt v5 v3
v11: bool = lt v2 v3
row v12 in v9..v2
  v13: i64 = add v6 v12
  if v10
    v14: f32 = load b0 v12
  else
    v15: f32 = load b0 v13
  give v16: f32 = v14 else v15
  if v11
    v17: f32 = load b0 v12
  else
    v18: f32 = load b0 v12
    v19: f32 = neg v18
  give v20: f32 = v17 else v19
  v21: f32 = add v16 v20
  store b1 v13 v21
";
        check(body, "4 rows at a time: 10 loads instead of 16, 5 operations instead of 8");
    }
}
