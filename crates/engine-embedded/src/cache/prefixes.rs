//! The sequences that are over, kept for those that begin like them.
//!
//! The invariant: what is kept never holds more than the budget, each block counted once however
//! many sequences share it; the least recently used sequence goes first.

use std::collections::HashSet;
use std::sync::Arc;

use verbatim_engine::SessionKey;
use verbatim_tokens::TokenId;

use super::{Layout, Sequence};

struct Kept {
    session: SessionKey,
    sequence: Sequence,
    used: u64,
}

/// Kept sequences under a budget of bytes.
pub(crate) struct Prefixes {
    kept: Vec<Kept>,
    budget: usize,
    block_bytes: usize,
    bytes: usize,
    clock: u64,
}

impl Prefixes {
    pub(crate) fn new(layout: Layout, budget: usize) -> Self {
        Self { kept: Vec::new(), budget, block_bytes: layout.block_bytes(), bytes: 0, clock: 0 }
    }

    /// Bytes held, shared blocks once.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
        self.bytes = 0;
    }

    /// The longest kept prefix of `ids`, of at most `most` tokens; the session's own if another
    /// session's is no longer.
    pub(crate) fn longest(&mut self, session: &SessionKey, ids: &[TokenId], most: usize) -> Sequence {
        let common = |kept: &Kept| kept.sequence.common(ids).min(most);
        let best = self.kept.iter_mut().max_by_key(|kept| (common(kept), kept.session == *session));
        self.clock += 1;
        match best {
            Some(kept) if common(kept) > 0 => {
                kept.used = self.clock;
                kept.sequence.prefix(common(kept))
            }
            _ => Sequence::default(),
        }
    }

    /// Keeps a sequence for its session. What it continues is dropped: it holds that too.
    pub(crate) fn keep(&mut self, session: SessionKey, sequence: Sequence) {
        if sequence.len() == 0 {
            return;
        }
        let whole = |kept: &Kept| kept.sequence.common(sequence.ids()) == kept.sequence.len();
        self.kept.retain(|kept| kept.session != session || !whole(kept));
        self.clock += 1;
        self.kept.push(Kept { session, sequence, used: self.clock });
        self.bytes = self.count();
        while self.bytes > self.budget {
            let oldest = self.kept.iter().enumerate().min_by_key(|(_, kept)| kept.used).map(|(at, _)| at);
            let Some(oldest) = oldest else { break };
            self.kept.swap_remove(oldest);
            self.bytes = self.count();
        }
    }

    fn count(&self) -> usize {
        let blocks = self.kept.iter().flat_map(|kept| kept.sequence.blocks());
        blocks.map(|block| Arc::as_ptr(block).cast::<f32>()).collect::<HashSet<_>>().len() * self.block_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::BLOCK;
    use super::*;

    const LAYOUT: Layout = Layout { layers: 1, kv_heads: 1, width: 1 };

    fn sequence(ids: &[u32]) -> Sequence {
        let mut sequence = Sequence::default();
        sequence.extend(LAYOUT, TokenId::wrap(ids));
        sequence
    }

    fn key(name: &str) -> SessionKey {
        SessionKey(name.into())
    }

    #[test]
    fn the_longest_prefix_of_any_session_is_found() {
        let mut prefixes = Prefixes::new(LAYOUT, 1 << 20);
        prefixes.keep(key("a"), sequence(&[1, 2, 3]));
        prefixes.keep(key("b"), sequence(&[1, 2, 9, 9]));
        let ids = TokenId::from_raw(vec![1, 2, 9, 9, 5]);
        assert_eq!(prefixes.longest(&key("a"), &ids, 5).len(), 4);
        assert_eq!(prefixes.longest(&key("a"), &ids, 3).len(), 3);
        assert_eq!(prefixes.longest(&key("c"), &TokenId::from_raw(vec![7]), 1).len(), 0);
    }

    #[test]
    fn a_continued_sequence_is_held_once() {
        let mut prefixes = Prefixes::new(LAYOUT, 1 << 20);
        prefixes.keep(key("a"), sequence(&[1, 2, 3]));
        prefixes.keep(key("a"), sequence(&[1, 2, 3, 4]));
        assert_eq!(prefixes.bytes(), LAYOUT.block_bytes());
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let mut prefixes = Prefixes::new(LAYOUT, 2 * LAYOUT.block_bytes());
        prefixes.keep(key("a"), sequence(&[1; BLOCK]));
        prefixes.keep(key("b"), sequence(&[2; BLOCK]));
        assert_eq!(prefixes.longest(&key("a"), &[TokenId(1)], 1).len(), 1);
        prefixes.keep(key("c"), sequence(&[3; BLOCK]));
        assert_eq!(prefixes.longest(&key("b"), &[TokenId(2)], 1).len(), 0);
        assert_eq!(prefixes.longest(&key("a"), &[TokenId(1)], 1).len(), 1);
        assert!(prefixes.bytes() <= 2 * LAYOUT.block_bytes());
    }
}
