//! One attempt at the engine.
//!
//! The invariant: when this returns, the engine has let go of the attempt, and what it sampled has
//! been taken over or thrown away whole.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use verbatim_chat::ImageSpan;
use verbatim_engine::{
    AttemptId, Conversation, End, Ending, EngineError, Params, Piece, Prompt, Remedy, SessionKey, StopBy,
};
use verbatim_events::Finish;
use verbatim_tokens::TokenId;

use crate::TurnError;
use crate::dispatch::{Order, Ticket};
use crate::sampling::Live;
use crate::turn::{Failure, Held, Turn};

/// How long an engine may take to confirm that an attempt is gone.
const ABORT_GRACE: Duration = Duration::from_secs(10);
/// How many replies of one turn may be thrown away before the turn fails.
const MAX_DISCARDED: u32 = 3;

/// What every attempt of a turn is made with.
pub(crate) struct Request {
    /// The whole prompt.
    pub(crate) prompt: Arc<[TokenId]>,
    /// The images that it shows.
    pub(crate) images: Arc<[ImageSpan]>,
    /// How to sample, for the turn as a whole.
    pub(crate) params: Params,
    /// The first position whose routed experts are not known yet, if they are wanted.
    pub(crate) experts_from: Option<usize>,
    /// The first position whose indexer choices are not known yet, if they are wanted.
    pub(crate) indexer_from: Option<usize>,
    /// What the prompt spells, for an engine that parses.
    pub(crate) conversation: Option<Arc<Conversation>>,
}

/// How one attempt ended.
pub(crate) enum Attempt {
    /// With it the turn ended.
    Over(Finish),
    /// The turn goes on: the engine or the gate aborted it, or it stopped for what is no stop of ours.
    Aborted {
        /// Whether it sampled anything.
        progress: bool,
    },
    /// The turn goes on in spite of a failure.
    Failed {
        /// The failure.
        error: EngineError,
        /// Whether tokens of it were kept.
        progress: bool,
    },
}

/// What a turn put up with so far.
#[derive(Default)]
pub(crate) struct Patience {
    /// Replies thrown away.
    discarded: u32,
    /// Since when the engine has yielded nothing but failures.
    failing: Option<Instant>,
}

impl Turn {
    /// One attempt, after the prompt and whatever earlier attempts sampled.
    pub(crate) async fn attempt(
        &mut self,
        ticket: &mut Ticket,
        live: &mut Live,
        request: &Request,
    ) -> Result<Attempt, Failure> {
        let engine = Arc::clone(&self.shared.engine);
        let began = Instant::now();
        live.begin();
        let before = live.sampled();
        let (prompt, params) = self.next_prompt(live, request);
        let stop_ids = params.stop_ids.clone();
        let id = AttemptId::fresh();
        let mut pieces = engine.generate(id, prompt, &params).fuse();
        self.attempts += 1;
        let mut aborting = false;
        let mut told = false;
        let end: Result<Option<End>, Failure> = loop {
            let piece = tokio::select! {
                piece = pieces.next() => piece,
                order = ticket.next(), if !aborting => {
                    if order == Order::Abort {
                        aborting = true;
                        if let Err(error) = engine.abort(id).await {
                            break Ok(Some(Ending::Failed(error).into()));
                        }
                    }
                    continue;
                }
                () = self.session.closing.cancelled() => break Err(Failure::Error(TurnError::Closed)),
                () = self.feed.abandoned(self.shared.settings.grace) => break Err(Failure::Gone),
            };
            match piece {
                Some(Piece::More(increment)) => {
                    if live.sampled() == 0 && !increment.ids.is_empty() {
                        self.timings.first_token = began.elapsed();
                    }
                    match live.take(increment, self.deltas) {
                        Ok((parts, tokens)) => told |= self.tell(parts, tokens),
                        Err(error) => break Ok(Some(Ending::Failed(error).into())),
                    }
                    if live.is_stopped() {
                        break Ok(None);
                    }
                }
                Some(Piece::End(end)) => break Ok(Some(end)),
                None => {
                    let (tokens, reason) = (live.sampled() - before, "it ended without an end".into());
                    break Ok(Some(Ending::Failed(EngineError::Cut { tokens, reason }).into()));
                }
            }
        };
        if !matches!(&end, Ok(Some(End { ending, .. })) if !matches!(ending, Ending::Failed(_))) {
            // A result must not be seen before the engine has let go of its attempt.
            let gone = async {
                engine.abort(id).await?;
                while let Some(Piece::More(_)) = pieces.next().await {}
                Ok::<_, EngineError>(())
            };
            if tokio::time::timeout(ABORT_GRACE, gone).await.is_err() {
                tracing::warn!(attempt = %id, "the engine did not confirm an abort");
            }
        }
        drop(pieces);
        self.timings.generate += began.elapsed();
        let Some(mut end) = end? else { return Ok(Attempt::Over(Finish::Stop)) };
        live.end(&end);
        self.message = end.message.take();
        let progress = live.sampled() > before;
        if progress || !matches!(end.ending, Ending::Failed(_)) {
            self.patience.failing = None;
        }
        // What an engine says may come too late, or not at all: a turn whose last token was sampled is over,
        // however its attempt ended, if its tokens are kept.
        let kept = match &end.ending {
            Ending::Failed(error) => error.remedy() == Remedy::Resume && !self.parses(),
            _ => true,
        };
        if kept && live.ids().last().is_some_and(|last| stop_ids.contains(last)) {
            return Ok(Attempt::Over(Finish::Stop));
        }
        match end.ending {
            Ending::Stop(StopBy::Text(_)) if !self.parses() && !live.stops_here((self.fresh)()) => {
                // The engine looks for stop strings in all of the text; ours end content only.
                Ok(if live.remaining() == 0 {
                    Attempt::Over(Finish::Length)
                } else {
                    Attempt::Aborted { progress: true }
                })
            }
            Ending::Stop(_) => Ok(Attempt::Over(Finish::Stop)),
            Ending::Length => Ok(Attempt::Over(Finish::Length)),
            Ending::Aborted if self.parses() || self.whole && live.remaining() > 0 => {
                self.discard(live);
                Ok(Attempt::Aborted { progress: false })
            }
            Ending::Aborted | Ending::Failed(_) if kept && live.remaining() == 0 => {
                Ok(Attempt::Over(Finish::Length))
            }
            Ending::Aborted => Ok(Attempt::Aborted { progress }),
            Ending::Failed(error) => self.recover(error, live, before, told),
        }
    }

    fn next_prompt(&self, live: &Live, request: &Request) -> (Prompt, Params) {
        let ids: Arc<[TokenId]> = match live.ids() {
            [] => Arc::clone(&request.prompt),
            sampled => [&request.prompt, sampled].concat().into(),
        };
        let held = live.facts().experts.as_ref().map(|experts| experts.end());
        let session = SessionKey(self.session.id().as_str().into());
        let prompt = Prompt {
            experts_from: request.experts_from.map(|from| held.unwrap_or(from)),
            indexer: request.indexer_from.is_some(),
            conversation: request.conversation.clone(),
            images: Arc::clone(&request.images),
            labelled: self.shared.settings.lifecycle,
            salt: self.shared.salt.now(),
            ..Prompt::new(ids, session)
        };
        let params = Params {
            max_tokens: live.remaining(),
            min_tokens: request.params.min_tokens.saturating_sub(live.sampled() as u32),
            // Going on with the first attempt's random numbers would repeat its draws.
            seed: request.params.seed.map(|seed| seed.wrapping_add(u64::from(self.attempts) << 32)),
            ..request.params.clone()
        };
        (prompt, params)
    }

    /// Throws the present attempt's reply away.
    fn discard(&mut self, live: &mut Live) {
        live.discard((self.fresh)());
        self.held = Held::default();
    }

    fn parses(&self) -> bool {
        self.shared.engine.capabilities().parses
    }

    fn remedy(&self, error: &EngineError) -> Remedy {
        match error.remedy() {
            // The rest of what has to come from one attempt cannot be had.
            Remedy::Resume if self.whole => Remedy::Discard,
            remedy => remedy,
        }
    }

    /// Decides whether a turn outlives a failed attempt.
    fn recover(
        &mut self,
        error: EngineError,
        live: &mut Live,
        before: usize,
        told: bool,
    ) -> Result<Attempt, Failure> {
        let sampled = live.sampled() > before;
        let progress = match self.remedy(&error) {
            Remedy::Fail => return Err(error.into()),
            Remedy::Resume => sampled,
            Remedy::Discard => {
                // Of an engine that is not there nothing is thrown away: how long it is gone counts below.
                let distrusted = u32::from(error.remedy() == Remedy::Discard);
                self.patience.discarded += distrusted;
                if sampled && told || distrusted > 0 && self.patience.discarded >= MAX_DISCARDED {
                    return Err(error.into());
                }
                if sampled {
                    self.discard(live);
                }
                false
            }
        };
        if !progress {
            let since = *self.patience.failing.get_or_insert_with(Instant::now);
            if since.elapsed() >= self.shared.settings.outage {
                return Err(error.into());
            }
        }
        tracing::info!(%error, kept = live.sampled(), "an attempt failed; the turn goes on");
        Ok(Attempt::Failed { error, progress })
    }
}
