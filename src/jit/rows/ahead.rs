//! What neighbours along the row share is computed once: one register ahead, and shifted.
//!
//! ```text
//! c[x - 1] + c[x] + c[x + 1], with c[x] = a[x] * a[x] + b[x] * b[x]
//!
//! on their own     c at x - 1, at x and at x + 1: six operations
//! ahead            old = c from x - 1 on, of the pass before; new = c from x + 15 on: two operations
//!                  c at x, c at x + 1 = lanes 1.. and 2.. of old and new; then old = new
//! ```
//!
//! Elements that are read at many places along the row are loaded once and shifted in the same way.
//!
//! A pass that works ahead reads beyond its own lanes, so the last ones of a row are done without: [`Ahead::reach`] says
//! from how far before the end on. The bits are the same: every element is computed by the same operations.

use super::kinds::{Arg, Kinds, Make, Moved};
use super::memory::step_of;
use super::ops;
use super::program::{Address, Class, Home, Inst, Part, Program, Reg, Shape};
use crate::loops::ir::BufferId;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Operations that a value takes at the least to be worth two registers and a shift for every place it is read at.
const LEAST_WORK: usize = 2;
/// Places along the row at which elements are read, at the least, to be loaded once and shifted. A load of a whole
/// register takes twice as long where it crosses from one line of the cache into the next, as most of them do; shifts
/// take registers. From five places on it was faster (w12 of benches/peers), from two and three on slower (w1).
const LEAST_PLACES: usize = 5;
/// Values that are computed ahead, at the most.
const MOST: usize = 24;

/// A row that works ahead.
pub(super) struct Ahead {
    /// Computes what the first pass finds.
    pub(super) first: Program,
    /// Every pass.
    pub(super) pass: Program,
    /// What is handed on from pass to pass.
    pub(super) carried: Vec<Reg>,
    /// How many steps a pass reads beyond those that an ordinary one does.
    pub(super) reach: i32,
}

/// The same row working ahead, if that saves something.
pub(super) fn ahead(program: &Program, lanes: i32, written: impl Fn(BufferId) -> bool) -> Option<Ahead> {
    if !program.loops.is_empty() {
        return None;
    }
    let kinds = Kinds::new(program, written);
    let plan = Plan::new(program, &kinds, lanes);
    if plan.ahead.is_empty() || plan.ahead.len() > MOST {
        return None;
    }
    let reach = plan.reach(&kinds, program);
    let mut first = Writer::new(program, &kinds, lanes);
    let carried: BTreeMap<usize, Reg> =
        plan.ahead.keys().enumerate().map(|(place, kind)| (*kind, first.carried(place))).collect();
    let mut pass = first.clone();
    for (kind, by) in &plan.ahead {
        let value = first.value(Moved { kind: *kind, by: *by });
        first.program.insts.push(hand_on(value, carried[kind]));
    }
    pass.ahead = plan.ahead.iter().map(|(kind, by)| (*kind, (*by, carried[kind]))).collect();
    pass.all(program);
    pass.hands_on();
    let carried = carried.into_values().collect();
    Some(Ahead { first: first.program, pass: pass.program, carried, reach })
}

/// What is computed ahead.
struct Plan {
    /// The places at which each kind is needed.
    needed: Vec<BTreeSet<i32>>,
    /// The kinds that are computed ahead, and the first place of each.
    ahead: BTreeMap<usize, i32>,
}

impl Plan {
    fn new(program: &Program, kinds: &Kinds, lanes: i32) -> Plan {
        let mut needed = vec![BTreeSet::new(); kinds.makes.len()];
        let foreign = program.insts.iter().filter(|inst| inst.dst.is_none_or(|dst| kinds.of(dst).is_none()));
        for moved in foreign.flat_map(|inst| &inst.args).filter_map(|arg| kinds.of(*arg)) {
            needed[moved.kind].insert(moved.by);
        }
        let mut plan = Plan { needed, ahead: BTreeMap::new() };
        // What a kind is made of comes before it, so all who need it are known.
        for kind in (0..kinds.makes.len()).rev() {
            let places = plan.needed[kind].clone();
            let (Some(first), Some(last)) = (places.first().copied(), places.last().copied()) else {
                continue;
            };
            let worth = match kinds.makes[kind] {
                Make::Load(..) => places.len() >= LEAST_PLACES,
                Make::Op(..) => kinds.work[kind] >= LEAST_WORK,
            };
            let shifted = first < last && last - first < lanes && worth;
            if shifted {
                plan.ahead.insert(kind, first);
                plan.needs(kinds, kind, first + lanes);
            } else {
                places.into_iter().for_each(|place| plan.needs(kinds, kind, place));
            }
        }
        plan
    }

    /// A kind is computed at a place.
    fn needs(&mut self, kinds: &Kinds, kind: usize, at: i32) {
        match &kinds.makes[kind] {
            Make::Load(..) => {
                self.needed[kind].insert(at);
            }
            Make::Op(_, _, _, args) => {
                for arg in args {
                    if let Arg::Moving(moved) = arg {
                        self.needed[moved.kind].insert(at + moved.by);
                    }
                }
            }
        }
    }

    /// How far elements are loaded beyond the last step whose own load finds them.
    fn reach(&self, kinds: &Kinds, program: &Program) -> i32 {
        let mut own: BTreeMap<usize, BTreeSet<i32>> = BTreeMap::new();
        for moved in program.insts.iter().flat_map(|inst| &inst.args).filter_map(|arg| kinds.of(*arg)) {
            own.entry(moved.kind).or_default().insert(moved.by);
        }
        let loads = (0..kinds.makes.len()).filter(|kind| matches!(kinds.makes[*kind], Make::Load(..)));
        let reaches = loads.flat_map(|kind| {
            let own = own.get(&kind);
            self.needed[kind].iter().map(move |at| {
                let below = own.and_then(|own| own.range(..=*at).next_back());
                at - below.expect("what is computed ahead comes after what is computed")
            })
        });
        reaches.max().unwrap_or(0)
    }
}

/// A value that is wanted, and by which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Wanted {
    moved: Moved,
    /// Computed even if it is one that is computed ahead.
    anew: bool,
}

/// Writes the instructions of a program anew.
#[derive(Clone)]
struct Writer<'p> {
    kinds: &'p Kinds,
    lanes: i32,
    program: Program,
    made: HashMap<Wanted, Reg>,
    /// The first place of what is computed ahead, and the register that the pass before has left.
    ahead: BTreeMap<usize, (i32, Reg)>,
}

impl<'p> Writer<'p> {
    fn new(program: &Program, kinds: &'p Kinds, lanes: i32) -> Self {
        let program = Program { insts: Vec::new(), ..program.clone() };
        Writer { kinds, lanes, program, made: HashMap::new(), ahead: BTreeMap::new() }
    }

    /// A register for what is handed on.
    fn carried(&mut self, place: usize) -> Reg {
        self.program.carried = place + 1;
        self.program.reg(Class::Vector, Home::Carried(place))
    }

    /// All instructions whose results are of no kind, and what they need.
    fn all(&mut self, program: &Program) {
        for inst in &program.insts {
            if inst.dst.is_none_or(|dst| self.kinds.of(dst).is_none()) {
                let own = |writer: &mut Self, arg: Reg| match writer.kinds.of(arg) {
                    Some(moved) => writer.value(moved),
                    None => arg,
                };
                let args = inst.args.iter().map(|arg| own(self, *arg)).collect();
                self.program.insts.push(Inst { args, ..inst.clone() });
            }
        }
    }

    /// A value of a kind; what it is made of comes first, by a stack of our own.
    fn value(&mut self, moved: Moved) -> Reg {
        let wanted = Wanted { moved, anew: false };
        let mut stack = vec![wanted];
        while let Some(top) = stack.last().copied() {
            let missing = self.parts(top).into_iter().rev().filter(|part| !self.made.contains_key(part));
            let missing: Vec<Wanted> = missing.collect();
            if missing.is_empty() || self.made.contains_key(&top) {
                stack.pop();
                self.make(top);
            }
            stack.extend(missing);
        }
        self.made[&wanted]
    }

    /// What a value is made of.
    fn parts(&self, Wanted { moved, anew }: Wanted) -> Vec<Wanted> {
        match (self.ahead.get(&moved.kind).filter(|_| !anew), &self.kinds.makes[moved.kind]) {
            (Some((first, _)), _) if *first == moved.by => Vec::new(),
            (Some((first, _)), _) => vec![self.new_of(moved.kind, *first)],
            (None, Make::Load(..)) => Vec::new(),
            (None, Make::Op(_, _, _, args)) => {
                let moving = args.iter().filter_map(|arg| match arg {
                    Arg::Moving(own) => Some(Moved { by: own.by + moved.by, ..*own }),
                    Arg::Still(_) => None,
                });
                moving.map(|moved| Wanted { moved, anew: false }).collect()
            }
        }
    }

    /// What this pass computes of a kind that is computed ahead.
    fn new_of(&self, kind: usize, first: i32) -> Wanted {
        Wanted { moved: Moved { kind, by: first + self.lanes }, anew: true }
    }

    /// Adds the instruction of a value whose parts are there.
    fn make(&mut self, wanted: Wanted) {
        if self.made.contains_key(&wanted) {
            return;
        }
        let Moved { kind, by } = wanted.moved;
        let reg = match (self.ahead.get(&kind).filter(|_| !wanted.anew), &self.kinds.makes[kind]) {
            (Some((first, old)), _) if *first == by => *old,
            (Some((first, old)), _) => {
                let new = self.made[&self.new_of(kind, *first)];
                let (old, shift) = (*old, (by - first) as u8);
                self.program.vector(Shape::Two, &ops::ALIGND, &[new, old], Some(shift))
            }
            (None, Make::Load(address, encoding)) => {
                let offset = by * step_of(encoding).unwrap_or(0);
                let home = Home::Load(Address { offset, ..*address }, encoding, Part::All);
                self.program.reg(Class::Vector, home)
            }
            (None, Make::Op(shape, encoding, imm, args)) => {
                let own = |arg: &Arg| match arg {
                    Arg::Still(reg) => *reg,
                    Arg::Moving(own) => {
                        let moved = Moved { by: own.by + by, ..*own };
                        self.made[&Wanted { moved, anew: false }]
                    }
                };
                let args: Vec<Reg> = args.iter().map(own).collect();
                self.program.vector(*shape, encoding, &args, *imm)
            }
        };
        self.made.insert(wanted, reg);
    }

    /// Hands on what was computed ahead, each as soon as nobody needs what the pass before has left.
    fn hands_on(&mut self) {
        let mut after: BTreeMap<usize, Vec<Inst>> = BTreeMap::new();
        for (kind, (first, old)) in &self.ahead {
            let new = self.made[&self.new_of(*kind, *first)];
            let uses = |inst: &Inst| inst.args.contains(old) || inst.args.contains(&new);
            let last = self.program.insts.iter().rposition(uses).unwrap_or(0);
            after.entry(last).or_default().push(hand_on(new, *old));
        }
        let insts = std::mem::take(&mut self.program.insts).into_iter().enumerate();
        let all =
            insts.flat_map(|(at, inst)| std::iter::once(inst).chain(after.remove(&at).unwrap_or_default()));
        self.program.insts = all.collect();
    }
}

/// The instruction that hands a value on to the next pass.
fn hand_on(new: Reg, old: Reg) -> Inst {
    Inst {
        shape: Shape::HandOn(old),
        encoding: &ops::MOVPS,
        dst: None,
        args: vec![new],
        mask: None,
        imm: None,
    }
}
