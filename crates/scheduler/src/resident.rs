//! The Groups that are there, and what becomes of them.
//!
//! The invariants: a Group begins only if there is room for it, and is leased only if its step needs it; its
//! end is told only once all its sessions have exited; what a step needs is computed from the Groups it has.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::num::NonZeroUsize;
use std::time::Instant;

use crate::ahead::Room;
use crate::group::{DropCause, Finalised, Leased, Leaving, Preparing, Ready};
use crate::step::Steps;
use crate::team::Team;
use crate::{Action, Exit, GroupId, Mode, Rules, SessionId, Step};

/// All Groups of a rollout, by state.
#[derive(Debug)]
pub(crate) struct Resident {
    rules: Rules,
    next: GroupId,
    steps: Steps,
    trained: Step,
    /// No Group begins any more.
    dry: bool,
    /// A step was opened; without one nothing begins.
    started: bool,
    preparing: BTreeMap<GroupId, Preparing>,
    /// In the order in which their barriers were crossed.
    ready: VecDeque<(GroupId, Ready)>,
    leased: BTreeMap<GroupId, Leased>,
    /// In the order in which they finished.
    finalised: VecDeque<Finalised>,
    leaving: BTreeMap<GroupId, Leaving>,
}

impl Resident {
    pub(crate) fn new(rules: Rules) -> Self {
        Self {
            rules,
            next: GroupId(0),
            steps: Steps::Shut { closed: Step(0) },
            trained: Step(0),
            dry: false,
            started: false,
            preparing: BTreeMap::new(),
            ready: VecDeque::new(),
            leased: BTreeMap::new(),
            finalised: VecDeque::new(),
            leaving: BTreeMap::new(),
        }
    }

    // What happened.

    /// Opens the next step and stamps the Groups that go on in it; those that were aborted as often as they
    /// may be are protected in it.
    pub(crate) fn open(&mut self, groups: Option<NonZeroUsize>, out: &mut Vec<Action>) {
        if self.is_over() {
            return;
        }
        let batch = self.rules.asked().batch;
        let size = match self.rules.mode() {
            Mode::Async { .. } => batch,
            Mode::Sync | Mode::Partial { .. } => groups.map_or(batch, NonZeroUsize::get),
        };
        let Some(step) = self.steps.open(size) else { return };
        self.started = true;
        out.push(Action::StepOpened(step));
        for (group, leased) in &mut self.leased {
            leased.step = step;
            out.push(Action::Lease(*group, step));
            if let Mode::Partial { max_aborted_count: Some(most) } = self.rules.mode()
                && leased.team.aborted() >= most
                && !leased.protected
            {
                leased.protected = true;
                out.push(Action::Protect(*group));
            }
        }
    }

    pub(crate) fn trained(&mut self, step: Step) {
        self.trained = self.trained.max(step);
    }

    pub(crate) fn exit(&mut self, session: SessionId, exit: Exit, out: &mut Vec<Action>) {
        let retries = self.rules.asked().retries;
        let group = session.group;
        if let Some(leased) = self.leased.get_mut(&group) {
            leased.team.exit(session, exit, retries, out);
        } else if let Some(leaving) = self.leaving.get_mut(&group) {
            // A Group that was dropped is not tried again.
            leaving.team.exit(session, exit, 0, out);
        } else if let Some(team) = self.warming_mut(group) {
            // An agent that ends before its first request was answered has no result.
            let exit = if exit == Exit::Succeeded { Exit::Failed { again: true } } else { exit };
            if team.exit(session, exit, retries, out) {
                self.unready(group);
            }
        }
    }

    pub(crate) fn discard(&mut self, group: GroupId, cause: DropCause, out: &mut Vec<Action>) {
        let ready = self.ready.iter().position(|(ready, _)| *ready == group);
        let team = if let Some(preparing) = self.preparing.remove(&group) {
            preparing.team
        } else if let Some((_, ready)) = ready.and_then(|at| self.ready.remove(at)) {
            ready.team
        } else if let Some(leased) = self.leased.remove(&group) {
            leased.team
        } else {
            if let Some(at) = self.finalised.iter().position(|finalised| finalised.group == group) {
                self.finalised.remove(at);
                out.push(Action::Dropped(group, cause));
            }
            return;
        };
        let mut leaving = Leaving { team, cause };
        leaving.team.stop(out);
        self.leaving.insert(group, leaving);
    }

    /// There is no task for a Group, nor for any that begins later.
    pub(crate) fn exhaust(&mut self, group: GroupId) {
        self.dry = true;
        self.preparing.remove(&group);
        self.leased.remove(&group);
        self.ready.retain(|(ready, _)| *ready != group);
    }

    pub(crate) fn interrupt(&mut self, out: &mut Vec<Action>) {
        self.dry = true;
        for group in self.unfinished() {
            self.discard(group, DropCause::Interrupted, out);
        }
    }

    /// A closing step aborted an attempt of the session.
    pub(crate) fn aborted(&mut self, session: SessionId) {
        if let Some(leased) = self.leased.get_mut(&session.group) {
            leased.team.count_abort(session);
        }
    }

    // What follows from it.

    /// Carries every Group as far as it can go. `waiting` are the sessions that have a request here.
    /// Whether the step has just shut the gate.
    pub(crate) fn advance(
        &mut self,
        now: Instant,
        waiting: &HashSet<SessionId>,
        out: &mut Vec<Action>,
    ) -> bool {
        self.expire(now, out);
        self.settle(out);
        self.cross(waiting, out);
        self.accept(out);
        let shut = self.close(out);
        self.release(out);
        self.begin(out);
        self.lease(out);
        self.launch(now, out);
        shut
    }

    /// Drops Groups that were too long at their barrier, and ends sessions that used up their time.
    fn expire(&mut self, now: Instant, out: &mut Vec<Action>) {
        let budget = self.rules.asked().agent_time;
        self.leased.values_mut().for_each(|leased| leased.team.time_out(budget, now, out));
        let late =
            self.preparing.iter().filter(|(_, group)| self.deadline(group).is_some_and(|end| end <= now));
        for group in late.map(|(group, _)| *group).collect::<Vec<_>>() {
            self.discard(group, DropCause::Barrier, out);
        }
    }

    fn deadline(&self, group: &Preparing) -> Option<Instant> {
        group.seated?.checked_add(self.rules.asked().barrier?)
    }

    fn cross(&mut self, waiting: &HashSet<SessionId>, out: &mut Vec<Action>) {
        let crossed = self.preparing.iter().filter(|(_, group)| group.has_crossed(waiting));
        for group in crossed.map(|(group, _)| *group).collect::<Vec<_>>() {
            if let Some(preparing) = self.preparing.remove(&group) {
                out.push(Action::Ready(group));
                self.ready.push_back((group, preparing.cross()));
            }
        }
    }

    /// A Group that waits for its lease and lost a session goes back to its barrier.
    fn unready(&mut self, group: GroupId) {
        if let Some(at) = self.ready.iter().position(|(ready, _)| *ready == group)
            && let Some((_, ready)) = self.ready.remove(at)
        {
            self.preparing.insert(group, Preparing::new(ready.team));
        }
    }

    /// Drops Groups that cannot succeed, finishes those that did, and lets go of those that have left.
    fn settle(&mut self, out: &mut Vec<Action>) {
        let needed = self.rules.asked().needed;
        let warming = self.preparing.iter().map(|(group, warm)| (*group, &warm.team));
        let all = warming.chain(self.leased.iter().map(|(group, leased)| (*group, &leased.team)));
        let lost =
            all.filter(|(_, team)| !team.can_reach(needed)).map(|(group, _)| group).collect::<Vec<_>>();
        for group in lost {
            self.discard(group, DropCause::Failed, out);
        }
        let done: Vec<_> = self
            .leased
            .iter()
            .filter(|(_, leased)| leased.team.is_settled())
            .map(|(group, _)| *group)
            .collect();
        for group in done {
            if let Some(leased) = self.leased.remove(&group) {
                out.push(Action::Finalise(group));
                self.finalised.push_back(leased.finalise(group));
            }
        }
        self.release(out);
    }

    /// Tells the end of dropped Groups whose sessions have all exited.
    fn release(&mut self, out: &mut Vec<Action>) {
        self.leaving.retain(|group, leaving| {
            let gone = leaving.team.is_settled();
            if gone {
                out.push(Action::Dropped(*group, leaving.cause));
            }
            !gone
        });
    }

    /// Gives finished Groups to the open step.
    fn accept(&mut self, out: &mut Vec<Action>) {
        while let Some(at) = self.acceptable() {
            let Steps::Open(open) = &mut self.steps else { return };
            let Some(Finalised { group, .. }) = self.finalised.remove(at) else { return };
            open.accept(group);
            out.push(Action::Accept { group, step: open.step, is_last: open.debt() == 0 });
        }
    }

    /// Which finished Group the open step takes next, if it takes one now.
    fn acceptable(&self) -> Option<usize> {
        if self.steps.debt() == 0 {
            return None;
        }
        let Some(room) = self.room() else { return (!self.finalised.is_empty()).then_some(0) };
        let dues: Vec<_> = self.unaccepted().map(|trained| room.due(trained)).collect();
        (0..self.finalised.len()).find(|at| {
            let mut others = dues.clone();
            let due = others.remove(*at);
            room.fits(due, &others)
        })
    }

    /// Closes the step if it has what it needs, or nothing more can come.
    fn close(&mut self, out: &mut Vec<Action>) -> bool {
        let Steps::Open(open) = &self.steps else { return false };
        let over = self.dry && self.is_drained() && self.finalised.is_empty();
        if open.debt() > 0 && !over {
            return false;
        }
        let step = open.step;
        let is_final = self.rules.is_final(step);
        let dropped: Vec<_> = match self.rules.mode() {
            _ if is_final => self.unfinished(),
            Mode::Sync => self.leased.keys().copied().collect(),
            Mode::Partial { .. } | Mode::Async { .. } => Vec::new(),
        };
        if is_final || self.rules.mode() == Mode::Sync {
            let finished = self.finalised.drain(..);
            out.extend(finished.map(|surplus| Action::Dropped(surplus.group, DropCause::Surplus)));
        }
        for group in dropped {
            self.discard(group, DropCause::Surplus, out);
        }
        if matches!(self.rules.mode(), Mode::Async { .. }) {
            self.steps = Steps::Shut { closed: step };
            out.push(Action::StepClosed(step));
            return false;
        }
        self.steps = Steps::Draining(step);
        true
    }

    /// Tells that the step has closed, once `running` attempts of Groups and what it waits for are over.
    pub(crate) fn drain(&mut self, running: usize, out: &mut Vec<Action>) {
        if let Steps::Draining(step) = self.steps
            && running == 0
            && !self.leased.values().any(|leased| leased.protected)
        {
            self.steps = Steps::Shut { closed: step };
            out.push(Action::StepClosed(step));
        }
    }

    /// Begins as many Groups as are wanted and have room.
    fn begin(&mut self, out: &mut Vec<Action>) {
        if self.dry || !self.started || self.is_over() {
            return;
        }
        let asked = self.rules.asked();
        let warming = self.preparing.len() + self.ready.len();
        let free = asked.resident.saturating_sub(warming + self.leased.len() + self.leaving.len());
        let prelaunch = asked.prelaunch && !self.rules.is_final(self.steps.current());
        let wanted = if prelaunch { free } else { self.gap().saturating_sub(warming).min(free) };
        for _ in 0..wanted {
            let group = self.next;
            self.next = GroupId(group.0 + 1);
            out.push(Action::Begin(group));
            let team = Team::new(group, asked.group_size);
            match asked.barrier {
                Some(_) => {
                    self.preparing.insert(group, Preparing::new(team));
                }
                None => self.ready.push_back((group, Ready::unguarded(team))),
            }
        }
    }

    /// Leases ready Groups up to what is wanted.
    fn lease(&mut self, out: &mut Vec<Action>) {
        for _ in 0..self.gap() {
            let Some((group, ready)) = self.ready.pop_front() else { return };
            let step = self.steps.current();
            out.push(Action::Lease(group, step));
            self.leased.insert(group, ready.lease(step, self.trained));
        }
    }

    /// Starts agents as others exit, those of the oldest Group first: what has begun gets whole before
    /// another takes its agents.
    fn launch(&mut self, now: Instant, out: &mut Vec<Action>) {
        let teams = self.preparing.values().map(|group| &group.team);
        let teams = teams.chain(self.ready.iter().map(|(_, group)| &group.team));
        let teams = teams.chain(self.leased.values().map(|group| &group.team));
        let living: usize =
            teams.chain(self.leaving.values().map(|group| &group.team)).map(Team::living).sum();
        let mut free = self.rules.asked().agents.saturating_sub(living);
        let preparing = self.preparing.iter_mut().map(|(group, warm)| (*group, &mut warm.team));
        let leased = self.leased.iter_mut().map(|(group, leased)| (*group, &mut leased.team));
        let mut teams: Vec<_> = preparing.chain(leased).collect();
        teams.sort_by_key(|(group, _)| *group);
        for (_, team) in teams {
            let before = out.len();
            team.launch(free, out);
            free -= out.len() - before;
        }
        for group in self.preparing.values_mut() {
            if group.seated.is_none() && group.team.is_seated() {
                group.seated = Some(now);
            }
        }
    }

    /// Starts and stops the agents' time.
    pub(crate) fn meter(&mut self, open: bool, now: Instant) {
        let gate = open && self.samples();
        for leased in self.leased.values_mut() {
            leased.team.meter(gate || open && leased.protected, now);
        }
    }

    // What is asked of it.

    /// Whether the step's gate lets Groups sample that are not protected.
    pub(crate) fn samples(&self) -> bool {
        self.steps.is_open() || matches!(self.rules.mode(), Mode::Async { .. })
    }

    /// Whether a turn of the session may run, the outer gate being open.
    pub(crate) fn may_run(&self, session: SessionId) -> bool {
        self.leased
            .get(&session.group)
            .is_some_and(|leased| (leased.protected || self.samples()) && leased.team.takes_turns(session))
    }

    /// Whether a closing step leaves the session alone.
    pub(crate) fn is_protected(&self, session: SessionId) -> bool {
        self.leased.get(&session.group).is_some_and(|leased| leased.protected)
    }

    /// Groups that may be leased beyond those that are.
    fn gap(&self) -> usize {
        let there = self.leased.len() + self.finalised.len();
        if let Some(room) = self.room() {
            if !self.started {
                return 0;
            }
            let due = room.due(self.trained);
            let last = self.rules.asked().steps.map_or(due, |steps| due.min(Step(steps)));
            return room.until(last).saturating_sub(there);
        }
        let Steps::Open(open) = &self.steps else { return 0 };
        let over = if self.rules.is_final(open.step) { 0 } else { self.rules.asked().over_sampling };
        (open.debt() + over).saturating_sub(there)
    }

    /// The room of the steps to come, where rollout may run ahead.
    fn room(&self) -> Option<Room> {
        let Mode::Async { staleness } = self.rules.mode() else { return None };
        let batch = self.rules.asked().batch;
        let debt = if self.steps.is_open() { self.steps.debt() } else { batch };
        Some(Room { current: self.steps.current(), debt, batch, staleness })
    }

    /// What the weights had been trained up to for every Group that may be accepted, finished ones first.
    fn unaccepted(&self) -> impl Iterator<Item = Step> {
        let finalised = self.finalised.iter().map(|group| group.trained);
        finalised.chain(self.leased.values().map(|group| group.trained))
    }

    fn unfinished(&self) -> Vec<GroupId> {
        let ready = self.ready.iter().map(|(group, _)| group);
        self.preparing.keys().chain(ready).chain(self.leased.keys()).copied().collect()
    }

    /// Whether no Group is left that could finish.
    fn is_drained(&self) -> bool {
        self.preparing.is_empty() && self.ready.is_empty() && self.leased.is_empty()
    }

    /// Whether the last step is behind, or nothing can come for another.
    pub(crate) fn is_over(&self) -> bool {
        match self.steps {
            Steps::Shut { closed } => {
                self.rules.asked().steps.is_some_and(|steps| closed.0 >= steps)
                    || self.dry && self.is_drained() && self.finalised.is_empty()
            }
            _ => false,
        }
    }

    /// The Groups that the open step still needs.
    pub(crate) fn debt(&self) -> usize {
        self.steps.debt()
    }

    /// Whether a Group waits at its barrier.
    pub(crate) fn is_warming(&self) -> bool {
        !self.preparing.is_empty()
    }

    /// Groups of which something lives or may.
    pub(crate) fn resident(&self) -> usize {
        self.preparing.len() + self.ready.len() + self.leased.len() + self.leaving.len()
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let budget = self.rules.asked().agent_time;
        let barriers = self.preparing.values().filter_map(|group| self.deadline(group));
        barriers.chain(self.leased.values().filter_map(|leased| leased.team.wake_at(budget))).min()
    }

    fn warming_mut(&mut self, group: GroupId) -> Option<&mut Team> {
        let ready =
            self.ready.iter_mut().find(|(ready, _)| *ready == group).map(|(_, ready)| &mut ready.team);
        ready.or_else(|| self.preparing.get_mut(&group).map(|preparing| &mut preparing.team))
    }
}
