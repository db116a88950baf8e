//! One engine of a pool.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

use verbatim_engine::{Ending, Engine, EngineError, Health, Load, MemberState};
use verbatim_tokens::Version;

use super::balance::View;
use super::breaker::Breaker;
use crate::Server;

/// One engine, and what is known of it.
pub(super) struct Member {
    pub(super) url: Arc<str>,
    server: RwLock<Server>,
    permits: usize,
    attempts: AtomicUsize,
    known: Mutex<Known>,
}

struct Known {
    breaker: Breaker,
    health: Health,
    load: Option<Load>,
    version: Option<Version>,
    draining: bool,
    /// How many orders changed its health: a look that began before one knows nothing.
    orders: u64,
}

/// The right to run one attempt at an engine; dropping it gives it back.
pub(super) struct Permit(pub(super) Arc<Member>);

impl Member {
    /// `permits` attempts at once; 0 is no limit.
    pub(super) fn new(server: Server, permits: usize) -> Self {
        let version = server.engine.capabilities().version.clone();
        let known = Known {
            breaker: Breaker::default(),
            health: Health::Ready,
            load: None,
            version,
            draining: false,
            orders: 0,
        };
        Self {
            url: server.url.as_str().into(),
            server: RwLock::new(server),
            permits,
            attempts: AtomicUsize::new(0),
            known: Mutex::new(known),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn engine(&self) -> Arc<dyn Engine> {
        Arc::clone(&self.server.read().unwrap_or_else(PoisonError::into_inner).engine)
    }

    /// The server behind this member was started anew.
    pub(super) fn replace(&self, server: Server) {
        *self.server.write().unwrap_or_else(PoisonError::into_inner) = server;
    }

    pub(super) fn attempts(&self) -> usize {
        self.attempts.load(Ordering::Acquire)
    }

    pub(super) fn view(&self, now: Instant) -> View {
        let (known, attempts) = (self.known(), self.attempts());
        View {
            takes: known.health == Health::Ready && !known.draining && known.breaker.admits(now),
            busy: attempts + known.load.map_or(0, |load| load.waiting as usize),
            free: self.permits == 0 || attempts < self.permits,
            failures: known.breaker.failures(),
        }
    }

    /// Takes a permit, if there is one still.
    pub(super) fn admit(self: &Arc<Self>) -> Option<Permit> {
        let room = |attempts: usize| (self.permits == 0 || attempts < self.permits).then_some(attempts + 1);
        self.attempts.fetch_update(Ordering::AcqRel, Ordering::Acquire, room).ok()?;
        self.known().breaker.sent();
        Some(Permit(Arc::clone(self)))
    }

    /// Tokens came.
    pub(super) fn answered(&self, version: Option<&Version>) {
        let mut known = self.known();
        known.breaker.succeeded();
        if let Some(version) = version
            && known.version.as_ref() != Some(version)
        {
            known.version = Some(version.clone());
        }
    }

    /// An attempt ended.
    pub(super) fn ended(&self, ending: &Ending) {
        let mut known = self.known();
        match ending {
            Ending::Failed(EngineError::Unavailable { .. } | EngineError::Cut { .. }) => {
                known.breaker.failed(Instant::now());
            }
            Ending::Aborted => known.breaker.undecided(Instant::now()),
            // A refusal is an answer too.
            _ => known.breaker.succeeded(),
        }
    }

    /// How many orders changed its health so far.
    pub(super) fn orders(&self) -> u64 {
        self.known().orders
    }

    /// What a look at it found, begun after so many orders. Returns whether it came back.
    pub(super) fn seen(
        &self,
        orders: u64,
        health: Health,
        load: Option<Load>,
        version: Option<Version>,
    ) -> bool {
        let mut known = self.known();
        if known.orders != orders {
            return false;
        }
        let was_down = matches!(known.health, Health::Down { .. } | Health::Starting);
        let now = Instant::now();
        match &health {
            Health::Ready => known.breaker.recovered(now),
            Health::Down { .. } if !was_down => known.breaker.trip(now),
            _ => {}
        }
        let back = was_down && health == Health::Ready;
        if known.health != health {
            tracing::info!(engine = %self.url, from = ?known.health, to = ?health, "an engine's health changed");
        }
        known.health = health;
        known.load = load.or(known.load);
        known.version = version.or_else(|| known.version.clone());
        back
    }

    /// An order changed its health.
    pub(super) fn ordered(&self, health: Health) {
        let mut known = self.known();
        known.health = health;
        known.orders += 1;
    }

    pub(super) fn set_version(&self, version: Version) {
        self.known().version = Some(version);
    }

    pub(super) fn drain(&self) {
        self.known().draining = true;
    }

    pub(super) fn state(&self) -> MemberState {
        let kind = self.server.read().unwrap_or_else(PoisonError::into_inner).kind;
        let known = self.known();
        MemberState {
            engine: self.url.to_string(),
            kind: kind.as_str().to_owned(),
            health: known.health.clone(),
            breaker: known.breaker.name(),
            attempts: self.attempts(),
            permits: self.permits,
            draining: known.draining,
            load: known.load,
            version: known.version.clone(),
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.attempts.fetch_sub(1, Ordering::AcqRel);
        self.0.known().breaker.undecided(Instant::now());
    }
}
