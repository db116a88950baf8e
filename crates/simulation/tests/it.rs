//! The scheduler's promises over histories with everything going wrong.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assumption fails the test")]

use verbatim_simulation::{Measured, Setup, run};

/// How many seeds: a few hundred, or as many as `VERBATIM_SEEDS` says.
fn seeds() -> u64 {
    std::env::var("VERBATIM_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(400)
}

#[test]
fn every_promise_holds_in_every_history() {
    let broken: Vec<_> = (0..seeds()).filter_map(|seed| run(&Setup::drawn(seed)).err()).collect();
    let first: Vec<_> = broken.iter().take(3).map(ToString::to_string).collect();
    assert!(broken.is_empty(), "{} of {} histories: {first:#?}", broken.len(), seeds());
}

#[test]
fn the_histories_meet_what_they_are_to_meet() {
    let all: Vec<Measured> = (0..400).map(|seed| run(&Setup::drawn(seed)).unwrap()).collect();
    let sum = |of: fn(&Measured) -> usize| all.iter().map(of).sum::<usize>();
    assert!(sum(|m| m.accepted) > 500 && sum(|m| m.surplus) > 50 && sum(|m| m.dropped) > 200);
    assert!(sum(|m| m.unwanted) > 100);
    assert!(sum(|m| m.gave_up) > 10);
    assert!(sum(|m| m.aborted) > 500);
    assert!(all.iter().any(|m| m.staleness == 2), "rollout runs ahead as far as it may");
}

#[test]
fn the_same_seed_is_the_same_history() {
    for seed in 0..20 {
        assert_eq!(run(&Setup::drawn(seed)), run(&Setup::drawn(seed)));
    }
}
