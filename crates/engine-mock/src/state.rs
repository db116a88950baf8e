//! What every handler of a mock shares.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, watch};
use verbatim_engine::Engine;

use crate::fault::Plan;
use crate::pause::Gate;
use crate::runs::Runs;
use crate::seen::Seen;
use crate::{Asked, Options};

pub(crate) struct Shared {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) options: Options,
    pub(crate) runs: Runs,
    pub(crate) gate: watch::Sender<Gate>,
    /// Places to sample; `None` is no limit.
    pub(crate) places: Option<Arc<Semaphore>>,
    /// Whether the last deep health check passed.
    pub(crate) healthy: AtomicBool,
    /// Whether a test wants health checks to fail.
    pub(crate) broken: AtomicBool,
    /// Whether a session of weight updates is open.
    pub(crate) updating: AtomicBool,
    version: Mutex<Option<String>>,
    /// The served model's name, which an update from disk changes.
    model: Mutex<String>,
    plans: Mutex<VecDeque<Plan>>,
    seen: Mutex<Vec<Seen>>,
    asked: Mutex<Vec<Asked>>,
    names: AtomicU64,
}

impl Shared {
    pub(crate) fn new(engine: Arc<dyn Engine>, options: Options) -> Self {
        let places = (options.max_running > 0).then(|| Arc::new(Semaphore::new(options.max_running)));
        Self {
            engine,
            runs: Runs::default(),
            gate: watch::Sender::new(Gate::Open),
            places,
            healthy: AtomicBool::new(true),
            broken: AtomicBool::new(false),
            updating: AtomicBool::new(false),
            version: Mutex::new(options.weight_version.clone()),
            model: Mutex::new(options.model.clone()),
            plans: Mutex::default(),
            seen: Mutex::default(),
            asked: Mutex::default(),
            names: AtomicU64::new(1),
            options,
        }
    }

    /// What a new process would begin with; faults and records stay.
    pub(crate) fn reset(&self) {
        self.gate.send_replace(Gate::Open);
        self.healthy.store(true, Ordering::Relaxed);
        self.updating.store(false, Ordering::Relaxed);
        *lock(&self.version) = self.options.weight_version.clone();
        *lock(&self.model) = self.options.model.clone();
    }

    pub(crate) fn context(&self) -> usize {
        self.options.context.unwrap_or(self.engine.capabilities().max_context)
    }

    pub(crate) fn vocabulary(&self) -> usize {
        self.options.vocabulary.unwrap_or(self.engine.capabilities().vocabulary)
    }

    pub(crate) fn model(&self) -> String {
        lock(&self.model).clone()
    }

    pub(crate) fn set_model(&self, name: &str) {
        *lock(&self.model) = name.to_owned();
    }

    /// From now on tokens carry this version.
    pub(crate) fn set_version(&self, version: &str) {
        *lock(&self.version) = Some(version.to_owned());
    }

    /// The version of a token that the engine labels so.
    pub(crate) fn version(&self, engines: Option<&str>) -> String {
        let set = lock(&self.version).clone();
        set.or_else(|| engines.map(ToOwned::to_owned)).unwrap_or_else(|| "default".to_owned())
    }

    /// The version that the next token will have.
    pub(crate) async fn live_version(&self) -> String {
        let asked = match self.engine.control() {
            Some(control) => control.version().await.ok().flatten(),
            None => None,
        };
        self.version(asked.as_ref().map(verbatim_tokens::Version::as_str))
    }

    pub(crate) fn paused(&self) -> bool {
        self.gate.borrow().is_closed()
    }

    /// Resolves once nothing is paused.
    pub(crate) async fn opened(&self) {
        let _ = self.gate.subscribe().wait_for(|gate| !gate.is_closed()).await;
    }

    pub(crate) fn plan(&self, plan: Plan) {
        lock(&self.plans).push_back(plan);
    }

    pub(crate) fn next_plan(&self) -> Plan {
        lock(&self.plans).pop_front().unwrap_or_default()
    }

    pub(crate) fn record(&self, seen: &Seen) {
        if self.options.record {
            lock(&self.seen).push(seen.clone());
        }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        lock(&self.seen).clone()
    }

    pub(crate) fn understood(&self, asked: &Asked) {
        if self.options.record {
            lock(&self.asked).push(asked.clone());
        }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        lock(&self.asked).clone()
    }

    pub(crate) fn forget(&self) {
        lock(&self.seen).clear();
        lock(&self.asked).clear();
    }

    /// A name for a request that has none.
    pub(crate) fn name(&self) -> String {
        format!("{:032x}", self.names.fetch_add(1, Ordering::Relaxed))
    }

    /// The text of ids, as far as there is a decoder.
    pub(crate) fn text(&self, ids: &[u32]) -> Option<String> {
        self.options.decode.as_ref().map(|decode| decode(ids))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
