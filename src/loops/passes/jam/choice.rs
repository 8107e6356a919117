//! How many rows are computed together, and what that takes.
//!
//! ```text
//! blur[y, x] = a[y - 1, x] + a[y, x] + a[y + 1, x]      4 rows at a time: 6 loads instead of 12, 8 operations instead of 8
//! ```

use crate::graph::scalar::BinaryFn;
use crate::graph::types::Element;
use crate::loops::builder::Builder;
use crate::loops::ir::{Op, Statement, ValueId};
use std::fmt;
use std::ops::AddAssign;

/// How many rows are computed together, and what that saves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// 1 if each row is on its own.
    pub rows: usize,
    /// Whether they are those of all planes at one place, rather than rows below each other.
    pub makes_planes: bool,
    /// What as many rows take on their own.
    pub apart: Work,
    /// What they take together.
    pub jammed: Work,
    /// What they take where they divide their coordinates alike, if there is code for that.
    pub alike: Option<Work>,
    /// What twice as many take there, if there is code for that.
    pub tall: Option<Work>,
}

/// What a step along a row does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Elements read from buffers and tables.
    pub loads: usize,
    /// Operations on values, but for sums and products of offsets and the masks of rings, which cost next to nothing.
    pub operations: usize,
}

impl Work {
    pub(super) fn total(self) -> usize {
        self.loads + self.operations
    }

    pub(super) fn times(self, count: usize) -> Work {
        Work { loads: self.loads * count, operations: self.operations * count }
    }
}

impl AddAssign for Work {
    fn add_assign(&mut self, other: Work) {
        self.loads += other.loads;
        self.operations += other.operations;
    }
}

impl Choice {
    /// Whether an element takes less than the other way.
    pub fn is_less(&self, other: &Choice) -> bool {
        self.jammed.total() * other.rows < other.jammed.total() * self.rows
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (apart, jammed) = (self.apart, self.jammed);
        if self.rows == 1 {
            return write!(f, "one row at a time: {} loads, {} operations", jammed.loads, jammed.operations);
        }
        let what = if self.makes_planes { "planes" } else { "rows" };
        write!(f, "{} {what} at a time: {} loads instead of {}, ", self.rows, jammed.loads, apart.loads)?;
        write!(f, "{} operations instead of {}", jammed.operations, apart.operations)?;
        if let Some(alike) = self.alike {
            write!(f, ", {} where they divide alike", alike.operations)?;
        }
        match self.tall {
            Some(tall) => write!(f, ", {} where {} rows do", tall.operations, 2 * self.rows),
            None => Ok(()),
        }
    }
}

/// What statements do; loops inside count as one step.
pub(super) fn work(builder: &Builder, statements: &[Statement]) -> Work {
    let mut sum = Work::default();
    for statement in statements {
        match statement {
            Statement::Let(id) => sum += cost(builder, *id),
            Statement::Store(..) => {}
            Statement::For(looped) => sum += work(builder, &looped.body.statements),
            Statement::If(choice) => {
                sum += work(builder, &choice.then.statements);
                sum += work(builder, &choice.otherwise.statements);
            }
        }
    }
    sum
}

fn cost(builder: &Builder, id: ValueId) -> Work {
    let (loads, operations) = match builder.op(id) {
        Op::Const(_) | Op::Arg(_) | Op::Var | Op::Carried | Op::Result => (0, 0),
        Op::Load(..) | Op::Table(..) => (1, 0),
        Op::Binary(BinaryFn::Add | BinaryFn::Sub | BinaryFn::Mul, ..)
            if builder.element(id) == Element::I64 =>
        {
            (0, 0)
        }
        Op::Binary(BinaryFn::And, _, mask) if matches!(builder.op(*mask), Op::Arg(_)) => (0, 0),
        Op::Unary(..) | Op::Binary(..) | Op::Fma(..) | Op::Select(..) | Op::Cast(_) => (0, 1),
    };
    Work { loads, operations }
}
