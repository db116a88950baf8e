//! Continuous batching.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use verbatim_tokens::Version;

use super::inbox::{Generation, Message, Scoring};
use super::running::{Goal, Running};
use crate::cache::{Prefixes, Sequence};
use crate::model::{Feed, Model};
use crate::stats::Counters;

/// What bounds a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Sequences at once.
    pub(crate) batch: usize,
    /// Prompt tokens a step.
    pub(crate) chunk: usize,
    /// Tokens a sequence.
    pub(crate) context: usize,
}

enum Waiting {
    Generation(Box<Generation>),
    Scoring(Scoring),
}

/// The owner of every sequence.
pub(crate) struct Worker {
    pub(crate) model: Model,
    pub(crate) limits: Limits,
    pub(crate) prefixes: Prefixes,
    pub(crate) version: Arc<Mutex<Version>>,
    pub(crate) counters: Arc<Counters>,
    running: Vec<Running>,
    waiting: VecDeque<Waiting>,
    epoch: u64,
}

impl Worker {
    pub(crate) fn new(
        model: Model,
        limits: Limits,
        cache_bytes: usize,
        version: Arc<Mutex<Version>>,
        counters: Arc<Counters>,
    ) -> Self {
        let prefixes = Prefixes::new(model.layout(), cache_bytes);
        Self {
            model,
            limits,
            prefixes,
            version,
            counters,
            running: Vec::new(),
            waiting: VecDeque::new(),
            epoch: 0,
        }
    }

    /// Works until the engine is dropped.
    pub(crate) fn run(mut self, inbox: &Receiver<Message>) {
        loop {
            let idle = self.running.is_empty() && self.waiting.is_empty();
            if idle {
                match inbox.recv() {
                    Ok(message) => self.hear(message),
                    Err(_) => return,
                }
            }
            loop {
                match inbox.try_recv() {
                    Ok(message) => self.hear(message),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return,
                }
            }
            self.leave();
            self.admit();
            self.report();
            self.step();
            self.report();
        }
    }

    fn report(&self) {
        self.counters.hold(self.running.len(), self.waiting.len(), self.prefixes.bytes());
    }

    fn hear(&mut self, message: Message) {
        match message {
            Message::Generate(generation) => self.waiting.push_back(Waiting::Generation(generation)),
            Message::Score(scoring) => self.waiting.push_back(Waiting::Scoring(scoring)),
            Message::Abort(id) => {
                let named = |waiting: &Waiting| matches!(waiting, Waiting::Generation(g) if g.id == id);
                if let Some(at) = self.waiting.iter().position(named)
                    && let Some(Waiting::Generation(generation)) = self.waiting.remove(at)
                {
                    let context = self.limits.context;
                    Running::generation(*generation, Sequence::default(), context, self.epoch).finish(true);
                }
                let named = |running: &Running| matches!(&running.goal, Goal::Sample(s) if s.id == id);
                if let Some(at) = self.running.iter().position(named) {
                    self.end(at, true);
                }
            }
            Message::Flush(done) => {
                self.forget();
                let _ = done.send(());
            }
            Message::Weights(model, done) => {
                self.model = *model;
                self.forget();
                // Keys and values of other weights are of no use: turns go on in other attempts, and what is
                // scored is scored again.
                for running in std::mem::take(&mut self.running) {
                    match running.restart() {
                        Ok(scoring) => self.waiting.push_front(Waiting::Scoring(scoring)),
                        Err(running) => running.finish(true),
                    }
                }
                let _ = done.send(());
            }
        }
    }

    /// Drops every cached prefix, and keeps none of what runs now.
    fn forget(&mut self) {
        self.prefixes.clear();
        self.epoch += 1;
        self.report();
    }

    /// Ends what nobody waits for.
    fn leave(&mut self) {
        for at in (0..self.running.len()).rev() {
            if self.running[at].abandoned() {
                self.end(at, true);
            }
        }
        self.waiting.retain(|waiting| match waiting {
            Waiting::Generation(generation) => !generation.pieces.is_closed(),
            Waiting::Scoring(scoring) => !scoring.reply.is_closed(),
        });
    }

    /// Takes from the line what the batch has room for. A prompt whose beginning a running sequence
    /// is about to read waits for it: members of a group share their prompt's cost.
    fn admit(&mut self) {
        let mut held = VecDeque::new();
        while self.running.len() < self.limits.batch
            && let Some(next) = self.waiting.pop_front()
        {
            match next {
                Waiting::Scoring(scoring) => self.running.push(Running::scoring(scoring, self.epoch)),
                Waiting::Generation(generation) => match self.prefix(&generation) {
                    Some(prefix) => {
                        tracing::debug!(attempt = %generation.id, cached = prefix.len(), "attempt begins");
                        let context = self.limits.context;
                        self.running.push(Running::generation(*generation, prefix, context, self.epoch));
                    }
                    None => held.push_back(Waiting::Generation(generation)),
                },
            }
        }
        held.append(&mut self.waiting);
        self.waiting = held;
    }

    /// The longest known beginning of a prompt; `None` if a longer one is being read right now.
    fn prefix(&mut self, generation: &Generation) -> Option<Sequence> {
        let ids = &generation.prompt.ids;
        // The last id is always read: its logits are what the first sampled id is drawn from.
        let most = ids.len().saturating_sub(1);
        let mut best = self.prefixes.longest(&generation.prompt.session, ids, most);
        for running in self.running.iter().filter(|running| running.epoch == self.epoch) {
            let known = running.sequence.common(ids).min(most);
            if known > best.len() {
                best = running.sequence.prefix(known);
            }
        }
        let mut running = self.running.iter().filter(|running| running.epoch == self.epoch);
        let awaited = running.any(|running| running.will_hold(ids, most) > best.len() + AWAITED);
        (!awaited).then_some(best)
    }

    fn step(&mut self) {
        let mut chunk = self.limits.chunk;
        let mut counts = Vec::with_capacity(self.running.len());
        let (mut prefilled, mut decoded) = (0, 0);
        for running in &self.running {
            let count = if running.decodes() {
                decoded += 1;
                1
            } else {
                let count = running.unread().min(chunk);
                chunk -= count;
                prefilled += count;
                count
            };
            counts.push(count);
        }
        if prefilled + decoded == 0 {
            return;
        }
        let started = Instant::now();
        let mut feeds: Vec<Feed<'_>> = self
            .running
            .iter_mut()
            .zip(&counts)
            .filter(|(_, count)| **count > 0)
            .map(|(running, count)| {
                let (sequence, ids, logits) = running.next(*count);
                Feed { sequence, ids, logits }
            })
            .collect();
        let wanted: Vec<usize> = feeds.iter().map(Feed::rows).collect();
        let logits = self.model.forward(&mut feeds);
        drop(feeds);
        let version = self.version.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let vocabulary = self.model.vocabulary();
        let (mut first, mut wanted, mut over) = (0, wanted.into_iter(), Vec::new());
        for (at, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let until = first + wanted.next().unwrap_or(0) * vocabulary;
            if self.running[at].take(*count, &logits[first..until], vocabulary, &version) {
                over.push(at);
            }
            first = until;
        }
        self.counters.step(prefilled, decoded, started.elapsed());
        for at in over.into_iter().rev() {
            self.end(at, false);
        }
    }

    /// Takes a sequence out of the batch, keeps its prefix, and tells the end.
    fn end(&mut self, at: usize, aborted: bool) {
        let running = self.running.remove(at);
        if let Goal::Sample(sampling) = &running.goal
            && running.epoch == self.epoch
        {
            self.prefixes.keep(sampling.session.clone(), running.sequence.clone());
        }
        self.report();
        running.finish(aborted);
    }
}

/// Waiting for another sequence to read a common beginning must save more tokens than this.
const AWAITED: usize = 16;
