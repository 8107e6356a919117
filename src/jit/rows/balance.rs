//! Sums as products, where sums and comparisons are most of what a row does.
//!
//! ```text
//! vsubps  d  = l, h               vfmadd  d  = h * -1 + l
//! vmaxps  c  = d, lo              vmaxps  c  = d, lo
//! vminps  c  = c, hi              vminps  c  = c, hi
//! vsubps  e  = d, c               vfmadd  e  = c * -1 + d
//! vaddps  s  = s, e               vfmadd  s  = e * 1 + s
//! ```
//!
//! AMD's processors have two pipes that add, compare and convert, and two that multiply, with or without a sum. A product
//! with 1 or -1 is exact, so that the sum is rounded as before, and zeros keep their signs: the bits are the same.

use super::ops::{self, Encoding};
use super::program::{Inst, Program, Shape};

/// Products that a division or a root takes as long as, about.
const LONG: usize = 8;

/// Where an instruction is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pipe {
    Adds,
    /// As long as so many products.
    Multiplies(usize),
    Any,
}

fn pipe(inst: &Inst) -> Pipe {
    if matches!(inst.shape, Shape::Divide | Shape::Remainder(_)) {
        return Pipe::Multiplies(LONG);
    }
    match *inst.encoding {
        ops::ADDPS | ops::ADDPD | ops::SUBPS | ops::SUBPD => Pipe::Adds,
        ops::MINPS | ops::MINPD | ops::MAXPS | ops::MAXPD | ops::CMPPS | ops::CMPPD => Pipe::Adds,
        ops::RANGEPS | ops::RANGEPD => Pipe::Adds,
        ops::RNDPS | ops::RNDPD | ops::CVTDQ2PS | ops::CVTUDQ2PS | ops::CVTTPS2DQ => Pipe::Adds,
        ops::MULPS | ops::MULPD | ops::FMA231PS | ops::FMA231PD => Pipe::Multiplies(1),
        ops::DIVPS | ops::DIVPD | ops::SQRTPS | ops::SQRTPD => Pipe::Multiplies(LONG),
        _ => Pipe::Any,
    }
}

/// Turns so many sums into products that both kinds of pipes have as much to do. Loops inside a row, whose sums wait for
/// each other, stay as they are: a product takes longer.
pub(super) fn balance(program: &mut Program) {
    let (mut adds, mut multiplies) = (0usize, 0);
    for inst in &program.insts {
        match pipe(inst) {
            Pipe::Adds => adds += 1,
            Pipe::Multiplies(times) => multiplies += times,
            Pipe::Any => {}
        }
    }
    let sums: Vec<usize> = (0..program.insts.len()).filter(|at| is_sum(&program.insts[*at])).collect();
    let turned = (adds.saturating_sub(multiplies) / 2).min(sums.len());
    if turned == 0 || !program.loops.is_empty() {
        return;
    }
    // Evenly, so that neighbours share the pipes.
    let chosen =
        sums.iter().enumerate().filter(|(at, _)| (at + 1) * turned / sums.len() > at * turned / sums.len());
    for (_, at) in chosen {
        let inst = program.insts[*at].clone();
        program.insts[*at] = as_product(program, inst);
    }
}

fn is_sum(inst: &Inst) -> bool {
    const SUMS: [Encoding; 4] = [ops::ADDPS, ops::ADDPD, ops::SUBPS, ops::SUBPD];
    inst.shape == Shape::Two && inst.mask.is_none() && SUMS.contains(inst.encoding)
}

/// `a + b` as `a * 1 + b`, `a - b` as `b * -1 + a`.
fn as_product(program: &Program, inst: Inst) -> Inst {
    let wide = inst.encoding.wide == 1;
    let minus = matches!(*inst.encoding, ops::SUBPS | ops::SUBPD);
    let factor = program.factors[usize::from(minus)][usize::from(wide)];
    let (a, b) = (inst.args[0], inst.args[1]);
    let args = if minus { vec![b, factor, a] } else { vec![a, factor, b] };
    let encoding = if wide { &ops::FMA231PD } else { &ops::FMA231PS };
    Inst { shape: Shape::Fma, encoding, args, ..inst }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jit::rows::program::{Class, Home};

    /// The shapes of sums and comparisons after balancing; the first are loads.
    fn shapes(encodings: &[&'static Encoding]) -> Vec<Shape> {
        let mut program = Program::new();
        let first = program.reg(Class::Vector, Home::Slot(0, &ops::SPLATD));
        let other = program.reg(Class::Vector, Home::Slot(1, &ops::SPLATD));
        let mut last = first;
        for encoding in encodings {
            last = program.vector(Shape::Two, encoding, &[last, other], None);
        }
        balance(&mut program);
        program.insts.iter().map(|inst| inst.shape).collect()
    }

    #[test]
    fn half_of_what_adds_multiplies_instead() {
        use Shape::{Fma, Two};
        assert_eq!(shapes(&[&ops::SUBPS, &ops::MAXPS, &ops::MINPS, &ops::ADDPS]), [Fma, Two, Two, Fma]);
        assert_eq!(shapes(&[&ops::ADDPS, &ops::ADDPS, &ops::ADDPS, &ops::ADDPS]), [Two, Fma, Two, Fma]);
        assert_eq!(shapes(&[&ops::ADDPD, &ops::MULPD, &ops::MULPD]), [Two; 3]);
        assert_eq!(shapes(&[&ops::ADDPS, &ops::ADDPS, &ops::DIVPS]), [Two; 3]);
    }

    #[test]
    fn differences_keep_their_order() {
        let mut program = Program::new();
        let [a, b] = [0, 1].map(|slot| program.reg(Class::Vector, Home::Slot(slot, &ops::SPLATD)));
        let c = program.vector(Shape::Two, &ops::SUBPS, &[a, b], None);
        program.vector(Shape::Two, &ops::MAXPS, &[c, b], None);
        balance(&mut program);
        assert_eq!((program.insts[0].args[0], program.insts[0].args[2]), (b, a), "b * -1 + a");
        assert_eq!(program.insts[0].dst, Some(c));
    }
}
