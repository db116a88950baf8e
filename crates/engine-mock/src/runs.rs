//! Calls in flight, and how they are aborted.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The scheduler has not seen it: it stands before the gate of a pause.
    Held,
    /// It waits for its turn, for the first time or again.
    Waiting,
    /// It samples.
    Running,
}

struct Entry {
    stage: Stage,
    /// An abort by name was tried; SGLang tries no second one.
    latched: bool,
    abort: watch::Sender<bool>,
}

/// The calls in flight, by name.
#[derive(Default)]
pub(crate) struct Runs(Mutex<HashMap<String, Entry>>);

impl Runs {
    fn entries(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new call; nothing if its name is taken.
    pub(crate) fn enter(&self, rid: &str) -> Option<watch::Receiver<bool>> {
        let mut entries = self.entries();
        if entries.contains_key(rid) {
            return None;
        }
        let (abort, aborted) = watch::channel(false);
        entries.insert(rid.to_owned(), Entry { stage: Stage::Held, latched: false, abort });
        Some(aborted)
    }

    pub(crate) fn leave(&self, rid: &str) {
        self.entries().remove(rid);
    }

    /// Whether an abort by name came before the scheduler knew the call.
    pub(crate) fn latched(&self, rid: &str) -> bool {
        self.entries().get(rid).is_some_and(|entry| entry.latched)
    }

    pub(crate) fn set(&self, rid: &str, stage: Stage) {
        if let Some(entry) = self.entries().get_mut(rid) {
            entry.stage = stage;
        }
    }

    pub(crate) fn count(&self, stage: Stage) -> usize {
        self.entries().values().filter(|entry| entry.stage == stage).count()
    }

    /// Calls that the scheduler knows.
    pub(crate) fn dispatched(&self) -> usize {
        self.entries().values().filter(|entry| entry.stage != Stage::Held).count()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries().len()
    }

    /// SGLang's abort: a name that is unknown does nothing; a known one aborts every dispatched call
    /// whose name begins with it, and works once, even if there was nothing to abort yet.
    pub(crate) fn abort_prefix(&self, rid: &str) {
        let mut entries = self.entries();
        match entries.get_mut(rid) {
            Some(entry) if !rid.is_empty() && !entry.latched => entry.latched = true,
            _ => return,
        }
        let matching = entries.iter().filter(|(name, _)| name.starts_with(rid));
        matching.filter(|(_, entry)| entry.stage != Stage::Held).for_each(|(_, entry)| entry.abort());
    }

    /// vLLM's abort: exactly these names; how many there were.
    pub(crate) fn abort_exactly(&self, names: &[String]) -> usize {
        let entries = self.entries();
        let known = names.iter().filter_map(|name| entries.get(name));
        known.inspect(|entry| entry.abort()).count()
    }

    /// Aborts what the scheduler knows; how many there were.
    pub(crate) fn abort_all(&self) -> usize {
        let entries = self.entries();
        let known = entries.values().filter(|entry| entry.stage != Stage::Held);
        known.inspect(|entry| entry.abort()).count()
    }
}

impl Entry {
    fn abort(&self) {
        let _ = self.abort.send(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_abort_takes_every_name_that_it_begins() {
        let runs = Runs::default();
        let one = runs.enter("r-1").unwrap();
        let ten = runs.enter("r-10").unwrap();
        runs.set("r-1", Stage::Running);
        runs.set("r-10", Stage::Running);
        runs.abort_prefix("r-");
        assert!(!*one.borrow() && !*ten.borrow());
        runs.abort_prefix("r-1");
        assert!(*one.borrow() && *ten.borrow());
    }

    #[test]
    fn an_abort_before_dispatch_is_lost_and_so_is_the_next() {
        let runs = Runs::default();
        let aborted = runs.enter("r").unwrap();
        runs.abort_prefix("r");
        runs.set("r", Stage::Running);
        runs.abort_prefix("r");
        assert!(!*aborted.borrow());
        runs.abort_all();
        assert!(*aborted.borrow());
    }
}
