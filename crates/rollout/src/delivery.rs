//! Groups on their way to the sink.
//!
//! The invariant: groups reach the sink in the order in which they were accepted, however long each takes to be
//! frozen; each is told once of how it went.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::{Id, JoinError, JoinSet};

use crate::{Batch, Custody, Outcome, Sink, SinkError};

/// What is being delivered.
pub(crate) struct Deliveries {
    sink: Arc<dyn Sink>,
    custody: Option<Custody>,
    puts: JoinSet<Result<(), SinkError>>,
    under_way: HashMap<Id, (Outcome, Arc<Batch>)>,
    /// Resolves once the latest group has reached the sink, or never will.
    latest: oneshot::Receiver<()>,
}

/// A delivery that is over.
pub(crate) struct Delivered {
    pub(crate) outcome: Outcome,
    pub(crate) batch: Arc<Batch>,
    pub(crate) put: Result<(), SinkError>,
}

impl Deliveries {
    pub(crate) fn new(sink: Arc<dyn Sink>, custody: Option<Custody>) -> Self {
        let (_, latest) = oneshot::channel();
        Self { sink, custody, puts: JoinSet::new(), under_way: HashMap::new(), latest }
    }

    /// Gives a group to the sink. Where there is custody its rows are frozen before, unless they are already
    /// (`freeze`: which task it was, else none), and retired after.
    pub(crate) fn start(&mut self, outcome: Outcome, batch: Arc<Batch>, freeze: Option<u64>) {
        let (sink, custody, given) = (Arc::clone(&self.sink), self.custody.clone(), Arc::clone(&batch));
        let (reached, latest) = oneshot::channel();
        let before = std::mem::replace(&mut self.latest, latest);
        let handle = self.puts.spawn(async move {
            let number = given.number;
            if let Some((custody, at)) = custody.as_ref().zip(freeze) {
                custody.freeze(&given, at).await?;
            }
            // Whether it came there or failed on its way.
            let _ = before.await;
            let put = sink.put(given);
            drop(reached);
            put.await?;
            match &custody {
                Some(custody) => custody.retire(number).await,
                None => Ok(()),
            }
        });
        self.under_way.insert(handle.id(), (outcome, batch));
    }

    /// The next delivery that is over; none while nothing is under way. Nothing is lost if it is dropped.
    pub(crate) async fn next(&mut self) -> Option<Delivered> {
        let (id, put) = match self.puts.join_next_with_id().await? {
            Ok(put) => put,
            Err(error) => (error.id(), Err(broke(&error))),
        };
        let (outcome, batch) = self.under_way.remove(&id)?;
        Some(Delivered { outcome, batch, put })
    }

    /// No more is taken by the sink.
    pub(crate) fn close(&self) {
        self.sink.close();
    }

    pub(crate) fn len(&self) -> usize {
        self.under_way.len()
    }

    /// How many are under way, by step.
    pub(crate) fn by_step(&self) -> HashMap<u64, usize> {
        let mut by_step = HashMap::new();
        for (_, batch) in self.under_way.values() {
            *by_step.entry(batch.step).or_default() += 1;
        }
        by_step
    }
}

fn broke(error: &JoinError) -> SinkError {
    SinkError::Refused { sink: "sink", problem: error.to_string() }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures::future::BoxFuture;
    use verbatim_events::GroupId;
    use verbatim_journal::{Journal, Options};

    use super::*;
    use crate::Order;

    /// Notes who came, and refuses some.
    #[derive(Default)]
    struct Came(Mutex<Vec<u64>>);

    impl Sink for Came {
        fn put(&self, batch: Arc<Batch>) -> BoxFuture<'static, Result<(), SinkError>> {
            self.0.lock().unwrap().push(batch.number);
            Box::pin(async move {
                tokio::task::yield_now().await;
                if batch.number % 5 == 3 { Err(SinkError::Closed) } else { Ok(()) }
            })
        }
    }

    fn batch(number: u64) -> Arc<Batch> {
        Arc::new(Batch { number, step: 1, group: GroupId::new("g"), rows: Vec::new(), is_last: false })
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn groups_come_in_the_order_in_which_they_were_accepted() {
        const GROUPS: u64 = 200;
        for has_custody in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let (journal, recovery) = Journal::open(folder.path(), Options::default()).unwrap();
            let (custody, _) = Custody::open(journal, &recovery, 1, Order::default()).unwrap();
            let came = Arc::new(Came::default());
            let sink: Arc<dyn Sink> = came.clone();
            let mut deliveries = Deliveries::new(sink, has_custody.then_some(custody));
            for number in 0..GROUPS {
                deliveries.start(Outcome::of_earlier(GroupId::new("g")), batch(number), Some(number));
            }
            assert_eq!(deliveries.by_step()[&1], GROUPS as usize);
            let mut ends = HashMap::new();
            while let Some(delivered) = deliveries.next().await {
                ends.insert(delivered.batch.number, delivered.put.is_ok());
            }
            assert_eq!(ends.len(), GROUPS as usize);
            assert!(ends.iter().all(|(number, taken)| *taken == (number % 5 != 3)));
            let came = came.0.lock().unwrap();
            assert!(came.iter().copied().eq(0..GROUPS), "custody {has_custody}: {came:?}");
        }
    }
}
