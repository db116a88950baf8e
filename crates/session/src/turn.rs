//! One turn, from a prepared prompt to its commit.

use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tracing::Instrument;
use verbatim_chat::{Content, Message};
use verbatim_dialects::{Sampling, Wire};
use verbatim_engine::EngineError;
use verbatim_events::{Cause, Generated, NodeId, Timings, TurnCommitted};
use verbatim_families::{Parsed, Parser, Part, Scene};
use verbatim_journal::{SentRecord, TurnRecord};
use verbatim_scheduler::{Cost, Ended};
use verbatim_tokens::{Replay, TokenId};

use crate::attempt::{Attempt, Patience};
use crate::calls::Call;
use crate::commit::{commit, flaw};
use crate::dispatch::{Order, Ticket};
use crate::feed::Feed;
use crate::prepare::{Prepared, measure, prepare};
use crate::raw::{Ids, Plain};
use crate::sampling::{Finished, Live};
use crate::sessions::Shared;
use crate::unread::{Unread, name_calls, parts_of};
use crate::{Events, Sent, Session, Sessions, TurnError};

/// How many digits a reply's id ends with.
pub(crate) const DIGITS: usize = 32;

/// A request for one turn.
pub struct Asked<'a> {
    /// What the model is to read.
    pub prompt: Prompted<'a>,
    /// What is asked of the sampler.
    pub sampling: &'a Sampling,
    /// What the dialect already lost.
    pub lost: Vec<Cause>,
    /// What the reply's id begins with; 32 random digits follow.
    pub response_prefix: &'a str,
    /// Whether parts and tokens are wanted as they come; if not, only the end is told.
    pub deltas: bool,
    /// What it is told from other requests by.
    pub sent: Sent,
}

/// What the model is to read.
pub enum Prompted<'a> {
    /// A conversation.
    Messages(&'a (dyn Wire + Sync)),
    /// Ids; the reply is text and nothing else.
    Ids(Ids),
}

/// A turn in flight. Dropping its events tells the turn that nobody waits.
pub struct Reply {
    /// The reply's id.
    pub response: String,
    /// Tokens that the model reads.
    pub prompt_tokens: usize,
    /// What happens, in order; [`TurnEvent::Committed`] or [`TurnEvent::Failed`] is the last.
    pub events: Events,
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
    /// The stop string that ended it, if one did.
    pub stop: Option<String>,
}

impl Sessions {
    /// Begins a turn, or finds the one that the request was sent for before (the rule is in the module `retry`). Attaching and rendering happen here, in time proportional to what is new;
    /// sampling and committing in a task of the session's.
    ///
    /// # Errors
    /// [`TurnError`], if the request cannot be taken. Later failures come as [`TurnEvent::Failed`].
    pub async fn turn(&self, session: &Arc<Session>, asked: Asked<'_>) -> Result<Reply, TurnError> {
        if session.closing.is_cancelled() {
            return Err(TurnError::Closed);
        }
        if let Some((call, events)) = session.calls().find(&asked.sent)? {
            tracing::info!(session = %session.id(), response = %call.response, "sent again");
            return Ok(Reply { response: call.response, prompt_tokens: call.prompt_tokens, events });
        }
        let arrived = Instant::now();
        let prepared = prepare(&self.0, session, &asked.prompt, asked.sampling, asked.lost)
            .await
            .inspect_err(|error| {
                error.cause().into_iter().for_each(|cause| self.0.observers.lost(session.id(), cause));
            })?;
        let digits = format!("{:0DIGITS$x}", rand::random::<u128>());
        let response = format!("{}{digits}", asked.response_prefix);
        let call_prefix = format!("call_{}", &digits[..22]);
        let feed = Feed::new();
        let events = feed.join();
        let span = tracing::info_span!("turn", session = %session.id(), response = %response, prompt = prepared.request.prompt.len());
        let timings = Timings { prepare: arrived.elapsed(), ..Timings::default() };
        let whole = self.0.engine.capabilities().parses || prepared.request.params.form.is_some();
        let turn = Turn {
            fresh: parsers(&self.0, session, &prepared, call_prefix.clone()),
            call_prefix,
            shared: Arc::clone(&self.0),
            session: Arc::clone(session),
            response: response.clone(),
            deltas: asked.deltas,
            feed: Arc::clone(&feed),
            timings,
            attempts: 0,
            patience: Patience::default(),
            message: None,
            sent: asked.sent.body.map(|body| SentRecord { body, key: asked.sent.key }),
            whole,
            held: Held::default(),
        };
        let prompt_tokens = prepared.request.prompt.len();
        if let Some(SentRecord { body, key }) = turn.sent.clone() {
            let response = response.clone();
            session.calls().put(Call { body, key, response, prompt_tokens, feed });
        }
        session.turns.spawn(turn.run(prepared).instrument(span));
        Ok(Reply { response, prompt_tokens, events })
    }

    /// How many tokens the model would read, were this conversation a turn's. Nothing is sampled or committed.
    ///
    /// # Errors
    /// [`TurnError`], if it could not be a turn's.
    pub async fn count(&self, session: &Session, wire: &(dyn Wire + Sync)) -> Result<usize, TurnError> {
        measure(&self.0, session, wire).await
    }
}

/// What a turn's task holds.
pub(crate) struct Turn {
    pub(crate) shared: Arc<Shared>,
    pub(crate) session: Arc<Session>,
    response: String,
    /// What the ids of its calls begin with.
    call_prefix: String,
    pub(crate) deltas: bool,
    pub(crate) feed: Arc<Feed>,
    pub(crate) timings: Timings,
    pub(crate) attempts: u32,
    pub(crate) patience: Patience,
    /// Makes a parser of the turn's reply.
    pub(crate) fresh: Box<dyn Fn() -> Box<dyn Parser> + Send + Sync>,
    /// The reply as the engine read it, if it did.
    pub(crate) message: Option<Box<Message>>,
    /// How its request is known again.
    sent: Option<SentRecord>,
    /// Whether all of it has to come from one attempt: what the engine parses, or holds to a form, it cannot go on
    /// with in the middle. Nothing of such a turn is told before its end, so that it can be begun anew.
    pub(crate) whole: bool,
    /// What such a turn said so far.
    pub(crate) held: Held,
}

/// Parts and tokens that are not told yet.
#[derive(Default)]
pub(crate) struct Held {
    parts: Vec<Part>,
    tokens: Vec<SampledToken>,
}

/// Why a turn ends without a commit.
pub(crate) enum Failure {
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

impl Drop for Turn {
    /// A task that is over without an end, because it panicked, leaves nobody waiting.
    fn drop(&mut self) {
        self.feed.end(Err(TurnError::Closed));
    }
}

impl Turn {
    async fn run(mut self, prepared: Prepared) {
        let (shared, session) = (Arc::clone(&self.shared), Arc::clone(&self.session));
        let lost = |cause| shared.observers.lost(session.id(), cause);
        match self.drive(prepared).await {
            Ok(committed) => {
                tracing::debug!(sampled = committed.turn.generated.sampled.len(), "committed");
                self.feed.end(Ok(committed));
            }
            Err(Failure::Gone) => {
                tracing::debug!("the client is gone");
                lost(Cause::ClientGone);
                self.feed.end(Err(TurnError::Closed));
            }
            Err(Failure::Error(error)) => {
                tracing::debug!(%error, "not committed");
                error.cause().into_iter().for_each(lost);
                self.feed.end(Err(error));
            }
        }
    }

    async fn drive(&mut self, prepared: Prepared) -> Result<Committed, Failure> {
        let Prepared { plan, observed, request, stop: stops, bytes, mut lost, .. } = prepared;
        let shared = Arc::clone(&self.shared);
        let kind = shared.engine.capabilities().logprobs;
        let mut live = Live::new(kind, request.params.max_tokens, (self.fresh)(), stops);

        // However it is cut into attempts, what it read and what it may sample stay the same.
        let sampled = request.params.max_tokens.min(shared.settings.decode_cap);
        let cost = Cost(request.prompt.len() as u64 + u64::from(sampled));
        let mut ticket = shared.dispatcher.arrive(self.session.seat(), cost);
        let finish = loop {
            self.hold(&mut ticket).await?;
            let (cause, progress) = match self.attempt(&mut ticket, &mut live, &request).await? {
                Attempt::Over(finish) => break finish,
                Attempt::Aborted { progress } => (Cause::AttemptAborted, progress),
                Attempt::Failed { error, progress } => {
                    (Cause::AttemptFailed { kind: error.kind().to_owned() }, progress)
                }
            };
            lost.push(cause);
            ticket.ended(Ended::Aborted { progress });
        };
        drop(ticket);

        lost.extend((live.dropped() > 0).then_some(Cause::StoppedBeyond));
        let facts = live.facts().clone();
        let Finished { sampled, mut parsed, mut parts, stop } = live.finish()?;
        if sampled.is_empty() {
            return Err(EngineError::Broken { reason: "the turn ended before its first token".into() }.into());
        }
        if shared.engine.capabilities().parses {
            let mut message = self.message.take().ok_or_else(|| EngineError::Poisoned {
                reason: "it parses its replies and sent no message".into(),
            })?;
            name_calls(&mut message, &self.call_prefix);
            parts = parts_of(&message);
            parsed = Parsed { message: *message, ..parsed };
        }
        let mut held = std::mem::take(&mut self.held);
        held.parts.append(&mut parts);
        self.whole = false;
        self.tell(held.parts, held.tokens);
        // What nobody waits for is not committed: an agent that gave up has not seen it.
        tokio::select! {
            () = self.feed.awaited() => {}
            () = self.session.closing.cancelled() => return Err(TurnError::Closed.into()),
            () = self.feed.abandoned(shared.settings.grace) => return Err(Failure::Gone),
        }
        lost.extend(parsed.flaws.iter().copied().map(flaw));
        let whole = request.prompt.len() + sampled.len() - 1;
        let covering = |told: Option<Replay>, from: Option<usize>| told?.covering(from?, whole);
        let experts = covering(facts.experts, request.experts_from);
        lost.extend((request.experts_from.is_some() && experts.is_none()).then_some(Cause::ExpertsLost));
        let indexer = covering(facts.indexer, request.indexer_from);
        lost.extend((request.indexer_from.is_some() && indexer.is_none()).then_some(Cause::IndexerLost));
        let (experts, indexer) = (shared.spill.keep(experts).await, shared.spill.keep(indexer).await);
        let reasoning_tokens = parsed.reasoning_tokens;
        let turn = Arc::new(TurnCommitted {
            session: self.session.id().clone(),
            parent: plan.parent,
            observed,
            generated: Generated {
                sampled,
                message: Arc::new(said(parsed.message)),
                finish,
                response: self.response.clone(),
                temperature: request.params.temperature,
                cached_tokens: facts.cached_tokens,
                experts,
                indexer,
                speculation: facts.speculation,
                retractions: facts.retractions,
                attempts: self.attempts,
                reasoning_tokens,
            },
            at: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64),
            timings: self.timings,
        });
        let prompt_tokens = request.prompt.len();
        let (sent, lora) = (self.sent.take(), self.session.lora().cloned());
        let record = TurnRecord { turn, bytes, sent, prompt_tokens, stop, lora };
        let node = commit(&shared.observers, &shared.keeper, &self.session, plan, &record, lost).await?;
        let TurnRecord { turn, stop, .. } = record;
        Ok(Committed { turn, node, prompt_tokens, stop })
    }

    /// Waits for a permit and an open gate.
    async fn hold(&mut self, ticket: &mut Ticket) -> Result<(), Failure> {
        let since = Instant::now();
        loop {
            let order = tokio::select! {
                order = ticket.next() => order,
                () = self.session.closing.cancelled() => return Err(TurnError::Closed.into()),
                () = self.feed.abandoned(self.shared.settings.grace) => return Err(Failure::Gone),
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

    /// Tells the client what was said, if it wants to know; returns whether it was told.
    pub(crate) fn tell(&mut self, mut parts: Vec<Part>, mut tokens: Vec<SampledToken>) -> bool {
        if self.whole {
            self.held.parts.append(&mut parts);
            self.held.tokens.append(&mut tokens);
            return false;
        }
        let tells = self.deltas && !(parts.is_empty() && tokens.is_empty());
        if tells {
            self.feed.tell(parts, tokens);
        }
        tells
    }
}

/// The message as it is stored: what an agent is told when nothing was said is an empty text.
fn said(message: Message) -> Message {
    match message.content {
        Content::Absent if message.tool_calls.is_empty() => Message { content: Content::from(""), ..message },
        _ => message,
    }
}

/// What makes parsers for a turn: its own, and others to read it again with.
fn parsers(
    shared: &Arc<Shared>,
    session: &Session,
    prepared: &Prepared,
    call_prefix: String,
) -> Box<dyn Fn() -> Box<dyn Parser> + Send + Sync> {
    if shared.engine.capabilities().parses {
        return Box::new(|| Box::new(Unread));
    }
    if prepared.bytes.is_none() {
        let (family, stop) = (Arc::clone(&shared.family), prepared.request.params.stop_ids.clone());
        return Box::new(move || Box::new(Plain::new(Arc::clone(family.tokenizer()), stop.clone())));
    }
    let (family, setup) = (Arc::clone(&shared.family), Arc::clone(&prepared.setup));
    let (start, opened) = (prepared.start, session.opened());
    Box::new(move || family.parser(Scene { setup: &setup, opened }, start, &call_prefix))
}
