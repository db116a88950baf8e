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

    /// Whether a group was frozen and nobody has it for good.
    pub(crate) fn holds(&self, number: u64) -> bool {
        self.state().frozen.contains(&number)
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

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use futures::FutureExt as _;
    use tempfile::TempDir;
    use verbatim_events::GroupId;
    use verbatim_journal::Options;
    use verbatim_scheduler::{Opened, Stand, Step};

    use super::*;
    use crate::{Acknowledged, Pull, Sink as _};

    const TASKS: usize = 9;

    fn open(folder: &Path) -> (Custody, Past) {
        let (journal, recovery) = Journal::open(folder, Options::default()).unwrap();
        Custody::open(journal, &recovery, TASKS, Order::default()).unwrap()
    }

    /// The folder as a server that was killed now would leave it.
    async fn image(custody: &Custody, folder: &Path) -> TempDir {
        custody.settled().await.unwrap();
        let image = tempfile::tempdir().unwrap();
        for file in std::fs::read_dir(folder).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), image.path().join(file.file_name())).unwrap();
        }
        image
    }

    fn batch(number: u64, step: u64) -> Arc<Batch> {
        let group = GroupId::new(format!("train:{number}"));
        Arc::new(Batch { number, step, group, rows: Vec::new(), is_last: number == 1 })
    }

    fn numbers(past: &Past) -> Vec<u64> {
        past.frozen.iter().map(|batch| batch.number).collect()
    }

    #[tokio::test]
    async fn what_was_frozen_is_given_again_until_it_is_retired() {
        let folder = tempfile::tempdir().unwrap();
        let (custody, _) = open(folder.path());
        custody.opened(1, 3);
        for number in 0..2 {
            custody.accept(1);
            // The second task's group was accepted first.
            custody.freeze(&batch(number, 1), 1 - number).await.unwrap();
        }
        custody.dropped(3);
        let killed = image(&custody, folder.path()).await;
        let (again, past) = open(killed.path());
        assert_eq!(numbers(&past), [0, 1]);
        let ends: Vec<_> =
            past.frozen.iter().map(|batch| (batch.group.as_str(), batch.step, batch.is_last)).collect();
        assert_eq!(ends, [("train:0", 1, false), ("train:1", 1, true)]);
        let open = Some(Opened { size: 3, accepted: 2 });
        assert_eq!(past.ledger.stand(), Stand { open, ..Stand::default() });
        assert_eq!((past.ledger.low, past.ledger.accepted), (2, 2), "the next task is the third");
        assert!(past.ledger.is_done(3) && !past.ledger.is_done(2));

        again.retire(0).await.unwrap();
        again.retire(0).await.unwrap();
        let killed = image(&again, killed.path()).await;
        assert_eq!(numbers(&self::open(killed.path()).1), [1]);
    }

    #[tokio::test]
    async fn a_group_that_is_taken_before_it_is_in_the_queue_again_is_given_to_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let (custody, _) = open(folder.path());
        custody.opened(1, 2);
        for number in 0..2 {
            custody.accept(1);
            custody.freeze(&batch(number, 1), number).await.unwrap();
        }
        let killed = image(&custody, folder.path()).await;
        let (again, past) = open(killed.path());
        let pull = Pull::new();
        pull.keep(&again, past.ledger.accepted);
        assert_eq!(pull.acknowledge(0).await.unwrap(), Acknowledged::Before);
        assert_eq!(pull.acknowledge(2).await.unwrap(), Acknowledged::Unknown);
        let [first, second] = past.frozen.try_into().unwrap();
        pull.put(Arc::new(first)).now_or_never().expect("it is done with").unwrap();
        let waits = tokio::spawn(pull.put(Arc::new(second)));
        let given = pull.next(None, Duration::ZERO, Duration::ZERO).await.unwrap();
        assert_eq!((given.id, pull.len()), (1, 1));
        assert_eq!(pull.acknowledge(1).await.unwrap(), Acknowledged::Now);
        waits.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_step_closes_once_all_that_it_took_is_frozen() {
        let folder = tempfile::tempdir().unwrap();
        let (custody, _) = open(folder.path());
        custody.opened(1, 1);
        custody.accept(1);
        custody.closed(1);
        let killed = image(&custody, folder.path()).await;
        let stand = open(killed.path()).1.ledger.stand();
        assert_eq!(stand.open, Some(Opened { size: 1, accepted: 0 }), "its group is run again, in its step");
        custody.freeze(&batch(0, 1), 0).await.unwrap();
        let killed = image(&custody, folder.path()).await;
        let stand = open(killed.path()).1.ledger.stand();
        assert_eq!(stand, Stand { closed: Step(1), ..Stand::default() });
    }

    #[tokio::test]
    async fn another_dataset_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (custody, _) = open(folder.path());
        custody.opened(1, 1);
        let killed = image(&custody, folder.path()).await;
        let (journal, recovery) = Journal::open(killed.path(), Options::default()).unwrap();
        let shuffled = Order { shuffle: Some(3), ..Order::default() };
        let refused = Custody::open(journal, &recovery, TASKS, shuffled).err().unwrap().to_string();
        assert!(refused.contains("(dataset.shuffle none), and this one has 9 (3)"), "{refused}");
    }
}
