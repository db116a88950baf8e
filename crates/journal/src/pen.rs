//! Who writes.
//!
//! The invariant: one at a time, and each takes all that waits first, so that records are written in the order in which
//! they were appended, whoever writes them.
//!
//! A copy of a few kilobytes into the system's memory takes less than waking a thread for it and a task for its answer. So
//! at [`Level::Process`] whoever waits for a little writes it, and what others order meanwhile. What may take long is the
//! thread's: large records, payloads, another segment, space to be made, a disk to wait for, and for a while everything,
//! once writes were slow.

use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use crate::queue::{Order, Queue};
use crate::writer::Writer;
use crate::{JournalError, Level, compact};

/// Bytes that are a little.
const LITTLE: usize = 64 << 10;
/// A write that took so long was slow.
const SLOW: Duration = Duration::from_millis(2);
/// So many slow writes, one after the other, are the disk's doing. One may be the system's, which let another thread run.
const SLOW_WRITES: u32 = 2;
/// How long the thread then writes alone.
const REST: Duration = Duration::from_secs(1);
/// How often one who waits writes for others who came meanwhile.
const ROUNDS: usize = 4;

pub(crate) struct Pen {
    queue: Arc<Queue>,
    held: Mutex<Held>,
    level: Level,
}

struct Held {
    writer: Writer,
    pace: Pace,
}

/// How the writes of those who waited went.
#[derive(Default)]
struct Pace {
    /// The last so many were slow.
    slow: u32,
    /// Until when nobody but the thread writes.
    rests: Option<Instant>,
}

impl Pace {
    fn rests(&self, now: Instant) -> bool {
        self.rests.is_some_and(|until| now < until)
    }

    /// A write that began at `now` took so long.
    fn note(&mut self, now: Instant, took: Duration) {
        self.slow = if took > SLOW { self.slow + 1 } else { 0 };
        self.rests = (self.slow >= SLOW_WRITES).then(|| now + took + REST);
    }
}

impl Pen {
    pub(crate) fn new(queue: Arc<Queue>, writer: Writer, level: Level) -> Self {
        Self { queue, held: Mutex::new(Held { writer, pace: Pace::default() }), level }
    }

    /// Writes what is ordered whenever it is woken, until nothing will be: the thread.
    pub(crate) fn run(&self) {
        while self.queue.wait() {
            // Who came while it had the pen left that to it.
            while !self.queue.is_empty() {
                if self.write_all().is_err() {
                    return;
                }
            }
        }
    }

    fn write_all(&self) -> Result<(), JournalError> {
        let Ok(mut held) = self.held.lock() else {
            self.queue.fail(JournalError::Closed);
            return Err(JournalError::Closed);
        };
        self.write(&mut held, self.queue.take())?;
        // Space is made after those who wait were told.
        let made = compact::step(&mut held.writer);
        made.inspect_err(|failure| self.queue.fail(failure.clone()))
    }

    /// Writes what is ordered if that is soon done; else the thread does.
    pub(crate) fn lead(&self) {
        if self.level != Level::Process {
            return self.queue.wake();
        }
        for _ in 0..ROUNDS {
            let written = match self.held.try_lock() {
                Ok(held) => self.write_little(held),
                // Who has it looks at the queue again after letting go of it.
                Err(TryLockError::WouldBlock) => return,
                Err(TryLockError::Poisoned(_)) => false,
            };
            if !written {
                break;
            }
            if self.queue.is_empty() {
                return;
            }
        }
        self.queue.wake();
    }

    /// Has the thread write what is ordered.
    pub(crate) fn leave(&self) {
        self.queue.wake();
    }

    fn write_little(&self, mut held: MutexGuard<'_, Held>) -> bool {
        let now = Instant::now();
        if held.pace.rests(now) {
            return false;
        }
        let room = usize::try_from(held.writer.room()).map_or(LITTLE, |room| room.min(LITTLE));
        let Some(orders) = self.queue.take_little(room) else { return false };
        // What failed has been told.
        let _ = self.write(&mut held, orders);
        held.pace.note(now, now.elapsed());
        true
    }

    /// Writes orders and answers them.
    fn write(&self, held: &mut Held, orders: Vec<Order>) -> Result<(), JournalError> {
        if orders.is_empty() {
            return Ok(());
        }
        let (drafts, waiting): (Vec<_>, Vec<_>) =
            orders.into_iter().map(|Order { draft, permit, kept }| (draft, (permit, kept))).unzip();
        let written = held.writer.batch(drafts);
        if let Err(failure) = &written {
            // Before anybody hears of it: whoever asks then what the matter is gets an answer.
            self.queue.fail(failure.clone());
        }
        for (permit, kept) in waiting {
            drop(permit);
            drop(kept.send(written.clone()));
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_slow_writes_in_a_row_are_the_disks_doing_and_one_is_not() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        let mut after = |millis| {
            pace.note(now, Duration::from_millis(millis));
            pace.rests(now)
        };
        assert_eq!([20, 0, 20, 20, 0].map(&mut after), [false, false, false, true, false]);
    }
}
