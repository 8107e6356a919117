//! How many operations a body becomes, roughly: what limits and estimates count.
//!
//! ```text
//! x + y       1
//! x // y      16      sin(x)      as many nodes as the function of std/math.itp has
//! ```

use super::body::{Body, MathFn, Node, Op};
use super::scalar::{BinaryFn, UnaryFn};
use super::types::Element;

/// What an integer division or power becomes: instructions by the dozen, since none of them may trap. So does a number that is
/// rounded to an f16, which only wide vectors do by themselves.
const DOZENS: usize = 16;
/// Entries of a table that count as an operation of each who reads it: several stages look for the least and the largest.
const ENTRIES: usize = 512;
/// What the rest of a division of floats counts as. It has a branch for quotients that are large, and registers for code that long are
/// found in a time which grows with the square of its branches: 750 of f64 take a second in 128 bits (2026-11-19, Zen 5).
const REST: usize = 160;
/// What each argument of a hash becomes.
const HASHED: usize = 4;

/// The math function that a node calls.
pub fn called(node: &Node) -> Option<(MathFn, Element)> {
    match node.op {
        Op::Math(function, _) => Some((function, node.ty.strong()?)),
        _ => None,
    }
}

/// Operations that a body becomes; `math` says how many each function of it that is called has.
pub fn operations(body: &Body, math: impl Fn(&(MathFn, Element)) -> Option<usize>) -> usize {
    let divides = |function| matches!(function, BinaryFn::FloorDiv | BinaryFn::Rem | BinaryFn::Pow);
    let weight = |node: &Node| match &node.op {
        Op::Binary(function, ..) if divides(*function) && !node.ty.is_float() => DOZENS,
        Op::Binary(BinaryFn::Rem, ..) => REST,
        Op::Unary(UnaryFn::RoundF16, _) => DOZENS,
        Op::Table(table, _) => 1 + body.tables[table.index()].values.len() / ENTRIES,
        Op::Hash(args) => HASHED * args.len().max(1),
        _ => called(node).and_then(|call| math(&call)).unwrap_or(1),
    };
    body.nodes().map(|(_, node)| weight(node)).sum()
}
