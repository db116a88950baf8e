//! Which weights sampled a token, where an engine names only those that it has now.
//!
//! The invariant: a token is given a version only if the engine named that version both before and
//! after it sampled the token, or named it for that token. A version that changed in between is
//! unknown, not guessed. (Trainers never give one name to two weights while an attempt runs.)

use std::sync::{Arc, Mutex, PoisonError};

use verbatim_tokens::Version;

/// The version that a server named last, over all replies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latest(Arc<Mutex<Option<Version>>>);

/// The versions of one attempt's tokens.
#[derive(Debug)]
pub(crate) struct Sightings {
    latest: Latest,
    before: Option<Version>,
}

impl Latest {
    pub(crate) fn get(&self) -> Option<Version> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn see(&self, version: &Version) {
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if latest.as_ref() != Some(version) {
            *latest = Some(version.clone());
        }
    }

    /// Follows one attempt, which is about to be sent.
    pub(crate) fn follow(&self) -> Sightings {
        Sightings { latest: self.clone(), before: self.get() }
    }
}

impl Sightings {
    /// The engine names `now` along with tokens that it sampled since it was heard last: the version
    /// of these.
    pub(crate) fn see(&mut self, now: Option<&str>) -> Option<Version> {
        let now = Version::new(now?);
        self.latest.see(&now);
        let before = self.before.replace(now.clone());
        (before.as_ref() == Some(&now)).then_some(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_between_two_names_have_a_version_only_if_the_names_agree() {
        let latest = Latest::default();
        let mut first = latest.follow();
        assert_eq!(first.see(Some("1")), None, "nothing was known when it was sent");
        assert_eq!(first.see(Some("1")), Some(Version::new("1")));
        let mut second = latest.follow();
        assert_eq!(second.see(Some("1")), Some(Version::new("1")));
        assert_eq!(second.see(Some("2")), None, "the weights changed somewhere in between");
        assert_eq!(second.see(Some("2")), Some(Version::new("2")));
        assert_eq!(second.see(None), None);
        assert_eq!(latest.get(), Some(Version::new("2")));
    }
}
