//! Ids, cut at special tokens.
//!
//! The invariant: concatenated, the segments are the ids; a special id stands alone, and two runs
//! of others are never neighbours.

use std::collections::HashSet;

use verbatim_tokenizer::Tokenizer;
use verbatim_tokens::TokenId;

/// One special id, or a run of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment<'i> {
    pub(crate) special: bool,
    pub(crate) ids: &'i [TokenId],
}

/// Cuts ids.
pub(crate) fn cut<'i>(ids: &'i [TokenId], special: &HashSet<TokenId>) -> Vec<Segment<'i>> {
    ids.chunk_by(|a, b| !special.contains(a) && !special.contains(b))
        .map(|ids| Segment { special: special.contains(&ids[0]), ids })
        .collect()
}

/// The segments as a reader sees their structure: `[<|im_start|>] (12 tokens) [<|im_end|>]`.
pub(crate) fn sketch(segments: &[Segment<'_>], tokenizer: &dyn Tokenizer) -> String {
    let one = |segment: &Segment<'_>| match segment.special {
        true => format!("[{}]", tokenizer.text(segment.ids)),
        false => format!("({} tokens)", segment.ids.len()),
    };
    segments.iter().map(one).collect::<Vec<_>>().join(" ")
}
