//! One turn, from a prepared prompt to its commit.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures::StreamExt;
use tokio::sync::mpsc;
use tracing::Instrument;
use verbatim_chat::{Content, Message};
use verbatim_dialects::{Sampling, Wire};
use verbatim_engine::{AttemptId, End, Ending, EngineError, Params, Piece, Prompt, SessionKey};
use verbatim_events::{Cause, Finish, Generated, NodeId, Timings, TurnCommitted};
use verbatim_families::{Part, Scene};
use verbatim_scheduler::Ended;
use verbatim_tokens::TokenId;

use crate::commit::{commit, flaw};
use crate::dispatch::{Order, Ticket};
use crate::prepare::{Prepared, prepare};
use crate::sampling::Live;
use crate::sessions::Shared;
use crate::{Session, Sessions, TurnError};

/// How long an engine may take to confirm that an attempt is gone.
const ABORT_GRACE: Duration = Duration::from_secs(10);

/// A request for one turn.
pub struct Asked<'a> {
    /// The conversation.
    pub wire: &'a dyn Wire,
    /// What is asked of the sampler.
    pub sampling: &'a Sampling,
    /// What the dialect already lost.
    pub lost: Vec<Cause>,
    /// What the reply's id begins with; 32 random digits follow.
    pub response_prefix: &'a str,
    /// Whether parts and tokens are wanted as they come; if not, only the end is told.
    pub deltas: bool,
}

/// A turn in flight. Dropping it tells the turn that nobody waits.
pub struct Reply {
    /// The reply's id.
    pub response: String,
    /// What happens, in order; [`TurnEvent::Committed`] or [`TurnEvent::Failed`] is the last.
    pub events: mpsc::UnboundedReceiver<TurnEvent>,
}

/// One step of a turn as its client sees it.
#[derive(Clone, Debug)]
pub enum TurnEvent {
    /// More was said.
    Delta {
        /// What the tokens settled.
        parts: Vec<Part>,
        /// The tokens.
        tokens: Vec<SampledToken>,
    },
    /// The turn is committed.
    Committed(Box<Committed>),
    /// The turn failed, and nothing was committed.
    Failed(TurnError),
}

/// A sampled token as a client may ask to see it.
#[derive(Clone, Debug, PartialEq)]
pub struct SampledToken {
    /// Its id.
    pub id: TokenId,
    /// Its logprob, if the engine gave one.
    pub logprob: Option<f32>,
    /// Alternatives, if they were asked for.
    pub top: Vec<(TokenId, f32)>,
}

/// A committed turn.
#[derive(Clone, Debug)]
pub struct Committed {
    /// Its event.
    pub turn: Arc<TurnCommitted>,
    /// Its generation's node.
    pub node: NodeId,
    /// Tokens that the model read.
    pub prompt_tokens: usize,
}

impl Sessions {
    /// Begins a turn. Attaching and rendering happen here, in time proportional to what is new;
    /// sampling and committing in a task of the session's.
    ///
    /// # Errors
    /// [`TurnError`], if the request cannot be taken. Later failures come as [`TurnEvent::Failed`].
    pub fn turn(&self, session: &Arc<Session>, asked: Asked<'_>) -> Result<Reply, TurnError> {
        if session.closing.is_cancelled() {
            return Err(TurnError::Closed);
        }
        let arrived = Instant::now();
        let prepared = prepare(&self.0, session, asked.wire, asked.sampling, asked.lost)?;
        let digits = format!("{:032x}", rand::random::<u128>());
        let response = format!("{}{digits}", asked.response_prefix);
        let call_prefix = format!("call_{}", &digits[..22]);
        let (sender, events) = mpsc::unbounded_channel();
        let span = tracing::info_span!("turn", session = %session.id(), response = %response, prompt = prepared.prompt.len());
        let timings = Timings { prepare: arrived.elapsed(), ..Timings::default() };
        let turn = Turn {
            shared: Arc::clone(&self.0),
            session: Arc::clone(session),
            response: response.clone(),
            deltas: asked.deltas,
            sender,
            timings,
            attempts: 0,
        };
        session.turns.spawn(turn.run(prepared, call_prefix).instrument(span));
        Ok(Reply { response, events })
    }
}

/// What a turn's task holds.
struct Turn {
    shared: Arc<Shared>,
    session: Arc<Session>,
    response: String,
    deltas: bool,
    sender: mpsc::UnboundedSender<TurnEvent>,
    timings: Timings,
    attempts: u32,
}

/// Why a turn ends without a commit.
enum Failure {
    /// The client is told.
    Error(TurnError),
    /// There is no client.
    Gone,
}

impl<E: Into<TurnError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// How one attempt ended.
enum Attempt {
    Over(Finish, Option<u32>),
    Aborted { progress: bool },
}

impl Turn {
    async fn run(mut self, prepared: Prepared, call_prefix: String) {
        let (shared, session) = (Arc::clone(&self.shared), Arc::clone(&self.session));
        let lost = |cause| shared.observers.lost(session.id(), cause);
        match self.drive(prepared, &call_prefix).await {
            Ok(committed) => {
                tracing::debug!(sampled = committed.turn.generated.sampled.len(), "committed");
                let _ = self.sender.send(TurnEvent::Committed(Box::new(committed)));
            }
            Err(Failure::Gone) => {
                tracing::debug!("the client is gone");
                lost(Cause::ClientGone);
            }
            Err(Failure::Error(error)) => {
                tracing::debug!(%error, "not committed");
                error.cause().into_iter().for_each(lost);
                let _ = self.sender.send(TurnEvent::Failed(error));
            }
        }
    }

    async fn drive(&mut self, prepared: Prepared, call_prefix: &str) -> Result<Committed, Failure> {
        let Prepared { plan, observed, prompt, setup, start, params, stop, bytes, mut lost } = prepared;
        let shared = Arc::clone(&self.shared);
        let scene = Scene { setup: &setup, opened: self.session.opened() };
        let parser = shared.family.parser(scene, start, call_prefix);
        let mut live = Live::new(shared.engine.capabilities().logprobs, params.max_tokens, parser, stop);

        let mut ticket = shared.dispatcher.arrive();
        let (finish, cached_tokens) = loop {
            self.hold(&mut ticket).await?;
            match self.attempt(&mut ticket, &mut live, &prompt, &params).await? {
                Attempt::Over(finish, cached) => break (finish, cached),
                Attempt::Aborted { progress } => {
                    lost.push(Cause::AttemptAborted);
                    ticket.ended(Ended::Aborted { progress });
                }
            }
        };
        drop(ticket);

        let beyond = live.dropped();
        let (sampled, parsed, parts) = live.finish()?;
        if sampled.is_empty() {
            return Err(EngineError::Broken { reason: "the turn ended before its first token".into() }.into());
        }
        self.tell(parts, Vec::new());
        lost.extend(parsed.flaws.iter().copied().map(flaw));
        lost.extend((beyond > 0).then_some(Cause::StoppedBeyond));
        let turn = Arc::new(TurnCommitted {
            session: self.session.id().clone(),
            parent: plan.parent,
            observed,
            generated: Generated {
                sampled,
                message: Arc::new(said(parsed.message)),
                finish,
                response: self.response.clone(),
                cached_tokens,
                attempts: self.attempts,
            },
            at: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64),
            timings: self.timings,
        });
        let node = commit(&shared, &self.session, plan, bytes, &turn, lost)?;
        Ok(Committed { turn, node, prompt_tokens: prompt.len() })
    }

    /// Waits for a permit and an open gate.
    async fn hold(&mut self, ticket: &mut Ticket) -> Result<(), Failure> {
        let since = Instant::now();
        loop {
            let order = tokio::select! {
                order = ticket.next() => order,
                () = self.session.closing.cancelled() => return Err(TurnError::Closed.into()),
                () = self.sender.closed() => return Err(Failure::Gone),
            };
            match order {
                Order::Go => {
                    self.timings.held += since.elapsed();
                    return Ok(());
                }
                Order::Expire => {
                    return Err(
                        TurnError::HoldExpired { seconds: self.shared.settings.hold.as_secs() }.into()
                    );
                }
                // Meant for an attempt that ended by itself.
                Order::Abort => {}
            }
        }
    }

    /// One attempt at the engine, after the prompt and whatever earlier attempts sampled.
    async fn attempt(
        &mut self,
        ticket: &mut Ticket,
        live: &mut Live,
        prompt: &Arc<[TokenId]>,
        params: &Params,
    ) -> Result<Attempt, Failure> {
        let engine = Arc::clone(&self.shared.engine);
        let began = Instant::now();
        let sampled_before = live.sampled();
        let ids: Arc<[TokenId]> = match live.ids() {
            [] => Arc::clone(prompt),
            sampled => [prompt, sampled].concat().into(),
        };
        let params = Params {
            max_tokens: live.remaining(),
            // Going on with the first attempt's random numbers would repeat its draws.
            seed: params.seed.map(|seed| seed.wrapping_add(u64::from(self.attempts) << 32)),
            ..params.clone()
        };
        let id = AttemptId::fresh();
        let prompt = Prompt { ids, session: SessionKey(self.session.id().as_str().into()) };
        let mut pieces = engine.generate(id, prompt, &params);
        self.attempts += 1;
        let mut aborting = false;
        let end = loop {
            let piece = tokio::select! {
                piece = pieces.next() => piece,
                order = ticket.next(), if !aborting => {
                    if order == Order::Abort {
                        aborting = true;
                        engine.abort(id).await?;
                    }
                    continue;
                }
                () = self.session.closing.cancelled() => break Err(Failure::Error(TurnError::Closed)),
                () = self.sender.closed() => break Err(Failure::Gone),
            };
            match piece {
                Some(Piece::More(increment)) => {
                    if live.sampled() == 0 && !increment.ids.is_empty() {
                        self.timings.first_token = began.elapsed();
                    }
                    let (parts, tokens) = live.take(increment, self.deltas)?;
                    self.tell(parts, tokens);
                    if live.is_stopped() {
                        break Ok(None);
                    }
                }
                Some(Piece::End(end)) => break Ok(Some(end)),
                None => {
                    let reason = "its stream ended without an end".into();
                    return Err(EngineError::Cut { tokens: live.sampled(), reason }.into());
                }
            }
        };
        if !matches!(end, Ok(Some(_))) {
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
        self.timings.generate += began.elapsed();
        let Some(End { ending, cached_tokens }) = end? else {
            return Ok(Attempt::Over(Finish::Stop, None));
        };
        // An engine may say that a turn was aborted or cut just after it sampled its last token.
        if live.ids().last().is_some_and(|last| params.stop_ids.contains(last)) {
            return Ok(Attempt::Over(Finish::Stop, cached_tokens));
        }
        match ending {
            Ending::Stop(_) => Ok(Attempt::Over(Finish::Stop, cached_tokens)),
            Ending::Length => Ok(Attempt::Over(Finish::Length, cached_tokens)),
            Ending::Aborted if live.remaining() == 0 => Ok(Attempt::Over(Finish::Length, cached_tokens)),
            Ending::Aborted => Ok(Attempt::Aborted { progress: live.sampled() > sampled_before }),
            Ending::Failed(error) => Err(error.into()),
        }
    }

    fn tell(&self, parts: Vec<Part>, tokens: Vec<SampledToken>) {
        if self.deltas && !(parts.is_empty() && tokens.is_empty()) {
            let _ = self.sender.send(TurnEvent::Delta { parts, tokens });
        }
    }
}

/// The message as it is stored: what an agent is told when nothing was said is an empty text.
fn said(message: Message) -> Message {
    match message.content {
        Content::Absent if message.tool_calls.is_empty() => Message { content: Content::from(""), ..message },
        _ => message,
    }
}
