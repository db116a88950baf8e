//! All sessions of a process.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};
use std::time::Duration;

use verbatim_dialects::Sampling;
use verbatim_engine::Engine;
use verbatim_events::{Cause, Event, GroupId, Observers};
use verbatim_families::Family;
use verbatim_forest::{Forest, Lineage};
use verbatim_journal::{Journal, Recovery};
use verbatim_scheduler::SessionId as Seat;

use crate::adapters::Adapters;
use crate::ended::Ended;
use crate::keeper::{Keeper, now};
use crate::openings::Openings;
use crate::salt::Salt;
use crate::spill::Spill;
use crate::token::TokenHash;
use crate::{Dispatcher, Matching, Restored, Session, SessionToken, Settings, Unkept};

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
    /// Whether its agent is this process's and ends with it: nothing of it is written to the journal.
    pub owned: bool,
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
    pub(crate) keeper: Keeper,
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

    /// Takes in a session that comes back.
    pub(crate) fn admit(&self, token: TokenHash, session: Arc<Session>) {
        self.table_mut().open.insert(token, session);
    }

    /// Takes in that a session ended before.
    pub(crate) fn bury(&self, token: TokenHash, how: NoSession) {
        let forgotten = self.table_mut().ended.put(token, how);
        if let Some(forgotten) = forgotten {
            self.keeper.forget(forgotten);
        }
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
            (removed, table.ended.put(token, how))
        };
        let (removed, forgotten) = removed;
        removed.close().await;
        // None of its turns is written after this.
        self.keeper.ended(token, &removed, how);
        if let Some(forgotten) = forgotten {
            self.keeper.forget(forgotten);
        }
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
        let (sessions, _) = Self::kept(family, engine, observers, settings, None);
        sessions
    }

    /// The sessions of a journal, which are kept in it from now on, and what came back; none without a journal. Must
    /// be called on a Tokio runtime.
    pub fn kept(
        family: Arc<dyn Family>,
        engine: Arc<dyn Engine>,
        observers: Observers,
        settings: Settings,
        journal: Option<(Journal, &mut Recovery)>,
    ) -> (Self, Restored) {
        let (journal, recovery) = journal.unzip();
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
            keeper: Keeper::new(journal),
            table: RwLock::default(),
        });
        let restored = recovery.map(|recovery| shared.restore(recovery)).unwrap_or_default();
        if let Some(idle) = shared.settings.quota.idle {
            tokio::spawn(reclaim(Arc::downgrade(&shared), idle));
        }
        (Self(shared), restored)
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
        let session = Arc::new(Session::new(token.session_id(), options, matching, now(), forest));
        let hash = TokenHash::of(token.as_str());
        let mut table = self.0.table_mut();
        match settings.quota.sessions {
            Some(limit) if table.open.len() >= limit => return Err(TooManySessions { limit }),
            // Before it can be found: its opening is the first that is written of it.
            _ => self.0.keeper.opened(hash, &session, lineage),
        };
        table.open.insert(hash, Arc::clone(&session));
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

    /// Closes every session. Those that a journal keeps come back from it.
    pub async fn close_all(&self) {
        let all: Vec<_> = self.0.table_mut().open.drain().map(|(_, session)| session).collect();
        futures::future::join_all(all.iter().map(Session::close)).await;
        for session in all {
            self.0.observers.tell(&Event::SessionClosed { session: session.id().clone() });
        }
        self.0.keeper.close();
    }

    /// Waits until all that happened so far is kept, if there is a journal. Whoever tells of a session that was opened,
    /// closed or exported waits for this first; turns do by themselves.
    ///
    /// # Errors
    /// [`Unkept`].
    pub async fn settled(&self) -> Result<(), Unkept> {
        Ok(self.0.keeper.settled().await?)
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
