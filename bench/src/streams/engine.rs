//! The simulated engine at a pace, its tokens stamped as they leave it.
//!
//! The invariant: a stamp is taken when a piece is handed to the session, by a clock that every process of the machine
//! reads alike.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use rustix::time::{ClockId, clock_gettime};
use verbatim_engine::{AttemptId, Capabilities, Engine, EngineError, Params, Piece, Prompt};
use verbatim_engine_sim::{Latency, Line, SimEngine, SimOptions};
use verbatim_families::Family;

use crate::words::Words;

/// When what was asked of the engine, and when each of its tokens left it, by session: nanoseconds of [`now`].
pub(crate) type Stamps = HashMap<String, Vec<u64>>;

/// Nanoseconds of the monotonic clock, which is one for all processes.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The engine.
pub(crate) struct Stamped {
    sim: SimEngine,
    stamps: Arc<Mutex<Stamps>>,
}

impl Stamped {
    /// Says `length` words, so many a second in each stream.
    pub(crate) fn new(family: &dyn Family, words: &Words, length: usize, pace: u32) -> Self {
        let stop = family.stop_ids().first().copied().unwrap_or_default();
        let mut ids = words.ids(1, length);
        ids.push(stop);
        let script =
            move |_: &Prompt, _: &mut rand_chacha::ChaCha8Rng| Line { ids: ids.clone(), fault: None };
        let token = Duration::from_secs(1) / pace.max(1);
        let options = SimOptions {
            vocabulary: family.tokenizer().vocabulary(),
            latency: Latency { decode_token: token, ..Latency::NONE },
            ..SimOptions::default()
        };
        Self { sim: SimEngine::new(options, script), stamps: Arc::default() }
    }

    /// All stamps so far; they are forgotten.
    pub(crate) fn take(&self) -> Stamps {
        std::mem::take(&mut *self.stamps.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Engine for Stamped {
    fn capabilities(&self) -> &Capabilities {
        self.sim.capabilities()
    }

    fn generate(&self, id: AttemptId, prompt: Prompt, params: &Params) -> BoxStream<'static, Piece> {
        let session = prompt.session.0.to_string();
        let stamps = Arc::clone(&self.stamps);
        let mut own = vec![now()];
        let pieces = self.sim.generate(id, prompt, params);
        pieces
            .map(move |piece| {
                match &piece {
                    Piece::More(more) => own.extend(std::iter::repeat_n(now(), more.ids.len())),
                    Piece::End(_) => {
                        let own = std::mem::take(&mut own);
                        stamps.lock().unwrap_or_else(PoisonError::into_inner).insert(session.clone(), own);
                    }
                }
                piece
            })
            .boxed()
    }

    fn abort(&self, id: AttemptId) -> BoxFuture<'_, Result<(), EngineError>> {
        self.sim.abort(id).boxed()
    }
}

/// How many words of a text of one-token words there are.
pub(crate) fn spoken(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b' ').count()
}
