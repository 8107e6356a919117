//! Names that stand for something in a part of the text only.
//!
//! ```text
//! { let a = 1; let a = a + 1; a }      the last `a` that is still there is meant
//! ```

use std::collections::HashMap;
use std::sync::Arc;

/// Names in the order in which they came, each found without looking at the others.
#[derive(Clone, Debug)]
pub(super) struct Scope<T> {
    entries: Vec<(Arc<str>, T)>,
    /// Where the entries of a name are, the last one last.
    places: HashMap<Arc<str>, Vec<usize>>,
}

impl<T> Scope<T> {
    pub(super) fn push(&mut self, name: Arc<str>, value: T) {
        self.places.entry(name.clone()).or_default().push(self.entries.len());
        self.entries.push((name, value));
    }

    /// What the name means now.
    pub(super) fn find(&self, name: &str) -> Option<&T> {
        let place = *self.places.get(name)?.last()?;
        Some(&self.entries[place].1)
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Forgets all but the first `len` names.
    pub(super) fn truncate(&mut self, len: usize) {
        for (name, _) in self.entries.drain(len.min(self.entries.len())..) {
            self.places.get_mut(&name).expect("it was pushed").pop();
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.entries.iter().map(|(name, _)| name)
    }
}

impl<T> Default for Scope<T> {
    fn default() -> Self {
        Scope { entries: Vec::new(), places: HashMap::new() }
    }
}

impl<T> FromIterator<(Arc<str>, T)> for Scope<T> {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, T)>>(entries: I) -> Self {
        let mut scope = Scope::default();
        entries.into_iter().for_each(|(name, value)| scope.push(name, value));
        scope
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_a_name_that_is_still_there_is_found() {
        let names = ["a", "b", "a"].into_iter().zip(0..);
        let mut scope: Scope<i32> = names.map(|(name, at)| (name.into(), at)).collect();
        assert_eq!((scope.find("a"), scope.find("b"), scope.find("c")), (Some(&2), Some(&1), None));
        scope.truncate(2);
        assert_eq!((scope.find("a"), scope.len()), (Some(&0), 2));
        scope.truncate(0);
        assert_eq!((scope.find("a"), scope.names().count()), (None, 0));
    }
}
