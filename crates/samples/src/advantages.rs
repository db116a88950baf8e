//! Advantages that a user's function gave a row.
//!
//! The invariant: there is one value for the row, or one for each of its turns; what a token has follows from
//! the turn that it was sampled in.

use serde::{Deserialize, Serialize};

use crate::Row;

/// A row's advantages: as given, before any trainer's normalisation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Advantages {
    /// One for the whole row.
    Whole(f64),
    /// One for each turn of the row.
    Turns(Vec<f64>),
}

/// Advantages that do not fit their row.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AdvantageError {
    /// Another number of values than of turns.
    #[error("{values} values for {turns} turns; give one a turn, or one number for the whole context")]
    Turns {
        /// Values that were given.
        values: usize,
        /// Turns of the row.
        turns: usize,
    },
    /// No number that can be trained on.
    #[error("{0} is no finite number")]
    NotFinite(f64),
}

impl Row {
    /// Takes advantages.
    ///
    /// # Errors
    /// [`AdvantageError`]; the row is as it was.
    pub fn credit(&mut self, advantages: Advantages) -> Result<(), AdvantageError> {
        let values = match &advantages {
            Advantages::Whole(value) => std::slice::from_ref(value),
            Advantages::Turns(values) if values.len() != self.turns.len() => {
                return Err(AdvantageError::Turns { values: values.len(), turns: self.turns.len() });
            }
            Advantages::Turns(values) => values,
        };
        if let Some(value) = values.iter().find(|value| !value.is_finite()) {
            return Err(AdvantageError::NotFinite(*value));
        }
        self.advantages = Some(advantages);
        Ok(())
    }

    /// `n` advantages, 0 for what was not sampled; `None` if the row has none.
    pub fn token_advantages(&self) -> Option<Vec<f64>> {
        let advantages = self.advantages.as_ref()?;
        let mut tokens = vec![0.0; self.tokens.len()];
        for (at, turn) in self.turns.iter().enumerate() {
            let value = match advantages {
                Advantages::Whole(value) => Some(*value),
                Advantages::Turns(values) => values.get(at).copied(),
            };
            if let (Some(value), Some(span)) = (value, tokens.get_mut(turn.start..turn.end)) {
                span.fill(value);
            }
        }
        Some(tokens)
    }

    /// One reward for each turn, where there is one; `None` if no turn has one.
    pub fn turn_rewards(&self) -> Option<Vec<Option<f64>>> {
        let rewards: Vec<_> = self.turns.iter().map(|turn| turn.reward).collect();
        rewards.iter().any(Option::is_some).then_some(rewards)
    }
}
