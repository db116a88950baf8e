//! `verbatim-bench resident`: what prelaunch, partial and async rollout gain, simulated.
//!
//! The promise: the figures come from the scheduler that `verbatim run` uses, in virtual time, over a workload
//! that is stated in full; every promise of the scheduler is checked on the way.

use std::time::Duration;

use anyhow::Context;
use verbatim_scheduler::{Asked, Running};
use verbatim_simulation::{Faults, Measured, Setup, Tail, Trainer, Workload, run as simulate};

use crate::args::Resident;
use crate::stats::{median, percentile, sorted};

/// Groups a step.
const BATCH: usize = 16;
/// Sessions a Group.
const SIZE: usize = 8;
/// Attempts at the engine at once.
const PERMITS: usize = 128;

/// A way of running: what it changes of plain `sync`.
struct Way {
    name: &'static str,
    change: fn(&mut Asked),
}

const WAYS: [Way; 8] = [
    Way { name: "sync", change: |_| {} },
    Way { name: "sync, over-sampling 8", change: |asked| asked.over_sampling = BATCH / 2 },
    Way { name: "sync, prelaunch", change: |asked| asked.prelaunch = true },
    Way { name: "partial, over-sampling 8", change: partial },
    Way {
        name: "partial, over-sampling 8, prelaunch",
        change: |asked| {
            partial(asked);
            asked.prelaunch = true;
        },
    },
    Way { name: "async, staleness 0", change: |asked| asked.mode = "async".into() },
    Way { name: "async, staleness 1", change: |asked| ahead(asked, 1) },
    Way { name: "async, staleness 2", change: |asked| ahead(asked, 2) },
];

fn partial(asked: &mut Asked) {
    asked.mode = "partial".into();
    asked.over_sampling = BATCH / 2;
    asked.max_aborted_count = Some(2);
}

fn ahead(asked: &mut Asked, staleness: u64) {
    asked.mode = "async".into();
    asked.staleness = Some(staleness);
}

/// Long-tailed turns without faults.
fn setup(way: &Way, seed: u64, steps: u64) -> Setup {
    let mut asked = Asked {
        mode: "sync".into(),
        staleness: None,
        max_aborted_count: None,
        group_size: SIZE,
        needed: SIZE,
        retries: 0,
        batch: BATCH,
        over_sampling: 0,
        resident: 2 * BATCH,
        agents: 2 * BATCH * SIZE,
        prelaunch: false,
        barrier: Some(Duration::from_secs(600)),
        agent_time: Duration::from_secs(100_000),
        steps: Some(steps),
        give_up: None,
    };
    (way.change)(&mut asked);
    Setup {
        seed,
        asked,
        budget: None,
        permits: PERMITS,
        hold: Duration::from_secs(100_000),
        tasks: usize::MAX,
        workload: Workload {
            start: Tail { median: 20.0, sigma: 0.7, most: 120.0 },
            turns: Tail { median: 4.0, sigma: 0.6, most: 16.0 },
            tokens: Tail { median: 400.0, sigma: 1.0, most: 8192.0 },
            tool: Tail { median: 2.0, sigma: 1.0, most: 120.0 },
            score: Tail { median: 0.0, sigma: 0.0, most: 0.0 },
            rate: 50.0,
            prefill: 0.0001,
        },
        trainer: Trainer {
            train: Tail { median: 60.0, sigma: 0.1, most: 120.0 },
            update: Tail { median: 5.0, sigma: 0.1, most: 10.0 },
            running: Running::Abort,
        },
        faults: Faults::default(),
    }
}

/// Simulates every way with every seed, and prints the medians of the seeds.
pub(crate) fn run(args: &Resident) -> anyhow::Result<()> {
    println!("{BATCH} Groups a step, {SIZE} sessions a Group, {PERMITS} permits, {} steps", args.steps);
    println!(
        "way | engine busy % | step p50 s | step max s | cycle p50 s | Groups/h | sampled tokens used % | stale"
    );
    for way in &WAYS {
        let all = (0..args.seeds)
            .map(|seed| simulate(&setup(way, seed, args.steps)).context(way.name))
            .collect::<anyhow::Result<Vec<Measured>>>()?;
        let of = |figure: &dyn Fn(&Measured) -> f64| median(all.iter().map(figure));
        let p50 = |times: &[Duration]| median(times.iter().map(Duration::as_secs_f64));
        println!(
            "{} | {:.1} | {:.0} | {:.0} | {:.0} | {:.0} | {:.1} | {:.0}",
            way.name,
            of(&|m| m.busy_fraction() * 100.0),
            of(&|m| p50(&m.steps)),
            of(&|m| percentile(&sorted(m.steps.iter().map(Duration::as_secs_f64)), 1.0)),
            of(&|m| p50(&m.cycles)),
            of(&|m| m.accepted as f64 * 3600.0 / m.took.as_secs_f64()),
            of(&|m| m.useful_tokens as f64 * 100.0 / m.sampled_tokens as f64),
            of(&|m| m.staleness as f64),
        );
    }
    Ok(())
}
