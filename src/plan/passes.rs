//! Several steps of a recurrence in one pass over its elements, each a little behind the one before.
//!
//! ```text
//! h[t, y] reads h[t - 1, y - 1 ..= y + 1], three steps per pass in blocks of 4 rows
//!
//! block 0: step 7 rows 0..4, step 8 rows 0..3, step 9 rows 0..2
//! block 1: step 7 rows 4..8, step 8 rows 3..7, step 9 rows 2..6      …
//! ```
//!
//! A block reads what is still in the cache, so a step goes through memory once per pass. The memory of step 7 may be
//! that of step 9: whoever reads a row of step 7 is at most one slope ahead of it, and done when step 9 comes by.
//! Nothing is computed twice, between workers neither: first each does a part that becomes narrower with every step, then
//! the seams between the parts, which become wider.
//!
//! ```text
//! step 9:  aaaa-----bbbb      step 8:  aaaaa---bbbbb      step 7:  aaaaaabbbbbbb      - is done when a and b are
//! ```

use super::recurrence::Steps;
use crate::access::footprint::Region;
use crate::index::Interval;
use crate::index::walk::try_each;
use std::fmt;

/// How a task goes over the steps of a recurrence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passes {
    /// Steps per pass, at the most.
    pub steps: i64,
    /// The dimensions along which steps can follow each other, slowest first.
    pub cuts: Vec<Cut>,
    /// Workers that share each.
    pub workers: usize,
    /// Why so many steps.
    pub why: String,
}

/// Blocks of this size or more are not cut.
pub(super) const WHOLE: i64 = 1 << 60;

impl fmt::Display for Passes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.steps {
            1 => write!(out, "one step per pass")?,
            steps => write!(out, "{steps} steps per pass")?,
        }
        if self.cuts.iter().any(|cut| cut.size < WHOLE) {
            let size = |cut: &Cut| if cut.size < WHOLE { cut.size.to_string() } else { "all".to_owned() };
            let sizes: Vec<String> = self.cuts.iter().map(size).collect();
            write!(out, " in blocks of {}", sizes.join("×"))?;
        }
        write!(out, ", since {}", self.why)
    }
}

/// A dimension along which a step follows the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Which.
    pub dim: usize,
    /// Coordinates of a block.
    pub size: i64,
    /// Coordinates that a step stays behind the one before: as far as it reads on either side.
    pub slope: i64,
}

/// The steps of one pass.
pub struct Pass<'p> {
    cuts: &'p [Cut],
    /// The box of every step; none of one that is not needed.
    boxes: Vec<Option<Region>>,
}

/// Part of a pass: along one of its cuts, coordinates that move from step to step.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    cut: usize,
    /// At the first step.
    range: Interval,
    /// How many more there are below and above with every step; less than none where they become fewer.
    below: i64,
    above: i64,
}

/// Coordinates per worker that are worth it, at the least.
const WORTH: i64 = 4;

impl<'p> Pass<'p> {
    /// The pass over some of the steps of a task.
    pub fn new(passes: &'p Passes, steps: &Steps, range: Interval) -> Pass<'p> {
        Pass {
            cuts: &passes.cuts,
            boxes: (range.first()..=range.last()).map(|step| steps.at(step)).collect(),
        }
    }

    /// What worker `number` does of a pass, before and after all of them meet; none where it has nothing to do.
    pub fn shares(&self, number: usize, workers: usize) -> [Option<Share>; 2] {
        let whole = |cut: usize, range: Interval| {
            let slope = self.cuts.get(cut).map_or(0, |cut| cut.slope);
            Share { cut, range, below: slope, above: slope }
        };
        let count = workers as i64;
        let Some((cut, all)) = self.long_cut(count).filter(|_| count > 1) else {
            return [(number == 0).then(|| whole(0, Interval::all())), None];
        };
        let slope = self.cuts[cut].slope;
        let bound = |at: usize| all.first() + all.len().unwrap_or(0) * at as i64 / count;
        let (first, end) = (bound(number), bound(number + 1));
        let (is_first, is_last) = (number == 0, number + 1 == workers);
        let mut own = whole(cut, Interval::trusted(first, end - 1));
        own.below = if is_first { slope } else { -slope };
        own.above = if is_last { slope } else { -slope };
        let seam = whole(cut, Interval::trusted(end, end - 1));
        [Some(own), (!is_last && self.boxes.len() > 1).then_some(seam)]
    }

    /// The slowest cut along which every worker has enough to do, and where that is: no two seams may meet.
    fn long_cut(&self, workers: i64) -> Option<(usize, Interval)> {
        let steps = self.boxes.len() as i64;
        let ranges = (0..self.cuts.len()).filter_map(|at| {
            let range = |region: &Region| region[self.cuts[at].dim];
            Some((at, self.boxes.iter().flatten().map(range).reduce(Interval::hull)?))
        });
        let enough = |cut: usize| (2 * self.cuts[cut].slope * steps).max(WORTH) * workers;
        ranges.into_iter().find(|(cut, range)| range.len().is_some_and(|len| len >= enough(*cut)))
    }

    /// Goes through a part of the pass block by block, in each from step to step.
    pub fn blocks<E>(&self, share: Share, mut visit: impl FnMut(&Region) -> Result<(), E>) -> Result<(), E> {
        let ends: Vec<Interval> = (0..self.cuts.len()).map(|cut| self.ends(share, cut)).collect();
        let numbers = self.cuts.iter().zip(&ends).map(|(cut, ends)| match ends.len() {
            Some(len) if len > 0 => Interval::trusted(0, (len - 1) / cut.size),
            _ => Interval::EMPTY,
        });
        try_each(&numbers.collect::<Region>(), |number| {
            for step in 0..self.boxes.len() {
                let Some(mut part) = self.boxes[step].clone() else { continue };
                for (at, cut) in self.cuts.iter().enumerate() {
                    let range = self.range(share, at, step, part[cut.dim]);
                    let first = ends[at].first() + number[at] * cut.size - step as i64 * cut.slope;
                    let (first, last) =
                        (first.max(range.first()), first.saturating_add(cut.size - 1).min(range.last()));
                    part[cut.dim] =
                        if first <= last { Interval::trusted(first, last) } else { Interval::EMPTY };
                }
                if part.iter().all(|range| !range.is_empty()) {
                    visit(&part)?;
                }
            }
            Ok(())
        })
    }

    /// What a part has of one step along a cut.
    fn range(&self, share: Share, cut: usize, step: usize, all: Interval) -> Interval {
        if cut == share.cut { all.intersect(share.at(step as i64)) } else { all }
    }

    /// Where the blocks of a part begin and end along a cut, at its first step.
    fn ends(&self, share: Share, cut: usize) -> Interval {
        let Cut { dim, slope, .. } = self.cuts[cut];
        let steps = self.boxes.iter().enumerate().filter_map(|(step, region)| {
            let range = self.range(share, cut, step, region.as_ref()?[dim]);
            let ahead = step as i64 * slope;
            (!range.is_empty()).then(|| Interval::trusted(range.first() + ahead, range.last() + ahead))
        });
        steps.reduce(Interval::hull).unwrap_or(Interval::EMPTY)
    }
}

impl Share {
    fn at(self, step: i64) -> Interval {
        if self.range == Interval::all() {
            return self.range;
        }
        Interval::trusted(self.range.first() - step * self.below, self.range.last() + step * self.above)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::walk::each;
    use crate::plan::grid::volume;
    use std::collections::BTreeMap;

    /// Numbers that look random, from a seed.
    struct Dice(u64);

    impl Dice {
        fn within(&mut self, first: i64, last: i64) -> i64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            first + ((self.0 >> 33) as i64).rem_euclid(last - first + 1)
        }
    }

    /// A recurrence over two dimensions, and the memory of its steps: which of them was written last to each place.
    struct World {
        slopes: [i64; 2],
        reach: i64,
        boxes: Vec<Option<Region>>,
        memory: BTreeMap<(i64, i64, i64), i64>,
        computed: BTreeMap<(i64, i64, i64), u32>,
    }

    impl World {
        fn new(dice: &mut Dice) -> World {
            let slopes = [dice.within(0, 2), dice.within(0, 2)];
            let (sizes, steps) = ([dice.within(1, 40), dice.within(1, 9)], dice.within(1, 12));
            // Some grow backwards, some have walls.
            let walls = [dice.within(0, 6), dice.within(0, 6)];
            let region = |step: i64| {
                let more = |dim: usize| (slopes[dim] * (steps - 1 - step)).min(walls[dim]);
                let range = |dim: usize| Interval::trusted(-more(dim), sizes[dim] - 1 + more(dim));
                vec![Interval::trusted(step, step), range(0), range(1)]
            };
            let boxes = (0..steps).map(|step| Some(region(step))).collect();
            let (memory, computed) = (BTreeMap::new(), BTreeMap::new());
            World { slopes, reach: dice.within(1, 3), boxes, memory, computed }
        }

        fn slot(&self, step: i64) -> i64 {
            step % (self.reach + 1)
        }

        /// Computes a box of one step, looking at everything it may read.
        fn compute(&mut self, part: &Region) {
            each(part, |at| {
                let step = at[0];
                for earlier in (step - self.reach).max(0)..step {
                    let all = self.boxes[earlier as usize].clone().expect("every step is needed");
                    let near = |dim: usize| {
                        let (at, slope) = (at[dim + 1], self.slopes[dim]);
                        Interval::trusted(at - slope, at + slope).intersect(all[dim + 1])
                    };
                    each(&[near(0), near(1)], |read| {
                        let found = self.memory.get(&(self.slot(earlier), read[0], read[1]));
                        assert_eq!(found, Some(&earlier), "{at:?} reads {read:?} of step {earlier}");
                    });
                }
                self.memory.insert((self.slot(step), at[1], at[2]), step);
                *self.computed.entry((step, at[1], at[2])).or_default() += 1;
            });
        }
    }

    /// The boxes of all workers between two meetings, taken in turns that the dice decide.
    fn mixed(dice: &mut Dice, mut lists: Vec<Vec<Region>>) -> Vec<Region> {
        lists.iter_mut().for_each(|list| list.reverse());
        let mut mixed = Vec::new();
        while lists.iter().any(|list| !list.is_empty()) {
            let at = dice.within(0, lists.len() as i64 - 1) as usize;
            mixed.extend(lists[at].pop());
        }
        mixed
    }

    #[test]
    fn passes_compute_every_element_once_and_read_only_what_is_there() {
        for seed in 0..150 {
            let mut dice = Dice(seed);
            let mut world = World::new(&mut dice);
            let cut = |dim: usize, size: i64| Cut { dim: dim + 1, size, slope: world.slopes[dim] };
            let cuts: Vec<Cut> = vec![
                cut(0, dice.within(1, 12)),
                cut(1, if seed % 2 == 0 { 1 << 40 } else { dice.within(1, 5) }),
            ];
            let (most, workers) = (dice.within(1, 7), dice.within(1, 3) as usize);
            let boxes = world.boxes.clone();
            for boxes in boxes.chunks(most as usize) {
                let pass = Pass { cuts: &cuts, boxes: boxes.to_vec() };
                for phase in 0..2 {
                    let blocks = |number: usize| {
                        let mut list = Vec::new();
                        let share = pass.shares(number, workers)[phase];
                        let Ok(()) = share.map_or(Ok(()), |share| {
                            pass.blocks(share, |part| {
                                list.push(part.clone());
                                Ok::<(), std::convert::Infallible>(())
                            })
                        });
                        list
                    };
                    let lists = (0..workers).map(blocks).collect();
                    mixed(&mut dice, lists).iter().for_each(|part| world.compute(part));
                }
            }
            let elements: u128 = world.boxes.iter().flatten().map(|region| volume(region)).sum();
            assert_eq!(world.computed.len() as u128, elements, "seed {seed}");
            assert!(world.computed.values().all(|count| *count == 1), "seed {seed}");
        }
    }
}
