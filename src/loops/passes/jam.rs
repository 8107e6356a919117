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
mod groups;
mod nests;
mod tall;

pub use choice::{Choice, Work};

use self::choice::work;
use self::nests::{Nest, are_strips, goes_across, jammable};
use super::simplify::{Simplifier, Values};
use crate::access::order::Planes;
use crate::graph::scalar::BinaryFn;
use crate::loops::ir::{Block, For, If, Kernel, LoopKind, Statement, ValueId};

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

    pub(super) fn kernel(body: &str) -> Kernel {
        let lines: String = body.lines().map(|line| format!("    {line}\n")).collect();
        parse(&format!("{HEAD}{lines}")).expect("parses")
    }

    /// Rows of 8 elements, one more of the input.
    #[track_caller]
    pub(super) fn agree(before: &Kernel, after: &Kernel) {
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
    pub(super) fn check(body: &str, expect: &str) {
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
