//! Sessions on disk.
//!
//! The invariants: a session's records are appended in the order in which they were applied, because both happen under
//! its lock; and nobody is told of anything that is not kept.
//!
//! Sessions whose agents are this process's are not written: they end with it.

use std::time::{SystemTime, UNIX_EPOCH};

use verbatim_events::NodeId;
use verbatim_forest::Lineage;
use verbatim_journal::{Appended, Journal, JournalError, Opening, Room, Tombstone, TurnRecord};

use crate::token::TokenHash;
use crate::{NoSession, Session, TurnError};

/// The journal, if there is one.
#[derive(Clone, Default)]
pub(crate) struct Keeper(Option<Journal>);

/// Room for a turn in the journal, which was waited for.
pub(crate) struct Reserved(Option<Room>);

/// A turn on its way to the disk.
#[must_use = "a turn counts once it is kept"]
pub(crate) struct Writing(Option<Appended>);

/// Nothing is taken that cannot be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the journal takes nothing any more, so nothing is answered: {problem}")]
pub struct Unkept {
    /// What the disk says.
    pub problem: String,
    /// Whether it has no room.
    pub full: bool,
}

impl From<JournalError> for Unkept {
    fn from(error: JournalError) -> Self {
        Self { full: error.is_full(), problem: error.to_string() }
    }
}

impl From<JournalError> for TurnError {
    fn from(error: JournalError) -> Self {
        Self::Unkept(error.into())
    }
}

impl Keeper {
    pub(crate) fn new(journal: Option<Journal>) -> Self {
        Self(journal)
    }

    /// The journal, for a session that is written.
    fn of(&self, session: &Session) -> Option<&Journal> {
        self.0.as_ref().filter(|_| !session.is_owned())
    }

    /// Writes that a session was opened. Whoever tells of it waits for [`Keeper::settled`].
    pub(crate) fn opened(&self, token: TokenHash, session: &Session, lineage: Lineage) {
        let Some(journal) = self.of(session) else { return };
        let opening = Opening {
            token: token.bytes(),
            session: session.id().clone(),
            opened: session.opened(),
            lineage: match lineage {
                Lineage::Tree => "tree",
                Lineage::Linear => "linear",
            }
            .into(),
            matcher: session.matching().name().to_owned(),
            group: session.group().cloned(),
            lora: session.lora().cloned(),
        };
        match opening.write() {
            Ok(body) => drop(journal.append_small(session.id().as_str(), body)),
            Err(error) => tracing::error!(%error, "a session cannot be written"),
        }
    }

    /// Waits until the journal has room for a turn: a slow disk is felt here.
    pub(crate) async fn reserve(
        &self,
        session: &Session,
        record: &TurnRecord,
    ) -> Result<Reserved, JournalError> {
        let Some(journal) = self.of(session) else { return Ok(Reserved(None)) };
        let (body, payloads) = record.write()?;
        Ok(Reserved(Some(journal.entry(session.id().as_str(), body, payloads).await?)))
    }

    /// Appends a turn. Does not wait: it is called under the session's lock.
    pub(crate) fn append(&self, reserved: Reserved) -> Writing {
        Writing(self.0.as_ref().zip(reserved.0).map(|(journal, room)| journal.append(room)))
    }

    /// Writes that a session is over.
    pub(crate) fn ended(&self, token: TokenHash, session: &Session, how: NoSession) {
        let Some(journal) = self.of(session) else { return };
        let idle = match how {
            NoSession::Expired { idle } => Some(idle),
            NoSession::Deleted | NoSession::Unknown => None,
        };
        let tombstone = Tombstone { session: session.id().clone(), at: now(), idle };
        match tombstone.write() {
            Ok(body) => drop(journal.note_small(&Tombstone::name(&token.bytes()), body)),
            Err(error) => tracing::error!(%error, "the end of a session cannot be written"),
        }
        // After its tombstone: whoever is stopped between them finds it ended.
        drop(journal.cut(session.id().as_str()));
    }

    /// Forgets how a session ended.
    pub(crate) fn forget(&self, token: TokenHash) {
        if let Some(journal) = &self.0 {
            drop(journal.forget(&Tombstone::name(&token.bytes())));
        }
    }

    /// Waits until all that happened so far is kept.
    pub(crate) async fn settled(&self) -> Result<(), JournalError> {
        match &self.0 {
            Some(journal) => journal.settled().await,
            None => Ok(()),
        }
    }

    /// Writes what is under way and takes nothing any more.
    pub(crate) fn close(&self) {
        if let Some(journal) = &self.0 {
            journal.close();
        }
    }
}

impl Writing {
    /// Waits until the turn is kept.
    pub(crate) async fn kept(self, node: NodeId) -> Result<NodeId, JournalError> {
        match self.0 {
            Some(appended) => appended.kept().await.map(|()| node),
            None => Ok(node),
        }
    }
}

/// Seconds since the Unix epoch.
pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}
