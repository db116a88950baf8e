//! The simulated engine.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use tokio::sync::{mpsc, watch};
use verbatim_engine::{
    AttemptId, Capabilities, Control, End, Ending, Engine, EngineError, Forms, Increment, Params, Piece,
    Prompt, Score, StopBy,
};
use verbatim_tokens::{TokenId, Version};

use crate::logprob::Rolling;
use crate::{Fault, Latency, Line, Script};

/// How a simulated engine behaves.
#[derive(Clone, Debug)]
pub struct SimOptions {
    /// Everything random follows from it.
    pub seed: u64,
    /// Tokens that prompt and reply together may hold.
    pub max_context: usize,
    /// Ids are below this.
    pub vocabulary: usize,
    /// How long things take.
    pub latency: Latency,
    /// Tokens an increment.
    pub chunk: usize,
    /// What stands for an image in a prompt, if images are taken.
    pub image_pad: Option<TokenId>,
}

impl Default for SimOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            max_context: 32_768,
            vocabulary: 1 << 20,
            latency: Latency::NONE,
            chunk: 1,
            image_pad: None,
        }
    }
}

/// An engine without a model.
#[derive(Clone)]
pub struct SimEngine(Arc<Sim>);

/// How text is spelt in ids, marks of the family's included.
pub type Speller = Arc<dyn Fn(&str) -> Vec<TokenId> + Send + Sync>;

struct Sim {
    options: SimOptions,
    speller: Option<Speller>,
    capabilities: Capabilities,
    script: Box<dyn Script>,
    state: Mutex<State>,
}

struct State {
    version: Version,
    /// Running attempts and how to stop them.
    running: HashMap<AttemptId, watch::Sender<bool>>,
    /// For each session, how many tokens it has had before the engine.
    cached: HashMap<String, usize>,
}

impl SimEngine {
    /// An engine that says what `script` says.
    pub fn new(options: SimOptions, script: impl Script + 'static) -> Self {
        Self::built(options, script, None)
    }

    /// An engine that says what `script` says, unless it is held to a form: then something that has it, spelt by
    /// `speller`.
    pub fn with_speller(options: SimOptions, script: impl Script + 'static, speller: Speller) -> Self {
        Self::built(options, script, Some(speller))
    }

    fn built(options: SimOptions, script: impl Script + 'static, speller: Option<Speller>) -> Self {
        let version = Version::new("0");
        let capabilities = Capabilities {
            versions: true,
            version: Some(version.clone()),
            images: options.image_pad.is_some(),
            turns_images: true,
            forms: match speller {
                Some(_) => Forms { json: true, composed: true, ..Forms::NONE },
                None => Forms::NONE,
            },
            ..Capabilities::new("sim", "sim", options.max_context, options.vocabulary)
        };
        let state = State { version, running: HashMap::new(), cached: HashMap::new() };
        let (script, state) = (Box::new(script), Mutex::new(state));
        Self(Arc::new(Sim { options, speller, capabilities, script, state }))
    }

    /// Changes the version that the next tokens carry.
    pub fn set_version(&self, version: Version) {
        self.0.state().version = version;
    }

    /// Attempts that run now.
    pub fn running(&self) -> usize {
        self.0.state().running.len()
    }
}

impl Sim {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refusal(&self, prompt: &Prompt) -> Option<EngineError> {
        let context = self.options.max_context;
        if prompt.ids.len() >= context {
            return Some(EngineError::Context { prompt: prompt.ids.len(), context });
        }
        if let Some(message) = self.misplaced(prompt) {
            return Some(EngineError::Refused { message });
        }
        let vocabulary = self.options.vocabulary;
        let outside = prompt.ids.iter().find(|id| id.0 as usize >= vocabulary)?;
        Some(EngineError::Vocabulary { id: *outside, vocabulary })
    }

    /// What is wrong with a prompt's images: each must be at a run of placeholders that is as long as its grid says,
    /// and every placeholder an image's.
    fn misplaced(&self, prompt: &Prompt) -> Option<String> {
        let Some(pad) = self.options.image_pad else {
            return (!prompt.images.is_empty()).then(|| "this engine takes no images".into());
        };
        let mut from = 0;
        for place in prompt.images.iter().map(|image| image.place) {
            let run = prompt.ids.get(place.start..place.end());
            let patches: u64 = place.grid.iter().map(|side| u64::from(*side)).product();
            let is_run = run.is_some_and(|run| !run.is_empty() && run.iter().all(|id| *id == pad));
            if !is_run || place.start < from || !patches.is_multiple_of(place.length as u64) {
                return Some(format!("no image fits {place:?}"));
            }
            if prompt.ids[from..place.start].contains(&pad) {
                return Some(format!("a placeholder before token {} is no image's", place.start));
            }
            from = place.end();
        }
        prompt.ids[from..].contains(&pad).then(|| "the prompt has more placeholders than images".into())
    }

    /// Says one line, piece by piece; returns how it ended, or nothing if the stream is to be cut.
    async fn speak(
        &self,
        line: Line,
        prompt: &Prompt,
        params: &Params,
        aborted: &mut watch::Receiver<bool>,
        out: &mpsc::Sender<Piece>,
    ) -> Option<Ending> {
        let mut rolling = Rolling::new(self.options.seed).over(&prompt.ids);
        let limit = (params.max_tokens as usize).min(self.options.max_context - prompt.ids.len());
        let mut increment = Increment::default();
        for (at, id) in line.ids.iter().copied().take(limit).enumerate() {
            match line.fault {
                Some(Fault::DiesAfter(n)) if n == at => {
                    self.flush(&mut increment, out).await;
                    return Some(Ending::Failed(EngineError::Broken { reason: "it died".into() }));
                }
                Some(Fault::CutAfter(n)) if n == at => {
                    self.flush(&mut increment, out).await;
                    return None;
                }
                Some(Fault::AbortsAfter(n)) if n == at => {
                    self.flush(&mut increment, out).await;
                    return Some(Ending::Aborted);
                }
                Some(Fault::Hangs) => {
                    let _ = aborted.wait_for(|aborted| *aborted).await;
                    return Some(Ending::Aborted);
                }
                _ => {}
            }
            if !self.options.latency.decode_token.is_zero() {
                tokio::time::sleep(self.options.latency.decode_token).await;
            }
            if *aborted.borrow() || out.is_closed() {
                self.flush(&mut increment, out).await;
                return Some(Ending::Aborted);
            }
            let logprob = rolling.take(id);
            increment.ids.push(id);
            increment.logprobs.push((line.fault != Some(Fault::NoLogprobs)).then_some(logprob));
            let stops = params.stop_ids.contains(&id);
            if line.fault == Some(Fault::ShortLogprobs) && (stops || at + 1 == line.ids.len().min(limit)) {
                increment.logprobs.pop();
            }
            if stops || increment.ids.len() >= self.options.chunk {
                self.flush(&mut increment, out).await;
            }
            if stops && line.fault != Some(Fault::CutAfter(at + 1)) {
                return Some(Ending::Stop(StopBy::Token(id)));
            }
            if stops {
                return None;
            }
        }
        self.flush(&mut increment, out).await;
        if line.fault == Some(Fault::CutAfter(line.ids.len().min(limit))) {
            return None;
        }
        Some(if line.ids.len() >= limit {
            Ending::Length
        } else {
            Ending::Stop(StopBy::Other("script".into()))
        })
    }

    /// What is said instead of the script's line where a form is asked for.
    fn held_to(&self, params: &Params, random: &mut ChaCha8Rng) -> Result<Option<Vec<TokenId>>, EngineError> {
        let Some(form) = &params.form else { return Ok(None) };
        let speller =
            self.speller.as_ref().ok_or(EngineError::Unsupported { what: "hold a reply to a form" })?;
        let mut ids = speller(&crate::form::text(form, random)?);
        ids.extend(params.stop_ids.first());
        Ok(Some(ids))
    }

    async fn flush(&self, increment: &mut Increment, out: &mpsc::Sender<Piece>) {
        if !increment.ids.is_empty() {
            let version = Some(self.state().version.clone());
            let _ = out.send(Piece::More(Increment { version, ..std::mem::take(increment) })).await;
        }
    }

    /// Takes note that a session's ids are now cached; returns how many of the prompt's were before.
    fn cache(&self, prompt: &Prompt, sampled: usize) -> usize {
        let mut state = self.state();
        let cached = state.cached.entry(prompt.session.0.to_string()).or_default();
        let before = (*cached).min(prompt.ids.len() - 1);
        *cached = prompt.ids.len() + sampled;
        before
    }
}

impl Engine for SimEngine {
    fn capabilities(&self) -> &Capabilities {
        &self.0.capabilities
    }

    fn generate(&self, id: AttemptId, prompt: Prompt, params: &Params) -> BoxStream<'static, Piece> {
        let (out, pieces) = mpsc::channel(64);
        let (abort, mut aborted) = watch::channel(false);
        let (sim, params) = (Arc::clone(&self.0), params.clone());
        sim.state().running.insert(id, abort);
        tokio::spawn(async move {
            let (ending, cached) = match sim.refusal(&prompt) {
                Some(error) => (Some(Ending::Failed(error)), 0),
                None => {
                    let mixed =
                        prompt.ids.last().map_or(0, |id| u64::from(id.0)) ^ ((prompt.ids.len() as u64) << 32);
                    let asked = params.seed.unwrap_or_default();
                    let mut random =
                        ChaCha8Rng::seed_from_u64(sim.options.seed ^ asked.rotate_left(17) ^ mixed);
                    let mut line = sim.script.line(&prompt, &mut random);
                    match sim.held_to(&params, &mut random) {
                        Ok(Some(ids)) => line.ids = ids,
                        Ok(None) => {}
                        Err(error) => {
                            sim.state().running.remove(&id);
                            let _ = out.send(Piece::End(Ending::Failed(error).into())).await;
                            return;
                        }
                    }
                    let cached = sim.cache(&prompt, line.ids.len());
                    let wait = sim.options.latency.before_first(prompt.ids.len() - cached);
                    if !wait.is_zero() {
                        let _ = tokio::time::timeout(wait, aborted.wait_for(|aborted| *aborted)).await;
                    }
                    (sim.speak(line, &prompt, &params, &mut aborted, &out).await, cached)
                }
            };
            sim.state().running.remove(&id);
            if let Some(ending) = ending {
                let cached_tokens = u32::try_from(cached).ok();
                let _ = out.send(Piece::End(End { cached_tokens, ..ending.into() })).await;
            }
        });
        futures::stream::unfold(pieces, |mut pieces| async {
            pieces.recv().await.map(|piece| (piece, pieces))
        })
        .boxed()
    }

    fn abort(&self, id: AttemptId) -> BoxFuture<'_, Result<(), EngineError>> {
        let abort = self.0.state().running.get(&id).cloned();
        if let Some(abort) = abort {
            let _ = abort.send(true);
        }
        futures::future::ready(Ok(())).boxed()
    }

    fn control(&self) -> Option<&dyn Control> {
        Some(self)
    }

    fn score(&self) -> Option<&dyn Score> {
        Some(self)
    }
}

impl Control for SimEngine {
    fn version(&self) -> BoxFuture<'_, Result<Option<Version>, EngineError>> {
        let version = self.0.state().version.clone();
        futures::future::ready(Ok(Some(version))).boxed()
    }

    fn set_version(&self, version: Version) -> BoxFuture<'_, Result<(), EngineError>> {
        self.0.state().version = version;
        futures::future::ready(Ok(())).boxed()
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), EngineError>> {
        self.0.state().cached.clear();
        futures::future::ready(Ok(())).boxed()
    }
}

impl Score for SimEngine {
    fn score(&self, ids: Vec<TokenId>, _from: usize) -> BoxFuture<'_, Result<Vec<Option<f32>>, EngineError>> {
        let mut rolling = Rolling::new(self.0.options.seed);
        let scores = ids.iter().enumerate().map(|(at, id)| {
            let logprob = rolling.take(*id);
            (at > 0).then_some(logprob)
        });
        let scores = scores.collect();
        futures::future::ready(Ok(scores)).boxed()
    }
}
