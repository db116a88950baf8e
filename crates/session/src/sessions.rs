//! All sessions of a process.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use verbatim_chat::Matcher;
use verbatim_engine::Engine;
use verbatim_events::{Event, GroupId, Observers};
use verbatim_families::Family;
use verbatim_forest::{Forest, Lineage};

use crate::openings::Openings;
use crate::token::TokenHash;
use crate::{Dispatcher, Session, SessionToken, Settings};

/// No session opens with this token: it was never there, or it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("session not found")]
pub struct NoSession;

/// How one session differs from the server's settings.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// How it grows.
    pub lineage: Option<Lineage>,
    /// Which replayed messages are the same.
    pub matcher: Option<Arc<dyn Matcher>>,
    /// The group it belongs to.
    pub group: Option<GroupId>,
    /// The adapter to sample with, by the name that the engine knows it by.
    pub lora: Option<Arc<str>>,
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
    table: RwLock<HashMap<TokenHash, Arc<Session>>>,
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
        let table = RwLock::default();
        Self(Arc::new(Shared { family, engine, dispatcher, observers, settings, openings, table }))
    }

    /// Opens a session.
    pub fn open(&self, options: OpenOptions) -> (SessionToken, Arc<Session>) {
        let token = SessionToken::fresh();
        let settings = &self.0.settings;
        let matcher = options.matcher.unwrap_or_else(|| Arc::clone(&settings.matcher));
        let forest = Forest::new(options.lineage.unwrap_or(settings.lineage), matcher);
        let opened = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
        let session = Arc::new(Session::new(token.session_id(), options.group, options.lora, opened, forest));
        let mut table = self.0.table.write().unwrap_or_else(PoisonError::into_inner);
        table.insert(TokenHash::of(token.as_str()), Arc::clone(&session));
        drop(table);
        self.0.observers.tell(&Event::SessionOpened { session: session.id().clone() });
        (token, session)
    }

    /// The session that a token opens.
    ///
    /// # Errors
    /// [`NoSession`].
    pub fn get(&self, token: &str) -> Result<Arc<Session>, NoSession> {
        let hash = TokenHash::of(token);
        let table = self.0.table.read().unwrap_or_else(PoisonError::into_inner);
        let (known, session) = table.get_key_value(&hash).ok_or(NoSession)?;
        if known.matches(token) { Ok(Arc::clone(session)) } else { Err(NoSession) }
    }

    /// Closes a session: it takes no more turns, those in flight are aborted at the engine, and once
    /// this returns nothing of it runs. The session's forest can still be read through the `Arc`.
    ///
    /// # Errors
    /// [`NoSession`], also while another call closes it.
    pub async fn close(&self, token: &str) -> Result<Arc<Session>, NoSession> {
        let removed = {
            let mut table = self.0.table.write().unwrap_or_else(PoisonError::into_inner);
            table.remove(&TokenHash::of(token)).ok_or(NoSession)?
        };
        removed.close().await;
        self.0.observers.tell(&Event::SessionClosed { session: removed.id().clone() });
        Ok(removed)
    }

    /// Closes every session.
    pub async fn close_all(&self) {
        let all: Vec<_> = {
            let mut table = self.0.table.write().unwrap_or_else(PoisonError::into_inner);
            table.drain().map(|(_, session)| session).collect()
        };
        futures::future::join_all(all.iter().map(Session::close)).await;
        for session in all {
            self.0.observers.tell(&Event::SessionClosed { session: session.id().clone() });
        }
    }

    /// How many sessions are open.
    pub fn len(&self) -> usize {
        self.0.table.read().unwrap_or_else(PoisonError::into_inner).len()
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
