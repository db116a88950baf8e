//! All sessions of a process.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use verbatim_dialects::Sampling;
use verbatim_engine::Engine;
use verbatim_events::{Cause, Event, GroupId, Observers};
use verbatim_families::Family;
use verbatim_forest::{Forest, Lineage};
use verbatim_scheduler::SessionId as Seat;

use crate::adapters::Adapters;
use crate::ended::Ended;
use crate::openings::Openings;
use crate::salt::Salt;
use crate::spill::Spill;
use crate::token::TokenHash;
use crate::{Dispatcher, Matching, Session, SessionToken, Settings};

/// No session opens with this token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSession {
    /// It was never there, or it ended long ago.
    #[error("session not found")]
    Unknown,
    /// It was deleted.
    #[error("the session was deleted")]
    Deleted,
    /// It was left alone for too long and reclaimed.
    #[error("the session was reclaimed: nobody had used it for {} s", .idle.as_secs())]
    Expired {
        /// How long a session may be left alone.
        idle: Duration,
    },
}

/// As many sessions are open as may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{limit} sessions are open, and no more may be (sessions.max_sessions); delete those that are over")]
pub struct TooManySessions {
    /// How many may be.
    pub limit: usize,
}

/// How one session differs from the server's settings.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// How it grows.
    pub lineage: Option<Lineage>,
    /// Which replayed messages are the same.
    pub matching: Option<Matching>,
    /// The group it belongs to.
    pub group: Option<GroupId>,
    /// The adapter to sample with, by the name that the engine knows it by.
    pub lora: Option<Arc<str>>,
    /// Its place in a Group that the scheduler knows: its turns run when the Group may.
    pub seat: Option<Seat>,
    /// What its turns are sampled with, whatever their requests and the server's own pins say.
    pub pins: Option<Arc<Sampling>>,
}

/// The sessions of a process, with what all of them share. Cheap to clone.
#[derive(Clone)]
pub struct Sessions(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) family: Arc<dyn Family>,
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) dispatcher: Dispatcher,
    pub(crate) observers: Observers,
    pub(crate) settings: Settings,
    pub(crate) openings: Openings,
    pub(crate) spill: Spill,
    pub(crate) adapters: Adapters,
    pub(crate) salt: Salt,
    table: RwLock<Table>,
}

#[derive(Default)]
struct Table {
    open: HashMap<TokenHash, Arc<Session>>,
    ended: Ended,
}

impl Shared {
    fn table(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn table_mut(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Open sessions that are sampled with this adapter.
    pub(crate) fn bound_to(&self, adapter: &str) -> usize {
        let table = self.table();
        let bound = |session: &&Arc<Session>| session.lora().is_some_and(|lora| &**lora == adapter);
        table.open.values().filter(bound).count()
    }

    /// Takes a session out, remembers how it ended, and waits until nothing of it runs.
    async fn end(&self, token: TokenHash, how: NoSession) -> Option<Arc<Session>> {
        let removed = {
            let mut table = self.table_mut();
            let removed = table.open.remove(&token)?;
            table.ended.put(token, how);
            removed
        };
        removed.close().await;
        self.release(&removed).await;
        self.observers.tell(&Event::SessionClosed { session: removed.id().clone() });
        Some(removed)
    }
}

/// Closes sessions that nobody uses, until all that share them are gone.
async fn reclaim(shared: Weak<Shared>, idle: Duration) {
    let mut tick =
        tokio::time::interval((idle / 4).clamp(Duration::from_millis(10), Duration::from_secs(60)));
    loop {
        tick.tick().await;
        let Some(shared) = shared.upgrade() else { return };
        let over: Vec<_> = {
            let table = shared.table();
            let open = table.open.iter();
            open.filter(|(_, session)| session.idle() >= idle).map(|(token, _)| *token).collect()
        };
        for token in over {
            if let Some(session) = shared.end(token, NoSession::Expired { idle }).await {
                tracing::info!(session = %session.id(), "reclaimed");
                shared.observers.lost(session.id(), Cause::SessionExpired);
            }
        }
    }
}

impl Sessions {
    /// No session yet. Must be called on a Tokio runtime, which keeps the scheduler's time.
    pub fn new(
        family: Arc<dyn Family>,
        engine: Arc<dyn Engine>,
        observers: Observers,
        settings: Settings,
    ) -> Self {
        let dispatcher = Dispatcher::start(&settings);
        let openings = Openings::default();
        let spill = Spill::new(settings.spill.clone());
        let first = engine.capabilities().version.as_ref().filter(|_| settings.salted);
        let salt = Salt::new(first);
        let shared = Arc::new(Shared {
            family,
            engine,
            dispatcher,
            observers,
            settings,
            openings,
            spill,
            adapters: Adapters::default(),
            salt,
            table: RwLock::default(),
        });
        if let Some(idle) = shared.settings.quota.idle {
            tokio::spawn(reclaim(Arc::downgrade(&shared), idle));
        }
        Self(shared)
    }

    /// Opens a session.
    ///
    /// # Errors
    /// [`TooManySessions`].
    pub fn open(&self, options: OpenOptions) -> Result<(SessionToken, Arc<Session>), TooManySessions> {
        let token = SessionToken::fresh();
        let settings = &self.0.settings;
        let matching = options.matching.clone().unwrap_or_else(|| settings.matching.clone());
        let lineage = options.lineage.unwrap_or(settings.lineage);
        let forest = Forest::new(lineage, matching.matcher()).with_rollback(settings.rollback);
        let opened = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
        let id = token.session_id();
        let session = Arc::new(Session::new(id, options, matching, opened, forest));
        let mut table = self.0.table_mut();
        match settings.quota.sessions {
            Some(limit) if table.open.len() >= limit => return Err(TooManySessions { limit }),
            _ => table.open.insert(TokenHash::of(token.as_str()), Arc::clone(&session)),
        };
        drop(table);
        self.0.observers.tell(&Event::SessionOpened { session: session.id().clone() });
        Ok((token, session))
    }

    /// The session that a token opens.
    ///
    /// # Errors
    /// [`NoSession`].
    pub fn get(&self, token: &str) -> Result<Arc<Session>, NoSession> {
        let hash = TokenHash::of(token);
        let table = self.0.table();
        match table.open.get_key_value(&hash) {
            Some((known, session)) if known.matches(token) => {
                session.touch();
                Ok(Arc::clone(session))
            }
            _ => Err(table.ended.how(&hash)),
        }
    }

    /// Closes a session: it takes no more turns, those in flight are aborted at the engine, and once
    /// this returns nothing of it runs. The session's forest can still be read through the `Arc`.
    ///
    /// # Errors
    /// [`NoSession`], also while another call closes it.
    pub async fn close(&self, token: &str) -> Result<Arc<Session>, NoSession> {
        let hash = TokenHash::of(token);
        self.0.end(hash, NoSession::Deleted).await.ok_or_else(|| self.0.table().ended.how(&hash))
    }

    /// Closes every session.
    pub async fn close_all(&self) {
        let all: Vec<_> = self.0.table_mut().open.drain().map(|(_, session)| session).collect();
        futures::future::join_all(all.iter().map(Session::close)).await;
        for session in all {
            self.0.observers.tell(&Event::SessionClosed { session: session.id().clone() });
        }
    }

    /// How many sessions are open.
    pub fn len(&self) -> usize {
        self.0.table().open.len()
    }

    /// Whether no session is open.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The family that all sessions speak.
    pub fn family(&self) -> &Arc<dyn Family> {
        &self.0.family
    }

    /// The engine behind all sessions.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.0.engine
    }

    /// Who is told what happens.
    pub fn observers(&self) -> &Observers {
        &self.0.observers
    }

    /// What decides when turns run and agents start.
    pub fn dispatcher(&self) -> &Dispatcher {
        &self.0.dispatcher
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }
}
