//! Sessions that are over.
//!
//! The invariant: of the last [`KEPT`] sessions that ended it is known how; of earlier ones it is forgotten
//! that they were.

use std::collections::{HashMap, VecDeque};

use crate::NoSession;
use crate::token::TokenHash;

/// How many are remembered.
const KEPT: usize = 100_000;

/// How the latest sessions ended, by their tokens' hashes.
#[derive(Default)]
pub(crate) struct Ended {
    how: HashMap<TokenHash, NoSession>,
    order: VecDeque<TokenHash>,
}

impl Ended {
    /// Remembers how a session ended; returns the one that is forgotten for it.
    pub(crate) fn put(&mut self, token: TokenHash, how: NoSession) -> Option<TokenHash> {
        if self.how.insert(token, how).is_none() {
            self.order.push_back(token);
        }
        let first = (self.order.len() > KEPT).then(|| self.order.pop_front()).flatten()?;
        self.how.remove(&first);
        Some(first)
    }

    /// How the session of a token that opens none ended.
    pub(crate) fn how(&self, token: &TokenHash) -> NoSession {
        self.how.get(token).copied().unwrap_or(NoSession::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_remembered_and_the_first_forgotten() {
        let mut ended = Ended::default();
        let token = |at: usize| TokenHash::of(&at.to_string());
        for at in 0..KEPT {
            assert_eq!(ended.put(token(at), NoSession::Deleted), None);
        }
        assert_eq!(ended.put(token(KEPT), NoSession::Deleted), Some(token(0)));
        assert_eq!(ended.how(&token(0)), NoSession::Unknown);
        assert_eq!(ended.how(&token(1)), NoSession::Deleted);
        assert_eq!(ended.how(&token(KEPT)), NoSession::Deleted);
        assert_eq!(ended.how.len(), KEPT);
    }
}
