//! What happens, in the order of its time: what the scheduler wants is done in [`act`], what comes by itself in
//! [`happen`], to [`turns`] and to [`agents`].

mod act;
mod agents;
mod happen;
mod turns;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use verbatim_scheduler::{Exit, GroupId, Input, Limits, Rules, Scheduler, SessionId, Step, TurnId, Unwanted};

use crate::agent::Agent;
use crate::book::{Book, Broken};
use crate::engine::Turn;
use crate::trainer::Queue;
use crate::{Measured, Setup};

/// No history is longer.
const HORIZON: Duration = Duration::from_secs(10_000_000);

/// Something that will happen.
#[derive(Clone, Copy, Debug)]
enum What {
    /// An agent asks for its next turn.
    Ask(SessionId),
    /// An agent's process ends.
    Ends(SessionId, Exit),
    /// Nothing of a session is left.
    Gone(SessionId, Exit),
    /// An attempt comes to its own end.
    Sampled(TurnId, u64),
    /// An attempt fails.
    Fails(TurnId, u64),
    /// The engine lets go of an aborted attempt.
    Aborted(TurnId, u64),
    /// A client goes away and asks again.
    Retries(TurnId),
    /// A step is trained.
    Trained(Step),
    /// The engines have its weights.
    Updated(Step),
    /// A Group's rewards are there.
    Scored(GroupId),
    /// The shell does without a Group.
    Discards(GroupId, Unwanted),
    Restart,
    /// Somebody closes the gate for a while.
    Pause,
    Unpause,
    Interrupt,
}

struct World<'a> {
    setup: &'a Setup,
    random: ChaCha8Rng,
    scheduler: Scheduler,
    book: Book,
    is_async: bool,
    began: Instant,
    now: Duration,
    queue: BTreeMap<(Duration, u64), What>,
    sequence: u64,
    inputs: VecDeque<Input>,
    agents: BTreeMap<SessionId, Agent>,
    turns: BTreeMap<TurnId, Turn>,
    tokens: BTreeMap<GroupId, u64>,
    without_task: BTreeSet<GroupId>,
    turn: u64,
    tasks: usize,
    trainer: Queue,
    opened: Duration,
    measured: Measured,
}

/// Simulates `setup` to its end.
///
/// # Errors
/// [`Broken`], if a promise of the scheduler did not hold, or the rollout came to no end.
pub fn run(setup: &Setup) -> Result<Measured, Broken> {
    let broken = |what: String| Broken { seed: setup.seed, at: Duration::ZERO, input: "start".into(), what };
    let rules = Rules::new(setup.asked.clone()).map_err(|error| broken(error.to_string()))?;
    let limits = Limits { turns: setup.permits, budget: setup.budget, hold: setup.hold };
    let mut world = World {
        setup,
        random: ChaCha8Rng::seed_from_u64(setup.seed ^ 0x5eed),
        scheduler: Scheduler::resident(limits, rules.clone()),
        is_async: setup.asked.mode == "async",
        book: Book::new(rules, setup.permits, setup.budget),
        began: Instant::now(),
        now: Duration::ZERO,
        queue: BTreeMap::new(),
        sequence: 0,
        inputs: VecDeque::from([Input::OpenStep(None)]),
        agents: BTreeMap::new(),
        turns: BTreeMap::new(),
        tokens: BTreeMap::new(),
        without_task: BTreeSet::new(),
        turn: 0,
        tasks: setup.tasks,
        trainer: Queue::default(),
        opened: Duration::ZERO,
        measured: Measured::default(),
    };
    let faults = &setup.faults;
    if faults.interrupt_at > 0.0 {
        world.after(faults.interrupt_at, What::Interrupt);
    }
    if faults.pause_every > 0.0 {
        world.after(faults.pause_every.max(10.0), What::Pause);
    }
    if faults.restart_every > 0.0 {
        world.after(faults.restart_every.max(20.0), What::Restart);
    }
    world.live()
}

impl World<'_> {
    fn live(mut self) -> Result<Measured, Broken> {
        loop {
            while let Some(input) = self.inputs.pop_front() {
                self.give(input)?;
            }
            if self.scheduler.is_over() && self.agents.is_empty() && self.turns.is_empty() {
                self.book.end().map_err(|what| self.broken("the end".into(), what))?;
                return Ok(self.measured);
            }
            let wake = self.scheduler.wake_at().map(|at| at.saturating_duration_since(self.began));
            let next = self.queue.first_key_value().map(|(key, _)| key.0);
            let due = match (wake, next) {
                (Some(wake), Some(next)) => wake.min(next),
                (wake, next) => match wake.or(next) {
                    Some(due) => due,
                    None => return Err(self.stuck()),
                },
            };
            if due > HORIZON {
                return Err(self.stuck());
            }
            self.pass(due.max(self.now));
            if next.is_some_and(|next| next <= due)
                && let Some((_, what)) = self.queue.pop_first()
            {
                self.happen(what);
            } else {
                self.inputs.push_back(Input::Tick);
            }
        }
    }

    fn stuck(&self) -> Broken {
        self.broken("nothing".into(), format!("the rollout came to no end: {:?}", self.scheduler))
    }

    fn broken(&self, input: String, what: String) -> Broken {
        Broken { seed: self.setup.seed, at: self.now, input, what }
    }

    fn pass(&mut self, now: Duration) {
        let running = self.turns.values().filter(|turn| turn.running.is_some()).count() as u32;
        self.measured.busy += (now - self.now) * running;
        self.now = now;
    }

    fn give(&mut self, input: Input) -> Result<(), Broken> {
        self.measured.inputs += 1;
        self.book.input(self.now, &input);
        let mut actions = Vec::new();
        self.scheduler.step(self.began + self.now, input, &mut actions);
        for action in &actions {
            let checked = self.book.action(&input, action);
            checked.map_err(|what| self.broken(format!("{input:?}"), format!("{what}; of {actions:?}")))?;
            self.act(*action);
        }
        let checked = self.book.after(&self.scheduler);
        checked.map_err(|what| self.broken(format!("{input:?}"), format!("{what}; after {actions:?}")))
    }

    fn after(&mut self, seconds: f64, what: What) {
        self.at(self.now + Duration::from_secs_f64(seconds), what);
    }

    fn at(&mut self, when: Duration, what: What) {
        self.sequence += 1;
        self.queue.insert((when, self.sequence), what);
    }

    fn chance(&mut self, likely: f64) -> bool {
        likely > 0.0 && self.random.random_bool(likely.min(1.0))
    }
}
