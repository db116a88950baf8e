//! The promises of the scheduler, checked with a book of their own.
//!
//! Nothing here asks the scheduler what it believes, but to compare it with what follows from what it was
//! told and what it decided. What is told is entered in [`told`]; what it decides is checked by [`turns`], [`groups`]
//! and [`steps`]; what must hold whenever it has decided, by [`between`].

mod between;
mod groups;
mod steps;
mod told;
mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use verbatim_scheduler::{
    Action, Budget, Cost, GroupId, Input, Mode, Rules, SessionId, Step, TurnId, Unwanted,
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
    Leased {
        step: Step,
        trained: Step,
    },
    /// Whether its rewards are there.
    Scoring {
        trained: Step,
        scored: bool,
    },
    Finalised {
        trained: Step,
    },
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
    cost: Cost,
    doing: Doing,
    /// When it was last held.
    since: Duration,
}

/// The book.
#[derive(Debug)]
pub(crate) struct Book {
    rules: Rules,
    permits: usize,
    budget: Option<Budget>,
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
    /// Groups that failed since the last one that was scored.
    failures: u32,
    groups: BTreeMap<GroupId, Group>,
    over: BTreeSet<GroupId>,
    unwanted: BTreeSet<(GroupId, Unwanted)>,
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
    pub(crate) fn new(rules: Rules, permits: usize, budget: Option<Budget>) -> Self {
        Self {
            rules,
            permits,
            budget,
            open: true,
            step: Step(0),
            takes: false,
            closed: Step(0),
            accepted: Vec::new(),
            was_last: false,
            trained: Step(0),
            dry: false,
            interrupted: false,
            failures: 0,
            groups: BTreeMap::new(),
            over: BTreeSet::new(),
            unwanted: BTreeSet::new(),
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

    /// What the turns that run cost.
    fn used(&self) -> u64 {
        let run = self.turns.values().filter(|turn| !matches!(turn.doing, Doing::Held { .. }));
        run.map(|turn| turn.cost.0).sum()
    }

    fn running(&self, of: impl Fn(&Turn) -> bool) -> usize {
        let run = self.turns.values().filter(|turn| !matches!(turn.doing, Doing::Held { .. }));
        run.filter(|turn| of(turn)).count()
    }

    fn place(&mut self, session: SessionId) -> Option<&mut Place> {
        let place = self.groups.get_mut(&session.group)?.places.get_mut(session.place as usize)?;
        (place.attempt == session.attempt && place.alive).then_some(place)
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
            Action::Score(group) => self.score(group),
            Action::Finalise(group) => self.finalise(group),
            Action::Accept { group, step, is_last } => self.accept(group, step, is_last),
            Action::Dropped(group, cause) => self.dropped(group, cause),
            Action::GaveUp(failures) => {
                let most = self.rules.asked().give_up;
                let told = failures == self.failures && most.is_some_and(|most| failures >= most.get());
                ensure(told && !self.dry, || format!("{failures} failures and not {}", self.failures))?;
                self.interrupt();
                Ok(())
            }
            Action::StepOpened { step, .. } => self.step_opened(step),
            Action::StepClosed(step) => self.step_closed(step),
        }
    }
}
