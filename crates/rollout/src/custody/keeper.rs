//! Freezing, retiring, and what an earlier server left.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use verbatim_journal::{Journal, JournalError, Recovery};

use super::frozen;
use super::ledger::Ledger;
use crate::{Batch, Order, RolloutError, SinkError};

const LEDGER: &str = "rollout/ledger";

/// What keeps a rollout's rows until they are taken for good. Clones are the same one.
#[derive(Clone)]
pub struct Custody(Arc<Shared>);

struct Shared {
    journal: Journal,
    state: Mutex<State>,
}

struct State {
    ledger: Ledger,
    /// Groups that were frozen and not retired, by number.
    frozen: HashSet<u64>,
    /// Groups that were accepted and are not frozen yet, by step.
    freezing: HashMap<u64, usize>,
    /// Steps that close once the last of them is.
    closing: HashSet<u64>,
}

/// What an earlier server left.
pub struct Past {
    pub(crate) ledger: Ledger,
    /// Groups that were frozen and not retired, the first first.
    pub(crate) frozen: Vec<Batch>,
}

impl Custody {
    /// Custody in a journal, over a dataset of so many tasks, and what an earlier server left in it.
    ///
    /// # Errors
    /// [`RolloutError::Custody`] if the journal's rollout was over another dataset, or cannot be read.
    pub fn open(
        journal: Journal,
        recovery: &Recovery,
        tasks: usize,
        order: Order,
    ) -> Result<(Self, Past), RolloutError> {
        let broken = |problem: String| RolloutError::Custody { problem };
        let fresh = Ledger { tasks, shuffle: order.shuffle, low: order.taken, ..Ledger::default() };
        let mut ledger = match recovery.notes.get(LEDGER) {
            Some(note) => {
                serde_json::from_slice(note).map_err(|error| broken(format!("{LEDGER}: {error}")))?
            }
            None => fresh.clone(),
        };
        if (ledger.tasks, ledger.shuffle) != (fresh.tasks, fresh.shuffle) {
            return Err(broken(format!(
                "it has a rollout over {} tasks (dataset.shuffle {}), and this one has {tasks} ({}): go on with the same dataset, or give another folder",
                ledger.tasks,
                said(ledger.shuffle),
                said(fresh.shuffle),
            )));
        }
        let mut batches = BTreeMap::new();
        for (name, body) in &recovery.notes {
            let Some(read) = frozen::read(name, body) else { continue };
            let (head, batch) = read.map_err(broken)?;
            // It was frozen, and the server was stopped before the ledger said so.
            if !ledger.is_done(head.at) {
                ledger.frozen(batch.number, head.at, batch.step, batch.rows.len());
            }
            batches.insert(batch.number, batch);
        }
        let state = State {
            ledger: ledger.clone(),
            frozen: batches.keys().copied().collect(),
            freezing: HashMap::new(),
            closing: HashSet::new(),
        };
        let custody = Self(Arc::new(Shared { journal, state: Mutex::new(state) }));
        Ok((custody, Past { ledger, frozen: batches.into_values().collect() }))
    }

    /// The number of the next group that is accepted, which its step counts from now on.
    pub(crate) fn accept(&self, step: u64) {
        *self.state().freezing.entry(step).or_default() += 1;
    }

    /// Freezes a group whose task was the `at`-th that was taken; returns once it is kept.
    pub(crate) async fn freeze(&self, batch: &Arc<Batch>, at: u64) -> Result<(), SinkError> {
        let wrote = tokio::task::spawn_blocking({
            let batch = Arc::clone(batch);
            move || frozen::write(&batch, at)
        });
        let body = wrote.await.map_err(|error| error.to_string()).flatten();
        let body = body.map_err(|problem| SinkError::Refused { sink: "journal", problem })?;
        let room = self.0.journal.note(&frozen::name(batch.number), body).await.map_err(unkept)?;
        let kept = {
            let mut state = self.state();
            let kept = self.0.journal.append(room);
            state.frozen.insert(batch.number);
            state.ledger.frozen(batch.number, at, batch.step, batch.rows.len());
            let left = state.freezing.entry(batch.step).or_default();
            *left = left.saturating_sub(1);
            if *left == 0 {
                state.freezing.remove(&batch.step);
                if state.closing.remove(&batch.step) {
                    state.ledger.closed(batch.step);
                }
            }
            self.write(&state.ledger);
            kept
        };
        kept.kept().await.map_err(unkept)
    }

    /// Somebody has a group's rows for good: they are never given again. Returns once that is kept.
    pub(crate) async fn retire(&self, number: u64) -> Result<(), SinkError> {
        let forgotten = {
            let mut state = self.state();
            state.frozen.remove(&number).then(|| self.0.journal.forget(&frozen::name(number)))
        };
        match forgotten {
            Some(forgotten) => forgotten.kept().await.map_err(unkept),
            None => self.0.journal.settled().await.map_err(unkept),
        }
    }

    /// A task's group was dropped for good.
    pub(crate) fn dropped(&self, at: u64) {
        self.change(|ledger| ledger.finish(at));
    }

    pub(crate) fn opened(&self, step: u64, size: usize) {
        self.change(|ledger| ledger.opened(step, size));
    }

    /// A step takes no more groups. It counts as closed once all that it took are frozen.
    pub(crate) fn closed(&self, step: u64) {
        let mut state = self.state();
        if state.freezing.contains_key(&step) {
            state.closing.insert(step);
        } else {
            state.ledger.closed(step);
            self.write(&state.ledger);
        }
    }

    pub(crate) fn trained(&self, step: u64) {
        self.change(|ledger| ledger.trained = ledger.trained.max(step));
    }

    /// Waits until all that happened so far is kept.
    pub(crate) async fn settled(&self) -> Result<(), SinkError> {
        self.0.journal.settled().await.map_err(unkept)
    }

    fn change(&self, change: impl FnOnce(&mut Ledger)) {
        let mut state = self.state();
        change(&mut state.ledger);
        self.write(&state.ledger);
    }

    /// Appends the ledger, under the lock that it was changed under. Whoever tells of it waits for a later record.
    fn write(&self, ledger: &Ledger) {
        match serde_json::to_vec(ledger) {
            Ok(body) => drop(self.0.journal.note_small(LEDGER, body)),
            Err(error) => tracing::error!(%error, "where the rollout stands cannot be written"),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn said(shuffle: Option<u64>) -> String {
    shuffle.map_or("none".into(), |seed| seed.to_string())
}

fn unkept(error: JournalError) -> SinkError {
    SinkError::Refused { sink: "journal", problem: error.to_string() }
}
