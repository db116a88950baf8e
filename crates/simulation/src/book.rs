//! The promises of the scheduler, checked with a book of their own.
//!
//! Nothing here asks the scheduler what it believes, but to compare it with what follows from what it was
//! told and what it decided.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use verbatim_scheduler::{
    Action, DropCause, Ended, Exit, GroupId, Input, Mode, Rules, Running, Scheduler, SessionId, Step,
    StopCause, TurnId,
};

/// A promise that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("seed {seed}, at {at:?}, on {input}: {what}")]
pub struct Broken {
    /// The seed of the history.
    pub seed: u64,
    /// When.
    pub at: Duration,
    /// What had happened.
    pub input: String,
    /// What is wrong.
    pub what: String,
}

/// A place of a Group.
#[derive(Clone, Debug, Default)]
struct Place {
    attempt: u32,
    launched: bool,
    alive: bool,
    stopped: bool,
    succeeded: bool,
    active: Duration,
    aborts: u32,
}

/// How far a Group has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Warming,
    Ready,
    Leased { step: Step, trained: Step },
    Finalised { trained: Step },
}

#[derive(Clone, Debug)]
struct Group {
    at: At,
    protected: bool,
    /// Its sessions were told to end.
    stopped: bool,
    /// Places that may fail.
    spare: usize,
    seated: Option<Duration>,
    places: Vec<Place>,
}

impl Group {
    /// Whether it can come to nothing but a drop.
    fn is_leaving(&self) -> bool {
        let lost = self.places.iter().filter(|place| place.launched && !place.alive && !place.succeeded);
        self.stopped || lost.count() > self.spare
    }
}

/// What a turn is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// Held; whether it was told to wait after a failed attempt.
    Held {
        paused: bool,
    },
    Running,
    /// Whether a closing step aborted it.
    Aborting {
        by_step: bool,
    },
    Leaving,
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    session: SessionId,
    doing: Doing,
}

/// The book.
#[derive(Debug)]
pub(crate) struct Book {
    rules: Rules,
    permits: usize,
    open: bool,
    /// The latest step, whether it still takes Groups, and those it has.
    step: Step,
    takes: bool,
    closed: Step,
    accepted: Vec<GroupId>,
    was_last: bool,
    trained: Step,
    dry: bool,
    interrupted: bool,
    groups: BTreeMap<GroupId, Group>,
    over: BTreeSet<GroupId>,
    discarded: BTreeSet<GroupId>,
    turns: BTreeMap<TurnId, Turn>,
    finalised: Vec<GroupId>,
    time: Duration,
    /// The steps between the weights of the last accepted Group and those its step is trained on.
    pub(crate) lag: u64,
}

type Checked = Result<(), String>;

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(what()) }
}

impl Book {
    pub(crate) fn new(rules: Rules, permits: usize) -> Self {
        Self {
            rules,
            permits,
            open: true,
            step: Step(0),
            takes: false,
            closed: Step(0),
            accepted: Vec::new(),
            was_last: false,
            trained: Step(0),
            dry: false,
            interrupted: false,
            groups: BTreeMap::new(),
            over: BTreeSet::new(),
            discarded: BTreeSet::new(),
            turns: BTreeMap::new(),
            finalised: Vec::new(),
            time: Duration::ZERO,
            lag: 0,
        }
    }

    fn is_async(&self) -> bool {
        matches!(self.rules.mode(), Mode::Async { .. })
    }

    fn is_final(&self) -> bool {
        self.rules.asked().steps.is_some_and(|steps| self.step.0 >= steps)
    }

    /// Whether a session's Group may sample now, the outer gate aside.
    fn samples(&self, group: &Group) -> bool {
        matches!(group.at, At::Leased { .. })
            && !group.is_leaving()
            && (self.takes || self.is_async() || group.protected)
    }

    fn running(&self, of: impl Fn(&Turn) -> bool) -> usize {
        let run = self.turns.values().filter(|turn| !matches!(turn.doing, Doing::Held { .. }));
        run.filter(|turn| of(turn)).count()
    }

    fn place(&mut self, session: SessionId) -> Option<&mut Place> {
        let place = self.groups.get_mut(&session.group)?.places.get_mut(session.place as usize)?;
        (place.attempt == session.attempt && place.alive).then_some(place)
    }

    /// Time passes up to `now`, then `input` happens.
    pub(crate) fn input(&mut self, now: Duration, input: &Input) {
        let passed = now - self.time;
        self.time = now;
        if self.open {
            let active: Vec<_> =
                self.groups.iter().filter(|(_, g)| self.samples(g)).map(|(id, _)| *id).collect();
            for id in active {
                let places = self.groups.get_mut(&id).map(|group| group.places.as_mut_slice());
                let run = places.into_iter().flatten().filter(|place| place.alive && !place.stopped);
                run.for_each(|place| place.active += passed);
            }
        }
        match *input {
            Input::Arrived(turn, Some(session)) => {
                self.turns.insert(turn, Turn { session, doing: Doing::Held { paused: false } });
            }
            Input::Ended(turn, ended) => self.ended(turn, ended),
            Input::Left(turn) => self.left(turn),
            Input::CloseGate(_) => self.open = false,
            Input::OpenGate => self.open = true,
            Input::Trained(step) => self.trained = self.trained.max(step),
            Input::Exited(session, exit) => self.exited(session, exit),
            Input::Exhausted(group) => {
                self.dry = true;
                self.groups.remove(&group);
                self.over.insert(group);
            }
            Input::Interrupt => {
                (self.interrupted, self.dry) = (true, true);
                let unfinished = self.groups.values_mut().filter(|g| !matches!(g.at, At::Finalised { .. }));
                unfinished.for_each(|group| group.stopped = true);
            }
            Input::Discard(group) => {
                self.discarded.insert(group);
                let unfinished =
                    self.groups.get_mut(&group).filter(|g| !matches!(g.at, At::Finalised { .. }));
                unfinished.into_iter().for_each(|group| group.stopped = true);
            }
            Input::Arrived(_, None) | Input::OpenStep(_) | Input::Tick => {}
        }
    }

    fn ended(&mut self, id: TurnId, ended: Ended) {
        let Some(turn) = self.turns.get_mut(&id) else { return };
        let by_step = turn.doing == Doing::Aborting { by_step: true };
        let ours = matches!(turn.doing, Doing::Aborting { .. });
        if turn.doing == Doing::Leaving || ended == Ended::Over {
            self.turns.remove(&id);
            return;
        }
        let progress = ended == Ended::Aborted { progress: true };
        turn.doing = Doing::Held { paused: !ours && !progress };
        let session = turn.session;
        if by_step && let Some(place) = self.place(session) {
            place.aborts += 1;
        }
    }

    fn left(&mut self, id: TurnId) {
        match self.turns.get_mut(&id) {
            Some(Turn { doing: Doing::Held { .. }, .. }) => {
                self.turns.remove(&id);
            }
            Some(turn) => turn.doing = Doing::Leaving,
            None => {}
        }
    }

    fn exited(&mut self, session: SessionId, exit: Exit) {
        let of: Vec<_> =
            self.turns.iter().filter(|(_, turn)| turn.session == session).map(|(id, _)| *id).collect();
        of.into_iter().for_each(|turn| self.left(turn));
        let Some(place) = self.place(session) else { return };
        place.alive = false;
        place.succeeded = exit == Exit::Succeeded;
        if let Some(group) = self.groups.get_mut(&session.group)
            && matches!(group.at, At::Warming | At::Ready)
        {
            if group.at == At::Ready {
                (group.at, group.seated) = (At::Warming, None);
            }
            if let Some(place) = group.places.get_mut(session.place as usize) {
                place.succeeded = false;
            }
        }
    }

    /// The scheduler decided on `action`, because of `input`.
    pub(crate) fn action(&mut self, input: &Input, action: &Action) -> Checked {
        match *action {
            Action::Dispatch(turn) => self.dispatch(turn),
            Action::Abort(turn) => self.abort(input, turn),
            Action::Expire(turn) => {
                let held = matches!(self.turns.remove(&turn), Some(Turn { doing: Doing::Held { .. }, .. }));
                ensure(held, || format!("{turn:?} expired and was not held"))
            }
            Action::Begin(group) => {
                let places = vec![Place::default(); self.rules.asked().group_size];
                let spare = places.len() - self.rules.asked().needed;
                let fresh =
                    Group { at: At::Warming, protected: false, stopped: false, spare, seated: None, places };
                ensure(!self.dry, || format!("{group:?} began though nothing may"))?;
                let new = self.groups.insert(group, fresh).is_none() && !self.over.contains(&group);
                ensure(new, || format!("{group:?} began twice"))
            }
            Action::Launch(session) => self.launch(session),
            Action::Stop(session, cause) => self.stop(session, cause),
            Action::Ready(group) => self.ready(group),
            Action::Lease(group, step) => self.lease(group, step),
            Action::Protect(group) => {
                let group = self.groups.get_mut(&group).ok_or("an unknown Group was protected")?;
                group.protected = true;
                let most = self.rules.asked().max_aborted_count;
                let often = group.places.iter().any(|place| most.is_some_and(|most| place.aborts >= most));
                ensure(often, || format!("a Group was protected too early: {group:?}"))
            }
            Action::Finalise(group) => self.finalise(group),
            Action::Accept { group, step, is_last } => self.accept(group, step, is_last),
            Action::Dropped(group, cause) => self.dropped(group, cause),
            Action::StepOpened(step) => self.step_opened(step),
            Action::StepClosed(step) => self.step_closed(step),
        }
    }

    fn dispatch(&mut self, id: TurnId) -> Checked {
        let turn = *self.turns.get(&id).ok_or("an unknown turn was dispatched")?;
        ensure(matches!(turn.doing, Doing::Held { .. }), || {
            format!("{id:?} was dispatched while {:?}", turn.doing)
        })?;
        ensure(self.open, || format!("{id:?} was dispatched through the closed gate"))?;
        let group = self.groups.get(&turn.session.group).ok_or("a turn of no Group was dispatched")?;
        let At::Leased { step, .. } = group.at else {
            return Err(format!("{id:?} was dispatched, its Group {:?}", group.at));
        };
        ensure(self.samples(group), || format!("{id:?} was dispatched after its step was complete"))?;
        ensure(self.is_async() || step == self.step, || {
            format!("{id:?} was dispatched with the stamp {step:?}")
        })?;
        let takes = self.place(turn.session).is_some_and(|place| !place.stopped);
        ensure(takes, || format!("{id:?} was dispatched of a session that is over"))?;
        if let Some(turn) = self.turns.get_mut(&id) {
            turn.doing = Doing::Running;
        }
        Ok(())
    }

    fn abort(&mut self, input: &Input, id: TurnId) -> Checked {
        let turn = *self.turns.get(&id).ok_or("an unknown turn was aborted")?;
        let expected = match *input {
            Input::Left(left) if left == id => turn.doing == Doing::Leaving,
            Input::Exited(session, _) if session == turn.session => turn.doing == Doing::Leaving,
            _ => turn.doing == Doing::Running,
        };
        ensure(expected, || format!("{id:?} was aborted while {:?}", turn.doing))?;
        if turn.doing != Doing::Running {
            return Ok(());
        }
        let by_step = *input != Input::CloseGate(Running::Abort);
        if by_step {
            let group = self.groups.get(&turn.session.group);
            let leaving = group.is_none_or(|group| group.is_leaving());
            let closes = !self.takes && !self.is_async();
            ensure(leaving || closes, || format!("{id:?} was aborted and nothing closed"))?;
            let protected = group.is_some_and(|group| group.protected && !group.is_leaving());
            ensure(!protected, || format!("{id:?} was aborted though its Group is protected"))?;
        }
        if let Some(turn) = self.turns.get_mut(&id) {
            turn.doing = Doing::Aborting { by_step };
        }
        Ok(())
    }

    fn launch(&mut self, session: SessionId) -> Checked {
        let retries = self.rules.asked().retries;
        let group = self.groups.get_mut(&session.group).ok_or("an agent was launched for no Group")?;
        ensure(!group.stopped, || format!("{session:?} was launched for a Group that is dropped"))?;
        let place =
            group.places.get_mut(session.place as usize).ok_or("an agent was launched in no place")?;
        let next = if place.launched { place.attempt + 1 } else { 0 };
        ensure(!place.alive && !place.succeeded && session.attempt == next && next <= retries, || {
            format!("{session:?} was launched over {place:?}")
        })?;
        *place = Place { attempt: next, launched: true, alive: true, ..Place::default() };
        Ok(())
    }

    fn stop(&mut self, session: SessionId, cause: StopCause) -> Checked {
        let budget = self.rules.asked().agent_time;
        let place =
            self.place(session).ok_or_else(|| format!("{session:?} was stopped and does not live"))?;
        ensure(!place.stopped, || format!("{session:?} was stopped twice"))?;
        place.stopped = true;
        let active = place.active;
        match cause {
            StopCause::Timeout => {
                ensure(active >= budget, || format!("{session:?} timed out after {active:?} of {budget:?}"))
            }
            StopCause::Dropped => {
                if let Some(group) = self.groups.get_mut(&session.group) {
                    group.stopped = true;
                }
                Ok(())
            }
        }
    }

    fn ready(&mut self, id: GroupId) -> Checked {
        let group = self.groups.get(&id).ok_or("an unknown Group is ready")?;
        ensure(group.at == At::Warming, || format!("{id:?} is ready while {:?}", group.at))?;
        for (at, place) in group.places.iter().enumerate() {
            let session = SessionId { group: id, place: at as u32, attempt: place.attempt };
            let waits = self
                .turns
                .values()
                .any(|turn| turn.session == session && matches!(turn.doing, Doing::Held { .. }));
            ensure(place.launched && (!place.alive || waits), || {
                format!("{id:?} crossed its barrier and {session:?} has no request: {place:?}")
            })?;
        }
        if let Some(group) = self.groups.get_mut(&id) {
            group.at = At::Ready;
        }
        Ok(())
    }

    fn lease(&mut self, id: GroupId, step: Step) -> Checked {
        let (trained, barrier) = (self.trained, self.rules.asked().barrier);
        let asked = self.rules.asked();
        let over = if self.is_final() { 0 } else { asked.over_sampling };
        let room = (asked.batch - self.accepted.len().min(asked.batch)) + over;
        let leased =
            self.groups.values().filter(|g| matches!(g.at, At::Leased { .. }) && !g.is_leaving()).count();
        let there = leased + self.finalised.len();
        let current = if self.takes || !self.is_async() { self.step } else { Step(self.closed.0 + 1) };
        let (takes, is_async) = (self.takes, self.is_async());
        let group = self.groups.get_mut(&id).ok_or("an unknown Group was leased")?;
        ensure(step == current, || format!("{id:?} was leased for {step:?}, and the step is {current:?}"))?;
        ensure(takes || is_async, || format!("{id:?} was leased, and no step is open"))?;
        group.at = match group.at {
            At::Leased { trained, .. } => At::Leased { step, trained },
            At::Warming if barrier.is_some() => return Err(format!("{id:?} was leased before its barrier")),
            At::Warming | At::Ready => {
                ensure(is_async || there < room, || {
                    format!("{id:?} was leased, and its step has {there} of {room} Groups")
                })?;
                At::Leased { step, trained }
            }
            At::Finalised { .. } => return Err(format!("{id:?} was leased after its end")),
        };
        Ok(())
    }

    /// Nothing of a Group lives or runs.
    fn is_gone(&self, id: GroupId, group: &Group) -> Checked {
        ensure(!group.places.iter().any(|place| place.alive), || format!("{id:?} ended and an agent lives"))?;
        let runs = self.running(|turn| turn.session.group == id);
        ensure(runs == 0, || format!("{id:?} ended and {runs} attempts run"))
    }

    fn finalise(&mut self, id: GroupId) -> Checked {
        let group = self.groups.get(&id).ok_or("an unknown Group finished")?;
        self.is_gone(id, group)?;
        let succeeded = group.places.iter().filter(|place| place.succeeded).count();
        ensure(succeeded >= self.rules.asked().needed, || {
            format!("{id:?} finished with {succeeded} sessions")
        })?;
        let At::Leased { trained, .. } = group.at else {
            return Err(format!("{id:?} finished while {:?}", group.at));
        };
        if let Some(group) = self.groups.get_mut(&id) {
            group.at = At::Finalised { trained };
        }
        self.finalised.push(id);
        Ok(())
    }

    fn accept(&mut self, id: GroupId, step: Step, is_last: bool) -> Checked {
        let batch = self.rules.asked().batch;
        let group = self.groups.remove(&id).ok_or_else(|| format!("{id:?} was accepted and is not there"))?;
        let At::Finalised { trained } = group.at else {
            return Err(format!("{id:?} was accepted while {:?}", group.at));
        };
        self.over.insert(id);
        ensure(self.takes && step == self.step, || format!("{id:?} was accepted into {step:?}"))?;
        ensure(self.accepted.len() < batch && !self.was_last, || {
            format!("{id:?} was accepted into a full step")
        })?;
        ensure(self.is_async() || self.finalised.first() == Some(&id), || {
            format!("{id:?} was accepted before {:?}", self.finalised.first())
        })?;
        self.finalised.retain(|other| *other != id);
        self.accepted.push(id);
        self.lag = (step.0 - 1).saturating_sub(trained.0);
        if let Mode::Async { staleness } = self.rules.mode() {
            ensure(self.lag <= staleness, || format!("{id:?} is {} steps stale in {step:?}", self.lag))?;
        }
        let full = self.accepted.len() == batch;
        ensure(is_last == full, || format!("{id:?} is told as the last of {step:?}: {is_last}"))?;
        (self.was_last, self.takes) = (is_last, !is_last);
        Ok(())
    }

    fn dropped(&mut self, id: GroupId, cause: DropCause) -> Checked {
        let group = self.groups.remove(&id).ok_or_else(|| format!("{id:?} was dropped and is not there"))?;
        self.over.insert(id);
        self.finalised.retain(|other| *other != id);
        self.is_gone(id, &group)?;
        let late = || {
            let barrier = self.rules.asked().barrier?;
            Some(group.seated? + barrier <= self.time)
        };
        let true_cause = match cause {
            DropCause::Surplus => self.rules.mode() == Mode::Sync || self.is_final(),
            DropCause::Interrupted => self.interrupted,
            DropCause::Barrier => late() == Some(true),
            DropCause::Failed => {
                let succeeded = group.places.iter().filter(|place| place.succeeded).count();
                succeeded < self.rules.asked().needed
            }
            DropCause::Discarded => self.discarded.contains(&id),
        };
        ensure(true_cause, || format!("{id:?} was dropped for {cause:?}: {group:?}"))
    }

    fn step_opened(&mut self, step: Step) -> Checked {
        let runs = self.running(|_| true);
        ensure(self.is_async() || runs == 0, || {
            format!("{step:?} opened with {runs} attempts of the step before")
        })?;
        ensure(!self.takes && step.0 == self.closed.0 + 1, || {
            format!("{step:?} opened after {:?}", self.closed)
        })?;
        (self.step, self.takes, self.was_last) = (step, true, false);
        self.accepted.clear();
        Ok(())
    }

    fn step_closed(&mut self, step: Step) -> Checked {
        ensure(step == self.step && self.closed < step, || format!("{step:?} closed in {:?}", self.step))?;
        self.closed = step;
        self.takes = false;
        let left = self.groups.values().filter(|g| !g.is_leaving()).count();
        let full = self.accepted.len() == self.rules.asked().batch;
        ensure(full || self.dry && left == 0, || {
            format!("{step:?} closed short with {left} Groups to come")
        })?;
        if self.is_async() {
            return Ok(());
        }
        let runs = self.running(|_| true);
        ensure(runs == 0, || format!("{step:?} closed and {runs} attempts run"))?;
        let goes_on = |g: &Group| g.places.iter().any(|place| place.alive && !place.stopped);
        let kept = self.groups.iter().find(|(_, g)| matches!(g.at, At::Leased { .. }) && goes_on(g));
        ensure(self.rules.mode() != Mode::Sync || kept.is_none(), || {
            format!("{step:?} is over, and keeps {:?}", kept.map(|(id, _)| id))
        })?;
        let protected = self
            .groups
            .iter()
            .find(|(_, g)| g.protected && !g.is_leaving() && matches!(g.at, At::Leased { .. }));
        ensure(protected.is_none(), || {
            format!("{step:?} closed before protected {:?}", protected.map(|(id, _)| id))
        })
    }

    /// What must hold between steps of the scheduler.
    pub(crate) fn after(&mut self, scheduler: &Scheduler) -> Checked {
        for group in self.groups.values_mut() {
            if group.seated.is_none() && group.places.iter().all(|place| place.launched) {
                group.seated = Some(self.time);
            }
        }
        // A step that can get no more Groups takes none, though it may have to wait for attempts.
        self.takes &= !(self.dry && self.groups.values().all(|group| group.is_leaving()));
        let asked = self.rules.asked();
        let running = self.running(|_| true);
        let waiting = self.turns.len() - running;
        ensure(running == scheduler.running() && waiting == scheduler.waiting(), || {
            format!("{running} attempts run and {waiting} wait; told {scheduler:?}")
        })?;
        ensure(running <= self.permits, || format!("{running} attempts run with {} permits", self.permits))?;
        let debt = if self.takes { asked.batch - self.accepted.len() } else { 0 };
        ensure(debt == scheduler.debt(), || format!("the debt is {debt}, not {}", scheduler.debt()))?;
        let living = self.groups.values().flat_map(|g| &g.places).filter(|place| place.alive).count();
        ensure(living <= asked.agents, || format!("{living} agents live"))?;
        let resident = self.groups.values().filter(|g| !matches!(g.at, At::Finalised { .. })).count();
        ensure(resident <= asked.resident && resident == scheduler.groups(), || {
            format!("{resident} Groups are there, not {}", scheduler.groups())
        })?;
        self.nothing_waits_in_vain(running)?;
        self.nothing_is_late()?;
        self.nothing_runs_on()?;
        let over = if self.is_final() { 0 } else { asked.over_sampling };
        let under_way = self.groups.values().filter(|g| !g.is_leaving()).count();
        let short = self.takes && !self.dry && !self.is_async() && under_way < debt + over;
        ensure(!short || resident == asked.resident, || {
            format!("{under_way} Groups are under way for {debt}")
        })?;
        match self.groups.values().flat_map(|g| &g.places).find(|place| {
            matches!(self.rules.mode(), Mode::Partial { max_aborted_count: Some(most) } if !place.stopped && place.aborts > most)
        }) {
            Some(place) => Err(format!("a session was aborted too often: {place:?}")),
            None => Ok(()),
        }
    }

    fn nothing_waits_in_vain(&self, running: usize) -> Checked {
        if !self.open || running == self.permits {
            return Ok(());
        }
        let vain = self.turns.iter().find(|(_, turn)| {
            let place = |g: &Group| g.places.get(turn.session.place as usize).cloned().unwrap_or_default();
            turn.doing == (Doing::Held { paused: false })
                && self.groups.get(&turn.session.group).is_some_and(|group| {
                    let place = place(group);
                    self.samples(group)
                        && place.alive
                        && !place.stopped
                        && place.attempt == turn.session.attempt
                })
        });
        ensure(vain.is_none(), || format!("a permit is free and {vain:?} waits"))
    }

    /// A complete step has aborted what it does not protect.
    fn nothing_runs_on(&self) -> Checked {
        let on = self.turns.iter().find(|(_, turn)| {
            let group = self.groups.get(&turn.session.group);
            turn.doing == Doing::Running && group.is_none_or(|group| !group.protected)
        });
        let closed = !self.takes && !self.is_async();
        ensure(!closed || on.is_none(), || format!("{:?} is complete and {on:?} runs on", self.step))
    }

    fn nothing_is_late(&self) -> Checked {
        let asked = self.rules.asked();
        for (id, group) in &self.groups {
            if let (Some(seated), Some(barrier), At::Warming) = (group.seated, asked.barrier, group.at) {
                ensure(group.is_leaving() || self.time < seated + barrier, || {
                    format!("{id:?} is late at its barrier")
                })?;
            }
            let samples = self.open && self.samples(group);
            let late = |place: &&Place| place.alive && !place.stopped && place.active >= asked.agent_time;
            let late = group.places.iter().find(late);
            ensure(!samples || late.is_none(), || format!("an agent of {id:?} has no time left: {late:?}"))?;
        }
        Ok(())
    }

    /// Nothing may be left at the end.
    pub(crate) fn end(&self) -> Checked {
        ensure(self.groups.is_empty() && self.turns.is_empty(), || {
            format!("left behind: {:?} {:?}", self.groups, self.turns)
        })
    }
}
