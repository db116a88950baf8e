//! First observations that several sessions share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use verbatim_chat::{Chain, ImagePlace, Message, Setup, StartState};
use verbatim_tokens::TokenId;

/// A rendered opening.
#[derive(Clone)]
pub(crate) struct Opening {
    pub(crate) setup: Arc<Setup>,
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) ids: Arc<[TokenId]>,
    pub(crate) images: Box<[ImagePlace]>,
    pub(crate) start: StartState,
}

/// Openings by the bytes of the request they came from and, where the family's template sees it, the
/// second their session opened. The sessions of a group begin alike: they render once and store once.
///
/// Ids are held weakly: an opening lives as long as a session that begins with it.
#[derive(Default)]
pub(crate) struct Openings(Mutex<HashMap<(Chain, i64), Entry>>);

struct Entry {
    setup: Weak<Setup>,
    messages: Vec<Weak<Message>>,
    ids: Weak<[TokenId]>,
    images: Box<[ImagePlace]>,
    start: StartState,
}

impl Openings {
    pub(crate) fn get(&self, bytes: Chain, clock: i64) -> Option<Opening> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = table.get(&(bytes, clock))?;
        Some(Opening {
            setup: entry.setup.upgrade()?,
            messages: entry.messages.iter().map(Weak::upgrade).collect::<Option<_>>()?,
            ids: entry.ids.upgrade()?,
            images: entry.images.clone(),
            start: entry.start,
        })
    }

    pub(crate) fn put(&self, bytes: Chain, clock: i64, opening: &Opening) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if table.len() >= 1024 {
            table.retain(|_, entry| entry.ids.strong_count() > 0);
        }
        let entry = Entry {
            setup: Arc::downgrade(&opening.setup),
            messages: opening.messages.iter().map(Arc::downgrade).collect(),
            ids: Arc::downgrade(&opening.ids),
            images: opening.images.clone(),
            start: opening.start,
        };
        table.insert((bytes, clock), entry);
    }
}
