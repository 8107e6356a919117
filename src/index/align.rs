//! Alignment: how a source is spread over a target when one is copied into the other.
//!
//! ```text
//! source [x: 5..9]  target [y: 3, x: 0..4]    [y: 3, x: 4] -> [5 + x]
//! ```
//!
//! Dimensions match by label, those without from the right; a source dimension of size 1 is repeated,
//! and origins are ignored.

use super::domain::{Dim, Domain};
use super::error::{Result, invalid};
use super::transform::{Affine, OutputMap, Transform, sub};

/// The transform from `target` to `source` that a copy from `source` to `target` reads through.
pub fn align(source: &Domain, target: &Domain) -> Result<Transform> {
    let matches = match_dims(source, target);
    let output = |(i, (dim, matched)): (usize, (&Dim, Option<usize>))| align_dim(i, dim, matched, target);
    let outputs = source.dims().iter().zip(matches).enumerate().map(output).collect::<Result<_>>()?;
    Transform::new(target.clone(), outputs)
}

/// The target dimension of each source dimension, if it has one.
fn match_dims(source: &Domain, target: &Domain) -> Vec<Option<usize>> {
    let unlabelled = |domain: &Domain| domain.dims().iter().all(|dim| dim.label.is_empty());
    if unlabelled(source) || unlabelled(target) {
        let (from, to) = (source.rank(), target.rank());
        return (0..from).map(|i| (to + i).checked_sub(from)).collect();
    }
    let mut free = (0..target.rank()).rev().filter(|&at| target.dims()[at].label.is_empty());
    let find = |dim: &Dim| if dim.label.is_empty() { free.next() } else { target.position(&dim.label) };
    let mut matches: Vec<Option<usize>> = source.dims().iter().rev().map(find).collect();
    matches.reverse();
    matches
}

/// One source dimension: shifted onto its match if the sizes agree, repeated if it has size 1.
fn align_dim(i: usize, dim: &Dim, matched: Option<usize>, target: &Domain) -> Result<OutputMap> {
    let ours = dim.interval;
    if let Some(at) = matched {
        let theirs = target.dims()[at].interval;
        if ours.is_bounded() && ours.len() == theirs.len() {
            return Ok(OutputMap::Affine(Affine::single(sub(ours.first(), theirs.first())?, 1, at)));
        }
        // Without both ends there is no size to compare, so the coordinates must be the same.
        if ours == theirs {
            return Ok(OutputMap::Affine(Affine::dim(at)));
        }
    }
    ours.single().map(OutputMap::constant).ok_or_else(|| mismatch(i, dim, matched, target))
}

fn mismatch(i: usize, dim: &Dim, matched: Option<usize>, target: &Domain) -> super::IndexError {
    match matched {
        Some(at) => invalid(format!(
            "source dimension {i}, `{dim}`, does not fit target dimension {at}, `{}`",
            target.dims()[at]
        )),
        None => {
            invalid(format!("source dimension {i}, `{dim}`, has no match in the target and is not of size 1"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::json::domain_from_json;
    use super::*;
    use serde_json::json;

    fn check(source: serde_json::Value, target: serde_json::Value, expect: &str) {
        let (source, target) = (domain_from_json(&source).unwrap(), domain_from_json(&target).unwrap());
        assert_eq!(align(&source, &target).map_or_else(|e| e.message, |t| t.to_string()), expect);
    }

    #[test]
    fn labels_match_before_positions() {
        let source = json!({"inclusive_min": [5, 2], "exclusive_max": [9, 3], "labels": ["x", "c"]});
        check(source, json!({"shape": [3, 4], "labels": ["y", "x"]}), "[y: 3, x: 4] -> [5 + x, 2]");
    }

    #[test]
    fn sizes_must_agree_or_be_one() {
        let target = || json!({"shape": [3, 4]});
        check(json!({"shape": [1, 4]}), target(), "[_: 3, _: 4] -> [0, #1]");
        check(json!({"shape": [4]}), target(), "[_: 3, _: 4] -> [#1]");
        check(
            json!({"shape": [2, 4]}),
            target(),
            "source dimension 0, `_: 2`, does not fit target dimension 0, `_: 3`",
        );
    }
}
