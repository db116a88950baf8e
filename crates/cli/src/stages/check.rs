//! `verbatim check`.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use verbatim_families::Family;
use verbatim_stages::check::{
    Checked, Export, Gate, Line, Parameter, Parts, Patience, Verdict, capacity, export, hold, linearity,
    parameters, parsers, scale, timeout,
};
use verbatim_stages::verify::{Cut, template};

use super::evidence::{adaptations, cache, groups, load, notes, retained, steps, widths};
use super::hashes::hashes;
use super::machine::machine;
use super::refused::refused;
use super::state::{ASSESSED_FOR, Assessed, State, stale};
use super::tell::tell;
use crate::args::{Check, Settings};
use crate::config::{Config, Layered};
use crate::rollout::{Driven, problems};
use crate::telemetry::Telemetry;
use crate::wiring::settings;
use crate::{agent, model};

/// Checks a rollout. The exit code is 0 only if it may be started.
pub(crate) async fn run(args: Check) -> anyhow::Result<ExitCode> {
    args.reported.can_be_told()?;
    let layered = of_rollout(&args.rollout, &args.settings)?;
    let config = &layered.config;
    let _telemetry = Telemetry::start(&config.log)?;
    let state = State::of(&args.rollout);
    let loaded = model::load(config).await;
    let family = loaded.as_ref().ok().map(|loaded| Arc::clone(&loaded.family));
    let hashes = hashes(config, family.as_deref())?;
    let assessed: Option<Assessed> = state.read("assess");
    let outdated = assessed.as_ref().map_or(Vec::new(), |found| stale(&found.hashes, &hashes, &ASSESSED_FOR));
    // What was said of another agent says nothing of this one.
    let current = assessed.as_ref().filter(|_| outdated.is_empty());
    let load = load(config);
    let several = config.reward.contexts == "several";
    let dynamic = batching(args.batching.as_deref())?;
    let (gate, unasked) = gate(&args, config).await?;

    let settings = layered.each()?.into_iter();
    let settings: Vec<Parameter> =
        settings.map(|(name, value, origin)| Parameter { name, value, origin: origin.to_string() }).collect();
    let driven = if args.trainer { Driven::ByTrainer } else { Driven::ByItself };
    let mut unknown: Vec<String> = unasked.into_iter().collect();
    if !outdated.is_empty() {
        unknown.push(format!("the assessment is stale ({} changed): assess again", outdated.join(", ")));
    }
    let mut wrong = problems(config, &args.rollout, driven);
    // Some rules are both the rollout's and the server's.
    wrong
        .extend(refused(config).await.into_iter().filter(|found| !wrong.contains(found)).collect::<Vec<_>>());
    let mut settled = parameters(&settings, &wrong, &notes(config), &unknown);
    settled.extend(current.into_iter().flat_map(adaptations));
    let patience = Patience {
        client: least(args.client_timeout, current.and_then(|found| found.timeout)),
        waited: current.and_then(|found| found.waited),
        proxy: args.proxy_timeout,
        proxied: config.agent.as_ref().is_some_and(|agent| agent.server_url.is_some()),
    };
    let barrier = config.rollout.barrier_seconds as f64;
    let worst = hold(retained(config), barrier, config.sessions.hold_seconds as f64, args.worst_hold);
    let summary = current.map(|found| found.summary.clone()).unwrap_or_default();
    let parts = Parts {
        parameters: settled,
        linearity: vec![linearity(current.map(|found| found.topology), several, &summary)],
        capacity: vec![capacity(load, gate)],
        scale: scale(widths(config, load), machine()),
        timeout: vec![timeout(&worst, patience)],
        parsers: parsers(round_trip(family.as_deref()), current.map(|found| &found.traffic)),
        export: export(Export {
            topology: current.map(|found| found.topology),
            several,
            advantage: config.reward.advantage.is_some(),
            rewarded: match config.reward.session.is_some() || config.reward.group.is_some() {
                true => Some(true),
                false => current.and_then(|found| found.rewarded),
            },
            dynamic,
            bounded: config.rollout.max_seq_len > 0 || config.engine.max_context > 0,
        }),
        groups: groups(config),
        engine: vec![engine(loaded.as_ref().map(|loaded| loaded.model.as_str()))],
        steps: steps(config),
        cache: cache(config),
    };
    let checked = Checked::new(parts, load, gate, hashes, settings);
    state.write("check", &checked)?;
    tell(&args.reported, &checked.page(), &checked)?;
    Ok(if checked.is_ready() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The settings of a rollout file.
///
/// # Errors
/// If another file is given beside it, or a setting is wrong.
pub(super) fn of_rollout(rollout: &Path, flags: &Settings) -> anyhow::Result<Layered> {
    ensure!(flags.config.is_none(), "a rollout file is the settings file: leave --config out");
    settings(&Settings { config: Some(rollout.to_owned()), ..flags.clone() }, &[])
}

/// What limits sessions from outside: as declared, or as the agent's service says. Beside it, why that could not be asked.
async fn gate(args: &Check, config: &Config) -> anyhow::Result<(Gate, Option<String>)> {
    match (args.slots, args.eval_slots, &config.agent) {
        (Some(train), Some(eval), _) => Ok((Gate::Dedicated { train: Some(train), eval: Some(eval) }, None)),
        (Some(slots), None, _) => Ok((Gate::Shared(Some(slots)), None)),
        (None, _, Some(named)) if named.url.is_some() => match agent::slots(named).await {
            Ok(slots) => Ok((Gate::Shared(Some(slots.total as u64)), None)),
            Err(error) => Ok((Gate::Shared(None), Some(format!("agent.url: {error:#}")))),
        },
        _ => Ok((Gate::None, None)),
    }
}

fn least(declared: Option<f64>, measured: Option<f64>) -> Option<f64> {
    match (declared, measured) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn batching(said: Option<&str>) -> anyhow::Result<Option<bool>> {
    Ok(match said {
        None => None,
        Some("tokens") => Some(true),
        Some("rows") => Some(false),
        Some(other) => bail!("--batching: {other:?} is none of rows, tokens"),
    })
}

/// The family's round trip over its vocabulary: how many replies, and which were not said again as they were.
fn round_trip(family: Option<&dyn Family>) -> Result<(usize, Vec<String>), String> {
    let family = family.context("the model cannot be loaded").map_err(|error| error.to_string())?;
    let report = template(family);
    let replies = report.differences.iter().filter(|found| found.cut == Cut::Reply);
    let wrong = replies.map(|found| format!("{} at token {}", found.shape, found.token)).collect();
    Ok((report.replies, wrong))
}

fn engine(loaded: Result<&str, &anyhow::Error>) -> Line {
    match loaded {
        Ok(model) => Line::new(
            Verdict::Pass,
            "Engine",
            format!("{model}: ids, logprobs and endings came through when it was asked"),
            "",
        ),
        Err(error) => Line::new(
            Verdict::NeedsChanges,
            "Engine",
            format!("{error:#}"),
            "`verbatim engine probe URL` says what is missing and which flag brings it",
        ),
    }
}
