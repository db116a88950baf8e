//! A session that is over.

use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use verbatim_events::SessionId;

use crate::JournalError;

const PREFIX: &str = "ended/";

/// How a session ended. Of its turns nothing is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// Its public name.
    pub session: SessionId,
    /// When it ended, in seconds since the Unix epoch.
    pub at: i64,
    /// After how long it was reclaimed; `None`: somebody deleted it.
    pub idle: Option<Duration>,
}

impl Tombstone {
    /// The name of the note of a session that was known by this hash.
    pub fn name(token: &[u8; 32]) -> String {
        token.iter().fold(PREFIX.to_owned(), |name, byte| format!("{name}{byte:02x}"))
    }

    /// As the body of a note.
    ///
    /// # Errors
    /// [`JournalError::Entry`].
    pub fn write(&self) -> Result<Vec<u8>, JournalError> {
        let broken = |problem: rmp_serde::encode::Error| JournalError::Entry {
            line: self.session.to_string(),
            at: 0,
            problem: problem.to_string(),
        };
        rmp_serde::to_vec_named(self).map_err(broken)
    }

    /// From a note, with the hash that the session was known by; `None` if the note is another.
    ///
    /// # Errors
    /// [`JournalError::Entry`].
    pub fn read(name: &str, body: &Bytes) -> Option<Result<([u8; 32], Self), JournalError>> {
        let broken = |problem: String| JournalError::Entry { line: name.to_owned(), at: 0, problem };
        let digits = name.strip_prefix(PREFIX)?;
        let byte = |at: usize| u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok();
        let token: Option<Vec<u8>> = (0..32).map(byte).collect();
        let Some(Ok(token)) = token.filter(|_| digits.len() == 64).map(<[u8; 32]>::try_from) else {
            return Some(Err(broken("it is no session's".into())));
        };
        let read = rmp_serde::from_slice(body).map(|tombstone| (token, tombstone));
        Some(read.map_err(|error| broken(error.to_string())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tombstone_comes_back() {
        let token = std::array::from_fn(|at| 7 * at as u8);
        for idle in [None, Some(Duration::from_millis(90_500))] {
            let tombstone = Tombstone { session: SessionId::new("s-1"), at: 1_800_000_000, idle };
            let body = tombstone.write().unwrap().into();
            let read = Tombstone::read(&Tombstone::name(&token), &body).unwrap().unwrap();
            assert_eq!(read, (token, tombstone));
        }
        assert!(Tombstone::read("batch/1", &Bytes::new()).is_none());
        assert!(Tombstone::read("ended/12", &Bytes::new()).unwrap().is_err());
    }
}
