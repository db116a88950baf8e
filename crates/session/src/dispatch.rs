//! The scheduler's shell: a clock, and a mailbox for each turn and for the rollout.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{Notify, mpsc};
use verbatim_scheduler::{Action, Cost, Ended, Input, Limits, Running, Scheduler, SessionId, TurnId};

use crate::Settings;

/// Decides, through the scheduler, when turns run and what becomes of Groups. Cheap to clone.
#[derive(Clone)]
pub struct Dispatcher(Arc<Shell>);

struct Shell {
    core: Mutex<Core>,
    wake: Notify,
    next: AtomicU64,
}

struct Core {
    scheduler: Scheduler,
    turns: HashMap<TurnId, mpsc::UnboundedSender<Order>>,
    /// Who is told about Groups.
    groups: Option<mpsc::UnboundedSender<Action>>,
}

/// What a turn is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Start an attempt.
    Go,
    /// Abort the running attempt.
    Abort,
    /// Give up.
    Expire,
}

/// A turn's place in the scheduler; dropping it gives everything back.
pub(crate) struct Ticket {
    shell: Arc<Shell>,
    id: TurnId,
    orders: mpsc::UnboundedReceiver<Order>,
}

impl Dispatcher {
    /// Starts the shell's clock on the current runtime; it ends with the last clone.
    pub(crate) fn start(settings: &Settings) -> Self {
        let limits = Limits { turns: settings.turns, budget: settings.budget, hold: settings.hold };
        let scheduler = match &settings.resident {
            Some(rules) => Scheduler::resident(limits, rules.clone()),
            None => Scheduler::new(limits),
        };
        let core = Core { scheduler, turns: HashMap::new(), groups: None };
        let shell = Arc::new(Shell { core: Mutex::new(core), wake: Notify::new(), next: AtomicU64::new(0) });
        let clock = Arc::downgrade(&shell);
        tokio::spawn(async move {
            while let Some(shell) = clock.upgrade() {
                let due = shell.core().scheduler.wake_at();
                // The shell is kept for one wait at a time, so that it ends soon after its last owner.
                let woken = tokio::time::timeout_at(
                    due.unwrap_or_else(|| Instant::now() + std::time::Duration::from_secs(5)).into(),
                    shell.wake.notified(),
                );
                if woken.await.is_err() {
                    shell.step(Input::Tick);
                }
            }
        });
        Self(shell)
    }

    /// Enters a turn, which may be a Group's.
    pub(crate) fn arrive(&self, seat: Option<SessionId>, cost: Cost) -> Ticket {
        let id = TurnId(self.0.next.fetch_add(1, Ordering::Relaxed));
        let (sender, orders) = mpsc::unbounded_channel();
        self.0.core().turns.insert(id, sender);
        self.0.step(Input::Arrived(id, seat, cost));
        Ticket { shell: Arc::clone(&self.0), id, orders }
    }

    /// What is to be done about Groups, from now on, in the order in which it was decided. Who asked before
    /// hears no more.
    pub fn groups(&self) -> mpsc::UnboundedReceiver<Action> {
        let (sender, actions) = mpsc::unbounded_channel();
        self.0.core().groups = Some(sender);
        actions
    }

    /// Tells the scheduler what happened to Groups.
    pub fn tell(&self, input: Input) {
        self.0.step(input);
    }

    /// Whether no step can come any more.
    pub fn is_over(&self) -> bool {
        self.0.core().scheduler.is_over()
    }

    /// Groups that the open step still needs.
    pub fn debt(&self) -> usize {
        self.0.core().scheduler.debt()
    }

    /// Starts no attempt from now on; turns whose attempts are aborted are held.
    pub fn close_gate(&self, running: Running) {
        self.0.step(Input::CloseGate(running));
    }

    /// Lets held turns go on.
    pub fn open_gate(&self) {
        self.0.step(Input::OpenGate);
    }

    /// Attempts that run, and turns that wait.
    pub fn load(&self) -> (usize, usize) {
        let core = self.0.core();
        (core.scheduler.running(), core.scheduler.waiting())
    }
}

impl Shell {
    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One step, and the delivery of its actions. Orders are sent under the lock, so that they
    /// arrive in the order they were decided in; sending never waits.
    fn step(&self, input: Input) {
        let mut core = self.core();
        let mut actions = Vec::new();
        core.scheduler.step(Instant::now(), input, &mut actions);
        for action in actions {
            let (turn, order) = match action {
                Action::Dispatch(turn) => (turn, Order::Go),
                Action::Abort(turn) => (turn, Order::Abort),
                Action::Expire(turn) => (turn, Order::Expire),
                group => {
                    if let Some(groups) = &core.groups {
                        let _ = groups.send(group);
                    }
                    continue;
                }
            };
            if let Some(turn) = core.turns.get(&turn) {
                let _ = turn.send(order);
            }
        }
        drop(core);
        self.wake.notify_one();
    }
}

impl Ticket {
    /// The next order. Never returns for a turn that has none coming.
    pub(crate) async fn next(&mut self) -> Order {
        self.orders.recv().await.unwrap_or(Order::Expire)
    }

    /// Reports the end of an attempt.
    pub(crate) fn ended(&self, ended: Ended) {
        self.shell.step(Input::Ended(self.id, ended));
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.shell.core().turns.remove(&self.id);
        self.shell.step(Input::Left(self.id));
        self.shell.step(Input::Ended(self.id, Ended::Over));
    }
}
