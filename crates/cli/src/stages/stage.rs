//! `verbatim stage`.

use std::process::ExitCode;

use verbatim_stages::assess::Readiness;
use verbatim_stages::check::{Checked, Verdict};
use verbatim_stages::page::{Page, Part};
use verbatim_stages::route::{Known, route};

use super::check::of_rollout;
use super::demonstrate::Demonstrated;
use super::hashes::hashes;
use super::state::{ASSESSED_FOR, Assessed, CHECKED_FOR, State, stale};
use super::tell::tell;
use crate::args::{Reported, Stage};
use crate::model;

/// Says at which stage a rollout is. The exit code is 0 once it was demonstrated.
pub(crate) async fn run(args: Stage) -> anyhow::Result<ExitCode> {
    if !args.rollout.exists() {
        let fields = vec![
            ("Current stage".to_owned(), vec!["A".to_owned()]),
            ("Evidence".to_owned(), vec![format!("none: {} is not there", args.rollout.display())]),
            (
                "Next allowed stage".to_owned(),
                vec!["A: verbatim assess -- COMMAND, then verbatim bridge".to_owned()],
            ),
        ];
        print!("{}", Page::new("Stages").with(Part::Fields(fields)).text());
        return Ok(ExitCode::FAILURE);
    }
    let config = of_rollout(&args.rollout, &args.settings)?.config;
    let state = State::of(&args.rollout);
    let loaded = model::load(&config).await;
    let family = loaded.as_ref().ok().map(|loaded| loaded.family.as_ref());
    let now = hashes(&config, family)?;
    let assessed = state.read::<Assessed>("assess").map(|found| Known {
        stale: stale(&found.hashes, &now, &ASSESSED_FOR),
        told: format!("{}, {}: {}", found.readiness.name(), found.topology.name(), found.summary),
        passed: found.readiness == Readiness::Ready,
        open: found.unknowns(),
    });
    let checked = state.read::<Checked>("check").map(|found| Known {
        stale: stale(&found.hashes, &now, &CHECKED_FOR),
        told: found.verdict.name().to_owned(),
        passed: found.is_ready(),
        open: found.blocking(),
    });
    let demonstrated = state.read::<Demonstrated>("demonstrate").map(|found| Known {
        stale: stale(&found.hashes, &now, &CHECKED_FOR),
        told: format!("{}: {}", found.verdict.name(), found.bundle.display()),
        passed: found.verdict == Verdict::Pass,
        open: found.open,
    });
    let routed = route(assessed, checked, demonstrated);
    let reported = Reported { json: args.json, report: Vec::new() };
    tell(&reported, &routed.page(&args.rollout.display().to_string()), &routed)?;
    Ok(if routed.next.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
