//! The door through which an engine's reply becomes a sampled span.

use verbatim_tokens::{LengthMismatch, LogprobKind, Logprobs, Runs, Sampled, TokenId, Version};

use crate::{EngineError, Increment};

/// The validated pieces of one turn, over as many attempts as it takes.
///
/// An aborted attempt leaves its tokens here; the next one goes on after them with what
/// [`Attempts::remaining`] leaves. The tokens of the attempts sum to the tokens of the turn.
#[derive(Debug)]
pub struct Attempts {
    ids: Vec<TokenId>,
    logprobs: Logprobs,
    versions: Runs<Option<Version>>,
    kind: LogprobKind,
    limit: usize,
}

impl Attempts {
    /// Nothing sampled yet, `limit` tokens allowed in all, logprobs of `kind`.
    pub fn new(kind: LogprobKind, limit: u32) -> Self {
        Self {
            ids: Vec::new(),
            logprobs: Logprobs::default(),
            versions: Runs::default(),
            kind,
            limit: limit as usize,
        }
    }

    /// Takes an increment over.
    ///
    /// # Errors
    /// [`EngineError::Lengths`] if ids and logprobs (or alternatives, if there are any) differ in
    /// number, [`EngineError::TooMany`] if the limit is exceeded. After an error the turn must not
    /// be committed.
    pub fn push(&mut self, increment: Increment) -> Result<(), EngineError> {
        let Increment { ids, logprobs, version, top } = increment;
        if ids.len() != logprobs.len() || (!top.is_empty() && top.len() != ids.len()) {
            return Err(
                LengthMismatch { ids: ids.len(), logprobs: logprobs.len(), versions: ids.len() }.into()
            );
        }
        let sent = self.ids.len() + ids.len();
        if sent > self.limit {
            return Err(EngineError::TooMany { sent, allowed: self.limit });
        }
        self.versions.extend(version, ids.len());
        self.ids.extend(ids);
        logprobs.into_iter().for_each(|value| self.logprobs.push(value));
        Ok(())
    }

    /// The ids so far: what the next attempt's prompt must end with.
    pub fn ids(&self) -> &[TokenId] {
        &self.ids
    }

    /// How many tokens the next attempt may sample.
    pub fn remaining(&self) -> u32 {
        (self.limit - self.ids.len()) as u32
    }

    /// The turn's sampled span.
    ///
    /// # Errors
    /// [`EngineError::Lengths`]; [`Attempts::push`] has refused every way to get there.
    #[expect(clippy::disallowed_methods, reason = "this is the validator of engine replies")]
    pub fn finish(self) -> Result<Sampled, EngineError> {
        Ok(Sampled::admit(self.ids, self.logprobs, self.versions, self.kind)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn increment(ids: &[u32], version: &str) -> Increment {
        Increment {
            ids: ids.iter().copied().map(TokenId).collect(),
            logprobs: ids.iter().map(|id| Some(-(*id as f32))).collect(),
            version: Some(Version::new(version)),
            top: Vec::new(),
        }
    }

    #[test]
    fn attempts_sum_to_the_turn() {
        let mut attempts = Attempts::new(LogprobKind::Raw, 5);
        attempts.push(increment(&[1, 2], "1")).unwrap();
        assert_eq!(attempts.remaining(), 3);
        attempts.push(increment(&[3], "2")).unwrap();
        let sampled = attempts.finish().unwrap();
        assert_eq!(TokenId::raw(sampled.ids()), [1, 2, 3]);
        assert_eq!(sampled.logprobs().get(2), Some(-3.0));
        assert_eq!(sampled.versions().get(1), Some(&Some(Version::new("1"))));
        assert_eq!(sampled.versions().get(2), Some(&Some(Version::new("2"))));
    }

    #[test]
    fn increments_whose_lengths_differ_are_refused() {
        let mut short = increment(&[1, 2], "1");
        short.logprobs.pop();
        assert!(matches!(Attempts::new(LogprobKind::Raw, 9).push(short), Err(EngineError::Lengths(_))));
        let mut top = increment(&[1, 2], "1");
        top.top = vec![Vec::new()];
        assert!(matches!(Attempts::new(LogprobKind::Raw, 9).push(top), Err(EngineError::Lengths(_))));
    }

    #[test]
    fn tokens_beyond_the_limit_are_refused() {
        let refused = Attempts::new(LogprobKind::Raw, 1).push(increment(&[1, 2], "1"));
        assert_eq!(refused, Err(EngineError::TooMany { sent: 2, allowed: 1 }));
    }
}
