//! A server of one wire over an engine.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::{Router, middleware};
use verbatim_engine::Engine;

use crate::call::{self, Guard};
use crate::fault::Plan;
use crate::pause::Gate;
use crate::runs::Stage;
use crate::serve::Server;
use crate::state::Shared;
use crate::{Asked, Fault, MockError, Options, Seen, Wire, llamacpp, sglang, vllm};

/// A running server. Dropping it ends it.
pub struct Mock {
    shared: Arc<Shared>,
    server: Server,
}

impl Mock {
    /// Listens on a loopback port and samples from `engine`.
    ///
    /// # Errors
    /// [`MockError`] if it cannot listen.
    pub async fn start(engine: Arc<dyn Engine>, options: Options) -> Result<Self, MockError> {
        let port = options.port;
        let shared = Arc::new(Shared::new(engine, options));
        let server = Server::start(port, router(&shared)).await?;
        Ok(Self { shared, server })
    }

    /// Where it listens: scheme, address and port.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Resets every connection and stops listening; resolves when nothing is open any more.
    pub async fn kill(&self) {
        self.server.kill().await;
    }

    /// Listens again on the same port, as a new process would: not paused, with the version it began
    /// with. Faults that wait, and what was recorded, stay.
    ///
    /// # Errors
    /// [`MockError`] if the port was taken meanwhile.
    pub fn restart(&self) -> Result<(), MockError> {
        self.shared.reset();
        self.server.restart()
    }

    /// The next generate call that has no fault yet gets this one.
    pub fn fault(&self, fault: Fault) {
        self.faults([fault]);
    }

    /// The next generate call that has no fault yet gets all of these at once; none is a call that
    /// goes well.
    pub fn faults(&self, faults: impl IntoIterator<Item = Fault>) {
        self.shared.plan(Plan(faults.into_iter().collect()));
    }

    /// The requests so far, refused ones too.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen()
    }

    /// The requests to this path so far.
    pub fn seen_at(&self, path: &str) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| seen.path == path).collect()
    }

    /// The generate calls so far, as they were understood.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked()
    }

    /// Forgets what was recorded.
    pub fn forget(&self) {
        self.shared.forget();
    }

    /// Calls that sample now.
    pub fn running(&self) -> usize {
        self.shared.runs.count(Stage::Running)
    }

    /// Calls in flight: those that sample, wait or are held before a pause.
    pub fn in_flight(&self) -> usize {
        self.shared.runs.len()
    }

    /// Whether it is paused.
    pub fn paused(&self) -> bool {
        self.shared.paused()
    }

    /// Pauses without aborting anything, as `in_place` does, or goes on.
    pub fn freeze(&self, frozen: bool) {
        self.shared.gate.send_replace(if frozen { Gate::Frozen } else { Gate::Open });
    }

    /// Changes the version that the next tokens carry, as a trainer would behind the gateway's back.
    pub fn set_version(&self, version: &str) {
        self.shared.set_version(version);
    }

    /// Whether health checks and readiness are to fail; they stop failing when told so.
    pub fn set_healthy(&self, healthy: bool) {
        self.shared.broken.store(!healthy, Ordering::Relaxed);
        self.shared.healthy.store(healthy, Ordering::Relaxed);
    }
}

fn router(shared: &Arc<Shared>) -> Router {
    let (routes, guard): (Router<Arc<Shared>>, Guard) = match shared.options.wire {
        Wire::Sglang => (sglang::routes(), sglang::guard),
        Wire::Vllm => (vllm::routes(shared.options.dev_mode), vllm::guard),
        Wire::LlamaCpp => (llamacpp::routes(), llamacpp::guard),
    };
    routes
        .layer(middleware::from_fn_with_state((Arc::clone(shared), guard), call::admit))
        .with_state(Arc::clone(shared))
}
