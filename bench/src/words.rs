//! Text of an exact number of tokens.
//!
//! The invariant: every word is one token wherever it stands after another, so that what is said
//! costs what the flags say.

use anyhow::ensure;
use verbatim_tokenizer::Tokenizer;
use verbatim_tokens::TokenId;

const TEXT: &str = " the agent reads a task and then calls one tool to look at the file that was \
    changed before it writes the test again because an old value is still there when we run all \
    of them in order with new data from another source so that no error can be seen by those who \
    only check what they made last time while most work goes on under some large system where each \
    part needs its own state and every step must know which number came first";

/// Words of one token each.
pub(crate) struct Words(Vec<(&'static str, TokenId)>);

impl Words {
    /// The words that are one token in this vocabulary.
    ///
    /// # Errors
    /// If there are too few of them to say anything.
    pub(crate) fn new(tokenizer: &dyn Tokenizer) -> anyhow::Result<Self> {
        let starts = TEXT.match_indices(' ').map(|(at, _)| at);
        let ends = starts.clone().skip(1).chain([TEXT.len()]);
        let words: Vec<_> = starts
            .zip(ends)
            .filter(|(start, end)| end - start > 1)
            .filter_map(|(start, end)| {
                let mut ids = Vec::new();
                tokenizer.encode(&TEXT[start..end], &mut ids);
                matches!(ids[..], [_]).then(|| (&TEXT[start..end], ids[0]))
            })
            .collect();
        ensure!(words.len() >= 16, "this vocabulary has only {} of the words as one token", words.len());
        Ok(Self(words))
    }

    /// `count` words as text; another `seed` gives other words.
    pub(crate) fn text(&self, seed: u64, count: usize) -> String {
        self.draw(seed, count).map(|(word, _)| word).collect()
    }

    /// The same as ids.
    pub(crate) fn ids(&self, seed: u64, count: usize) -> Vec<TokenId> {
        self.draw(seed, count).map(|(_, id)| id).collect()
    }

    /// A fixed sequence: a seeded multiplicative generator is all the chance that is needed.
    fn draw(&self, seed: u64, count: usize) -> impl Iterator<Item = (&'static str, TokenId)> + '_ {
        let mut state = seed.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1;
        (0..count).map(move |_| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            self.0[(state >> 33) as usize % self.0.len()]
        })
    }
}
