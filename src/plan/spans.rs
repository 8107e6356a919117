//! What tasks need along one dimension, by their numbers: a few words where that moves evenly.
//!
//! ```text
//! 0..=1, 2..=3, 4..=5, …, 998..=999, 999..=999      from 0 on 500 of them, by 2 and 2; then one
//! ```

use crate::index::Interval;

/// A range per number, for numbers one after the other.
#[derive(Debug)]
pub(super) struct Spans {
    parts: Vec<Part>,
    /// The number after the last.
    end: i64,
    /// From the first to the last number that needs anything.
    some: Interval,
}

/// Ranges that move evenly: all of them are empty, or none.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// The first number.
    number: i64,
    /// Its range.
    span: Interval,
    /// By how much both ends move on.
    step: (i64, i64),
}

impl Part {
    fn ends(&self, number: i64) -> (i64, i64) {
        let at = |start: i64, step: i64| start.wrapping_add(step.wrapping_mul(number - self.number));
        (at(self.span.first(), self.step.0), at(self.span.last(), self.step.1))
    }

    fn of(&self, number: i64) -> Interval {
        let (first, last) = self.ends(number);
        Interval::trusted(first, last)
    }
}

impl Spans {
    /// None yet, for numbers from this one on.
    pub(super) fn starting_at(first: i64) -> Spans {
        Spans { parts: Vec::new(), end: first, some: Interval::EMPTY }
    }

    /// Bytes for so many numbers, at the most: the second of a part is never another part, unless one of both is empty.
    pub(super) fn most_bytes(numbers: u64) -> u64 {
        (numbers / 2 + 2).saturating_mul(size_of::<Part>() as u64)
    }

    /// Adds the range of the next number.
    pub(super) fn push(&mut self, span: Interval) {
        let number = self.end;
        self.end += 1;
        if !span.is_empty() {
            let own = Interval::trusted(number, number);
            self.some = if self.some.is_empty() { own } else { self.some.hull(own) };
        }
        let alike = self.parts.last_mut().filter(|part| part.span.is_empty() == span.is_empty());
        if let Some(part) = alike {
            if part.number + 1 == number {
                let step = |from: i64, to: i64| to.wrapping_sub(from);
                part.step = (step(part.span.first(), span.first()), step(part.span.last(), span.last()));
                return;
            }
            if part.ends(number) == (span.first(), span.last()) {
                return;
            }
        }
        self.parts.push(Part { number, span, step: (0, 0) });
    }

    /// Gives back what is not needed once all are there.
    pub(super) fn shrink(&mut self) {
        self.parts.shrink_to_fit();
    }

    /// The range of a number.
    pub(super) fn of(&self, number: i64) -> Interval {
        let after = self.parts.partition_point(|part| part.number <= number);
        self.parts[after - 1].of(number)
    }

    /// The number after the last.
    pub(super) fn end(&self) -> i64 {
        self.end
    }

    /// From the first to the last number that needs anything.
    pub(super) fn some(&self) -> Interval {
        self.some
    }

    /// All of them, with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (i64, Interval)> {
        let parts = self.parts.iter().zip(self.ends());
        parts.flat_map(|(part, end)| (part.number..end).map(|number| (number, part.of(number))))
    }

    /// Of each part, the number after its last.
    fn ends(&self) -> impl Iterator<Item = i64> {
        self.parts.iter().skip(1).map(|part| part.number).chain([self.end])
    }

    /// Whether all between the first and the last number that need anything do, and both ends never move back, or never on.
    pub(super) fn moves(&self, up: bool) -> bool {
        let forward = |from: (i64, i64), to: (i64, i64)| match up {
            true => from.0 <= to.0 && from.1 <= to.1,
            false => from.0 >= to.0 && from.1 >= to.1,
        };
        let mut before: Option<(i64, i64)> = None;
        self.parts.iter().zip(self.ends()).filter(|(part, _)| self.some.contains(part.number)).all(
            |(part, end)| {
                let (start, last) = (part.ends(part.number), part.ends(end - 1));
                let follows = before.replace(last).is_none_or(|before| forward(before, start));
                !part.span.is_empty() && follows && forward(start, last)
            },
        )
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.parts.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(ranges: &[(i64, i64)]) -> Spans {
        let mut spans = Spans::starting_at(-2);
        ranges.iter().for_each(|(first, last)| spans.push(Interval::trusted(*first, *last)));
        let listed: Vec<(i64, i64)> = spans.iter().map(|(_, span)| (span.first(), span.last())).collect();
        assert_eq!(listed, ranges);
        for (at, range) in (-2..).zip(ranges) {
            let span = spans.of(at);
            assert_eq!((span.first(), span.last()), *range, "{at}");
        }
        assert_eq!(spans.end(), -2 + ranges.len() as i64);
        assert!(spans.bytes() as u64 <= Spans::most_bytes(ranges.len() as u64));
        spans
    }

    #[test]
    fn what_moves_evenly_is_one_part() {
        let even: Vec<(i64, i64)> = (0..100).map(|at| (2 * at, 2 * at + 5)).collect();
        let (even, back) = (spans(&even), spans(&even.iter().rev().copied().collect::<Vec<_>>()));
        assert_eq!((even.parts.len(), back.parts.len()), (1, 1));
        assert_eq!([even.moves(true), even.moves(false)], [true, false]);
        assert_eq!([back.moves(true), back.moves(false)], [false, true]);
    }

    #[test]
    fn ends_and_thirds_are_parts_of_their_own() {
        let clamped = [(0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 5)];
        assert_eq!(spans(&clamped).parts.len(), 3);
        let thirds: Vec<(i64, i64)> = (0..9).map(|at| (at / 3, at / 3)).collect();
        assert_eq!(spans(&thirds).parts.len(), 3);
        assert!(spans(&thirds).moves(true));
        // Ends that come together: what is empty is no part of what is not.
        let closing = [(0, 2), (1, 2), (2, 2), (3, 2), (5, 4)];
        assert_eq!(spans(&closing).some(), Interval::trusted(-2, 0));
        assert!(spans(&closing).moves(true));
    }

    #[test]
    fn what_turns_back_or_has_holes_does_not_move() {
        for ranges in [&[(0, 1), (1, 2), (0, 2)][..], &[(0, 1), (0, -1), (1, 2)], &[(0, 3), (1, 2)]] {
            let spans = spans(ranges);
            assert_eq!([spans.moves(true), spans.moves(false)], [false, false], "{ranges:?}");
        }
        assert!(spans(&[(0, -1), (1, 2), (5, 4)]).moves(true));
        assert_eq!(spans(&[(0, -1)]).some(), Interval::EMPTY);
    }
}
