//! Attempts that run, and how to stop them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use verbatim_engine::AttemptId;

/// Attempts that run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inflight(Arc<Mutex<HashMap<AttemptId, watch::Sender<bool>>>>);

/// One attempt's place; dropping it takes it out.
pub(crate) struct Place {
    all: Inflight,
    id: AttemptId,
    stop: watch::Receiver<bool>,
}

impl Inflight {
    pub(crate) fn enter(&self, id: AttemptId) -> Place {
        let (sender, stop) = watch::channel(false);
        self.lock().insert(id, sender);
        Place { all: self.clone(), id, stop }
    }

    /// Tells an attempt to stop; returns whether it runs.
    pub(crate) fn stop(&self, id: AttemptId) -> bool {
        self.lock().get(&id).is_some_and(|attempt| attempt.send(true).is_ok())
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AttemptId, watch::Sender<bool>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Returns once the attempt is told to stop.
    pub(crate) async fn stopped(&mut self) {
        // The sender lives as long as this place.
        let _ = self.stop.wait_for(|stop| *stop).await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.all.lock().remove(&self.id);
    }
}
