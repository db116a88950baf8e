//! Groups, move by move. Histories in which everything goes wrong are `verbatim-simulation`'s.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assumption fails the test")]

use std::time::{Duration, Instant};

use verbatim_scheduler::{
    Action, Asked, Cost, DropCause, Ended, Exit, GroupId, Input, Limits, Opened, Rules, RulesError,
    Scheduler, SessionId, Stand, Step, TurnId, Unwanted,
};

fn asked() -> Asked {
    Asked {
        mode: "sync".into(),
        staleness: None,
        max_aborted_count: None,
        group_size: 1,
        needed: 1,
        retries: 0,
        batch: 1,
        over_sampling: 0,
        resident: 4,
        agents: 8,
        prelaunch: false,
        barrier: Some(Duration::from_secs(30)),
        agent_time: Duration::from_secs(600),
        steps: None,
        give_up: None,
    }
}

fn seat(group: u64, place: u32) -> SessionId {
    SessionId { group: GroupId(group), place, attempt: 0 }
}

/// A scheduler at a fixed time.
struct At(Scheduler, Instant);

impl At {
    fn new(asked: Asked) -> Self {
        let limits = Limits { turns: 8, budget: None, hold: Duration::from_secs(1000) };
        Self(Scheduler::resident(limits, Rules::new(asked).unwrap()), Instant::now())
    }

    fn on(&mut self, input: Input) -> Vec<Action> {
        let mut out = Vec::new();
        self.0.step(self.1, input, &mut out);
        out
    }
}

#[test]
fn settings_that_exclude_each_other_are_refused_by_name() {
    let refused = |change: fn(&mut Asked)| {
        let mut asked = asked();
        change(&mut asked);
        Rules::new(asked).unwrap_err()
    };
    let error = refused(|a| a.mode = "eager".into());
    assert_eq!(error, RulesError::Mode("eager".into()));
    assert_eq!(refused(|a| a.batch = 0), RulesError::Zero("batch"));
    assert_eq!(refused(|a| a.staleness = Some(1)), RulesError::StalenessOutsideAsync);
    assert_eq!(refused(|a| a.max_aborted_count = Some(1)), RulesError::ProtectionOutsidePartial);
    let ahead = refused(|a| (a.mode, a.over_sampling) = ("async".into(), 1));
    assert_eq!(ahead, RulesError::OverSamplingInAsync);
    let warm = refused(|a| (a.prelaunch, a.barrier) = (true, None));
    assert_eq!(warm, RulesError::PrelaunchWithoutBarrier);
    let few = refused(|a| (a.group_size, a.agents) = (9, 8));
    assert_eq!(few, RulesError::BarrierBeyondAgents { group_size: 9, agents: 8 });
    assert_eq!(refused(|a| a.needed = 2), RulesError::NeededBeyondGroup { needed: 2, group_size: 1 });
}

#[test]
fn a_rollout_goes_on_where_an_earlier_one_stood() {
    let stand = |open| Stand { closed: Step(4), open, trained: Step(3) };
    let mut shut = At::new(Asked { batch: 3, ..asked() });
    assert_eq!(shut.on(Input::Resume(stand(None))), [], "no step was open: nothing begins");
    assert_eq!(shut.on(Input::OpenStep(None))[0], Action::StepOpened { step: Step(5), size: 3 });
    assert_eq!(shut.on(Input::Resume(stand(None))), [], "once a step was opened it changes nothing");
    assert_eq!(shut.0.debt(), 3);

    let mut open = At::new(Asked { batch: 9, ..asked() });
    let begun = open.on(Input::Resume(stand(Some(Opened { size: 3, accepted: 1 }))));
    let begins = begun.iter().filter(|action| matches!(action, Action::Begin(_))).count();
    assert_eq!((begins, open.0.debt()), (2, 2), "what the step still needs: {begun:?}");
    for group in 0..2 {
        let turn = TurnId(group);
        open.on(Input::Arrived(turn, Some(seat(group, 0)), Cost::default()));
        open.on(Input::Ended(turn, Ended::Over));
        open.on(Input::Exited(seat(group, 0), Exit::Succeeded));
        let accepted = Action::Accept { group: GroupId(group), step: Step(5), is_last: group == 1 };
        let told = open.on(Input::Scored(GroupId(group)));
        assert!(told.contains(&accepted), "{told:?}");
        assert_eq!(told.contains(&Action::StepClosed(Step(5))), group == 1);
    }

    let mut full = At::new(asked());
    let full = full.on(Input::Resume(stand(Some(Opened { size: 2, accepted: 2 }))));
    assert_eq!(full, [Action::StepClosed(Step(5))], "it was stopped between its last group and its end");
}

#[test]
fn a_group_samples_once_all_its_first_requests_are_there() {
    let mut at = At::new(Asked { group_size: 2, needed: 2, ..asked() });
    let begun = at.on(Input::OpenStep(None));
    let launched = [Action::Launch(seat(0, 0)), Action::Launch(seat(0, 1))];
    assert_eq!(
        begun,
        [&[Action::StepOpened { step: Step(1), size: 1 }, Action::Begin(GroupId(0))][..], &launched].concat()
    );
    assert_eq!(at.on(Input::Arrived(TurnId(1), Some(seat(0, 0)), Cost::default())), []);
    // The first client goes and comes again: it has one request, not two.
    assert_eq!(at.on(Input::Left(TurnId(1))), []);
    assert_eq!(at.on(Input::Arrived(TurnId(2), Some(seat(0, 1)), Cost::default())), []);
    let crossed = at.on(Input::Arrived(TurnId(3), Some(seat(0, 0)), Cost::default()));
    let leased = [Action::Ready(GroupId(0)), Action::Lease(GroupId(0), Step(1))];
    assert_eq!(crossed, [&leased[..], &[Action::Dispatch(TurnId(2)), Action::Dispatch(TurnId(3))]].concat());
}

#[test]
fn prelaunch_warms_groups_up_while_no_step_is_open_and_adds_no_room() {
    let mut at = At::new(Asked { prelaunch: true, resident: 2, ..asked() });
    let begun = at.on(Input::OpenStep(None)).iter().filter(|a| matches!(a, Action::Begin(_))).count();
    assert_eq!(begun, 2, "as many as there is room for, though the step needs one");
    at.on(Input::Arrived(TurnId(1), Some(seat(0, 0)), Cost::default()));
    at.on(Input::Ended(TurnId(1), Ended::Over));
    let scoring = at.on(Input::Exited(seat(0, 0), Exit::Succeeded));
    assert!(scoring.contains(&Action::Begin(GroupId(2))), "the place that came free: {scoring:?}");
    let closed = at.on(Input::Scored(GroupId(0)));
    assert!(closed.contains(&Action::StepClosed(Step(1))), "{closed:?}");
    assert_eq!(
        at.on(Input::Arrived(TurnId(2), Some(seat(1, 0)), Cost::default())),
        [Action::Ready(GroupId(1))]
    );
    let opened = at.on(Input::OpenStep(None));
    let first = [
        Action::StepOpened { step: Step(2), size: 1 },
        Action::Lease(GroupId(1), Step(2)),
        Action::Dispatch(TurnId(2)),
    ];
    assert_eq!(opened, first, "nothing has to start first");
}

/// Two Groups for one place: the first finishes while the second samples.
fn surplus(mode: &str) -> (At, Vec<Action>) {
    let mut at = At::new(Asked { mode: mode.into(), over_sampling: 1, ..asked() });
    at.on(Input::OpenStep(None));
    at.on(Input::Arrived(TurnId(1), Some(seat(0, 0)), Cost::default()));
    at.on(Input::Arrived(TurnId(2), Some(seat(1, 0)), Cost::default()));
    at.on(Input::Ended(TurnId(1), Ended::Over));
    at.on(Input::Exited(seat(0, 0), Exit::Succeeded));
    let closing = at.on(Input::Scored(GroupId(0)));
    assert!(closing.contains(&Action::Abort(TurnId(2))), "{closing:?}");
    assert!(!closing.contains(&Action::StepClosed(Step(1))), "an attempt runs: {closing:?}");
    (at, closing)
}

#[test]
fn sync_drops_what_its_step_did_not_need_once_it_is_gone() {
    let (mut at, _) = surplus("sync");
    at.on(Input::Left(TurnId(2)));
    assert_eq!(at.on(Input::Ended(TurnId(2), Ended::Over)), [Action::StepClosed(Step(1))]);
    let gone = at.on(Input::Exited(seat(1, 0), Exit::Failed { again: true }));
    assert_eq!(gone, [Action::Dropped(GroupId(1), DropCause::Surplus)]);
}

#[test]
fn partial_holds_what_its_step_did_not_need_and_goes_on_in_the_next() {
    let (mut at, closing) = surplus("partial");
    assert!(!closing.iter().any(|action| matches!(action, Action::Stop(..))), "{closing:?}");
    let aborted = at.on(Input::Ended(TurnId(2), Ended::Aborted { progress: true }));
    assert_eq!(aborted, [Action::StepClosed(Step(1))]);
    let opened = at.on(Input::OpenStep(None));
    assert_eq!(
        opened[..2],
        [Action::StepOpened { step: Step(2), size: 1 }, Action::Lease(GroupId(1), Step(2))]
    );
    assert_eq!(opened.last(), Some(&Action::Dispatch(TurnId(2))));
}

#[test]
fn an_interrupt_ends_a_rollout_that_holds_a_finished_group() {
    let (mut at, _) = surplus("partial");
    // The attempt that the closing step aborted ends as a finished turn, and its agent with it.
    at.on(Input::Ended(TurnId(2), Ended::Over));
    at.on(Input::Exited(seat(1, 0), Exit::Succeeded));
    at.on(Input::Scored(GroupId(1)));
    assert!(!at.0.is_over(), "it waits for the next step");
    let ended = at.on(Input::Interrupt);
    assert_eq!(ended, [Action::Dropped(GroupId(1), DropCause::Interrupted)]);
    assert!(at.0.is_over());
}

#[test]
fn a_group_that_is_late_at_its_barrier_is_dropped_and_replaced() {
    let mut at = At::new(asked());
    at.on(Input::OpenStep(None));
    at.1 = at.0.wake_at().unwrap();
    assert!(matches!(
        at.on(Input::Tick)[..],
        [Action::Stop(..), Action::Begin(GroupId(1)), Action::Launch(_)]
    ));
    let gone = at.on(Input::Exited(seat(0, 0), Exit::Failed { again: true }));
    assert_eq!(gone, [Action::Dropped(GroupId(0), DropCause::Barrier)]);
    assert_eq!(at.0.debt(), 1);
}

/// One Group in a step of one: it samples, and its agent ends well.
fn scoring(asked: Asked) -> At {
    let mut at = At::new(asked);
    at.on(Input::OpenStep(None));
    at.on(Input::Arrived(TurnId(1), Some(seat(0, 0)), Cost::default()));
    at.on(Input::Ended(TurnId(1), Ended::Over));
    assert_eq!(at.on(Input::Exited(seat(0, 0), Exit::Succeeded)), [Action::Score(GroupId(0))]);
    at
}

#[test]
fn a_group_that_is_scored_takes_up_no_room_and_its_step_is_not_filled_up_for_it() {
    let mut at = scoring(Asked { resident: 1, ..asked() });
    assert_eq!((at.0.groups(), at.0.debt()), (0, 1));
    assert_eq!(at.on(Input::Tick), [], "nothing begins in its place");
    let accept = Action::Accept { group: GroupId(0), step: Step(1), is_last: true };
    let accepted = [Action::Finalise(GroupId(0)), accept, Action::StepClosed(Step(1))];
    assert_eq!(at.on(Input::Scored(GroupId(0))), accepted);
    assert_eq!(at.on(Input::Scored(GroupId(0))), [], "late news");
}

#[test]
fn a_group_that_is_not_wanted_or_not_scored_is_replaced() {
    for why in [Unwanted::Filtered, Unwanted::NotScored] {
        let mut at = scoring(asked());
        let begun = at.on(Input::Discard(GroupId(0), why));
        assert_eq!(
            begun[..2],
            [Action::Dropped(GroupId(0), DropCause::Unwanted(why)), Action::Begin(GroupId(1))]
        );
        assert_eq!(at.on(Input::Scored(GroupId(0))), [], "late news");
    }
}

#[test]
fn an_interrupt_waits_for_no_score() {
    let mut at = scoring(asked());
    let dropped = Action::Dropped(GroupId(0), DropCause::Interrupted);
    assert_eq!(at.on(Input::Interrupt), [dropped, Action::StepClosed(Step(1))]);
    assert!(at.0.is_over());
}

#[test]
fn a_complete_step_drops_what_is_scored_in_sync_and_keeps_it_for_the_next_in_partial() {
    for mode in ["sync", "partial"] {
        let mut at = At::new(Asked { mode: mode.into(), over_sampling: 1, ..asked() });
        at.on(Input::OpenStep(None));
        for group in 0..2 {
            at.on(Input::Arrived(TurnId(group), Some(seat(group, 0)), Cost::default()));
            at.on(Input::Ended(TurnId(group), Ended::Over));
            at.on(Input::Exited(seat(group, 0), Exit::Succeeded));
        }
        let closed = at.on(Input::Scored(GroupId(1)));
        let dropped = closed.contains(&Action::Dropped(GroupId(0), DropCause::Surplus));
        assert_eq!(dropped, mode == "sync", "{closed:?}");
        at.on(Input::OpenStep(None));
        let late = at.on(Input::Scored(GroupId(0)));
        assert_eq!(late.is_empty(), mode == "sync", "{late:?}");
    }
}

#[test]
fn a_rollout_whose_groups_all_fail_ends() {
    let give_up = std::num::NonZeroU32::new(2);
    let failed = Input::Discard(GroupId(0), Unwanted::NotScored);
    let exits = |group| Input::Exited(seat(group, 0), Exit::Failed { again: false });
    let mut at = scoring(Asked { give_up, ..asked() });
    at.on(failed);
    let ended = at.on(exits(1));
    let dropped = Action::Dropped(GroupId(1), DropCause::Failed);
    assert_eq!(ended, [dropped, Action::GaveUp(2), Action::StepClosed(Step(1))]);
    assert!(at.0.is_over());

    // What a filter drops is no failure, and a group that was scored ends the row of failures.
    let mut at = scoring(Asked { give_up, ..asked() });
    at.on(failed);
    for (group, told) in [(1, Input::Discard(GroupId(1), Unwanted::Filtered)), (2, Input::Scored(GroupId(2)))]
    {
        at.on(Input::Arrived(TurnId(group), Some(seat(group, 0)), Cost::default()));
        at.on(Input::Ended(TurnId(group), Ended::Over));
        at.on(Input::Exited(seat(group, 0), Exit::Succeeded));
        at.on(told);
    }
    at.on(Input::OpenStep(None));
    let replaced = at.on(exits(3));
    assert!(replaced.contains(&Action::Begin(GroupId(4))), "{replaced:?}");
}
