//! A sequence in the batch.

use rayon::prelude::*;
use tokio::sync::{mpsc, oneshot};
use verbatim_engine::{AttemptId, End, Ending, EngineError, Increment, Piece, SessionKey, StopBy};
use verbatim_tokens::{TokenId, Version};

use super::inbox::{Generation, Scoring};
use super::sampler::Sampler;
use crate::cache::Sequence;
use crate::model::{LogSoftmax, Logits};

/// Ids to read, what was read, and what is to come of it.
pub(crate) struct Running {
    /// Prompt and sampled ids, or the ids to score.
    ids: Vec<TokenId>,
    pub(crate) sequence: Sequence,
    pub(crate) goal: Goal,
    /// Which flush came before it: what was read under other weights is not kept.
    pub(crate) epoch: u64,
}

/// What a sequence is for.
pub(crate) enum Goal {
    Sample(Box<Sampling>),
    Score { values: Vec<Option<f32>>, reply: oneshot::Sender<Result<Vec<Option<f32>>, EngineError>> },
}

/// An attempt's own state.
pub(crate) struct Sampling {
    pub(crate) id: AttemptId,
    pub(crate) session: SessionKey,
    sampler: Sampler,
    stop_ids: Vec<TokenId>,
    top: u8,
    /// Prompt tokens.
    pub(crate) prompt: usize,
    /// The sequence ends when it has this many ids.
    limit: usize,
    pub(crate) cached: usize,
    pieces: mpsc::UnboundedSender<Piece>,
}

impl Running {
    pub(crate) fn generation(generation: Generation, prefix: Sequence, context: usize, epoch: u64) -> Self {
        let Generation { id, prompt, params, pieces } = generation;
        let sampling = Sampling {
            id,
            session: prompt.session,
            stop_ids: params.stop_ids.clone(),
            top: params.top_logprobs,
            prompt: prompt.ids.len(),
            limit: prompt.ids.len().saturating_add(params.max_tokens as usize).min(context),
            cached: prefix.len(),
            sampler: Sampler::new(params),
            pieces,
        };
        Self { ids: prompt.ids.to_vec(), sequence: prefix, goal: Goal::Sample(Box::new(sampling)), epoch }
    }

    pub(crate) fn scoring(scoring: Scoring, epoch: u64) -> Self {
        let goal = Goal::Score { values: vec![None], reply: scoring.reply };
        Self { ids: scoring.ids, sequence: Sequence::default(), goal, epoch }
    }

    /// Its scoring, to begin from the start; a generation cannot, since what it sampled was told.
    pub(crate) fn restart(self) -> Result<Scoring, Box<Self>> {
        match self.goal {
            Goal::Score { reply, .. } => Ok(Scoring { ids: self.ids, reply }),
            Goal::Sample(_) => Err(Box::new(self)),
        }
    }

    /// Ids that are not read yet; never empty between steps.
    pub(crate) fn unread(&self) -> usize {
        self.ids.len() - self.sequence.len()
    }

    /// Whether the next step samples again, rather than reading more of what was given.
    pub(crate) fn decodes(&self) -> bool {
        matches!(&self.goal, Goal::Sample(sampling) if self.ids.len() > sampling.prompt)
    }

    /// How many of `ids`, of at most `most`, its sequence will begin with once it has read what it
    /// was given.
    pub(crate) fn will_hold(&self, ids: &[TokenId], most: usize) -> usize {
        self.ids.iter().zip(ids).take(most).take_while(|(a, b)| a == b).count()
    }

    /// Whether nobody waits for it any more.
    pub(crate) fn abandoned(&self) -> bool {
        match &self.goal {
            Goal::Sample(sampling) => sampling.pieces.is_closed(),
            Goal::Score { reply, .. } => reply.is_closed(),
        }
    }

    /// The sequence, and the next `count` ids to read into it.
    pub(crate) fn next(&mut self, count: usize) -> (&mut Sequence, &[TokenId], Logits) {
        let first = self.sequence.len();
        let logits = match &self.goal {
            Goal::Score { .. } => Logits::All,
            Goal::Sample(_) if first + count == self.ids.len() => Logits::Last,
            Goal::Sample(_) => Logits::None,
        };
        (&mut self.sequence, &self.ids[first..first + count], logits)
    }

    /// Takes the logits of the `count` ids that were just read, `[wanted, vocabulary]`. Returns
    /// whether the sequence is over.
    pub(crate) fn take(
        &mut self,
        count: usize,
        logits: &[f32],
        vocabulary: usize,
        version: &Version,
    ) -> bool {
        match &mut self.goal {
            Goal::Score { values, .. } => {
                let first = self.sequence.len() - count;
                // The last row of a pass may have no id after it.
                let following = self.ids[first + 1..].par_iter().zip(logits.par_chunks_exact(vocabulary));
                let scored: Vec<_> = following.map(|(id, row)| Some(LogSoftmax::new(row).of(*id))).collect();
                values.extend(scored);
                self.sequence.len() == self.ids.len()
            }
            Goal::Sample(sampling) if !logits.is_empty() => {
                let raw = LogSoftmax::new(logits);
                let id = sampling.sampler.draw(logits);
                let top = if sampling.top > 0 { vec![raw.top(sampling.top.into())] } else { Vec::new() };
                let increment = Increment {
                    ids: vec![id],
                    logprobs: vec![Some(raw.of(id))],
                    version: Some(version.clone()),
                    top,
                };
                self.ids.push(id);
                // A closed channel is seen before the next step.
                let _ = sampling.pieces.send(Piece::More(increment));
                sampling.stop_ids.contains(&id) || self.ids.len() >= sampling.limit
            }
            Goal::Sample(_) => false,
        }
    }

    /// Tells the end to whoever waits. A sequence that was ended from outside says so.
    pub(crate) fn finish(self, aborted: bool) {
        match self.goal {
            Goal::Score { values, reply } => {
                let _ = reply.send(Ok(values));
            }
            Goal::Sample(sampling) => {
                let last = self
                    .ids
                    .last()
                    .filter(|id| self.ids.len() > sampling.prompt && sampling.stop_ids.contains(id));
                let ending = match last {
                    _ if aborted => Ending::Aborted,
                    Some(id) => Ending::Stop(StopBy::Token(*id)),
                    None => Ending::Length,
                };
                let end = End { cached_tokens: Some(sampling.cached as u32), ..ending.into() };
                tracing::debug!(
                    attempt = %sampling.id,
                    session = %sampling.session.0,
                    prompt = sampling.prompt,
                    cached = sampling.cached,
                    sampled = self.ids.len() - sampling.prompt,
                    ending = ?end.ending,
                    "attempt over"
                );
                let _ = sampling.pieces.send(Piece::End(end));
            }
        }
    }
}
