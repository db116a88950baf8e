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
    /// Remembers how a session ended.
    pub(crate) fn put(&mut self, token: TokenHash, how: NoSession) {
        if self.how.insert(token, how).is_none() {
            self.order.push_back(token);
        }
        if self.order.len() > KEPT
            && let Some(first) = self.order.pop_front()
        {
            self.how.remove(&first);
        }
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
        (0..=KEPT).for_each(|at| ended.put(token(at), NoSession::Deleted));
        assert_eq!(ended.how(&token(0)), NoSession::Unknown);
        assert_eq!(ended.how(&token(1)), NoSession::Deleted);
        assert_eq!(ended.how(&token(KEPT)), NoSession::Deleted);
        assert_eq!(ended.how.len(), KEPT);
    }
}
