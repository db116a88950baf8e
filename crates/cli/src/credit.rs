//! From `[reward]` to those who are asked.

use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use verbatim_plugins::{Host, Kind};
use verbatim_rollout::{CommandSource, Credit, Source, UrlSource};

use crate::agent::folder;
use crate::config::{Config, RewardConfig, SourceConfig};

/// Checks what can be known before anything runs.
///
/// # Errors
/// If settings exclude each other.
pub(crate) fn check(config: &Config) -> anyhow::Result<()> {
    let reward = &config.reward;
    match reward.contexts.as_str() {
        "one" => {}
        "several" => ensure!(
            reward.advantage.is_some() || config.rollout.purpose != "train",
            "reward.contexts = \"several\" needs reward.advantage: nothing else says how credit is shared among the contexts of a session"
        ),
        other => bail!("reward.contexts: {other:?} is none of one, several"),
    }
    if config.rollout.purpose == "eval" {
        let trains = [("advantage", &reward.advantage), ("filter", &reward.filter)];
        for (name, source) in trains {
            ensure!(
                source.is_none(),
                "reward.{name} is of training only; leave it out where rollout.purpose is eval"
            );
        }
    }
    for (name, source) in reward.sources() {
        if let SourceConfig::Named(url) = source
            && url.contains("://")
        {
            UrlSource::new(url, Duration::from_secs(1)).map_err(|problem| anyhow!("{name}: {problem}"))?;
        }
    }
    Ok(())
}

/// Who is asked.
///
/// # Errors
/// If a function cannot be loaded, or a setting is wrong.
pub(crate) async fn credit(config: &Config, host: Option<&Host>) -> anyhow::Result<Credit> {
    check(config)?;
    let reward = &config.reward;
    Ok(Credit {
        key: reward.key.clone(),
        session: source("reward.session", Kind::Reward, reward.session.as_ref(), reward, host).await?,
        group: source("reward.group", Kind::GroupReward, reward.group.as_ref(), reward, host).await?,
        advantage: source("reward.advantage", Kind::Advantage, reward.advantage.as_ref(), reward, host)
            .await?,
        filter: source("reward.filter", Kind::Filter, reward.filter.as_ref(), reward, host).await?,
        concurrency: reward.concurrency.max(1),
        retries: reward.retries,
        ..Credit::default()
    })
}

async fn source(
    name: &'static str,
    kind: Kind,
    source: Option<&SourceConfig>,
    reward: &RewardConfig,
    host: Option<&Host>,
) -> anyhow::Result<Option<Source>> {
    let time = Duration::from_secs(reward.timeout_seconds.max(1));
    let Some(source) = source else { return Ok(None) };
    Ok(Some(match source {
        SourceConfig::Run(run) => Source::Command(CommandSource {
            command: run.command.clone(),
            cwd: folder(&reward.cwd).context("reward.cwd")?,
            time,
        }),
        SourceConfig::Named(url) if url.contains("://") => {
            Source::Url(UrlSource::new(url, time).map_err(|problem| anyhow!("{name}: {problem}"))?)
        }
        SourceConfig::Named(path) => {
            let host = host.with_context(|| format!("{name}: no plug-in host runs"))?;
            Source::Function(host.load(kind, path).await.context(name)?)
        }
    }))
}
