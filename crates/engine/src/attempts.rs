//! The door through which an engine's reply becomes a sampled span.

use verbatim_tokens::{
    LengthMismatch, LogprobKind, Logprobs, Replay, Runs, Sampled, Speculation, TokenId, Version,
};

use crate::{End, EngineError, Increment};

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
    /// How many tokens there were when the present attempt began.
    began: usize,
    facts: Facts,
}

/// What engines told of a turn besides its tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Prompt tokens that the last attempt found cached.
    pub cached_tokens: Option<u32>,
    /// Routed experts, of the attempts joined. Only as far as they join without a gap.
    pub experts: Option<Replay>,
    /// What the indexer of sparse attention chose, of the attempts joined.
    pub indexer: Option<Replay>,
    /// Speculative decoding, summed over the attempts.
    pub speculation: Option<Speculation>,
    /// Retractions, summed over the attempts.
    pub retractions: u32,
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
            began: 0,
            facts: Facts::default(),
        }
    }

    /// Another attempt begins: it goes on after what there is.
    pub fn begin(&mut self) {
        self.began = self.ids.len();
    }

    /// Takes an increment over.
    ///
    /// # Errors
    /// [`EngineError::Lengths`] if ids and logprobs (or alternatives, if there are any) differ in
    /// number, [`EngineError::TooMany`] if the limit is exceeded. After an error the attempt must be
    /// [discarded](Attempts::discard) or the turn not be committed.
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

    /// Takes over what the end of the present attempt tells. Tokens that its version spans leave out
    /// have an unknown version; experts that do not join those of earlier attempts replace them.
    pub fn end(&mut self, end: &End) {
        if let Some(spans) = &end.versions {
            self.versions.truncate(self.began);
            for span in spans {
                let at = self.versions.len();
                let (start, end) = (self.began + span.start, (self.began + span.end).min(self.ids.len()));
                self.versions.extend(None, start.min(self.ids.len()).saturating_sub(at));
                let at = self.versions.len();
                self.versions.extend(Some(span.version.clone()), end.saturating_sub(at));
            }
            self.versions.extend(None, self.ids.len() - self.versions.len());
        }
        let facts = &mut self.facts;
        facts.cached_tokens = end.cached_tokens.or(facts.cached_tokens);
        facts.retractions += end.retractions;
        join(&mut facts.experts, end.experts.as_ref());
        join(&mut facts.indexer, end.indexer.as_ref());
        if let Some(more) = end.speculation {
            *facts.speculation.get_or_insert_default() += more;
        }
    }

    /// Forgets the tokens of the present attempt.
    pub fn discard(&mut self) {
        self.ids.truncate(self.began);
        self.logprobs.truncate(self.began);
        self.versions.truncate(self.began);
    }

    /// The ids so far: what the next attempt's prompt must end with.
    pub fn ids(&self) -> &[TokenId] {
        &self.ids
    }

    /// How many tokens the next attempt may sample.
    pub fn remaining(&self) -> u32 {
        (self.limit - self.ids.len()) as u32
    }

    /// What was told besides the tokens.
    pub fn facts(&self) -> &Facts {
        &self.facts
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

/// Puts a payload behind what is held; one that does not join replaces it.
fn join(held: &mut Option<Replay>, told: Option<&Replay>) {
    if let Some(told) = told {
        let joined = held.as_ref().and_then(|held| held.join(told).ok());
        *held = Some(joined.unwrap_or_else(|| told.clone()));
    }
}

#[cfg(test)]
mod tests {
    use verbatim_tokens::Width;

    use super::*;
    use crate::{Ending, VersionSpan};

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

    fn span(version: &str, start: usize, end: usize) -> VersionSpan {
        VersionSpan { version: Version::new(version), start, end }
    }

    #[test]
    fn spans_of_the_end_replace_what_increments_said_of_that_attempt_only() {
        let mut attempts = Attempts::new(LogprobKind::Raw, 9);
        attempts.begin();
        attempts.push(increment(&[1, 2], "1")).unwrap();
        attempts.end(&Ending::Aborted.into());
        attempts.begin();
        attempts.push(increment(&[3, 4, 5], "3")).unwrap();
        let spans = vec![span("2", 0, 1), span("3", 2, 90)];
        attempts.end(&End { versions: Some(spans), ..Ending::Length.into() });
        let versions = attempts.finish().unwrap().versions().clone();
        let told: Vec<_> = (0..5).map(|at| versions.get(at).unwrap().as_ref().map(Version::as_str)).collect();
        assert_eq!(told, [Some("1"), Some("1"), Some("2"), None, Some("3")]);
    }

    #[test]
    fn a_discarded_attempt_leaves_nothing() {
        let mut attempts = Attempts::new(LogprobKind::Raw, 9);
        attempts.begin();
        attempts.push(increment(&[1, 2], "1")).unwrap();
        attempts.begin();
        attempts.push(increment(&[3], "2")).unwrap();
        attempts.discard();
        assert_eq!((TokenId::raw(attempts.ids()), attempts.remaining()), (&[1, 2][..], 7));
        let sampled = attempts.finish().unwrap();
        assert_eq!((sampled.len(), sampled.versions().len()), (2, 2));
    }

    #[test]
    fn experts_of_attempts_join_or_the_later_ones_stand_alone() {
        let experts = |start, rows: usize| Replay::new(start, 1, 1, Width::U8, vec![7; rows]).unwrap();
        let mut attempts = Attempts::new(LogprobKind::Raw, 9);
        let end = |experts| End { experts: Some(experts), ..Ending::Aborted.into() };
        attempts.end(&end(experts(2, 4)));
        attempts.end(&end(experts(6, 3)));
        let joined = attempts.facts().experts.clone().unwrap();
        assert_eq!((joined.start(), joined.end()), (2, 9));
        attempts.end(&end(experts(12, 1)));
        let alone = attempts.facts().experts.clone().unwrap();
        assert_eq!((alone.start(), alone.end()), (12, 13));
    }
}
