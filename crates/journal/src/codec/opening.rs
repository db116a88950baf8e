//! A session before its first turn.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use verbatim_events::{GroupId, SessionId};

use crate::{JournalError, Kept};

/// What a session was opened with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    /// What its token is known by. The token itself is kept nowhere.
    pub token: [u8; 32],
    /// Its public name.
    pub session: SessionId,
    /// When it was opened, in seconds since the Unix epoch.
    pub opened: i64,
    /// How it grows.
    pub lineage: String,
    /// Which replayed messages are the same.
    pub matcher: String,
    /// The group it belongs to.
    pub group: Option<GroupId>,
    /// The adapter that it was bound to when it was opened.
    pub lora: Option<Arc<str>>,
}

impl Opening {
    /// As the body of an entry.
    ///
    /// # Errors
    /// [`JournalError::Entry`].
    pub fn write(&self) -> Result<Vec<u8>, JournalError> {
        rmp_serde::to_vec_named(self).map_err(|error| self.broken(error.to_string()))
    }

    /// From an entry.
    ///
    /// # Errors
    /// [`JournalError::Entry`].
    pub fn read(line: &str, kept: &Kept) -> Result<Self, JournalError> {
        rmp_serde::from_slice(&kept.body).map_err(|error| JournalError::Entry {
            line: line.to_owned(),
            at: kept.at,
            problem: error.to_string(),
        })
    }

    fn broken(&self, problem: String) -> JournalError {
        JournalError::Entry { line: self.session.to_string(), at: 0, problem }
    }
}
