//! Members of a task that are made whole -> buffers that they share: one is given on once its last reader is done.
//!
//! ```text
//! a -> b -> c -> d -> result, each a whole box of the one before      a in 0, b in 1, c in 0 again, d in 1 again
//! ```
//!
//! What goes along in bands, and what something reads that does, keeps its buffer to the end.

use super::bands::Task;
use super::group::{Group, Role};
use super::stages::Stages;
use std::collections::BTreeSet;

/// The memory that a task holds besides its steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    /// Which one each member lies in; none for those that need none.
    pub of: Vec<Option<usize>>,
    /// Bytes of each member.
    pub needed: Vec<u128>,
}

impl Buffers {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.of.iter().flatten().max().map_or(0, |last| last + 1)
    }

    /// Bytes of a buffer, if only some members are put into theirs.
    pub fn bytes(&self, buffer: usize, put: impl Fn(usize) -> bool) -> u128 {
        let members = self.of.iter().zip(&self.needed).enumerate();
        let own = members.filter(|(at, (of, _))| **of == Some(buffer) && put(*at));
        own.map(|(_, (_, bytes))| *bytes).max().unwrap_or(0)
    }

    /// Bytes of all of them.
    pub fn total(&self) -> u64 {
        let bytes = (0..self.count()).map(|buffer| self.bytes(buffer, |_| true));
        bytes.fold(0, u128::saturating_add).min(u64::MAX.into()) as u64
    }
}

/// Finds a buffer for every member of a task, in the order in which they are made.
pub fn buffers(stages: &Stages, group: &Group, task: &Task) -> Buffers {
    let mut found = Buffers::default();
    let (mut free, mut taken) = (BTreeSet::new(), Vec::new());
    let mut count = 0;
    for (at, (member, slot)) in group.members.iter().zip(&task.slots).enumerate() {
        taken.retain(|(last, buffer)| {
            let over = *last < at;
            if over {
                free.insert(*buffer);
            }
            !over
        });
        let slot = slot.as_ref().filter(|_| member.role != Role::Resident);
        let element = stages.tensor(member.tensor).element.bytes();
        found.needed.push(slot.map_or(0, |slot| slot.elements().saturating_mul(element.into())));
        found.of.push(slot.map(|_| match last_reader(group, at) {
            None => {
                count += 1;
                count - 1
            }
            Some(last) => {
                let buffer = free.pop_first().unwrap_or_else(|| {
                    count += 1;
                    count - 1
                });
                taken.push((last, buffer));
                buffer
            }
        }));
    }
    found
}

/// The member that reads another last, if all that read it are made whole, one after the other.
fn last_reader(group: &Group, at: usize) -> Option<usize> {
    let whole = |at: &usize| group.members.get(*at).is_some_and(|member| member.stream.is_none());
    let readers = &group.members[at].readers;
    readers.iter().max().copied().filter(|_| whole(&at) && readers.iter().all(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_as_large_as_the_largest_that_is_put_into_it() {
        let of = vec![Some(0), None, Some(1), Some(0)];
        let buffers = Buffers { of, needed: vec![5, 9, 7, 8] };
        assert_eq!(buffers.count(), 2);
        assert_eq!([0, 1, 2].map(|buffer| buffers.bytes(buffer, |_| true)), [8, 7, 0]);
        assert_eq!(buffers.bytes(0, |at| at == 0), 5);
        assert_eq!(buffers.total(), 15);
        assert_eq!((Buffers::default().count(), Buffers::default().total()), (0, 0));
    }
}
