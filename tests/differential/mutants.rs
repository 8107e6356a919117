//! How sharp the comparison is: a mistake in the language's meaning, made by changing the script, has to be noticed.
//!
//! ```text
//! .mirror() read as .reflect()     the mutant compiles the changed script and is held against the right one
//! ```

use crate::campaign::{differs, on_large_stack};
use crate::generate::generate;
use crate::runner::{Answer, Case, Reference, Runner, case};

/// What is written, and what a wrong engine takes it for.
const MUTATIONS: [(&str, &str); 22] = [
    (".mirror(", ".reflect("),
    (".clamp()", ".wrap()"),
    (".wrap()", ".clamp()"),
    ("blend first", "blend last"),
    ("blend last", "blend first"),
    ("blend min", "blend max"),
    ("blend mean", "blend sum"),
    ("floor(", "trunc("),
    ("round(", "ceil("),
    ("fma(", "lerp("),
    (" // ", " % "),
    (" >> ", " << "),
    (" < ", " <= "),
    ("min(", "max("),
    ("(mean(", "(sum("),
    ("argmin(", "argmax("),
    ("f16(", "f32("),
    ("abs(", "sign("),
    (" offset [0", " offset [1"),
    (".stride([2", ".stride([3"),
    (".flip([x])", ".flip([y])"),
    ("index(y)", "y"),
];

/// Seeds until a mutant must be found.
const MOST_SEEDS: u64 = 3000;

/// The interpreter on a script that was changed.
struct Mutant {
    case: Case,
}

impl Runner for Mutant {
    fn name(&self) -> String {
        "the mutant".to_owned()
    }

    fn read(&mut self, _: &mut Case, slice: &str) -> Result<Answer, String> {
        Reference.read(&mut self.case, slice)
    }
}

/// How many seeds it takes until the mutation is noticed.
fn seeds_needed(from: &str, to: &str) -> Option<u64> {
    (0..MOST_SEEDS).find(|seed| {
        let (script, _) = generate(*seed);
        let text = script.text();
        let changed = text.replace(from, to);
        if changed == text {
            return false;
        }
        let Ok(case) = case(&changed, *seed) else { return false };
        differs(&script, *seed, &mut [Box::new(Reference), Box::new(Mutant { case })]).is_some()
    })
}

#[test]
fn mutants_are_noticed() {
    let missed: Vec<_> = MUTATIONS
        .into_iter()
        .filter(|(from, to)| {
            let needed = on_large_stack(|| seeds_needed(from, to));
            println!("`{from}` taken for `{to}`: {needed:?}");
            needed.is_none()
        })
        .collect();
    assert!(missed.is_empty(), "{missed:?}");
}
