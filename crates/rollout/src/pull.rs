//! Rows that a trainer comes for.
//!
//! The invariant: what was put stays until it is acknowledged. Who took it and does not acknowledge in time
//! loses it to the next one who asks; what was acknowledged is never given again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::{Batch, Custody, Sink, SinkError};

/// The queue. Clones are the same one.
#[derive(Clone, Default)]
pub struct Pull(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    put: Notify,
    custody: OnceLock<Custody>,
}

#[derive(Default)]
struct Queue {
    next: u64,
    waiting: BTreeMap<u64, Waiting>,
    closed: bool,
}

struct Waiting {
    batch: Arc<Batch>,
    /// Until when whoever took it may acknowledge it.
    lent: Option<Instant>,
    deliveries: u32,
    taken: oneshot::Sender<()>,
}

/// A batch that was given out.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// What it is acknowledged by.
    pub id: u64,
    /// How often it was given out before.
    pub before: u32,
    /// The group.
    pub batch: Arc<Batch>,
}

/// What came of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledged {
    /// The batch is done with.
    Now,
    /// It was done with before.
    Before,
    /// No batch has had this id.
    Unknown,
}

impl Pull {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// The oldest batch that nobody holds, of `step` if one is asked for; waits at most `wait` for one.
    /// Whoever gets it holds it for `lend`.
    pub async fn next(&self, step: Option<u64>, wait: Duration, lend: Duration) -> Option<Delivery> {
        let until = Instant::now() + wait;
        loop {
            // Registered before the look, so that nothing that is put in between is missed.
            let put = self.0.put.notified();
            tokio::pin!(put);
            put.as_mut().enable();
            let free = match self.queue().take(step, lend) {
                Ok(delivery) => return Some(delivery),
                Err(free) => free,
            };
            let wake = free.map_or(until, |free| free.min(until));
            let _ = tokio::time::timeout_at(wake, put).await;
            if Instant::now() >= until {
                return self.queue().take(step, lend).ok();
            }
        }
    }

    /// Says that a batch is kept elsewhere from now on. Returns once that is kept, if there is custody.
    ///
    /// # Errors
    /// [`SinkError`]: it could not be, and the batch may be given out again.
    pub async fn acknowledge(&self, id: u64) -> Result<Acknowledged, SinkError> {
        let (is_known, is_waiting) = {
            let queue = self.queue();
            (id < queue.next, queue.waiting.contains_key(&id))
        };
        // Before it is taken out: whoever asks again meanwhile waits for the same.
        if let Some(custody) = self.0.custody.get().filter(|_| is_known) {
            custody.retire(id).await?;
        }
        let waiting = self.queue().waiting.remove(&id);
        if let Some(waiting) = waiting {
            // The rollout may have ended meanwhile.
            let _ = waiting.taken.send(());
        }
        Ok(match (is_waiting, is_known) {
            (true, _) => Acknowledged::Now,
            (false, true) => Acknowledged::Before,
            (false, false) => Acknowledged::Unknown,
        })
    }

    /// Batches that were not acknowledged yet.
    pub fn len(&self) -> usize {
        self.queue().waiting.len()
    }

    /// Whether all batches were acknowledged.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// Lends the oldest free batch; if there is none, when the next one comes back.
    fn take(&mut self, step: Option<u64>, lend: Duration) -> Result<Delivery, Option<Instant>> {
        let now = Instant::now();
        let mut back = None;
        let asked = |waiting: &Waiting| step.is_none_or(|step| waiting.batch.step == step);
        for (id, waiting) in self.waiting.iter_mut().filter(|(_, waiting)| asked(waiting)) {
            match waiting.lent {
                Some(until) if until > now => {
                    back = Some(back.map_or(until, |back: Instant| back.min(until)))
                }
                _ => {
                    waiting.lent = Some(now + lend);
                    waiting.deliveries += 1;
                    let before = waiting.deliveries - 1;
                    return Ok(Delivery { id: *id, before, batch: Arc::clone(&waiting.batch) });
                }
            }
        }
        Err(back)
    }
}

impl Sink for Pull {
    fn put(&self, batch: Arc<Batch>) -> BoxFuture<'static, Result<(), SinkError>> {
        let (taken, told) = oneshot::channel();
        let mut queue = self.queue();
        if queue.closed {
            return Box::pin(async { Err(SinkError::Closed) });
        }
        let id = batch.number;
        // A server that has just started may be told that a batch was taken before it has the batch in its queue.
        if self.0.custody.get().is_some_and(|custody| !custody.holds(id)) {
            return Box::pin(async { Ok(()) });
        }
        queue.next = queue.next.max(id + 1);
        queue.waiting.insert(id, Waiting { batch, lent: None, deliveries: 0, taken });
        drop(queue);
        self.0.put.notify_waiters();
        Box::pin(async { told.await.map_err(|_| SinkError::Closed) })
    }

    fn keep(&self, custody: &Custody, next: u64) {
        self.queue().next = next;
        // The first counts: a sink has one rollout.
        let _ = self.0.custody.set(custody.clone());
    }

    fn close(&self) {
        let mut queue = self.queue();
        queue.closed = true;
        queue.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use verbatim_events::GroupId;

    use super::*;

    const SOON: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(60);

    fn batch(number: u64, step: u64, group: &str) -> Arc<Batch> {
        Arc::new(Batch { number, step, group: GroupId::new(group), rows: Vec::new(), is_last: false })
    }

    #[tokio::test(start_paused = true)]
    async fn a_batch_comes_again_until_it_is_acknowledged() {
        let pull = Pull::new();
        let put = tokio::spawn(pull.put(batch(0, 1, "a")));
        tokio::task::yield_now().await;
        let first = pull.next(None, LONG, SOON).await.unwrap();
        assert_eq!((first.id, first.before), (0, 0));
        assert!(pull.next(None, SOON / 2, SOON).await.is_none(), "someone holds it");
        let again = pull.next(None, LONG, LONG).await.unwrap();
        assert_eq!((again.id, again.before), (0, 1), "who held it did not acknowledge it");
        assert!(!put.is_finished());
        // A late word of the first one counts: the rows are kept.
        assert_eq!(pull.acknowledge(0).await.unwrap(), Acknowledged::Now);
        assert!(put.await.unwrap().is_ok());
        assert_eq!(pull.acknowledge(0).await.unwrap(), Acknowledged::Before);
        assert_eq!(pull.acknowledge(1).await.unwrap(), Acknowledged::Unknown);
        assert!(pull.next(None, LONG, LONG).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_is_woken_and_steps_are_told_apart() {
        let pull = Pull::new();
        let waits = tokio::spawn({
            let pull = pull.clone();
            async move { pull.next(Some(2), LONG, LONG).await }
        });
        tokio::task::yield_now().await;
        let _one = pull.put(batch(0, 1, "a"));
        let _two = pull.put(batch(1, 2, "b"));
        assert_eq!(waits.await.unwrap().unwrap().batch.step, 2);
        assert_eq!(pull.next(None, LONG, LONG).await.unwrap().batch.step, 1);
        assert_eq!(pull.len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn closing_ends_what_waits() {
        let pull = Pull::new();
        let put = tokio::spawn(pull.put(batch(0, 1, "a")));
        tokio::task::yield_now().await;
        pull.close();
        assert!(matches!(put.await.unwrap(), Err(SinkError::Closed)));
        assert!(matches!(pull.put(batch(1, 1, "b")).await, Err(SinkError::Closed)));
        assert!(pull.is_empty());
    }
}
