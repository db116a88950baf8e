//! Reading `/completion`.
//!
//! The invariant: a token gets a logprob only if there is one way to lay the reply's probabilities
//! along its ids. llama.cpp leaves probabilities out (of tokens that end inside a character, of those
//! that spell a stop string), and does not say where.

use std::borrow::Cow;

use serde::Deserialize;
use verbatim_engine::{End, Ending, EngineError, Increment, StopBy};
use verbatim_tokens::{LengthMismatch, TokenId};

use crate::failure::Told;
use crate::logprob::known;
use crate::wire::{Asked, Reader};

#[derive(Deserialize)]
struct Completed<'a> {
    #[serde(default)]
    tokens: Vec<TokenId>,
    #[serde(default)]
    tokens_predicted: Option<usize>,
    #[serde(default)]
    truncated: bool,
    #[serde(borrow, default)]
    stop_type: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    stopping_word: Option<Cow<'a, str>>,
    #[serde(default)]
    completion_probabilities: Vec<Entry>,
    #[serde(default)]
    timings: Option<Timings>,
    #[serde(default)]
    error: Option<Told>,
}

#[derive(Deserialize)]
struct Timings {
    cache_n: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    id: TokenId,
    logprob: Option<f32>,
    #[serde(default)]
    top_logprobs: Vec<Alternative>,
}

#[derive(Debug, Deserialize)]
struct Alternative {
    id: TokenId,
    logprob: Option<f32>,
}

/// Reads one reply.
pub(crate) struct Reply {
    asked: Asked,
    seen: usize,
}

impl Reply {
    pub(super) fn new(asked: Asked) -> Self {
        Self { asked, seen: 0 }
    }
}

/// For each id the entry that is surely its own.
///
/// Entries are in order, and some are missing. Laid as far left and as far right as they go, an entry
/// that lands on one place both times has no other.
fn align<'a>(ids: &[TokenId], entries: &'a [Entry]) -> Option<Vec<Option<&'a Entry>>> {
    let mut left = vec![None; entries.len()];
    let mut at = 0;
    for (entry, place) in entries.iter().zip(&mut left) {
        at += ids[at..].iter().position(|id| *id == entry.id)?;
        *place = Some(at);
        at += 1;
    }
    let mut aligned = vec![None; ids.len()];
    let mut until = ids.len();
    for (entry, place) in entries.iter().zip(left).rev() {
        until = ids[..until].iter().rposition(|id| *id == entry.id)?;
        if place == Some(until) {
            aligned[until] = Some(entry);
        }
    }
    Some(aligned)
}

impl Reader for Reply {
    fn read(&mut self, data: &[u8], out: &mut Increment) -> Result<Option<End>, EngineError> {
        let poisoned = |reason: String| EngineError::Poisoned { reason };
        let reply: Completed<'_> = serde_json::from_slice(data)
            .map_err(|error| poisoned(format!("it is no reply of /completion: {error}")))?;
        if let Some(error) = reply.error {
            return Err(error.failure());
        }
        if reply.truncated {
            return Err(poisoned(
                "the server shifted its context: tokens that the row keeps were dropped".into(),
            ));
        }
        let mut ids = reply.tokens;
        let entries = reply.completion_probabilities;
        let counted = reply.tokens_predicted.unwrap_or(ids.len());
        let mismatch = || {
            EngineError::from(LengthMismatch { ids: ids.len(), logprobs: entries.len(), versions: counted })
        };
        if counted != ids.len() {
            return Err(mismatch());
        }
        let aligned = align(&ids, &entries).ok_or_else(mismatch)?;
        let wanted = entries.iter().any(|entry| entry.top_logprobs.len() > 1);
        let mut logprobs: Vec<_> =
            aligned.iter().map(|entry| entry.and_then(|entry| known(entry.logprob))).collect();
        let mut top: Vec<Vec<(TokenId, f32)>> = Vec::new();
        if wanted {
            let alternatives = |entry: &Entry| {
                let each = entry.top_logprobs.iter();
                each.filter_map(|one| Some((one.id, known(one.logprob)?))).collect()
            };
            top = aligned.iter().map(|entry| entry.map(alternatives).unwrap_or_default()).collect();
        }
        let mut ending = match reply.stop_type.as_deref() {
            Some("limit") => Ending::Length,
            Some("word") => Ending::Stop(StopBy::Text(reply.stopping_word.unwrap_or_default().into_owned())),
            Some("eos") => {
                Ending::Stop(ids.last().copied().map_or(StopBy::Other("eos".into()), StopBy::Token))
            }
            Some(other) => Ending::Stop(StopBy::Other(other.to_owned())),
            None => return Err(poisoned("it has no stop type".into())),
        };
        // It stops at the model's own end tokens only; another stop id is found here.
        if let Some(at) = ids.iter().position(|id| self.asked.stop_ids.contains(id)) {
            ending = Ending::Stop(StopBy::Token(ids[at]));
            ids.truncate(at + 1);
            logprobs.truncate(at + 1);
            top.truncate(at + 1);
        }
        self.seen = ids.len();
        *out = Increment { ids, logprobs, version: None, top };
        let cached_tokens = reply.timings.and_then(|timings| timings.cache_n);
        Ok(Some(End { cached_tokens, ..ending.into() }))
    }

    fn tokens(&self) -> usize {
        self.seen
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(id: u32, at: usize) -> Entry {
        Entry { id: TokenId(id), logprob: Some(-(at as f32)), top_logprobs: Vec::new() }
    }

    #[test]
    fn what_could_belong_to_two_tokens_belongs_to_neither() {
        let ids = [5, 7, 7, 9].map(TokenId);
        let entries = [entry(5, 0), entry(7, 1), entry(9, 3)];
        let aligned = align(&ids, &entries).unwrap();
        let known: Vec<bool> = aligned.iter().map(Option::is_some).collect();
        assert_eq!(known, [true, false, false, true]);
        assert!(align(&ids, &[entry(8, 0)]).is_none(), "an id that was not sampled");
        assert!(align(&ids, &[entry(9, 0), entry(5, 1)]).is_none(), "another order");
    }

    proptest! {
        /// Whatever entries are left out, none is ever laid beside another token's.
        #[test]
        fn no_token_gets_the_logprob_of_another(list in prop::collection::vec((0u32..4, any::<bool>()), 0..24)) {
            let ids: Vec<_> = list.iter().map(|(id, _)| TokenId(*id)).collect();
            let kept = list.iter().enumerate().filter(|(_, (_, kept))| *kept);
            let entries: Vec<_> = kept.map(|(at, (id, _))| entry(*id, at)).collect();
            let aligned = align(&ids, &entries).unwrap();
            for (at, entry) in aligned.iter().enumerate() {
                if let Some(entry) = entry {
                    prop_assert_eq!(entry.logprob, Some(-(at as f32)));
                }
            }
            if entries.len() == ids.len() {
                prop_assert!(aligned.iter().all(Option::is_some));
            }
        }
    }
}
