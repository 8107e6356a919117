//! Stores of a row that lie apart from step to step, but side by side with each other.
//!
//! ```text
//! row q in 0..8
//!   store b1 at 2 * q      a0 a1 a2 a3        in memory: a0 b0 a1 b1 a2 b2 a3 b3 …
//!   store b1 at 2 * q + 1  b0 b1 b2 b3
//! ```
//!
//! That is how [`residues`](super::passes::residues) leaves a row. Back ends put the lanes in turn in registers, and store
//! whole registers.

use super::ir::{BufferId, For, Kernel, Statement, ValueId};
use super::passes::residues::LARGEST_PERIOD;
use super::vary::{growth, terms};
use std::collections::BTreeMap;

/// Stores that are done together, in the order of their addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Woven {
    /// Where to.
    pub buffer: BufferId,
    /// The offset of each; they differ by 1, and grow by their number from step to step.
    pub offsets: Vec<ValueId>,
    /// What is stored at each, once it is known.
    values: Vec<Option<ValueId>>,
}

impl Woven {
    /// Whether a store is one of them.
    pub fn has(&self, buffer: BufferId, offset: ValueId) -> bool {
        self.buffer == buffer && self.offsets.contains(&offset)
    }

    /// Adds what is stored at an offset; the last one gets them all.
    pub fn add(&mut self, offset: ValueId, value: ValueId) -> Option<Vec<ValueId>> {
        let at = self.offsets.iter().position(|own| *own == offset)?;
        self.values[at] = Some(value);
        self.values.iter().copied().collect()
    }
}

/// Stores by what their offsets have in common and how far they move, with the constant that sets them apart.
type Known = BTreeMap<(BufferId, i64, Vec<ValueId>), BTreeMap<i64, ValueId>>;

/// The stores of a row that fill the gaps between each other.
pub fn woven(kernel: &Kernel, row: &For) -> Vec<Woven> {
    let stores = row.body.statements.iter().filter_map(|statement| match statement {
        Statement::Store(buffer, offset, _) => Some((*buffer, *offset)),
        Statement::Let(_) | Statement::For(_) | Statement::If(_) => None,
    });
    let stores: Vec<(BufferId, ValueId)> = stores.collect();
    if stores.len() < 2 {
        return Vec::new();
    }
    let growth = growth(kernel, row.var);
    let mut known = Known::new();
    for (buffer, offset) in stores {
        let step = growth[offset.index()].filter(|step| (2..=LARGEST_PERIOD).contains(step));
        let Some((step, (terms, constant))) = step.zip(terms(kernel, offset)) else { continue };
        known.entry((buffer, step, terms)).or_default().insert(constant, offset);
    }
    known.into_iter().flat_map(|((buffer, step, _), stores)| whole(buffer, step as usize, stores)).collect()
}

/// Groups of as many neighbours as a step is long.
fn whole(buffer: BufferId, step: usize, stores: BTreeMap<i64, ValueId>) -> Vec<Woven> {
    let stores: Vec<(i64, ValueId)> = stores.into_iter().collect();
    let (mut rest, mut groups) = (&stores[..], Vec::new());
    while let Some((first, _)) = rest.first() {
        let follows = |(at, (constant, _)): &(usize, &(i64, ValueId))| *constant == first + *at as i64;
        let count = rest.iter().take(step).enumerate().take_while(follows).count();
        if count == step {
            let offsets = rest[..count].iter().map(|(_, offset)| *offset).collect();
            groups.push(Woven { buffer, offsets, values: vec![None; count] });
        }
        rest = &rest[count..];
    }
    groups
}

/// How the lanes of `of` registers of `count` are put in turn, in as many registers: for each of those, one order for
/// every register but the first. An order says for every lane which one of what there is comes there; those of the next
/// register are numbered from `count` on.
pub fn orders(of: usize, count: usize) -> Vec<Vec<Vec<usize>>> {
    let order = |first: usize, next: usize| {
        let lane = move |lane: usize| match ((first + lane) % of, (first + lane) / of) {
            (source, number) if source == next => count + number,
            (0, number) if next == 1 => number,
            // What is there already stays; what is still missing comes later.
            _ => lane,
        };
        (0..count).map(lane).collect()
    };
    (0..of).map(|register| (1..of).map(|next| order(register * count, next)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::{orders, woven};
    use crate::loops::ir::{LoopKind, Statement};
    use crate::loops::parse::parse;

    /// Puts the lanes of registers in turn as back ends do.
    fn put_in_turn(of: usize, count: usize) -> Vec<(usize, usize)> {
        let source = |register: usize| (0..count).map(move |lane| (register, lane)).collect::<Vec<_>>();
        let put = |orders: Vec<Vec<usize>>| {
            let mut lanes = source(0);
            for (at, order) in orders.into_iter().enumerate() {
                let both = [lanes, source(at + 1)].concat();
                lanes = order.into_iter().map(|lane| both[lane]).collect();
            }
            lanes
        };
        orders(of, count).into_iter().flat_map(put).collect()
    }

    #[test]
    fn lanes_are_put_in_turn() {
        for of in 2..=4 {
            for count in [2, 4, 8, 16] {
                let expected: Vec<(usize, usize)> = (0..of * count).map(|at| (at % of, at / of)).collect();
                assert_eq!(put_in_turn(of, count), expected, "{of} registers of {count}");
            }
        }
    }

    #[track_caller]
    fn check(stores: &str, expect: &[usize]) {
        let text = format!(
            "kernel a(n)
  b0: f32 in
  b1: f32 out
  v0: i64 = arg 0
  v1: i64 = const 1
  v2: i64 = const 2
  row v3 in v0..v0
    v4: f32 = load b0 v3
    v5: i64 = mul v3 v2
    v6: i64 = add v5 v0
    v7: i64 = add v6 v1
    v8: i64 = add v6 v2
{stores}"
        );
        let kernel = parse(&text).expect("parses");
        let Some(Statement::For(row)) = kernel.body.statements.last() else { panic!("a row comes last") };
        assert_eq!(row.kind, LoopKind::Row);
        let found: Vec<usize> = woven(&kernel, row).iter().map(|woven| woven.offsets.len()).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn gaps_that_are_filled_are_found() {
        check("    store b1 v6 v4\n    store b1 v7 v4\n", &[2]);
        check("    store b1 v7 v4\n    store b1 v6 v4\n", &[2]);
        check("    store b1 v6 v4\n    store b1 v8 v4\n", &[]);
        check("    store b1 v6 v4\n", &[]);
    }
}
