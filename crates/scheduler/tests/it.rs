//! The scheduler under random histories.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use verbatim_scheduler::{Action, Cost, Ended, Input, Limits, Running, Scheduler, TurnId};

const HOLD: Duration = Duration::from_secs(10);

fn scheduler(turns: usize) -> Scheduler {
    Scheduler::new(Limits { turns, budget: None, hold: HOLD })
}

fn step(scheduler: &mut Scheduler, now: Instant, input: Input) -> Vec<Action> {
    let mut out = Vec::new();
    scheduler.step(now, input, &mut out);
    out
}

#[test]
fn turns_run_in_order_as_permits_come_free() {
    let (mut s, now) = (scheduler(1), Instant::now());
    assert_eq!(
        step(&mut s, now, Input::Arrived(TurnId(1), None, Cost::default())),
        [Action::Dispatch(TurnId(1))]
    );
    assert_eq!(step(&mut s, now, Input::Arrived(TurnId(2), None, Cost::default())), []);
    assert_eq!(step(&mut s, now, Input::Ended(TurnId(1), Ended::Over)), [Action::Dispatch(TurnId(2))]);
}

#[test]
fn a_closing_gate_holds_what_runs_and_reopens_it_first() {
    let (mut s, now) = (scheduler(2), Instant::now());
    for id in 1..=3 {
        step(&mut s, now, Input::Arrived(TurnId(id), None, Cost::default()));
    }
    assert_eq!(
        step(&mut s, now, Input::CloseGate(Running::Abort)),
        [Action::Abort(TurnId(2)), Action::Abort(TurnId(1))]
    );
    let aborted = Ended::Aborted { progress: false };
    assert_eq!(step(&mut s, now, Input::Ended(TurnId(2), aborted)), []);
    assert_eq!(step(&mut s, now, Input::Ended(TurnId(1), aborted)), []);
    let reopened = step(&mut s, now, Input::OpenGate);
    assert_eq!(reopened, [Action::Dispatch(TurnId(1)), Action::Dispatch(TurnId(2))]);
}

#[test]
fn an_attempt_that_yields_nothing_is_tried_again_after_a_pause_until_the_deadline() {
    let (mut s, start) = (scheduler(1), Instant::now());
    let mut actions = step(&mut s, start, Input::Arrived(TurnId(1), None, Cost::default()));
    let (mut now, mut tries) = (start, 0);
    while actions != [Action::Expire(TurnId(1))] {
        if actions == [Action::Dispatch(TurnId(1))] {
            tries += 1;
            assert_eq!(step(&mut s, now, Input::Ended(TurnId(1), Ended::Aborted { progress: false })), []);
        }
        now = s.wake_at().expect("a held turn wakes the shell");
        actions = step(&mut s, now, Input::Tick);
    }
    assert_eq!(now - start, HOLD);
    assert!((8..20).contains(&tries), "{tries} tries");
}

#[derive(Clone, Debug)]
enum Step {
    Arrive,
    End(usize),
    Abort(usize, bool),
    Leave(usize),
    Close,
    Open,
    Wait(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Arrive),
        3 => any::<usize>().prop_map(Step::End),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(i, p)| Step::Abort(i, p)),
        1 => any::<usize>().prop_map(Step::Leave),
        1 => Just(Step::Close),
        1 => Just(Step::Open),
        1 => (0u64..4000).prop_map(Step::Wait),
    ]
}

proptest! {
    /// Whatever happens: permits are kept, a closed gate dispatches nothing, nothing is dispatched
    /// twice at once, every turn ends once, and once all is quiet nothing is left.
    #[test]
    fn random_histories_keep_the_invariants(permits in 1usize..4, history in prop::collection::vec(any_step(), 0..200)) {
        let mut s = scheduler(permits);
        let mut now = Instant::now();
        let (mut next, mut open) = (0, true);
        let mut running: Vec<TurnId> = Vec::new();
        let mut known: HashSet<TurnId> = HashSet::new();
        let mut left: HashSet<TurnId> = HashSet::new();
        let drain = std::iter::repeat_n(Step::End(0), 400).chain([Step::Open]).chain(std::iter::repeat_n(Step::End(0), 400));
        for action in history.into_iter().chain([Step::Open]).chain(drain) {
            let input = match action {
                Step::Arrive => { next += 1; known.insert(TurnId(next)); Input::Arrived(TurnId(next), None, Cost::default()) }
                Step::End(i) if !running.is_empty() => {
                    let turn = running.remove(i % running.len());
                    known.remove(&turn);
                    Input::Ended(turn, Ended::Over)
                }
                Step::Abort(i, progress) if !running.is_empty() => {
                    let turn = running.remove(i % running.len());
                    if left.contains(&turn) { known.remove(&turn); }
                    Input::Ended(turn, Ended::Aborted { progress })
                }
                Step::Leave(i) if !known.is_empty() => {
                    let mut all: Vec<_> = known.iter().copied().collect();
                    all.sort();
                    let turn = all[i % all.len()];
                    if !running.contains(&turn) { known.remove(&turn); } else { left.insert(turn); }
                    Input::Left(turn)
                }
                Step::Close => { open = false; Input::CloseGate(Running::Abort) }
                Step::Open => { open = true; Input::OpenGate }
                Step::Wait(ms) => { now += Duration::from_millis(ms); Input::Tick }
                _ => { now += Duration::from_millis(10); Input::Tick }
            };
            let mut out = Vec::new();
            s.step(now, input, &mut out);
            for action in out {
                match action {
                    Action::Dispatch(turn) => {
                        prop_assert!(open, "dispatched through a closed gate");
                        prop_assert!(known.contains(&turn) && !left.contains(&turn) && !running.contains(&turn));
                        running.push(turn);
                    }
                    Action::Abort(turn) => prop_assert!(running.contains(&turn)),
                    Action::Expire(turn) => {
                        prop_assert!(!running.contains(&turn));
                        prop_assert!(known.remove(&turn), "a turn ended twice");
                    }
                    other => prop_assert!(false, "{other:?}: there are no Groups"),
                }
            }
            prop_assert!(running.len() <= permits);
            prop_assert_eq!(running.len(), s.running());
            prop_assert!(!open || s.waiting() == 0 || running.len() == permits || s.wake_at().is_some());
        }
        prop_assert_eq!((s.running(), s.waiting(), known.len()), (0, 0, 0));
    }
}
