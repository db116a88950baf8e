//! Which replayed messages are the same: decided here, or asked of the user's own function.
//!
//! The invariant: the forest's lock is not held while anything is judged.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use verbatim_chat::{ByRole, LooseReplay, LooseToolCall, Matcher, Message, Strict, Verdict};
use verbatim_forest::{Candidate, Choice, choose};

/// A user's own equality of messages, which may run elsewhere.
pub trait Predicate: Send + Sync {
    /// The name it is chosen by: a dotted path.
    fn name(&self) -> &str;

    /// For each pair of a stored and a sent message, whether they are the same.
    ///
    /// # Errors
    /// What the user's function failed with, as text.
    fn judge(&self, pairs: Vec<(Arc<Message>, Arc<Message>)>) -> BoxFuture<'_, Result<Vec<bool>, String>>;
}

/// Who says which messages are the same.
#[derive(Clone)]
pub enum Matching {
    /// A matcher of ours.
    Matcher(Arc<dyn Matcher>),
    /// The user's function. Candidates are found by role alone.
    Predicate(Arc<dyn Predicate>),
}

impl Default for Matching {
    fn default() -> Self {
        Self::Matcher(Arc::new(LooseReplay))
    }
}

impl Matching {
    /// The name it is chosen by.
    pub fn name(&self) -> &str {
        match self {
            Self::Matcher(matcher) => matcher.name(),
            Self::Predicate(predicate) => predicate.name(),
        }
    }

    /// What the forest finds candidates by.
    pub(crate) fn matcher(&self) -> Arc<dyn Matcher> {
        match self {
            Self::Matcher(matcher) => Arc::clone(matcher),
            Self::Predicate(_) => Arc::new(ByRole),
        }
    }

    /// Chooses among candidates. Of calls whose arguments come `parsed` no spelling can be asked for.
    pub(crate) async fn choose(
        &self,
        candidates: &[Candidate],
        sent: &[Arc<Message>],
        parsed: bool,
    ) -> Result<Option<Choice>, String> {
        let predicate = match self {
            Self::Matcher(matcher) if parsed && matcher.name() == Strict.name() => {
                return Ok(choose(|stored, sent| LooseToolCall.judge(stored, sent), candidates, sent));
            }
            Self::Matcher(matcher) => {
                return Ok(choose(|stored, sent| matcher.judge(stored, sent), candidates, sent));
            }
            Self::Predicate(predicate) => predicate,
        };
        // Candidates share most of their messages: each pair is asked about once.
        let mut pairs = Vec::new();
        let mut asked = HashMap::new();
        for candidate in candidates {
            for (stored, sent) in candidate.stored().iter().zip(sent) {
                asked.entry(addresses(stored, sent)).or_insert_with(|| {
                    pairs.push((Arc::clone(stored), Arc::clone(sent)));
                    pairs.len() - 1
                });
            }
        }
        let expected = pairs.len();
        let same = if expected == 0 { Vec::new() } else { predicate.judge(pairs).await? };
        if same.len() != expected {
            return Err(format!("{} answers for {expected} pairs", same.len()));
        }
        let verdict = |stored: &Arc<Message>, sent: &Arc<Message>| match asked
            .get(&addresses(stored, sent))
            .and_then(|at| same.get(*at))
        {
            Some(true) if Strict.judge(stored, sent) == Verdict::Exact => Verdict::Exact,
            Some(true) => Verdict::Equivalent,
            _ => Verdict::Different,
        };
        Ok(choose(verdict, candidates, sent))
    }
}

/// What tells one pair of messages from another while both are held.
fn addresses(stored: &Arc<Message>, sent: &Arc<Message>) -> (usize, usize) {
    (Arc::as_ptr(stored).addr(), Arc::as_ptr(sent).addr())
}
