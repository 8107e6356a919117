//! What the scripts of a run used: every feature that is listed here has to turn up.

use crate::exprs::{MATH, MATH2};
use crate::views::OPS;
use itp::graph::types::Element;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// How often each feature was used.
#[derive(Clone, Default)]
pub(crate) struct Features(BTreeMap<String, u64>);

const OPERATORS: [&str; 20] = [
    "+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=",
    "unary -", "not",
];
const LOGIC: [&str; 7] = ["and", "or", "&", "|", "^", "==", "!="];
const FUNCTIONS: [&str; 22] = [
    "abs",
    "min",
    "max",
    "clamp",
    "select",
    "lerp",
    "smoothstep",
    "floor",
    "ceil",
    "round",
    "trunc",
    "fract",
    "sign",
    "sqrt",
    "fma",
    "bits",
    "float_bits",
    "popcount",
    "hash",
    "rand",
    "of the script",
    "over an array",
];
const REDUCTIONS: [&str; 9] = ["sum", "product", "min", "max", "mean", "any", "all", "argmin", "argmax"];
pub(crate) const BLENDS: [&str; 8] = ["sum", "product", "min", "max", "first", "last", "mean", "custom"];
const WINDOWS: [&str; 23] = [
    "overlap",
    "crowded",
    "gap",
    "exact",
    "offset",
    "1 dims",
    "2 dims",
    "3 dims",
    "bounded",
    "unbounded",
    "half bounded",
    "by name",
    "named and changed",
    "take",
    "two takes",
    "take of a view",
    "take mapped",
    "take fixed",
    "take by default",
    "index",
    "extern",
    "blend with init",
    "blend by default",
];
const ITEMS: [&str; 13] = [
    "param",
    "typed param",
    "let",
    "table item",
    "fn",
    "input",
    "var",
    "set",
    "set through a view",
    "view item",
    "tensor pointwise",
    "tensor windowed",
    "window item",
];
const EXPRESSIONS: [&str; 18] = [
    "if",
    "block",
    "weak operand",
    "wide literal",
    "weak body",
    "float ** constant",
    "float ** float",
    "reduction over two",
    "empty reduction",
    "table",
    "cast to f16",
    "guarded read",
    "read of a take",
    "view in place",
    "chained views",
    "use noise",
    "use filter",
    "use blend",
];
const COORDINATES: [&str; 8] = [
    "coordinate by //",
    "coordinate by %",
    "coordinate from data",
    "clamped coordinate",
    "strided read",
    "resampling idiom",
    "sum of coordinates",
    "coordinate through u64",
];
const SHAPES: [&str; 24] = [
    "view with a negative step",
    "slice of leading dimensions",
    "slice with ...",
    "view op with a map",
    "boundary of one end",
    "unlabelled dimension",
    "use shade",
    "rank 0",
    "rank 1",
    "rank 2",
    "rank 3",
    "rank 4",
    "empty domain",
    "half bounded domain",
    "channels",
    "implicit bounds",
    "chunk",
    "format",
    "recurrence 1",
    "recurrence 2",
    "recurrence with a halo",
    "recurrence first",
    "recurrence middle",
    "recurrence last",
];
const READS: [&str; 12] = [
    "far reads",
    "read by labels",
    "read step",
    "read negative step",
    "read integer",
    "read far",
    "read very far",
    "read one element",
    "read whole",
    "read negative",
    "read of a view",
    "read beyond implicit bounds",
];

/// Every feature that has to turn up.
pub(crate) fn listed() -> Vec<String> {
    let group = |start: &'static str, names: &[&str]| -> Vec<String> {
        names.iter().map(|name| format!("{start}{name}")).collect()
    };
    let types: Vec<&str> = Element::ALL.iter().map(|element| element.name()).collect();
    [
        group("op ", &OPERATORS),
        group("bool ", &LOGIC),
        group("fn ", &FUNCTIONS),
        group("fn ", &MATH),
        group("fn ", &MATH2),
        group("reduce ", &REDUCTIONS),
        group("cast to ", &types),
        group("tensor of ", &types),
        group("input of ", &types),
        group("blend ", &BLENDS),
        group("window ", &WINDOWS),
        group("view ", &OPS),
        group("", &ITEMS),
        group("", &EXPRESSIONS),
        group("", &COORDINATES),
        group("", &SHAPES),
        group("", &READS),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl Features {
    pub(crate) fn hit(&mut self, feature: &str) {
        *self.0.entry(feature.to_owned()).or_default() += 1;
    }

    pub(crate) fn add(&mut self, other: &Features) {
        for (feature, count) in &other.0 {
            *self.0.entry(feature.clone()).or_default() += count;
        }
    }

    /// Features that are listed and did not turn up.
    pub(crate) fn missing(&self) -> Vec<String> {
        listed().into_iter().filter(|feature| !self.0.contains_key(feature)).collect()
    }

    /// Features that turned up and are not listed: a misspelt name.
    pub(crate) fn unlisted(&self) -> Vec<String> {
        let listed: BTreeSet<String> = listed().into_iter().collect();
        self.0.keys().filter(|feature| !listed.contains(*feature)).cloned().collect()
    }

    /// Four features to a line, in the order of the list.
    pub(crate) fn table(&self) -> String {
        let mut table = String::new();
        for line in listed().chunks(4) {
            for feature in line {
                let count = self.0.get(feature).copied().unwrap_or_default();
                write!(table, "{feature:<24}{count:>7}    ").expect("a string takes everything");
            }
            table.push('\n');
        }
        table
    }
}
