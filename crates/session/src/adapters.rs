//! LoRA adapters that a trainer publishes.
//!
//! The invariant: a session is bound at its first turn to the adapter that is current then, and sampled with it until
//! it ends. With none published no turn begins; the base model never stands in. An adapter that a session is bound to
//! cannot be taken away.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::{Session, Sessions, TurnError};

/// Names of adapters, oldest first.
#[derive(Default)]
pub(crate) struct Adapters(Mutex<Vec<Arc<str>>>);

/// One adapter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Adapter {
    /// As the engine knows it.
    pub name: Arc<str>,
    /// Whether sessions are bound to it from now on.
    pub current: bool,
    /// Open sessions that are bound to it.
    pub sessions: usize,
}

/// An adapter that is not taken away.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Kept {
    /// None has this name.
    #[error("no adapter {name:?} is published")]
    Unknown {
        /// The name.
        name: String,
    },
    /// Sessions would be bound to it.
    #[error("adapter {name:?} is the current one: publish another one first")]
    Current {
        /// The name.
        name: String,
    },
    /// Sessions are bound to it.
    #[error("{sessions} sessions are bound to adapter {name:?}: it can go once they are over")]
    Bound {
        /// The name.
        name: String,
        /// How many.
        sessions: usize,
    },
}

impl Adapters {
    fn names(&self) -> MutexGuard<'_, Vec<Arc<str>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Binds a session, unless it is bound.
    pub(crate) fn bind(&self, session: &Session) -> Result<(), TurnError> {
        let names = self.names();
        if session.lora().is_none() {
            let current = names.last().ok_or(TurnError::NoAdapter)?;
            session.bind(current);
        }
        Ok(())
    }
}

impl Sessions {
    /// Makes an adapter the current one. The engines must have loaded it.
    pub fn publish_adapter(&self, name: impl Into<Arc<str>>) {
        let name = name.into();
        let mut names = self.0.adapters.names();
        names.retain(|known| *known != name);
        names.push(name);
    }

    /// The published adapters, the current one last.
    pub fn adapters(&self) -> Vec<Adapter> {
        let names = self.0.adapters.names();
        let adapter = |(at, name): (usize, &Arc<str>)| Adapter {
            name: Arc::clone(name),
            current: at + 1 == names.len(),
            sessions: self.0.bound_to(name),
        };
        names.iter().enumerate().map(adapter).collect()
    }

    /// Forgets an adapter, which the engines may unload then.
    ///
    /// # Errors
    /// [`Kept`].
    pub fn remove_adapter(&self, name: &str) -> Result<(), Kept> {
        // Binding takes the same lock, so that nobody is bound in between.
        let mut names = self.0.adapters.names();
        let named = || name.to_owned();
        if !names.iter().any(|known| &**known == name) {
            return Err(Kept::Unknown { name: named() });
        }
        if names.last().is_some_and(|current| &**current == name) {
            return Err(Kept::Current { name: named() });
        }
        match self.0.bound_to(name) {
            0 => names.retain(|known| &**known != name),
            sessions => return Err(Kept::Bound { name: named(), sessions }),
        }
        Ok(())
    }
}
