//! A script that shows something -> a smaller one that still shows it.

use crate::tree::{Node, Script};

/// Scripts tried at the most.
const MOST_TRIES: usize = 3000;

/// Drops reads, items and clauses and simplifies expressions as long as `shows` stays true.
pub(crate) fn shrink(script: &Script, shows: &mut dyn FnMut(&Script) -> bool) -> Script {
    let mut small = script.clone();
    let mut tries = 0;
    loop {
        let before = small.size();
        for candidates in [without_reads, without_items, without_clauses, simpler] {
            // What is tried next depends on what was taken, so candidates are asked for by number.
            let mut number = 0;
            while let Some(candidate) = candidates(&small, number) {
                tries += 1;
                if tries > MOST_TRIES {
                    return small;
                }
                if candidate.size() < small.size() && shows(&candidate) {
                    small = candidate;
                } else {
                    number += 1;
                }
            }
        }
        if small.size() == before {
            return small;
        }
    }
}

fn without_reads(script: &Script, number: usize) -> Option<Script> {
    let mut smaller = script.clone();
    (number < script.reads.len() && script.reads.len() > 1).then(|| {
        smaller.reads.remove(number);
        smaller
    })
}

/// Later items go first: nothing depends on them.
fn without_items(script: &Script, number: usize) -> Option<Script> {
    let mut smaller = script.clone();
    (number < script.items.len()).then(|| {
        smaller.items.remove(script.items.len() - 1 - number);
        smaller
    })
}

fn without_clauses(script: &Script, number: usize) -> Option<Script> {
    let places = script.items.iter().enumerate();
    let mut places = places.flat_map(|(at, item)| (0..item.clauses.len()).map(move |clause| (at, clause)));
    let (at, clause) = places.nth(number)?;
    let mut smaller = script.clone();
    smaller.items[at].clauses.remove(clause);
    Some(smaller)
}

/// Every expression replaced by the simplest of its type, and by each of its parts of the same type.
fn simpler(script: &Script, number: usize) -> Option<Script> {
    let mut left = number;
    for (at, item) in script.items.iter().enumerate() {
        let Some(body) = &item.body else { continue };
        for place in 0..body.size() {
            let mut smaller = script.clone();
            let node = smaller.items[at].body.as_mut().expect("has a body").at(place);
            let mut ways: Vec<Node> = vec![Node::simplest(node.ty)];
            ways.extend(node.kids.iter().filter(|kid| kid.ty == node.ty).cloned());
            if left < ways.len() {
                *node = ways.swap_remove(left);
                return Some(smaller);
            }
            left -= ways.len();
        }
    }
    None
}
