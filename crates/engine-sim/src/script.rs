//! What a simulated engine says.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use verbatim_engine::Prompt;
use verbatim_tokens::TokenId;

use crate::Fault;

/// What one attempt would sample if nothing stopped it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The ids, stop token included if one is to come.
    pub ids: Vec<TokenId>,
    /// What goes wrong.
    pub fault: Option<Fault>,
}

/// Decides what an attempt samples.
pub trait Script: Send + Sync {
    /// The line for one attempt. `random` is seeded by the engine's seed, the request's seed and the
    /// prompt.
    fn line(&self, prompt: &Prompt, random: &mut ChaCha8Rng) -> Line;
}

impl<F: Fn(&Prompt, &mut ChaCha8Rng) -> Line + Send + Sync> Script for F {
    fn line(&self, prompt: &Prompt, random: &mut ChaCha8Rng) -> Line {
        self(prompt, random)
    }
}

/// Lines given beforehand: a session's first attempt says the first, its second the second; after
/// the last it begins again.
#[derive(Debug)]
pub struct Playbook {
    lines: Vec<Line>,
    spoken: Mutex<HashMap<String, usize>>,
}

impl Playbook {
    /// Lines in order.
    pub fn new(lines: impl IntoIterator<Item = Line>) -> Self {
        Self { lines: lines.into_iter().collect(), spoken: Mutex::default() }
    }
}

impl Script for Playbook {
    fn line(&self, prompt: &Prompt, _: &mut ChaCha8Rng) -> Line {
        let mut spoken = self.spoken.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = spoken.entry(prompt.session.0.to_string()).or_default();
        let line = self.lines.get(*turn % self.lines.len().max(1)).cloned().unwrap_or_default();
        *turn += 1;
        line
    }
}

/// Random text: ids drawn from a list, then a stop token.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Ids to draw from.
    pub ids: Vec<TokenId>,
    /// The id that ends a turn.
    pub stop: TokenId,
    /// The mean number of tokens before it.
    pub mean: usize,
}

impl Script for Drawn {
    fn line(&self, _: &Prompt, random: &mut ChaCha8Rng) -> Line {
        let length = random.random_range(1..=self.mean.max(1) * 2);
        let draw =
            |random: &mut ChaCha8Rng| self.ids.get(random.random_range(0..self.ids.len().max(1))).copied();
        let mut ids: Vec<TokenId> = (0..length).filter_map(|_| draw(random)).collect();
        ids.push(self.stop);
        Line { ids, fault: None }
    }
}

/// A line given beforehand in about half of the turns, and random text in the others.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The text.
    pub talk: Drawn,
    /// The line: a call of a tool, stop token included.
    pub call: Vec<TokenId>,
}

impl Script for Caller {
    fn line(&self, prompt: &Prompt, random: &mut ChaCha8Rng) -> Line {
        match random.random_bool(0.5) {
            true => Line { ids: self.call.clone(), fault: None },
            false => self.talk.line(prompt, random),
        }
    }
}
