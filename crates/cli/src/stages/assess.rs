//! `verbatim assess`.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use verbatim_chat::matcher_by_name;
use verbatim_families::Family;
use verbatim_stages::assess::{Assessment, Evidence, Execution, Readiness, assess};
use verbatim_stages::check::traffic;
use verbatim_stages::lineage::Declared;
use verbatim_stages::recording::{Recording, read};

use super::check::of_rollout;
use super::hashes::hashes;
use super::run::{Ran, run as run_agent};
use super::state::{Assessed, State};
use super::tell::tell;
use crate::args::Assess;
use crate::config::Config;
use crate::model::family_alone;
use crate::telemetry::Telemetry;
use crate::wiring::settings;

/// What was recorded, and what it says.
pub(super) struct Assessing {
    /// Each run's name, its recording, and why it ended badly, if it did.
    pub(super) runs: Vec<(String, Recording, Option<String>)>,
    /// The assessment.
    pub(super) assessment: Assessment,
    /// Whether every run that ended well gave a reward; none if none did.
    rewarded: Option<bool>,
    /// The model's family, if a model was loaded.
    family: Option<Arc<dyn Family>>,
}

/// Runs an agent, or reads recordings. The exit code is 0 only if the agent is ready.
pub(crate) async fn run(args: Assess) -> anyhow::Result<ExitCode> {
    args.reported.can_be_told()?;
    let config = asked(&args)?;
    let _telemetry = Telemetry::start(&config.log)?;
    let Assessing { runs, assessment, rewarded, family } = assessment(&args).await?;
    if let Some(rollout) = &args.rollout {
        let family = family.or_else(|| family_alone(&config).ok());
        State::of(rollout).write(
            "assess",
            &Assessed {
                readiness: assessment.readiness,
                topology: assessment.topology,
                summary: summary(&assessment),
                timeout: assessment.client.timeout(),
                waited: assessment.client.waited,
                traffic: traffic(runs.iter().map(|(_, recording, _)| recording)),
                rewarded,
                hashes: hashes(&config, family.as_deref())?,
                adaptations: assessment.adaptations.clone(),
            },
        )?;
    }
    tell(&args.reported, &assessment.page(), &assessment)?;
    Ok(if assessment.readiness == Readiness::Ready { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The settings that an assessment is made under.
fn asked(args: &Assess) -> anyhow::Result<Config> {
    Ok(match &args.rollout {
        Some(rollout) => of_rollout(rollout, &args.settings)?.config,
        None => settings(&args.settings, &[])?.config,
    })
}

/// Runs the agent, or reads recordings, and judges.
///
/// # Errors
/// If a setting is wrong, a model cannot be loaded, or a recording cannot be read; what goes wrong in a run is in the run.
pub(super) async fn assessment(args: &Assess) -> anyhow::Result<Assessing> {
    let mut config = asked(args)?;
    config.server.listen = "127.0.0.1:0".to_owned();
    config.log.events = None;
    let named = matcher_by_name(&config.sessions.matcher);
    // What the next stages rely on is judged as the rollout's own sessions will.
    ensure!(
        args.rollout.is_none() || args.matcher.is_none() || named.is_err(),
        "--matcher: the rollout file says {:?}; change it there",
        config.sessions.matcher
    );
    let matcher = match (args.matcher.as_deref().map(matcher_by_name), named) {
        (Some(asked), _) => asked.context("--matcher")?,
        (None, Ok(named)) => named,
        (None, Err(_)) => bail!(
            "sessions.matcher: {:?} is none of ours; name the one it is nearest to with --matcher",
            config.sessions.matcher
        ),
    };
    let several = config.reward.contexts == "several";
    let declared = if several || args.branches { Declared::Branches } else { Declared::Nothing };

    let mut runs: Vec<(String, Recording, Option<String>)> = Vec::new();
    let (mut rewarded, mut family) = (None, None);
    if args.recording.is_empty() {
        let (ran, loaded) = run_agent(args, &config).await?;
        family = loaded.map(|loaded| loaded.family);
        keep(args, &ran)?;
        rewarded = rewards(&ran);
        for Ran { name, lines, output } in ran {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let recording = if text.is_empty() { Recording::default() } else { read(&text)? };
            runs.push((name, recording, output.err()));
        }
    }
    for path in &args.recording {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let recording = read(&text).with_context(|| path.display().to_string())?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        runs.push((name, recording, None));
    }
    let evidence = Evidence {
        runs: runs
            .iter()
            .map(|(name, recording, failed)| (name.clone(), recording, failed.clone()))
            .collect(),
        matcher: matcher.as_ref(),
        declared,
        execution: execution(args, &config),
        integrated: args.rollout.is_some(),
    };
    let assessment = assess(&evidence);
    Ok(Assessing { runs, assessment, rewarded, family })
}

fn summary(assessment: &Assessment) -> String {
    let requests: usize = assessment.runs.iter().map(|run| run.lineage.steps.len()).sum();
    format!("{} runs, {requests} requests, matcher {}", assessment.runs.len(), assessment.matcher)
}

/// Whether every run that ended well gave a reward; none if none ended well.
fn rewards(ran: &[Ran]) -> Option<bool> {
    let mut outputs = ran.iter().filter_map(|run| run.output.as_ref().ok()).peekable();
    outputs.peek()?;
    Some(outputs.all(|output| {
        let records = output.records.iter().flatten();
        output.reward.is_some()
            || records.clone().next().is_some() && records.clone().all(|record| record.reward.is_some())
    }))
}

fn execution(args: &Assess, config: &Config) -> Execution {
    match (&args.rollout, &config.agent) {
        (Some(_), Some(agent)) if agent.url.is_some() => Execution::RemoteShared,
        (Some(_), _) => Execution::Local,
        (None, _) if !args.command.is_empty() => Execution::Local,
        _ => Execution::Unknown,
    }
}

/// Keeps recordings where they were asked for: beside the rollout's stages, or in --output.
fn keep(args: &Assess, ran: &[Ran]) -> anyhow::Result<()> {
    let folder = match (&args.output, &args.rollout) {
        (Some(folder), _) => {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
            folder.clone()
        }
        (None, Some(rollout)) => State::of(rollout).folder()?.to_owned(),
        (None, None) => return Ok(()),
    };
    for (number, run) in ran.iter().enumerate() {
        let path = folder.join(format!("recording-{number}.jsonl"));
        let text: String = run.lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
