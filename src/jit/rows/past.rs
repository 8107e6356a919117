//! Stores past the cache: which of a row's stores may take that way, and the code that finds out whether they do.
//!
//! ```text
//! the caller wants it, and all stores lie equally many steps behind a multiple of a register?
//!     a first pass in a mask, up to that multiple; then whole registers, written without reading their lines first
//! otherwise
//!     whole registers, through the cache
//! ```
//!
//! A result that is larger than the caches and is written once costs its lines twice when it goes through them: they
//! are read before they are written.

use super::allocate::in_frame;
use super::evex::{Bytes, Jump, R11, RAX, When};
use super::ops::{self, Encoding};
use super::program::{Address, Program, Shape, Slot};

/// The stores of a row that may pass the cache by.
pub(super) struct Past {
    /// The slot that says whether they do.
    wanted: usize,
    /// Where they go.
    places: Vec<Address>,
    /// Bytes from one step of the row to the next.
    step: i64,
}

/// The instruction that stores past the cache instead of another one.
pub(super) fn instead(store: &Encoding) -> Option<&'static Encoding> {
    match *store {
        ops::STOREPS => Some(&ops::STREAMPS),
        ops::STOREPD => Some(&ops::STREAMPD),
        _ => None,
    }
}

/// The stores of a program, if all of them can go past the cache: whole registers, elements that follow each other.
pub(super) fn past(program: &mut Program) -> Option<Past> {
    let stores = program.insts.iter().filter_map(|inst| match inst.shape {
        Shape::Store(address, _) => Some((address, inst.encoding)),
        _ => None,
    });
    let stores: Vec<(Address, &Encoding)> = stores.collect();
    let (first, encoding) = *stores.first()?;
    let alike = |(place, own): &(Address, &Encoding)| {
        *own == encoding && instead(own).is_some() && place.step == first.step
    };
    // Elements in turn of two or four values make steps that are longer, and still part of a register.
    let even = matches!(first.step, 4 | 8 | 16 | 32);
    if !program.loops.is_empty() || !even || !stores.iter().all(alike) {
        return None;
    }
    let wanted = program.slot(Slot::Past);
    Some(Past { wanted, places: stores.into_iter().map(|(place, _)| place).collect(), step: first.step })
}

/// The ways out of [`Past::choose`].
pub(super) struct Ways {
    /// To whole registers through the cache.
    pub(super) cached: Vec<Jump>,
    /// To a first pass of as many steps as r11 says.
    pub(super) first: Jump,
}

impl Past {
    /// Finds out which way to go; falls through to whole registers past the cache. Leaves the step in rax at 0.
    pub(super) fn choose(&self, bytes: &mut Bytes, lanes: i32) -> Ways {
        let line = 4 * lanes;
        let mut cached = Vec::new();
        bytes.load(R11, in_frame(self.wanted));
        bytes.and(R11, -1);
        cached.push(bytes.jump_forward(When::Zero));
        let (first, others) = self.places.split_first().expect("a row stores");
        bytes.load(RAX, in_frame(first.slot));
        bytes.add(RAX, first.offset);
        bytes.copy(R11, RAX);
        bytes.and(R11, self.step as i32 - 1);
        cached.push(bytes.jump_forward(When::NotZero));
        for other in others {
            bytes.load(R11, in_frame(other.slot));
            bytes.add(R11, other.offset);
            bytes.subtract(R11, RAX);
            bytes.and(R11, line - 1);
            cached.push(bytes.jump_forward(When::NotZero));
        }
        bytes.zero(R11);
        bytes.subtract(R11, RAX);
        bytes.zero(RAX);
        bytes.and(R11, line - 1);
        bytes.shift_right(R11, self.step.trailing_zeros() as u8);
        Ways { cached, first: bytes.jump_forward(When::NotZero) }
    }
}
