//! A vector program -> a function `extern "C" fn(frame: *const u64, count: i64)` that does a row of `count` steps.
//!
//! ```text
//! step = 0
//! while step <= count - lanes { one pass; step += lanes }
//! if step < count { one pass in the mask of the lanes that are left }
//! ```
//!
//! A row that stores past the cache begins with a pass in a mask instead, the same code as at the end, and has whole
//! passes of its own.
//!
//! rdi is the frame, rax the step, rsi the last step from which a whole pass can be done.

use super::ahead::Ahead;
use super::allocate::plain;
use super::allocate::{
    self, BACKWARDS, EVEN, EVEN_REST, FIRST_PLACE, Fixed, LAST_STEP, LIMIT, Pass, Stores, TAIL,
};
use super::evex::{Bits, Bytes, Gpr, Memory, R11, RAX, RBP, RDI, RSI, RSP, Rm, When};
use super::ops;
use super::past::Past;
use super::program::{Address, Class, Home, Part, Program, Reg, Shape};
use crate::seeded::{self, Bug};
use std::collections::{BTreeMap, BTreeSet};

/// Registers for pointers; the second half belongs to the caller and is saved.
const POINTERS: [Gpr; 10] =
    [Gpr(1), Gpr(2), Gpr(8), Gpr(9), Gpr(10), Gpr(3), Gpr(12), Gpr(13), Gpr(14), Gpr(15)];
const SAVED: [Gpr; 5] = [Gpr(3), Gpr(12), Gpr(13), Gpr(14), Gpr(15)];
/// Constants that get a register, at the most: the others are left to an instruction.
const MOST_FIXED: usize = 24;
/// What is handed on from pass to pass has a register, up to so many.
const MOST_CARRIED: usize = 16;

/// The bytes of the function, which run anywhere.
pub(super) fn assemble(program: &Program, bits: Bits, past: Option<&Past>, ahead: Option<&Ahead>) -> Vec<u8> {
    let pointers = pointers(program);
    let ahead = ahead.map(|ahead| (ahead, fixed_ahead(ahead, bits, &pointers)));
    let (fixed, stack) = fixed(program, bits, pointers);
    let stack = ahead.as_ref().map_or(stack, |(_, (_, own))| stack.max(*own));
    let mut bytes = Bytes::default();
    enter(&mut bytes, stack);
    load_pointers(&mut bytes, &fixed);
    allocate::load_fixed(program, bits, &fixed, &mut bytes);
    let lanes = bits.bytes() / 4;
    bytes.zero(RAX);
    bytes.add(RSI, -lanes);
    bytes.compare(RAX, RSI);
    let short = bytes.jump_forward(When::Greater);
    let whole = |bytes: &mut Bytes, stores: Stores| {
        let start = bytes.here();
        let done = ahead.as_ref().map(|(ahead, (own, _))| {
            passes_ahead(bytes, bits, (ahead, own), stores);
            allocate::load_fixed(program, bits, &fixed, bytes);
            bytes.compare(RAX, RSI);
            bytes.jump_forward(When::Greater)
        });
        passes(program, bits, (stores, &fixed), bytes);
        done.into_iter().for_each(|jump| bytes.land(jump));
        start
    };
    let streaming = past.map(|past| {
        let ways = past.choose(&mut bytes, lanes);
        let start = whole(&mut bytes, Stores::Past);
        let end = bytes.jump_forward(When::Greater);
        ways.cached.into_iter().for_each(|jump| bytes.land(jump));
        bytes.zero(RAX);
        (start, ways.first, end)
    });
    whole(&mut bytes, Stores::Cached);
    bytes.land(short);
    streaming.iter().for_each(|(_, _, end)| bytes.land(*end));
    // What is left: count - step.
    let rest = bytes.here();
    bytes.copy(R11, RSI);
    bytes.subtract(R11, RAX);
    bytes.add(R11, lanes);
    let done = bytes.jump_forward(When::LessOrEqual);
    if !seeded::active(Bug::RowTail) {
        streaming.iter().for_each(|(_, first, _)| bytes.land(*first));
        bytes.store(allocate::on_stack(LIMIT), RSI);
        tail_masks(&mut bytes, program, lanes);
        allocate::emit(program, bits, Pass::Tail, &fixed, &mut bytes);
        if let Some((start, ..)) = streaming {
            after_mask(&mut bytes, start, rest);
        }
    }
    bytes.land(done);
    leave(&mut bytes);
    bytes.finish(program.pool.bytes())
}

/// Whole passes, as many as rsi says; at least one.
fn passes(program: &Program, bits: Bits, (stores, fixed): (Stores, &Fixed), bytes: &mut Bytes) {
    let start = bytes.here();
    allocate::emit(program, bits, Pass::Whole(stores), fixed, bytes);
    bytes.add(RAX, bits.bytes() / 4);
    bytes.compare(RAX, RSI);
    bytes.jump_back(When::LessOrEqual, start);
}

/// Whole passes that work ahead, as long as what they read is there.
fn passes_ahead(bytes: &mut Bytes, bits: Bits, (ahead, fixed): (&Ahead, &Fixed), stores: Stores) {
    bytes.add(RSI, -ahead.reach);
    bytes.compare(RAX, RSI);
    let short = bytes.jump_forward(When::Greater);
    allocate::load_fixed(&ahead.pass, bits, fixed, bytes);
    allocate::emit(&ahead.first, bits, Pass::Whole(stores), fixed, bytes);
    passes(&ahead.pass, bits, (stores, fixed), bytes);
    bytes.land(short);
    bytes.add(RSI, ahead.reach);
}

/// A pass in a mask is done: on with whole ones past the cache, or with what is left, if something is.
fn after_mask(bytes: &mut Bytes, whole: usize, rest: usize) {
    bytes.load(RSI, allocate::on_stack(LIMIT));
    bytes.add_memory(RAX, allocate::on_stack(LAST_STEP));
    bytes.add(RAX, 1);
    bytes.compare(RAX, RSI);
    bytes.jump_back(When::LessOrEqual, whole);
    bytes.jump_back(When::Greater, rest);
}

fn enter(bytes: &mut Bytes, stack: usize) {
    bytes.push_register(RBP);
    bytes.copy(RBP, RSP);
    SAVED.iter().for_each(|register| bytes.push_register(*register));
    bytes.add(RSP, -64 * stack as i32);
    bytes.and(RSP, -64);
}

fn leave(bytes: &mut Bytes) {
    bytes.zero_upper();
    bytes.copy(RSP, RBP);
    bytes.add(RSP, -8 * SAVED.len() as i32);
    SAVED.iter().rev().for_each(|register| bytes.pop_register(*register));
    bytes.pop_register(RBP);
    bytes.return_();
}

fn load_pointers(bytes: &mut Bytes, fixed: &Fixed) {
    let sorted: BTreeMap<usize, Gpr> = fixed.pointers.iter().map(|(slot, gpr)| (*slot, *gpr)).collect();
    for (slot, gpr) in sorted {
        bytes.load(gpr, Memory::at(RDI, 8 * slot as i32));
    }
}

/// The masks of the lanes that are left; their number is in r11, and rsi is not needed any more.
fn tail_masks(bytes: &mut Bytes, program: &Program, lanes: i32) {
    let has =
        |part: Part| program.homes.iter().any(|home| matches!(home, Home::Load(_, _, own) if *own == part));
    bytes.copy(RSI, R11);
    bytes.add(RSI, -1);
    bytes.store(allocate::on_stack(LAST_STEP), RSI);
    bytes.set(RSI, -1);
    bytes.low_bits(RSI, R11);
    bytes.mask(&ops::KFROM, &plain(TAIL, 0, Rm::General(RSI)));
    if has(Part::Even) {
        // As far as the last of every other lane: 2 * left - 1.
        bytes.copy(RSI, R11);
        bytes.add_register(RSI, R11);
        bytes.add(RSI, -1);
        store_mask_below(bytes, RSI, EVEN, 0);
        store_mask_below(bytes, RSI, EVEN_REST, (lanes - 1) as u8);
    }
    for of in woven(program) {
        // As many bits as there are lanes: of * left, which is less than 64.
        bytes.multiply(RSI, R11, i32::from(of));
        bytes.push_register(R11);
        bytes.set(R11, -1);
        bytes.low_bits(R11, RSI);
        bytes.copy(RSI, R11);
        bytes.pop_register(R11);
        bytes.store(allocate::on_stack(allocate::woven_place(of)), RSI);
    }
    if has(Part::Backwards) {
        // All but the first `lanes - left`.
        bytes.set(RSI, lanes);
        bytes.subtract(RSI, R11);
        bytes.set(R11, -1);
        bytes.low_bits(R11, RSI);
        bytes.mask(&ops::KFROM, &plain(1, 0, Rm::General(R11)));
        bytes.mask(&ops::KNOT, &plain(1, 0, Rm::Register(1)));
        bytes.mask(&ops::KSTORE, &plain(1, 0, Rm::Memory(allocate::on_stack(BACKWARDS))));
    }
}

/// How many values are woven, for all that are.
fn woven(program: &Program) -> BTreeSet<u8> {
    let stores = program.insts.iter().filter_map(|inst| match inst.shape {
        Shape::Store(_, Part::Woven { of, .. }) => Some(of),
        _ => None,
    });
    let loads = program.homes.iter().filter_map(|home| match home {
        Home::Load(_, _, Part::Woven { of, .. }) => Some(*of),
        _ => None,
    });
    stores.chain(loads).collect()
}

/// Puts the mask of the lanes below a count on the stack, from the lane `from` on.
fn store_mask_below(bytes: &mut Bytes, count: Gpr, place: usize, from: u8) {
    bytes.push_register(R11);
    bytes.set(R11, -1);
    bytes.low_bits(R11, count);
    bytes.shift_right(R11, from);
    bytes.mask(&ops::KFROM, &plain(1, 0, Rm::General(R11)));
    bytes.pop_register(R11);
    bytes.mask(&ops::KSTORE, &plain(1, 0, Rm::Memory(allocate::on_stack(place))));
}

/// The pointers that get a register: those in use most often.
fn pointers(program: &Program) -> BTreeMap<usize, Gpr> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    let mut count = |address: &Address| {
        if matches!(address.step, 0 | 1 | 2 | 4 | 8) {
            *counts.entry(address.slot).or_default() += 1;
        }
    };
    for home in &program.homes {
        if let Home::Load(address, _, _) = home {
            count(address);
        }
    }
    for inst in &program.insts {
        if let Shape::Store(address, _) | Shape::Gather(address, _) = &inst.shape {
            count(address);
        }
    }
    let mut slots: Vec<(usize, usize)> = counts.into_iter().map(|(slot, count)| (count, slot)).collect();
    slots.sort_by_key(|(count, slot)| (std::cmp::Reverse(*count), *slot));
    slots.into_iter().map(|(_, slot)| slot).zip(POINTERS).collect()
}

/// Gives constants a register as long as nothing has to be saved for it; also says how large the stack is.
fn fixed(program: &Program, bits: Bits, pointers: BTreeMap<usize, Gpr>) -> (Fixed, usize) {
    let constants = constants(program);
    // The end of a step needs all that is handed on, beside what it goes to.
    let carried = program.loops.iter().map(|looped| looped.carried.len()).max().unwrap_or(0);
    let mut count = constants.len().min(MOST_FIXED.min(32 - 2 * carried).min(MOST_FIXED - carried));
    let pointers: std::collections::HashMap<usize, Gpr> = pointers.into_iter().collect();
    loop {
        let vectors = constants[..count].iter().copied().zip((0..32).rev()).collect();
        let fixed = Fixed { vectors, pointers: pointers.clone() };
        let mut places = FIRST_PLACE;
        for pass in [Pass::Whole(Stores::Cached), Pass::Tail] {
            places = places.max(allocate::emit(program, bits, pass, &fixed, &mut Bytes::default()));
        }
        if places == FIRST_PLACE || count == 0 {
            return (fixed, places);
        }
        count /= 2;
    }
}

/// The same for passes that work ahead: what they hand on stays in registers, or on the stack if those are too few.
fn fixed_ahead(ahead: &Ahead, bits: Bits, pointers: &BTreeMap<usize, Gpr>) -> (Fixed, usize) {
    let constants = constants(&ahead.pass);
    let pointers: std::collections::HashMap<usize, Gpr> = pointers.clone().into_iter().collect();
    let mut last = (Fixed::default(), 0);
    for carried in [&ahead.carried[..], &[]].into_iter().filter(|carried| carried.len() <= MOST_CARRIED) {
        let mut count = constants.len().min(MOST_FIXED - carried.len());
        loop {
            let vectors = carried.iter().chain(&constants[..count]).copied().zip((0..32).rev()).collect();
            let fixed = Fixed { vectors, pointers: pointers.clone() };
            let stack = |program: &Program| {
                allocate::emit(program, bits, Pass::Whole(Stores::Cached), &fixed, &mut Bytes::default())
            };
            let places = stack(&ahead.first).max(stack(&ahead.pass));
            last = (fixed, places);
            if places == FIRST_PLACE + ahead.pass.carried {
                return last;
            }
            if count == 0 {
                break;
            }
            count /= 2;
        }
    }
    last
}

/// Sources that are the same for the whole row, those in use most often first.
fn constants(program: &Program) -> Vec<Reg> {
    let mut counts = vec![0usize; program.homes.len()];
    for inst in &program.insts {
        inst.args.iter().for_each(|arg| counts[arg.index()] += 1);
    }
    let is_constant = |at: &usize| {
        program.classes[*at] == Class::Vector
            && matches!(program.homes[*at], Home::Pool(_) | Home::PoolElement(..) | Home::Slot(..))
    };
    let mut constants: Vec<usize> =
        (0..counts.len()).filter(|at| counts[*at] > 0).filter(is_constant).collect();
    constants.sort_by_key(|at| (std::cmp::Reverse(counts[*at]), *at));
    constants.into_iter().map(|at| Reg(at as u32)).collect()
}
