//! The nine points on runs that were made up, and on the same with one thing gone.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use verbatim_stages::check::{Hashes, Verdict};
use verbatim_stages::demonstrate::{Demonstration, Left, Proof, points};
use verbatim_stages::diagnose::diagnose;
use verbatim_stages::log::{Entry, read_log};

/// Two sessions of one group, each with a call, its result and an end; scored 1 and 0, and trained on.
fn run() -> Vec<Value> {
    let mut log = vec![
        json!({"event": "step_opened", "step": 1}),
        json!({"event": "group_started", "group": "g", "sessions": 2}),
    ];
    for place in 0..2 {
        log.push(json!({"event": "agent_started", "group": "g", "place": place, "attempt": 0}));
        log.push(json!({"event": "session_opened", "session": format!("s{place}")}));
    }
    log.push(json!({"event": "group_ready", "group": "g"}));
    log.push(json!({"event": "group_leased", "group": "g", "step": 1}));
    for place in 0..2 {
        let turn = |parent: Value, calls: usize, finish: &str| {
            json!({"event": "turn_committed", "session": format!("s{place}"), "parent": parent, "shared": null, "messages": 1,
                "sampled_tokens": 3, "versions": {"0": 3}, "finish": finish, "attempts": 1, "tool_calls": calls})
        };
        log.push(turn(Value::Null, 1, "tool_calls"));
        log.push(turn(json!(1), 0, "stop"));
    }
    for place in 0..2 {
        log.push(json!({"event": "agent_ended", "group": "g", "place": place, "attempt": 0, "failed": null}));
    }
    log.push(json!({"event": "group_finalised", "group": "g"}));
    for place in 0..2 {
        log.push(json!({"event": "session_scored", "session": format!("s{place}"), "group": "g", "reward": f64::from(place)}));
    }
    log.push(json!({"event": "group_scored", "group": "g"}));
    log.push(json!({"event": "group_finished", "group": "g", "rows": 2, "step": 1, "is_last": true}));
    log.push(json!({"event": "optimizer_step", "step": 1, "rows": 2, "version": "1", "groups": ["g"], "metrics": {}}));
    for place in 0..2 {
        log.push(json!({"event": "session_closed", "session": format!("s{place}")}));
    }
    log
}

fn read(log: &[Value]) -> Vec<Entry> {
    let text: String = log.iter().map(|line| format!("{line}\n")).collect();
    read_log(&text).unwrap()
}

fn proof() -> Proof {
    Proof {
        barrier: true,
        tools: Some(true),
        mode: "sync".into(),
        rows: Some(BTreeMap::from([("s0".to_owned(), 1), ("s1".to_owned(), 1)])),
        left: Left { processes: Some(0), folders: Some(0), slots: None },
        ..Proof::default()
    }
}

fn verdicts(log: &[Value], proof: &Proof) -> Vec<Verdict> {
    points(&read(log), proof).iter().map(|point| point.verdict).collect()
}

fn without(event: &str) -> Vec<Value> {
    run().into_iter().filter(|line| line["event"] != event).collect()
}

use Verdict::{NotApplicable as Na, Pass, Unsafe, Unverified};

#[test]
fn a_whole_run_passes() {
    assert_eq!(verdicts(&run(), &proof()), [Pass, Pass, Pass, Pass, Pass, Pass, Pass, Na, Na]);
    let all = points(&read(&run()), &proof());
    let verdict = |forced: Option<&str>, ended| {
        Demonstration::new(all.clone(), forced.map(str::to_owned), ended, Hashes::new()).verdict
    };
    assert_eq!(verdict(None, Ok(())), Pass);
    assert_eq!(verdict(Some("it was never checked"), Ok(())), Unverified);
    assert_eq!(verdict(None, Err("it ended with 1".to_owned())), Unsafe);
}

#[test]
fn an_empty_log_passes_nothing() {
    let none = Proof { rows: None, left: Left::default(), ..proof() };
    assert!(verdicts(&[], &none)[..7].iter().all(|verdict| *verdict == Unverified));
}

#[test]
fn the_optimizer_counts_only_over_a_group_whose_rewards_differ() {
    let seven = |log: &[Value]| verdicts(log, &proof())[6];
    let change = |event: &str, name: &str, value: Value| {
        let mut log = run();
        for line in log.iter_mut().filter(|line| line["event"] == event) {
            line[name] = value.clone();
        }
        log
    };
    assert_eq!(seven(&without("optimizer_step")), Unverified);
    assert_eq!(seven(&change("session_scored", "reward", json!(0.5))), Unverified);
    // The other sign of zero is no other reward.
    let mut zeros = change("session_scored", "reward", json!(0.0));
    zeros.iter_mut().find(|line| line["event"] == "session_scored").unwrap()["reward"] = json!(-0.0);
    assert_eq!(seven(&zeros), Unverified);
    assert_eq!(seven(&change("optimizer_step", "rows", json!(0))), Unverified);
    assert_eq!(seven(&change("optimizer_step", "rows", json!(5))), Unverified);
    assert_eq!(seven(&change("optimizer_step", "groups", json!(["another"]))), Unverified);
    assert_eq!(seven(&change("optimizer_step", "step", json!(2))), Unverified);
    assert_eq!(seven(&change("optimizer_step", "groups", json!([]))), Pass);
}

#[test]
fn each_point_sees_what_is_its_own() {
    let at = |log: &[Value], proof: &Proof, point: usize| verdicts(log, proof)[point - 1];
    assert_eq!(at(&without("group_ready"), &proof(), 1), Unsafe, "leased before it was ready");
    let mut early = without("agent_started");
    early.insert(2, json!({"event": "agent_started", "group": "g", "place": 0, "attempt": 0}));
    assert_eq!(at(&early, &proof(), 1), Unsafe, "ready with one of two");
    let mut cut = run();
    for line in cut.iter_mut().filter(|line| line["finish"] == "stop") {
        line["finish"] = json!("length");
    }
    assert_eq!(at(&cut, &proof(), 2), Unverified, "no loop came to its end");
    let mut forked = run();
    for line in forked.iter_mut().filter(|line| line["finish"] == "stop") {
        line["parent"] = Value::Null;
    }
    assert_eq!(at(&forked, &proof(), 3), Unsafe, "a second root");
    assert_eq!(at(&forked, &Proof { several: true, ..proof() }, 3), Pass, "as declared");
    let rows = |counts: &[(&str, usize)]| {
        let rows = counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        Proof { rows: Some(rows), ..proof() }
    };
    assert_eq!(at(&run(), &rows(&[("s0", 2)]), 4), Unsafe, "more rows than leaves");
    assert_eq!(at(&run(), &rows(&[("s9", 1)]), 4), Unsafe, "rows of nobody");
    assert_eq!(at(&run(), &rows(&[("s0", 1)]), 5), Unsafe, "one row was not delivered");
    assert_eq!(at(&without("session_scored"), &proof(), 5), Unsafe, "published without a reward");
    assert_eq!(at(&run(), &Proof { filters: true, ..proof() }, 5), Unverified, "no drop was seen");
    assert_eq!(at(&without("agent_ended"), &proof(), 6), Unsafe, "agents that never ended");
    assert_eq!(at(&without("session_closed"), &proof(), 6), Unsafe, "sessions that never ended");
    let left = |processes, folders, slots| Proof { left: Left { processes, folders, slots }, ..proof() };
    assert_eq!(at(&run(), &left(Some(1), Some(0), None), 6), Unsafe);
    assert_eq!(at(&run(), &left(Some(0), Some(1), None), 6), Unsafe);
    assert_eq!(at(&run(), &left(Some(0), Some(0), Some((0, 1))), 6), Unsafe);
    assert_eq!(at(&run(), &left(None, Some(0), None), 6), Unverified);
    assert_eq!(at(&run(), &Proof { mode: "partial".into(), ..proof() }, 8), Unverified);
    assert_eq!(at(&run(), &Proof { evals: true, ..proof() }, 8), Unverified);
    assert_eq!(at(&run(), &Proof { soak: Some(64), ..proof() }, 9), Unverified);
    assert_eq!(at(&run(), &Proof { soak: Some(2), ..proof() }, 9), Pass);
}

#[test]
fn the_first_broken_link_is_named_and_not_what_follows_from_it() {
    let first = |log: &[Value]| diagnose(&read(log)).first().map(|link| link.owner);
    assert_eq!(first(&run()), None);
    assert_eq!(first(&[]), Some("data source"));
    let to = |last: &str| {
        let log = run();
        let end = log.iter().rposition(|line| line["event"] == last).unwrap();
        log[..=end].to_vec()
    };
    assert_eq!(first(&to("group_started")), Some("prepare"));
    assert_eq!(first(&to("group_ready")), Some("lease"));
    assert_eq!(first(&to("turn_committed")), Some("agent"));
    assert_eq!(first(&to("group_finalised")), Some("reward"));
    assert_eq!(first(&to("group_scored")), Some("transfer"));
    let with = |line: Value| {
        let mut log = run();
        log.insert(4, line);
        log
    };
    let lost =
        |cause: &str| json!({"event": "lost", "session": "s0", "cause": cause, "detail": "", "count": 1});
    assert_eq!(first(&with(lost("hold_expired"))), Some("request"));
    assert_eq!(first(&with(lost("engine_failed"))), Some("engine"));
    // An agent fails because its request did.
    let mut both = with(lost("hold_expired"));
    both.push(
        json!({"event": "agent_ended", "group": "g", "place": 0, "attempt": 1, "failed": "agent_failed"}),
    );
    assert_eq!(first(&both), Some("request"));
}
