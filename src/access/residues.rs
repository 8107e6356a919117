//! A form for each residue of the coordinates inside its floor divisions: there it has none any more.
//!
//! ```text
//! 2·x - 3·⌊x / 2⌋ - 1        x = 2k:   k - 1         x = 2k+1: k + 1
//! ⌊(x - 12·⌊x / 12⌋) / 5⌋    x = 12k + r: ⌊r / 5⌋    a remainder repeats, and so does what is made of it
//! ```

use super::linear::{Atom, Floor, Linear};
use crate::graph::body::Coord;
use crate::index::interval::{floor_div, gcd};
use std::collections::BTreeMap;

/// At most this many residues are told apart; beyond, each floor division is bounded on its own.
const MAX_RESIDUES: i64 = 512;

/// A form where each coordinate inside a floor division is `modulus · k + residue`.
#[derive(Debug)]
pub struct Case {
    /// Per such coordinate: itself, its modulus, its residue.
    pub places: Vec<(Coord, i64, i64)>,
    /// Without floor divisions; such a coordinate stands for its k.
    pub form: Linear,
}

impl Case {
    /// The ends of an atom of the case, from those of the atom itself.
    pub fn ends(&self, atom: Atom, (lo, hi): (i128, i128)) -> (i128, i128) {
        let place = match atom {
            Atom::Coord(coord) => self.place(coord),
            Atom::Floor(_) | Atom::Node(_) => None,
        };
        let (modulus, residue) = place.map_or((1, 0), |(modulus, residue)| (modulus.into(), residue.into()));
        (-(residue - lo).div_euclid(modulus), (hi - residue).div_euclid(modulus))
    }

    /// Modulus and residue of a coordinate inside a floor division.
    pub fn place(&self, coord: Coord) -> Option<(i64, i64)> {
        self.places.iter().find(|(own, ..)| *own == coord).map(|(_, modulus, residue)| (*modulus, *residue))
    }
}

/// The form for every combination of residues; `None` without floor divisions, or when there are too many cases.
pub fn residues(form: &Linear, floors: &[Floor]) -> Option<Vec<Case>> {
    let cases = case_count(form, floors)?;
    let moduli = moduli(form, floors)?;
    (0..cases).map(|case| substitute(form, floors, &moduli, case)).collect()
}

/// How many combinations of residues there are; `None` without floor divisions, or when there are too many.
pub fn case_count(form: &Linear, floors: &[Floor]) -> Option<i64> {
    let moduli = moduli(form, floors)?;
    let cases = moduli.values().try_fold(1i64, |n, (modulus, _)| n.checked_mul(*modulus))?;
    (!moduli.is_empty() && cases <= MAX_RESIDUES).then_some(cases)
}

/// Per coordinate, a step that adds the same amount to a value wherever it is taken, and that amount.
type Periods = BTreeMap<Coord, (i64, i64)>;

/// Per coordinate inside a floor division of the form, a step after which every floor division repeats.
fn moduli(form: &Linear, floors: &[Floor]) -> Option<Periods> {
    let mut moduli = Periods::new();
    for (atom, factor) in &form.terms {
        let Atom::Floor(floor) = atom else { continue };
        merge(&mut moduli, *factor, &repeats(&floors[*floor as usize], floors)?)?;
    }
    Some(moduli)
}

/// The periods of a floor division: those of what is divided, until that grows by a multiple of the divisor.
fn repeats(Floor { form, by }: &Floor, floors: &[Floor]) -> Option<Periods> {
    let mut periods = moduli(form, floors)?;
    for (atom, factor) in &form.terms {
        match atom {
            Atom::Coord(coord) => merge(&mut periods, *factor, &Periods::from([(*coord, (1, 1))]))?,
            Atom::Floor(_) => {}
            Atom::Node(_) => return None,
        }
    }
    for (period, growth) in periods.values_mut() {
        let times = by / gcd(*by, *growth);
        *period = period.checked_mul(times).filter(|period| *period <= MAX_RESIDUES)?;
        *growth = growth.checked_mul(times)? / by;
    }
    Some(periods)
}

/// Adds `factor` times a value with the periods `other`.
fn merge(periods: &mut Periods, factor: i64, other: &Periods) -> Option<()> {
    for (coord, (period, growth)) in other {
        let (known, grown) = periods.entry(*coord).or_insert((1, 0));
        let both =
            (*known / gcd(*known, *period)).checked_mul(*period).filter(|both| *both <= MAX_RESIDUES)?;
        let own = grown.checked_mul(both / *known)?;
        *grown = own.checked_add(factor.checked_mul(*growth)?.checked_mul(both / period)?)?;
        *known = both;
    }
    Some(())
}

fn substitute(form: &Linear, floors: &[Floor], moduli: &Periods, mut case: i64) -> Option<Case> {
    let mut places = Vec::new();
    for (coord, (modulus, _)) in moduli {
        places.push((*coord, *modulus, case % modulus));
        case /= modulus;
    }
    let case = Case { places, form: Linear::constant(0) };
    Some(Case { form: expand(form, floors, &case)?, ..case })
}

/// The form with every such coordinate replaced by `modulus · k + residue`, and floor divisions by what they are then.
fn expand(form: &Linear, floors: &[Floor], case: &Case) -> Option<Linear> {
    let mut sum = Linear::constant(form.offset);
    for (atom, factor) in &form.terms {
        let part = match atom {
            Atom::Floor(floor) => {
                let Floor { form, by } = &floors[*floor as usize];
                let inside = expand(form, floors, case)?;
                let terms = inside.terms.iter().map(|(atom, factor)| (*atom, factor / by)).collect();
                Linear { offset: floor_div(inside.offset, *by), terms }
            }
            Atom::Coord(coord) => {
                let (modulus, residue) = case.place(*coord).unwrap_or((1, 0));
                Linear { offset: residue, terms: vec![(*atom, modulus)] }
            }
            Atom::Node(_) => Linear::atom(*atom),
        };
        sum = sum.plus(*factor, &part)?;
    }
    Some(sum)
}
