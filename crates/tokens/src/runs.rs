//! Values that hold for stretches of tokens.

use serde::{Deserialize, Serialize};

/// One value a token, stored once a stretch of equal neighbours.
///
/// Policy versions change a few times in a session of a hundred thousand tokens; this keeps them
/// per token at the cost of per change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runs<T> {
    /// Each value with the index one past its last token; ends grow strictly.
    runs: Vec<(T, usize)>,
}

impl<T> Default for Runs<T> {
    fn default() -> Self {
        Self { runs: Vec::new() }
    }
}

impl<T: PartialEq> Runs<T> {
    /// Appends `count` tokens that all carry `value`.
    pub fn extend(&mut self, value: T, count: usize) {
        if count == 0 {
            return;
        }
        let end = self.len() + count;
        match self.runs.last_mut() {
            Some((last, until)) if *last == value => *until = end,
            _ => self.runs.push((value, end)),
        }
    }
}

impl<T> Runs<T> {
    /// Forgets every token from `length` on.
    pub fn truncate(&mut self, length: usize) {
        let whole = self.runs.partition_point(|(_, end)| *end < length);
        self.runs.truncate(if length == 0 { 0 } else { whole + 1 });
        if let Some((_, end)) = self.runs.last_mut() {
            *end = length.min(*end);
        }
    }

    /// How many tokens are covered.
    pub fn len(&self) -> usize {
        self.runs.last().map_or(0, |(_, end)| *end)
    }

    /// Whether no token is covered.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The value of token `at`.
    pub fn get(&self, at: usize) -> Option<&T> {
        let run = self.runs.partition_point(|(_, end)| *end <= at);
        self.runs.get(run).map(|(value, _)| value)
    }

    /// Each stretch in order: its value and its length in tokens.
    pub fn iter(&self) -> impl Iterator<Item = (&T, usize)> + '_ {
        let mut start = 0;
        self.runs.iter().map(move |(value, end)| {
            let count = end - start;
            start = *end;
            (value, count)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Runs are a compressed list: same length, same value at every index, no two equal neighbours.
        #[test]
        fn runs_are_the_list_they_compress(list in prop::collection::vec(0u8..3, 0..60)) {
            let mut runs = Runs::default();
            list.iter().for_each(|v| runs.extend(*v, 1));
            prop_assert_eq!(runs.len(), list.len());
            for (at, value) in list.iter().enumerate() {
                prop_assert_eq!(runs.get(at), Some(value));
            }
            prop_assert_eq!(runs.get(list.len()), None);
            let stretches: Vec<_> = runs.iter().collect();
            prop_assert!(stretches.windows(2).all(|w| w[0].0 != w[1].0));
            prop_assert_eq!(stretches.iter().map(|s| s.1).sum::<usize>(), list.len());
        }

        /// Truncated runs are the runs of the truncated list.
        #[test]
        fn truncating_runs_is_truncating_the_list(list in prop::collection::vec(0u8..3, 0..20), at in 0usize..25) {
            let of = |list: &[u8]| {
                let mut runs = Runs::default();
                list.iter().for_each(|v| runs.extend(*v, 1));
                runs
            };
            let mut runs = of(&list);
            runs.truncate(at);
            prop_assert_eq!(runs, of(&list[..at.min(list.len())]));
        }
    }
}
