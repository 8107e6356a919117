//! Loads and stores of a row that lie apart from step to step, but side by side with each other.
//!
//! ```text
//! row q in 0..8
//!   store b1 at 2 * q      a0 a1 a2 a3        in memory: a0 b0 a1 b1 a2 b2 a3 b3 …
//!   store b1 at 2 * q + 1  b0 b1 b2 b3
//! ```
//!
//! That is how [`residues`](super::passes::residues) leaves a row. Back ends put the lanes in turn in registers, and store
//! whole registers; what is loaded is taken apart the same way.

use super::ir::{BufferId, For, Kernel, Op, Statement, ValueId};
use super::passes::residues::LARGEST_PERIOD;
use super::vary::{growth, terms};
use std::collections::BTreeMap;

/// Elements that are loaded or stored together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbours {
    /// Of what.
    pub buffer: BufferId,
    /// Their offsets in order: they differ by 1, and grow by their number from step to step.
    pub offsets: Vec<ValueId>,
}

impl Neighbours {
    /// Whether an element is one of them.
    pub fn has(&self, buffer: BufferId, offset: ValueId) -> bool {
        self.buffer == buffer && self.offsets.contains(&offset)
    }
}

/// Stores that are done together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Woven {
    /// Where to.
    pub to: Neighbours,
    /// What is stored at each, once it is known.
    values: Vec<Option<ValueId>>,
}

impl Woven {
    /// Adds what is stored at an offset; the last one gets them all.
    pub fn add(&mut self, offset: ValueId, value: ValueId) -> Option<Vec<ValueId>> {
        let at = self.to.offsets.iter().position(|own| *own == offset)?;
        self.values[at] = Some(value);
        self.values.iter().copied().collect()
    }
}

/// The stores of a row that fill the gaps between each other.
pub fn woven(kernel: &Kernel, row: &For) -> Vec<Woven> {
    let stores = row.body.statements.iter().filter_map(|statement| match statement {
        Statement::Store(buffer, offset, _) => Some((*buffer, *offset)),
        Statement::Let(_) | Statement::For(_) | Statement::If(_) => None,
    });
    let group = |to: Neighbours| Woven { values: vec![None; to.offsets.len()], to };
    neighbours(kernel, row, stores.collect()).into_iter().map(group).collect()
}

/// The loads of a row that fill the gaps between each other.
pub fn unwoven(kernel: &Kernel, row: &For) -> Vec<Neighbours> {
    let loads = row.body.statements.iter().filter_map(|statement| match statement {
        Statement::Let(id) => match kernel.value(*id).op {
            Op::Load(buffer, offset) => Some((buffer, offset)),
            _ => None,
        },
        Statement::Store(..) | Statement::For(_) | Statement::If(_) => None,
    });
    neighbours(kernel, row, loads.collect())
}

/// Elements by what their offsets have in common and how far they move, with the constant that sets them apart.
type Known = BTreeMap<(BufferId, i64, Vec<ValueId>), BTreeMap<i64, ValueId>>;

fn neighbours(kernel: &Kernel, row: &For, elements: Vec<(BufferId, ValueId)>) -> Vec<Neighbours> {
    if elements.len() < 2 {
        return Vec::new();
    }
    let growth = growth(kernel, row.var);
    let mut known = Known::new();
    for (buffer, offset) in elements {
        let step = growth[offset.index()].filter(|step| (2..=LARGEST_PERIOD).contains(step));
        let Some((step, (terms, constant))) = step.zip(terms(kernel, offset)) else { continue };
        known.entry((buffer, step, terms)).or_default().insert(constant, offset);
    }
    known.into_iter().flat_map(|((buffer, step, _), own)| whole(buffer, step as usize, own)).collect()
}

/// Groups of as many neighbours as a step is long.
fn whole(buffer: BufferId, step: usize, elements: BTreeMap<i64, ValueId>) -> Vec<Neighbours> {
    let elements: Vec<(i64, ValueId)> = elements.into_iter().collect();
    let (mut rest, mut groups) = (&elements[..], Vec::new());
    while let Some((first, _)) = rest.first() {
        let follows = |(at, (constant, _)): &(usize, &(i64, ValueId))| *constant == first + *at as i64;
        let count = rest.iter().take(step).enumerate().take_while(follows).count();
        if count == step {
            let offsets = rest[..count].iter().map(|(_, offset)| *offset).collect();
            groups.push(Neighbours { buffer, offsets });
        }
        rest = &rest[count..];
    }
    groups
}

/// How the lanes of `of` registers of `count` are put in turn, in as many registers: for each of those, one order for
/// every register but the first. An order says for every lane which one of what there is comes there; those of the next
/// register are numbered from `count` on.
pub fn orders(of: usize, count: usize) -> Vec<Vec<Vec<usize>>> {
    let wanted =
        |register: usize, lane: usize| ((register * count + lane) % of, (register * count + lane) / of);
    orders_to(of, count, wanted)
}

/// The way back: how lanes that lie in turn are taken apart.
pub fn orders_back(of: usize, count: usize) -> Vec<Vec<Vec<usize>>> {
    let wanted =
        |register: usize, lane: usize| ((lane * of + register) / count, (lane * of + register) % count);
    orders_to(of, count, wanted)
}

/// Orders by which every lane of every register gets the one that it wants: of which register, and its number there.
fn orders_to(
    of: usize,
    count: usize,
    wanted: impl Fn(usize, usize) -> (usize, usize),
) -> Vec<Vec<Vec<usize>>> {
    let order = |register: usize, next: usize| {
        let lane = |lane: usize| match wanted(register, lane) {
            (source, number) if source == next => count + number,
            (0, number) if next == 1 => number,
            // What is there already stays; what is still missing comes later.
            _ => lane,
        };
        (0..count).map(lane).collect()
    };
    (0..of).map(|register| (1..of).map(|next| order(register, next)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::{orders, orders_back, woven};
    use crate::loops::ir::{LoopKind, Statement};
    use crate::loops::parse::parse;

    /// Applies orders to registers as back ends do.
    fn ordered(orders: Vec<Vec<Vec<usize>>>, registers: &[Vec<usize>]) -> Vec<Vec<usize>> {
        let apply = |orders: Vec<Vec<usize>>| {
            let next = orders.into_iter().zip(&registers[1..]);
            next.fold(registers[0].clone(), |lanes, (order, next)| {
                let both = [lanes, next.clone()].concat();
                order.into_iter().map(|lane| both[lane]).collect()
            })
        };
        orders.into_iter().map(apply).collect()
    }

    #[test]
    fn lanes_are_put_in_turn_and_back() {
        for (of, count) in (2..=4).flat_map(|of| [2, 4, 8, 16].map(|count| (of, count))) {
            let apart: Vec<Vec<usize>> =
                (0..of).map(|own| (0..count).map(|lane| lane * of + own).collect()).collect();
            let in_turn: Vec<Vec<usize>> =
                (0..of).map(|own| (own * count..(own + 1) * count).collect()).collect();
            assert_eq!(ordered(orders(of, count), &apart), in_turn, "{of} registers of {count}");
            assert_eq!(ordered(orders_back(of, count), &in_turn), apart, "{of} registers of {count}");
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
        let found: Vec<usize> = woven(&kernel, row).iter().map(|woven| woven.to.offsets.len()).collect();
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
