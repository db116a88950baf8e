//! What keeps prefixes of one policy version from being read under another.
//!
//! The invariant: an attempt's salt is the name of the weights that were announced last, so that an engine never
//! finds under it what other weights computed.

use std::sync::{Arc, Mutex, PoisonError};

use verbatim_tokens::Version;

use crate::Sessions;

/// The salt of attempts that begin now.
#[derive(Default)]
pub(crate) struct Salt(Mutex<Option<Arc<str>>>);

impl Salt {
    /// The first one is the version that the engine starts with.
    pub(crate) fn new(version: Option<&Version>) -> Self {
        Self(Mutex::new(version.map(|version| version.as_str().into())))
    }

    pub(crate) fn now(&self) -> Option<Arc<str>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Sessions {
    /// Says what the weights are called that sample from now on. Without `Settings::salted` nothing changes.
    pub fn weights_are(&self, version: &Version) {
        if self.0.settings.salted {
            let salt = Some(version.as_str().into());
            *self.0.salt.0.lock().unwrap_or_else(PoisonError::into_inner) = salt;
        }
    }
}
