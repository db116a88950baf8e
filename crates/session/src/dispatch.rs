//! The scheduler's shell: a clock, and a mailbox for each turn and agent.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{Notify, mpsc, oneshot};
use verbatim_scheduler::{Action, AgentId, Ended, Input, Limits, Running, Scheduler, TurnId};

use crate::Settings;

/// Decides, through the scheduler, when turns run and agents start. Cheap to clone.
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
    agents: HashMap<AgentId, oneshot::Sender<()>>,
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

/// The right to run one agent; dropping it gives it back.
pub struct AgentPermit {
    shell: Arc<Shell>,
    id: AgentId,
}

impl Dispatcher {
    /// Starts the shell's clock on the current runtime; it ends with the last clone.
    pub(crate) fn start(settings: &Settings) -> Self {
        let limits = Limits { turns: settings.turns, agents: settings.agents, hold: settings.hold };
        let core = Core { scheduler: Scheduler::new(limits), turns: HashMap::new(), agents: HashMap::new() };
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

    /// Enters a turn.
    pub(crate) fn arrive(&self) -> Ticket {
        let id = TurnId(self.0.next.fetch_add(1, Ordering::Relaxed));
        let (sender, orders) = mpsc::unbounded_channel();
        self.0.core().turns.insert(id, sender);
        self.0.step(Input::Arrived(id));
        Ticket { shell: Arc::clone(&self.0), id, orders }
    }

    /// Waits for the right to run one more agent.
    pub async fn agent(&self) -> AgentPermit {
        let id = AgentId(self.0.next.fetch_add(1, Ordering::Relaxed));
        let (sender, launched) = oneshot::channel();
        let permit = AgentPermit { shell: Arc::clone(&self.0), id };
        self.0.core().agents.insert(id, sender);
        self.0.step(Input::Wanted(id));
        // The sender is dropped only after it was used.
        let _ = launched.await;
        permit
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
                Action::Launch(agent) => {
                    if let Some(launch) = core.agents.remove(&agent) {
                        let _ = launch.send(());
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

impl Drop for AgentPermit {
    fn drop(&mut self) {
        self.shell.core().agents.remove(&self.id);
        self.shell.step(Input::Exited(self.id));
    }
}
