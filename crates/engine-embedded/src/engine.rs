//! The engine that the rest of the server sees.
//!
//! The invariant: nothing here computes or blocks; work goes to the worker in messages and comes
//! back through channels, and a worker that is gone is an error, never silence.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use futures::stream::{BoxStream, StreamExt};
use tokio::sync::{mpsc, oneshot};
use verbatim_engine::{
    AttemptId, Capabilities, Control, End, Ending, Engine, EngineError, Params, Piece, Prompt, Score,
};
use verbatim_tokens::Version;

use crate::desk::{Desk, gone};
use crate::model::Model;
use crate::replace::Weights;
use crate::source::{Source, open};
use crate::stats::Counters;
use crate::worker::{Generation, Limits, Message, Worker, check};
use crate::{LoadError, Options, Stats};

/// The most alternatives a token that are reported.
const TOP_LOGPROBS: u8 = 64;

/// A model on the CPU. Dropping it ends its worker and everything in flight.
pub struct EmbeddedEngine {
    capabilities: Capabilities,
    version: Arc<Mutex<Version>>,
    counters: Arc<Counters>,
    desk: Desk,
    weights: Weights,
}

impl EmbeddedEngine {
    /// Loads the model at `path`, a GGUF file or a Hugging Face folder, and starts its worker.
    ///
    /// Blocks while it reads: seconds for a small model. In async code call it through
    /// `spawn_blocking`. Threads are as many as the machine's cores, or `RAYON_NUM_THREADS`.
    ///
    /// # Errors
    /// [`LoadError`] if the path holds no model that this engine runs.
    pub fn load(path: &Path, options: Options) -> Result<(Self, Source), LoadError> {
        let started = std::time::Instant::now();
        let threads = rayon::ThreadPoolBuilder::new()
            .thread_name(|at| format!("embedded-{at}"))
            .build()
            .map_err(|error| LoadError::Threads { reason: error.to_string() })?;
        let (config, mut tensors, mut source) = open(path)?;
        if let Some(name) = options.name {
            source.name = name;
        }
        let shapes = config.clone();
        let model = threads.install(|| Model::load(config, tensors.as_mut(), options.precision))?;
        let context = options.max_context.map_or(model.context(), |most| most.min(model.context()));
        let capabilities = Capabilities {
            top_logprobs: TOP_LOGPROBS,
            versions: true,
            version: Some(options.version.clone()),
            ..Capabilities::new("embedded", source.name.clone(), context, model.vocabulary())
        };
        tracing::info!(
            model = %source.name,
            path = %path.display(),
            megabytes = model.bytes() / 1_000_000,
            context,
            vocabulary = model.vocabulary(),
            threads = threads.current_num_threads(),
            seconds = started.elapsed().as_secs_f64(),
            "model loaded"
        );
        let limits = Limits { batch: options.max_batch.max(1), chunk: options.chunk.max(1), context };
        let version = Arc::new(Mutex::new(options.version));
        let counters = Arc::new(Counters::default());
        let worker = Worker::new(model, limits, options.cache_bytes, version.clone(), counters.clone());
        let (inbox, messages) = std::sync::mpsc::channel();
        std::thread::Builder::new()
            .name("embedded".to_owned())
            .spawn(move || threads.install(move || worker.run(&messages)))
            .map_err(|error| LoadError::Threads { reason: error.to_string() })?;
        let desk = Desk::new(inbox, context, capabilities.vocabulary);
        let weights = Weights { config: shapes, precision: options.precision };
        Ok((Self { capabilities, version, counters, desk, weights }, source))
    }

    /// How fast it goes.
    pub fn stats(&self) -> Stats {
        self.counters.read()
    }

    /// Names the policy version that the next tokens carry. Prefixes stay cached, since the weights
    /// do; [`Control::flush`] drops them.
    pub fn set_version(&self, version: Version) {
        *self.version.lock().unwrap_or_else(PoisonError::into_inner) = version;
    }

    fn begin(
        &self,
        id: AttemptId,
        prompt: Prompt,
        params: &Params,
    ) -> Result<mpsc::UnboundedReceiver<Piece>, EngineError> {
        check(params)?;
        self.desk.fits(&prompt.ids, 1)?;
        let params = Params { top_logprobs: params.top_logprobs.min(TOP_LOGPROBS), ..params.clone() };
        let (pieces, stream) = mpsc::unbounded_channel();
        if params.max_tokens == 0 {
            let _ = pieces.send(Piece::End(Ending::Length.into()));
        } else {
            let generation = Generation { id, prompt, params, pieces };
            self.desk.tell(Message::Generate(Box::new(generation)))?;
        }
        Ok(stream)
    }
}

impl Engine for EmbeddedEngine {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn generate(&self, id: AttemptId, prompt: Prompt, params: &Params) -> BoxStream<'static, Piece> {
        match self.begin(id, prompt, params) {
            Ok(pieces) => pieces_until_end(pieces),
            Err(error) => futures::stream::once(async { Piece::End(Ending::Failed(error).into()) }).boxed(),
        }
    }

    fn abort(&self, id: AttemptId) -> BoxFuture<'_, Result<(), EngineError>> {
        let told = self.desk.tell(Message::Abort(id));
        Box::pin(async { told })
    }

    fn control(&self) -> Option<&dyn Control> {
        Some(self)
    }

    fn score(&self) -> Option<&dyn Score> {
        Some(&self.desk)
    }
}

/// Everything up to the end; a worker that vanishes before it makes an end of its own.
fn pieces_until_end(pieces: mpsc::UnboundedReceiver<Piece>) -> BoxStream<'static, Piece> {
    futures::stream::unfold(Some(pieces), |pieces| async {
        let mut pieces = pieces?;
        match pieces.recv().await {
            Some(Piece::More(increment)) => Some((Piece::More(increment), Some(pieces))),
            Some(Piece::End(end)) => Some((Piece::End(end), None)),
            None => Some((Piece::End(End::from(Ending::Failed(gone()))), None)),
        }
    })
    .boxed()
}

impl Control for EmbeddedEngine {
    fn version(&self) -> BoxFuture<'_, Result<Option<Version>, EngineError>> {
        let version = self.version.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Box::pin(async { Ok(Some(version)) })
    }

    fn set_version(&self, version: Version) -> BoxFuture<'_, Result<(), EngineError>> {
        Self::set_version(self, version);
        Box::pin(async { Ok(()) })
    }

    fn load_weights(&self, folder: &Path) -> BoxFuture<'_, Result<(), EngineError>> {
        let (weights, folder) = (self.weights.clone(), folder.to_owned());
        Box::pin(async move {
            // Reading takes seconds, and sampling goes on meanwhile.
            let read = tokio::task::spawn_blocking(move || weights.read(&folder)).await;
            let model = read.map_err(|_| gone())?.map_err(|error| EngineError::Refused {
                message: format!("the weights cannot be loaded: {error}"),
            })?;
            let (done, loaded) = oneshot::channel();
            self.desk.tell(Message::Weights(Box::new(model), done))?;
            loaded.await.map_err(|_| gone())
        })
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), EngineError>> {
        Box::pin(async {
            let (done, flushed) = oneshot::channel();
            self.desk.tell(Message::Flush(done))?;
            flushed.await.map_err(|_| gone())
        })
    }
}
