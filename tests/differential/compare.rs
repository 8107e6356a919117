//! One script through several runners: the first place where two of them disagree.

use crate::operations::Operations;
use crate::runner::{Answer, Case, Runner, case, view};
use crate::tree::Script;
use itp::diagnostic::Diagnostic;
use itp::graph::types::Element;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What became of a script.
pub(crate) enum Outcome {
    /// All runners agree on all reads: what ran, and which reads all of them refused.
    Same {
        operations: Operations,
        refused: Vec<String>,
    },
    /// The checker does not take the script.
    Rejected(Vec<Diagnostic>),
    Different(Difference),
    Panicked(String),
}

/// Two runners that disagree.
pub(crate) struct Difference {
    slice: String,
    names: [String; 2],
    what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [right, wrong] = &self.names;
        write!(f, "read {}\n  {right} (right) and {wrong}: {}", self.slice, self.what)
    }
}

/// Compiles a script and does its reads with every runner.
pub(crate) fn compare(script: &Script, seed: u64, runners: &mut [Box<dyn Runner>]) -> Outcome {
    let text = script.text();
    let tried = catch_unwind(AssertUnwindSafe(|| match case(&text, seed) {
        Ok(mut case) => compare_reads(&mut case, &script.reads, runners),
        Err(problems) => Outcome::Rejected(problems),
    }));
    tried.unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or(panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Outcome::Panicked(said.unwrap_or_default())
    })
}

fn compare_reads(case: &mut Case, reads: &[String], runners: &mut [Box<dyn Runner>]) -> Outcome {
    let (first, others) = runners.split_first_mut().expect("there is a reference");
    let mut refused = Vec::new();
    for slice in reads {
        let right = first.read(case, slice);
        if let Err(why) = &right {
            refused.push(format!("{slice}: {why}"));
        }
        for other in &mut *others {
            let found = other.read(case, slice);
            if let Some(what) = difference(&right, &found, &corner(case, slice)) {
                let names = [first.name(), other.name()];
                return Outcome::Different(Difference { slice: slice.clone(), names, what });
            }
        }
    }
    Outcome::Same { operations: Operations::of(&case.program.graph), refused }
}

/// The lowest coordinates of a slice.
fn corner(case: &mut Case, slice: &str) -> Vec<i64> {
    let view = view(case, slice);
    view.map_or(Vec::new(), |view| view.domain().dims().iter().map(|dim| dim.interval.first()).collect())
}

fn difference(
    right: &Result<Answer, String>,
    found: &Result<Answer, String>,
    corner: &[i64],
) -> Option<String> {
    match (right, found) {
        (Err(_), Err(_)) => None,
        (Ok(_), Err(why)) => Some(format!("the second fails: {why}")),
        (Err(why), Ok(_)) => Some(format!("the first fails: {why}")),
        (Ok(a), Ok(b)) if (a.element, &a.shape) != (b.element, &b.shape) => {
            Some(format!("{}{:?} and {}{:?}", a.element, a.shape, b.element, b.shape))
        }
        (Ok(a), Ok(b)) => {
            let width = a.element.bytes() as usize;
            let mut pairs = a.bytes.chunks(width).zip(b.bytes.chunks(width)).enumerate();
            let (at, (x, y)) = pairs.find(|(_, (x, y))| x != y)?;
            let place = coordinates(at as i64, &a.shape, corner);
            Some(format!("at {place:?} {} and {}", shown(x, a.element), shown(y, a.element)))
        }
    }
}

/// The coordinates of the element with that number in row-major order.
fn coordinates(mut number: i64, shape: &[i64], corner: &[i64]) -> Vec<i64> {
    let mut place = corner.to_vec();
    for (at, size) in shape.iter().enumerate().rev() {
        place[at] += number % size.max(&1);
        number /= size.max(&1);
    }
    place
}

/// An element as hexadecimal and decimal.
fn shown(bytes: &[u8], element: Element) -> String {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(wide);
    let unused = 64 - 8 * bytes.len() as u32;
    let number = match element {
        Element::F64 => format!("{:e}", f64::from_bits(bits)),
        Element::F32 => format!("{:e}", f32::from_bits(bits as u32)),
        Element::F16 => "f16".to_owned(),
        _ if element.is_signed() => (((bits << unused) as i64) >> unused).to_string(),
        _ => bits.to_string(),
    };
    format!("{number} ({bits:#x})")
}
