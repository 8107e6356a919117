//! Which loops around rows may be jammed: every step has to store elsewhere, and go along the same bounds.

use crate::loops::ir::{Block, For, Kernel, LoopKind, Op, Statement, ValueId};
use crate::loops::vary::growth;
use std::collections::BTreeSet;

/// A loop around rows, with nothing else that matters in it.
pub(super) struct Nest<'k> {
    pub(super) looped: &'k For,
    pub(super) rows: Vec<&'k For>,
    /// The one that is jammed.
    pub(super) main: &'k For,
}

/// Whether the rows of a loop may be jammed: there is one, or one between its ends, over the same bounds in every step, and
/// every step stores elsewhere.
pub(super) fn jammable<'k>(kernel: &Kernel, looped: &'k For) -> Option<Nest<'k>> {
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
pub(super) fn are_strips(kernel: &Kernel, looped: &For) -> bool {
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
pub(super) fn goes_across(kernel: &Kernel, block: &Block) -> bool {
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
pub(super) enum Way {
    Up,
    Down,
}

/// Which way the first load goes that rows do across what the loop around them goes along, if there is one. Blocks of rows
/// may overlap only if nothing that is written is read.
pub(super) fn across(kernel: &Kernel, nest: &Nest<'_>) -> Option<Way> {
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

pub(super) fn follow(kernel: &Kernel, id: ValueId, moving: &mut BTreeSet<ValueId>) {
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
