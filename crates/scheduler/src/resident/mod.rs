//! The Groups that are there, and what becomes of them.
//!
//! The invariants are kept by concern: [`barrier`], [`room`] (what begins, is leased and gets agents), [`end`]
//! (what is scored, finished or dropped), [`steps`] (what is accepted, and when a step closes). What a step needs is
//! computed from the Groups it has, and stored nowhere.

mod barrier;
mod end;
mod look;
mod room;
mod steps;

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::time::Instant;

use crate::group::{DropCause, Finalised, Leased, Leaving, Preparing, Ready, Scoring};
use crate::step::{Stand, Steps};
use crate::{Action, Exit, GroupId, Rules, SessionId, Step};

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
    /// Groups that failed since the last one that was scored.
    failures: u32,
    preparing: BTreeMap<GroupId, Preparing>,
    /// In the order in which their barriers were crossed.
    ready: VecDeque<(GroupId, Ready)>,
    leased: BTreeMap<GroupId, Leased>,
    scoring: BTreeMap<GroupId, Scoring>,
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
            failures: 0,
            preparing: BTreeMap::new(),
            ready: VecDeque::new(),
            leased: BTreeMap::new(),
            scoring: BTreeMap::new(),
            finalised: VecDeque::new(),
            leaving: BTreeMap::new(),
        }
    }

    // What happened.

    /// Goes on where an earlier rollout stood, unless something of this one is there already.
    pub(crate) fn resume(&mut self, stand: Stand) {
        if !self.started {
            self.steps = Steps::resume(stand);
            self.started = self.steps.is_open();
            self.trained = stand.trained;
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

    /// There is no task for a Group, nor for any that begins later.
    pub(crate) fn exhaust(&mut self, group: GroupId) {
        self.dry = true;
        self.preparing.remove(&group);
        self.leased.remove(&group);
        self.ready.retain(|(ready, _)| *ready != group);
    }

    pub(crate) fn interrupt(&mut self, out: &mut Vec<Action>) {
        self.dry = true;
        // Finished ones too, that no step has taken: there may be no other step to take them.
        let finished: Vec<_> = self.finalised.iter().map(|finished| finished.group).collect();
        for group in self.unfinished().into_iter().chain(finished) {
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
        self.give_up(out);
        self.cross(waiting, out);
        self.accept(out);
        let shut = self.close(out);
        self.release(out);
        self.begin(out);
        self.lease(out);
        self.launch(now, out);
        shut
    }
}
