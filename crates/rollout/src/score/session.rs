//! The reward of one session.

use serde_json::{Map, Value};

use super::answer::{self, Numbered};
use super::{Finished, ScoreFailure, Scorer};

impl Scorer {
    /// Asks for a session's reward, if one is to be asked for: rows that have one keep it. Says how often it was
    /// asked for.
    pub(crate) async fn session(&self, finished: &mut Finished) -> Result<u32, ScoreFailure> {
        let Some(source) = &self.credit.session else { return Ok(0) };
        if finished.rows.iter().all(|row| row.reward.is_some()) {
            return Ok(0);
        }
        let read = |value| answer::reward(value, self.key());
        let (reward, attempts) = self.ask("reward.session", source, finished.told(), read).await?;
        finished.reward(&reward, |row_has_one| !row_has_one);
        Ok(attempts)
    }
}

impl Finished {
    /// Gives the session's rows a reward: those that `takes` says, of whether they have one.
    pub(super) fn reward(&mut self, (number, fields): &Numbered, takes: impl Fn(bool) -> bool) {
        for row in self.rows.iter_mut().filter(|row| takes(row.reward.is_some())) {
            row.reward = Some(*number);
            keep(&mut row.metadata, fields.as_ref());
        }
    }
}

/// A reward that is an object stays in the metadata whole: its other numbers are metrics.
pub(crate) fn keep(metadata: &mut Map<String, Value>, fields: Option<&Map<String, Value>>) {
    if let Some(fields) = fields {
        metadata.insert("reward".to_owned(), Value::Object(fields.clone()));
    }
}
