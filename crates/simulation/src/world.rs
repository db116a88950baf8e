//! What happens, in the order of its time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use verbatim_scheduler::{
    Action, DropCause, Ended, Exit, GroupId, Input, Limits, Rules, Scheduler, SessionId, Step, StopCause,
    TurnId,
};

use crate::agent::{Agent, Fate};
use crate::book::{Book, Broken};
use crate::engine::{Attempt, Turn};
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
    /// A filter does not want a Group.
    Discards(GroupId),
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
    let limits = Limits { turns: setup.permits, hold: setup.hold };
    let mut world = World {
        setup,
        random: ChaCha8Rng::seed_from_u64(setup.seed ^ 0x5eed),
        scheduler: Scheduler::resident(limits, rules.clone()),
        is_async: setup.asked.mode == "async",
        book: Book::new(rules, setup.permits),
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

    // What the scheduler wants.

    fn act(&mut self, action: Action) {
        match action {
            Action::Begin(group) => match self.tasks.checked_sub(1) {
                Some(left) => self.tasks = left,
                None => {
                    self.without_task.insert(group);
                    self.inputs.push_back(Input::Exhausted(group));
                }
            },
            Action::Launch(session) => {
                if !self.without_task.contains(&session.group) {
                    let agent = Agent::drawn(self.setup, &mut self.random);
                    self.agents.insert(session, agent);
                    let start = self.setup.workload.start.draw(&mut self.random);
                    self.after(start, What::Ask(session));
                    let dies = self.setup.faults.agent_dies;
                    if self.chance(dies) {
                        let when = self.random.random_range(0.0..200.0);
                        self.after(when, What::Ends(session, Exit::Failed { again: true }));
                    }
                }
            }
            Action::Stop(session, cause) => {
                let again = cause == StopCause::Timeout;
                let grace = self.random.random_range(0.0..5.0);
                self.after(grace, What::Ends(session, Exit::Failed { again }));
            }
            Action::Dispatch(turn) => self.dispatch(turn),
            Action::Abort(turn) => {
                self.measured.aborted += 1;
                let late = self.setup.faults.abort_late;
                let grace = if self.chance(late) { self.random.random_range(1.0..20.0) } else { 0.01 };
                if let Some(attempts) = self.turns.get_mut(&turn).map(|turn| {
                    if let Some(attempt) = &mut turn.running {
                        attempt.aborting = true;
                    }
                    turn.attempts
                }) {
                    self.after(grace, What::Aborted(turn, attempts));
                }
            }
            Action::Expire(turn) => {
                if let Some(turn) = self.turns.remove(&turn) {
                    self.ends(turn.session, Exit::Failed { again: true });
                }
            }
            Action::Accept { group, .. } => {
                self.measured.accepted += 1;
                self.measured.useful_tokens += self.tokens.remove(&group).unwrap_or(0);
                self.measured.staleness = self.measured.staleness.max(self.book.lag);
            }
            Action::Dropped(_, DropCause::Surplus) => self.measured.surplus += 1,
            Action::Dropped(..) => self.measured.dropped += 1,
            Action::StepOpened(step) => {
                if step > Step(1) {
                    self.measured.cycles.push(self.now - self.opened);
                }
                self.opened = self.now;
            }
            Action::StepClosed(step) => self.closed(step),
            Action::Lease(group, _) => {
                let discards = self.setup.faults.discards;
                if self.chance(discards) {
                    let when = self.random.random_range(0.0..60.0);
                    self.after(when, What::Discards(group));
                }
            }
            Action::Ready(_) | Action::Protect(_) | Action::Finalise(_) => {}
        }
    }

    fn dispatch(&mut self, id: TurnId) {
        let (fails, now) = (self.setup.faults.attempt_fails, self.now);
        let fails = self.chance(fails);
        let fraction = self.random.random::<f64>();
        let Some(turn) = self.turns.get_mut(&id) else { return };
        turn.attempts += 1;
        turn.running = Some(Attempt { since: now, aborting: false });
        let (rest, attempts) = (turn.rest(&self.setup.workload), turn.attempts);
        if fails {
            self.at(now + rest.mul_f64(fraction), What::Fails(id, attempts));
        } else {
            self.at(now + rest, What::Sampled(id, attempts));
        }
    }

    fn closed(&mut self, step: Step) {
        self.measured.steps.push(self.now - self.opened);
        self.measured.took = self.now;
        self.measured.capacity = self.now * self.setup.permits as u32;
        if let Some(step) = self.trainer.take(step) {
            self.train(step);
        }
        if self.is_async {
            self.inputs.push_back(Input::OpenStep(None));
        }
    }

    fn train(&mut self, step: Step) {
        let seconds = self.setup.trainer.train.draw(&mut self.random);
        self.after(seconds, What::Trained(step));
    }

    // What happens by itself.

    fn happen(&mut self, what: What) {
        match what {
            What::Ask(session) => self.ask(session),
            What::Ends(session, exit) => self.ends(session, exit),
            What::Gone(session, exit) => self.gone(session, exit),
            What::Sampled(turn, attempt) => {
                if self.runs(turn, attempt) {
                    self.complete(turn);
                }
            }
            What::Fails(turn, attempt) => {
                if self.runs(turn, attempt) {
                    let keep = self.random.random_bool(0.5);
                    self.interrupt(turn, keep);
                }
            }
            What::Aborted(turn, attempt) => {
                let finishes = self.setup.faults.abort_finishes;
                if self.runs(turn, attempt) {
                    if self.chance(finishes) { self.complete(turn) } else { self.interrupt(turn, true) }
                }
            }
            What::Retries(id) => {
                if let Some(turn) = self.turns.get_mut(&id)
                    && !turn.left
                {
                    turn.left = true;
                    let (session, runs) = (turn.session, turn.running.is_some());
                    if !runs {
                        self.turns.remove(&id);
                    }
                    self.inputs.push_back(Input::Left(id));
                    if let Some(agent) = self.agents.get_mut(&session) {
                        agent.turn = None;
                    }
                    self.after(1.0, What::Ask(session));
                }
            }
            What::Trained(step) => {
                self.inputs.push_back(Input::CloseGate(self.setup.trainer.running));
                let seconds = self.setup.trainer.update.draw(&mut self.random);
                self.after(seconds, What::Updated(step));
            }
            What::Updated(step) => {
                self.inputs.push_back(Input::Trained(step));
                if !self.is_async {
                    self.inputs.push_back(Input::OpenStep(None));
                }
                self.inputs.push_back(Input::OpenGate);
                if let Some(next) = self.trainer.done() {
                    self.train(next);
                }
            }
            What::Restart => {
                let running: Vec<_> = self.turns.iter().filter(|(_, turn)| turn.running.is_some()).collect();
                for turn in running.into_iter().map(|(id, _)| *id).collect::<Vec<_>>() {
                    self.interrupt(turn, true);
                }
                self.after(self.setup.faults.restart_every.max(20.0), What::Restart);
            }
            What::Pause => {
                self.inputs.push_back(Input::CloseGate(self.setup.trainer.running));
                self.after(2.0, What::Unpause);
                self.after(self.setup.faults.pause_every.max(10.0), What::Pause);
            }
            What::Unpause => self.inputs.push_back(Input::OpenGate),
            What::Discards(group) => self.inputs.push_back(Input::Discard(group)),
            What::Interrupt => self.inputs.push_back(Input::Interrupt),
        }
    }

    fn runs(&self, turn: TurnId, attempt: u64) -> bool {
        self.turns.get(&turn).is_some_and(|turn| turn.running.is_some() && turn.attempts == attempt)
    }

    fn ask(&mut self, session: SessionId) {
        let Some(agent) = self.agents.get_mut(&session) else { return };
        if agent.ending || agent.turn.is_some() {
            return;
        }
        match agent.fate {
            Fate::Dies(at) if at == agent.at => return self.ends(session, Exit::Failed { again: true }),
            Fate::Hangs(at) if at == agent.at => return,
            Fate::ExitsEarly => return self.ends(session, Exit::Succeeded),
            _ => {}
        }
        let Some(part) = agent.parts.get(agent.at).copied() else { return };
        let id = TurnId(self.turn);
        self.turn += 1;
        agent.turn = Some(id);
        let context = agent.context;
        let turn = Turn {
            session,
            tokens: part.tokens,
            sampled: 0,
            context,
            attempts: 0,
            running: None,
            left: false,
        };
        self.turns.insert(id, turn);
        self.inputs.push_back(Input::Arrived(id, Some(session)));
        let retries = self.setup.faults.client_retries;
        if self.chance(retries) {
            let patience = self.random.random_range(0.0..60.0);
            self.after(patience, What::Retries(id));
        }
    }

    /// A turn has all its tokens.
    fn complete(&mut self, id: TurnId) {
        let Some(turn) = self.turns.remove(&id) else { return };
        let rest = turn.tokens - turn.sampled;
        self.measured.sampled_tokens += rest;
        self.inputs.push_back(Input::Ended(id, Ended::Over));
        if turn.left {
            return;
        }
        *self.tokens.entry(turn.session.group).or_default() += turn.tokens;
        let Some(agent) = self.agents.get_mut(&turn.session) else { return };
        agent.turn = None;
        let Some(part) = agent.parts.get(agent.at).copied() else { return };
        agent.at += 1;
        agent.context += part.tokens;
        if agent.at == agent.parts.len() {
            self.ends(turn.session, Exit::Succeeded);
        } else {
            self.at(self.now + part.tool, What::Ask(turn.session));
        }
    }

    /// A turn's attempt ends before its end.
    fn interrupt(&mut self, id: TurnId, keep: bool) {
        let (workload, now) = (&self.setup.workload, self.now);
        let Some(turn) = self.turns.get_mut(&id) else { return };
        let sampled = turn.so_far(workload, now);
        self.measured.sampled_tokens += sampled;
        if keep {
            turn.sampled += sampled;
        }
        let progress = keep && sampled > 0;
        if keep && turn.sampled == turn.tokens {
            // Nothing is left to sample: it is over, whatever the engine says.
            self.measured.sampled_tokens -= sampled;
            turn.sampled -= sampled;
            return self.complete(id);
        }
        turn.running = None;
        // A turn that nobody waits for wants no other attempt.
        let ended = if turn.left { Ended::Over } else { Ended::Aborted { progress } };
        if turn.left {
            self.turns.remove(&id);
        }
        self.inputs.push_back(Input::Ended(id, ended));
    }

    /// An agent's process is over; what it asked for goes with it.
    fn ends(&mut self, session: SessionId, exit: Exit) {
        let Some(agent) = self.agents.get_mut(&session) else { return };
        if agent.ending {
            return;
        }
        agent.ending = true;
        if let Some(id) = agent.turn.take()
            && let Some(turn) = self.turns.get_mut(&id)
        {
            let runs = turn.running.is_some();
            turn.left = true;
            // A request that is held may also go with its session only.
            if runs || self.random.random_bool(0.5) {
                if !runs {
                    self.turns.remove(&id);
                }
                self.inputs.push_back(Input::Left(id));
            }
        }
        let cleanup = self.random.random_range(0.0..1.0);
        self.after(cleanup, What::Gone(session, exit));
    }

    fn gone(&mut self, session: SessionId, exit: Exit) {
        let runs = self.turns.values().any(|turn| turn.session == session && turn.running.is_some());
        if runs {
            return self.after(0.1, What::Gone(session, exit));
        }
        self.turns.retain(|_, turn| turn.session != session);
        self.agents.remove(&session);
        self.inputs.push_back(Input::Exited(session, exit));
    }
}
