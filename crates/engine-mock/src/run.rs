//! One call's sampling: the gate, the queue, the tokens, the end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use tokio::sync::{OwnedSemaphorePermit, watch};
use verbatim_engine::{AttemptId, Ending, EngineError, Increment, Piece, StopBy};

use crate::Asked;
use crate::fault::{BadLogprob, Fault, Plan};
use crate::pause::Gate;
use crate::runs::Stage;
use crate::state::Shared;
use crate::tally::{Finish, Logprob, Matched, Tally, Token};

/// How long the engine's own end may take once it is clear that there is no next token.
const END_WAIT: Duration = Duration::from_millis(200);
/// How long the one decode step after an abort may take.
const LAST_STEP: Duration = Duration::from_millis(30);

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The tally has one more token.
    Token,
    /// The tally has its finish, and perhaps one more token.
    End,
    /// The engine's stream ended without an end: the server is gone.
    Cut,
}

/// A call in flight. Dropping it aborts it.
pub(crate) struct Run {
    pub(crate) shared: Arc<Shared>,
    pub(crate) asked: Asked,
    pub(crate) tally: Tally,
    aborted: watch::Receiver<bool>,
    gate: watch::Receiver<Gate>,
    place: Option<OwnedSemaphorePermit>,
    pieces: Option<BoxStream<'static, Piece>>,
    /// Tokens that the engine gave at once, and their version.
    pending: VecDeque<(Token, Option<String>)>,
}

impl Run {
    /// Takes a name for the call; nothing if it is in flight already. Sampling begins with
    /// [`Run::next`].
    pub(crate) fn open(shared: &Arc<Shared>, asked: Asked, plan: Plan) -> Option<Self> {
        let aborted = shared.runs.enter(&asked.rid)?;
        shared.understood(&asked);
        let tally = Tally { prompt: asked.ids.clone(), plan, ..Tally::default() };
        let gate = shared.gate.subscribe();
        let shared = Arc::clone(shared);
        let pending = VecDeque::new();
        Some(Self { shared, asked, tally, aborted, gate, place: None, pieces: None, pending })
    }

    /// Whether one more call finds a place, at once or in the queue.
    pub(crate) fn fits(shared: &Shared) -> bool {
        let (Some(places), Some(queue)) = (&shared.places, shared.options.max_queued) else { return true };
        places.available_permits() > 0 || shared.runs.count(Stage::Waiting) < queue
    }

    /// The next token or the end; after the end, the end again.
    pub(crate) async fn next(&mut self) -> Step {
        if self.tally.finish.is_some() {
            return Step::End;
        }
        if self.pieces.is_none()
            && let Some(finish) = self.dispatch().await
        {
            return self.end(finish).await;
        }
        if let Some(finish) = self.planned() {
            return self.end(finish).await;
        }
        loop {
            if !self.thawed().await {
                return self.end(Finish::WaitingAbort { duplicate: false }).await;
            }
            if *self.aborted.borrow() {
                return self.aborted().await;
            }
            if let Some((token, version)) = self.pending.pop_front() {
                return self.take(token, version).await;
            }
            let Some(pieces) = &mut self.pieces else { return Step::Cut };
            tokio::select! {
                _ = self.aborted.changed() => {}
                _ = self.gate.changed() => {}
                piece = pieces.next() => match piece {
                    None => return Step::Cut,
                    Some(Piece::More(increment)) => self.pending.extend(tokens(increment)),
                    Some(Piece::End(end)) => {
                        self.tally.cached = end.cached_tokens.unwrap_or_default();
                        self.tally.retractions += end.retractions;
                        let finish = self.ending(end.ending);
                        return self.end(finish).await;
                    }
                },
            }
        }
    }

    /// Waits before the gate, then for a place; gives the finish if it was aborted there.
    async fn dispatch(&mut self) -> Option<Finish> {
        let rid = &self.asked.rid;
        let _ = self.gate.wait_for(|gate| !gate.is_closed()).await;
        if self.shared.options.legacy && self.shared.runs.latched(rid) {
            // Seen of 0.5.17: an abort at the gate works once the pause is over.
            return Some(Finish::Abort { message: format!("Request {rid} was aborted"), status: Some(499) });
        }
        self.shared.runs.set(rid, Stage::Waiting);
        if let Some(places) = self.shared.places.clone() {
            tokio::select! {
                place = places.acquire_owned() => self.place = place.ok(),
                _ = self.aborted.wait_for(|aborted| *aborted) => {
                    return Some(Finish::WaitingAbort { duplicate: false });
                }
            }
        }
        self.shared.runs.set(rid, Stage::Running);
        if self.asked.score_from.is_some()
            && let Some(scorer) = self.shared.engine.score()
        {
            self.tally.scores = scorer.score(self.asked.prompt().ids.to_vec(), 0).await.ok();
        }
        // A call for no tokens only reads. (The reference has SGLang report one logprob all the same;
        // 0.5.17 was seen to report none.)
        self.pieces = Some(if self.asked.params.max_tokens == 0 {
            futures::stream::iter([Piece::End(Ending::Length.into())]).boxed()
        } else {
            self.shared.engine.generate(AttemptId::fresh(), self.asked.prompt(), &self.asked.params)
        });
        None
    }

    /// Waits while the server stands still; false if it was aborted there.
    async fn thawed(&mut self) -> bool {
        let gate = *self.gate.borrow_and_update();
        if !gate.holds_running() {
            return true;
        }
        if gate == Gate::Retracted {
            self.tally.retractions += 1;
            self.shared.runs.set(&self.asked.rid, Stage::Waiting);
        }
        tokio::select! {
            _ = self.gate.wait_for(|gate| !gate.holds_running()) => {}
            _ = self.aborted.wait_for(|aborted| *aborted) => return gate != Gate::Retracted,
        }
        self.shared.runs.set(&self.asked.rid, Stage::Running);
        true
    }

    /// The end that a fault has in store here.
    fn planned(&mut self) -> Option<Finish> {
        let here = self.tally.len();
        let finish = self.tally.plan.find(|fault| match fault {
            Fault::Abort { after, status, message } if *after == here => {
                Some(Finish::Abort { message: message.clone(), status: *status })
            }
            Fault::WaitingAbort { after } if *after == here => {
                Some(Finish::WaitingAbort { duplicate: false })
            }
            Fault::DuplicateAbort { after } if *after == here => {
                Some(Finish::WaitingAbort { duplicate: true })
            }
            Fault::Nan { after } if *after == here => Some(Finish::Nan),
            Fault::Repetition { after } if *after == here => Some(Finish::Repetition),
            _ => None,
        })?;
        if finish == Finish::Nan {
            let stops =
                self.shared.options.eos.iter().chain(self.asked.params.stop_ids.iter().map(|id| &id.0));
            let id = stops.copied().next().unwrap_or_default();
            let version = self.shared.version(None);
            self.tally.push(Token { id, logprob: Logprob::Null, top: Vec::new() }, version);
        }
        Some(finish)
    }

    /// Takes a token over, and ends if it is the last.
    async fn take(&mut self, token: Token, version: Option<String>) -> Step {
        let version = self.shared.version(version.as_deref());
        let at = self.tally.len();
        let sampled = token.id;
        self.tally.push(spoilt(&self.tally.plan, at, token), version);
        let params = &self.asked.params;
        let finish = if params.stop_ids.iter().any(|stop| stop.0 == sampled) {
            Finish::Stop(self.matched(sampled))
        } else if let Some(text) = self.stop_string() {
            Finish::Stop(Matched::Text(text))
        } else if self.tally.len() >= params.max_tokens as usize {
            Finish::Length(params.max_tokens)
        } else {
            return Step::Token;
        };
        if let Some(pieces) = &mut self.pieces
            && let Ok(Some(Piece::End(end))) = tokio::time::timeout(END_WAIT, pieces.next()).await
        {
            self.tally.cached = end.cached_tokens.unwrap_or_default();
        }
        self.end(finish).await
    }

    fn matched(&self, id: u32) -> Matched {
        if self.shared.options.eos.contains(&id) { Matched::Eos(id) } else { Matched::Token(id) }
    }

    fn stop_string(&self) -> Option<String> {
        if self.asked.stops.is_empty() {
            return None;
        }
        let text = self.shared.text(&self.tally.ids)?;
        self.asked.stops.iter().find(|stop| text.contains(stop.as_str())).cloned()
    }

    /// Ends as an abort by name does: after one more decode step.
    async fn aborted(&mut self) -> Step {
        if self.pending.is_empty()
            && let Some(pieces) = &mut self.pieces
            && let Ok(Some(Piece::More(increment))) = tokio::time::timeout(LAST_STEP, pieces.next()).await
        {
            self.pending.extend(tokens(increment));
        }
        if let Some((token, version)) = self.pending.pop_front() {
            let version = self.shared.version(version.as_deref());
            let at = self.tally.len();
            self.tally.push(spoilt(&self.tally.plan, at, token), version);
        }
        self.end(Finish::Abort { message: "Aborted".into(), status: None }).await
    }

    fn ending(&self, ending: Ending) -> Finish {
        match ending {
            Ending::Stop(StopBy::Token(id)) => Finish::Stop(self.matched(id.0)),
            Ending::Stop(StopBy::Text(text)) => Finish::Stop(Matched::Text(text)),
            Ending::Stop(StopBy::Other(_)) => Finish::Stop(Matched::Other),
            Ending::Length => Finish::Length(self.asked.params.max_tokens),
            Ending::Aborted => Finish::Abort { message: "Aborted".into(), status: None },
            Ending::Failed(error) => Finish::Failed(error),
        }
    }

    async fn end(&mut self, finish: Finish) -> Step {
        self.tally.finish = Some(finish);
        self.pieces = None;
        self.place = None;
        self.shared.runs.leave(&self.asked.rid);
        Step::End
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.tally.finish.is_none() {
            self.shared.runs.leave(&self.asked.rid);
        }
    }
}

fn tokens(increment: Increment) -> impl Iterator<Item = (Token, Option<String>)> {
    let Increment { ids, logprobs, version, top, .. } = increment;
    let version = version.map(|version| version.as_str().to_owned());
    let (mut logprobs, mut top) = (logprobs.into_iter(), top.into_iter());
    ids.into_iter().map(move |id| {
        let logprob = logprobs.next().flatten().map_or(Logprob::Missing, Logprob::Value);
        let top = top.next().unwrap_or_default();
        let top = top.into_iter().map(|(id, logprob)| (id.0, logprob)).collect();
        (Token { id: id.0, logprob, top }, version.clone())
    })
}

fn spoilt(plan: &Plan, here: usize, token: Token) -> Token {
    plan.0.iter().fold(token, |token, fault| match fault {
        Fault::Logprob { at, bad } if *at == here => {
            let logprob = match bad {
                BadLogprob::Null => Logprob::Null,
                BadLogprob::Sentinel => Logprob::Value(-9999.0),
                BadLogprob::Lowest => Logprob::Value(f32::MIN),
            };
            Token { logprob, ..token }
        }
        Fault::ForeignId { at, id } if *at == here => Token { id: *id, ..token },
        _ => token,
    })
}

/// The message of a failed engine.
pub(crate) fn status_of(error: &EngineError) -> u16 {
    match error {
        EngineError::Context { .. } | EngineError::Vocabulary { .. } => 400,
        _ => 500,
    }
}
