//! Reading `/generate`, whole, cumulative or incremental.
//!
//! The invariant: every token is passed on exactly once, with the logprob that came beside it; where
//! ids, logprobs and the server's own count disagree, the reply is refused, not repaired. The one
//! exception is known (SGLang #40901): an abort of a waiting request repeats its last id in place of its
//! ids, in either mode (seen with 0.5.17), while the ids beside its logprobs are whole. Of a prompt with images no token
//! is passed on before the server has told that it read the very ids that are kept.

use serde::Deserialize;
use serde_json::value::RawValue;
use verbatim_engine::{End, Ending, EngineError, Increment};
use verbatim_tokens::{LengthMismatch, TokenId};

use super::meta::Meta;
use crate::ExpertsShape;
use crate::failure::Told;
use crate::pairs::Pairs;
use crate::wire::{Asked, Reader};

/// Whether chunks repeat what came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chunks {
    /// Each holds all so far; also right for a reply that comes whole.
    Cumulative,
    /// Each holds what is new (`--incremental-streaming-output`).
    Incremental,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(default)]
    output_ids: Option<Vec<TokenId>>,
    #[serde(borrow, default)]
    meta_info: Option<Meta<'a>>,
    #[serde(default)]
    error: Option<Told>,
    /// The prompt as the server read it; repeated in every chunk.
    #[serde(borrow, default)]
    prompt_token_ids: Option<&'a RawValue>,
}

/// Reads one reply.
pub(crate) struct Reply {
    chunks: Chunks,
    asked: Asked,
    shape: Option<ExpertsShape>,
    seen: usize,
    last: Option<TokenId>,
}

impl Reply {
    pub(crate) fn new(chunks: Chunks, shape: Option<ExpertsShape>, asked: Asked) -> Self {
        Self { chunks, asked, shape, seen: 0, last: None }
    }

    /// Takes the tokens that are new in a chunk.
    fn tokens(
        &mut self,
        ids: Vec<TokenId>,
        meta: &mut Meta<'_>,
        out: &mut Increment,
    ) -> Result<(), EngineError> {
        // A server that gives no logprobs at all gives none; a list of another length is a mistake.
        let pairs = meta.output_token_logprobs.take();
        let pairs = pairs.unwrap_or_else(|| Pairs { logprobs: vec![None; ids.len()], ids: ids.clone() });
        let told = meta.completion_tokens.unwrap_or(match self.chunks {
            Chunks::Cumulative => ids.len(),
            Chunks::Incremental => self.seen + ids.len(),
        });
        let Some(new) = told.checked_sub(self.seen) else {
            return Err(poisoned(format!("it counts {told} tokens after it sent {}", self.seen)));
        };
        let all = match self.chunks {
            Chunks::Cumulative => told,
            Chunks::Incremental => new,
        };
        let repeats = meta.is_abort() && ids.len() != all;
        let ids = if repeats && pairs.ids.ends_with(&ids) { pairs.ids.clone() } else { ids };
        if !repeats && (ids.len() != all || pairs.ids.len() != all) {
            return Err(LengthMismatch { ids: ids.len(), logprobs: pairs.ids.len(), versions: all }.into());
        }
        // What is new is at the end of both, however much they repeat.
        let from = |length: usize| length.checked_sub(new);
        let (Some(first), Some(paired)) = (from(ids.len()), from(pairs.ids.len())) else {
            return Err(LengthMismatch { ids: ids.len(), logprobs: pairs.ids.len(), versions: new }.into());
        };
        if ids[first..] != pairs.ids[paired..] {
            return Err(poisoned("the ids beside the logprobs are not those of the reply".into()));
        }
        if let Some(top) = meta.output_top_logprobs.take() {
            let skip = top.len().saturating_sub(new);
            out.top = top.into_iter().skip(skip).map(|at| at.unwrap_or_default().top()).collect();
        }
        out.version = self.asked.sightings.see(meta.weight_version.as_deref());
        out.ids = ids;
        out.ids.drain(..first);
        out.logprobs = pairs.logprobs;
        out.logprobs.drain(..paired);
        self.seen += new;
        self.last = out.ids.last().copied().or(self.last);
        Ok(())
    }
}

impl Reader for Reply {
    fn read(&mut self, data: &[u8], out: &mut Increment) -> Result<Option<End>, EngineError> {
        let Chunk { output_ids, meta_info, error, prompt_token_ids } = serde_json::from_slice(data)
            .map_err(|error| poisoned(format!("it is no reply of /generate: {error}")))?;
        if let Some(error) = error {
            return Err(error.failure());
        }
        let Some(mut meta) = meta_info else {
            return Err(poisoned("it has no meta_info".into()));
        };
        // Of a failure the tokens do not matter, and may not add up.
        let reason = meta.finish_reason.take();
        if let Some(reason) = &reason
            && let failed @ Ending::Failed(_) = reason.ending(self.last)
        {
            return Ok(Some(failed.into()));
        }
        meta.finish_reason = reason;
        if let Some(sent) = &self.asked.shown
            && (output_ids.as_ref().is_some_and(|ids| !ids.is_empty()) || prompt_token_ids.is_some())
        {
            same_prompt(sent, prompt_token_ids, meta.prompt_tokens)?;
            self.asked.shown = None;
        }
        self.tokens(output_ids.unwrap_or_default(), &mut meta, out)?;
        let ending = meta.finish_reason.as_ref().map(|reason| reason.ending(self.last));
        Ok(ending.map(|ending| meta.end(ending, &self.asked, self.seen, self.shape)))
    }

    fn tokens(&self) -> usize {
        self.seen
    }
}

/// Whether the server read what it was sent: by the ids that it tells, else by their number.
fn same_prompt(sent: &[TokenId], read: Option<&RawValue>, count: Option<usize>) -> Result<(), EngineError> {
    let other = |seen: String| Err(EngineError::OtherPrompt { seen });
    let read: Option<Vec<TokenId>> = match read.map(|read| serde_json::from_str(read.get())) {
        Some(Ok(read)) => read,
        Some(Err(error)) => return other(format!("its prompt_token_ids are no ids: {error}")),
        None => None,
    };
    match (read, count) {
        (Some(read), _) if read == sent => Ok(()),
        (Some(read), _) => {
            let at = read.iter().zip(sent).take_while(|(read, sent)| read == sent).count();
            other(format!("{} tokens instead of {}, others from token {at} on", read.len(), sent.len()))
        }
        (None, Some(count)) if count == sent.len() => Ok(()),
        (None, Some(count)) => other(format!("{count} tokens instead of {}", sent.len())),
        (None, None) => other("it does not say what it read".to_owned()),
    }
}

fn poisoned(reason: String) -> EngineError {
    EngineError::Poisoned { reason }
}
