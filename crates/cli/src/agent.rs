//! From `[agent]` to an agent.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::{Map, Value, json};
use verbatim_agents::{Agent, Command, Function, Limits, Remote, RemoteOptions, Slots, Way};
use verbatim_plugins::{Agent as Plugin, Host};

use crate::config::{AgentConfig, Config, InheritConfig, SamplingConfig};

/// What an agent needs to start a shell and find its programs, where it gets nothing else.
const LEAST: [&str; 7] = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "TZ"];

/// Checks which of the three ways `[agent]` says.
///
/// # Errors
/// If it says none or several, or gives one way what is another's.
pub(crate) fn check(agent: &AgentConfig) -> anyhow::Result<()> {
    let ways = [("command", &agent.command), ("function", &agent.function), ("url", &agent.url)];
    let said: Vec<_> = ways.iter().filter(|(_, way)| way.is_some()).map(|(name, _)| *name).collect();
    ensure!(
        said.len() == 1,
        "section [agent] needs exactly one of command, function and url; it has {}",
        if said.is_empty() { "none".to_owned() } else { said.join(" and ") }
    );
    ensure!(
        agent.poll_seconds.is_finite() && agent.poll_seconds > 0.0,
        "agent.poll_seconds: {} is not above 0",
        agent.poll_seconds
    );
    let limits = [agent.max_memory_mib, agent.max_files, agent.max_cpu_seconds, agent.max_file_mib];
    if agent.command.is_none() && limits.iter().any(|limit| *limit > 0) {
        bail!("agent.max_…: limits are of a command's processes; this agent is no command");
    }
    Ok(())
}

/// How many agents may live at once: what `[agent]` says, and no more than its service has slots.
///
/// # Errors
/// If the service does not say.
pub(crate) async fn at_once(agent: &AgentConfig) -> anyhow::Result<usize> {
    let asked = agent.concurrency.max(1);
    if agent.url.is_none() {
        return Ok(asked);
    }
    let slots = slots(agent).await.context("agent.url")?;
    ensure!(slots.total > 0, "agent.url: the service has no slots");
    if slots.total < asked {
        eprintln!(
            "the agent's service has {} slots: agent.concurrency = {asked} is more than it runs",
            slots.total
        );
    }
    Ok(asked.min(slots.total))
}

/// The slots of an agent's service.
///
/// # Errors
/// If it does not say.
pub(crate) async fn slots(agent: &AgentConfig) -> anyhow::Result<Slots> {
    Ok(remote(agent)?.slots().await?)
}

/// The agent.
///
/// # Errors
/// If its folder is not there, or its function cannot be loaded.
pub(crate) async fn agent(
    config: &Config,
    agent: &AgentConfig,
    host: Option<&Host>,
) -> anyhow::Result<Agent> {
    check(agent)?;
    let way = match (&agent.command, &agent.function, host) {
        (Some(line), _, _) => Way::Command(command(agent, line)?),
        (None, Some(path), Some(host)) => {
            let plugin = Plugin::load(host, path).await.context("agent.function")?;
            Way::Function(Function { plugin, request_kwargs: request_kwargs(&config.sampling) })
        }
        (None, Some(_), None) => bail!("agent.function: no plug-in host runs"),
        (None, None, _) => Way::Remote(remote(agent)?),
    };
    Ok(Agent { way, time: Duration::from_secs(agent.timeout_seconds) })
}

fn command(agent: &AgentConfig, line: &str) -> anyhow::Result<Command> {
    let limit = |value: u64| (value > 0).then_some(value);
    Ok(Command {
        command: line.to_owned(),
        cwd: folder(&agent.cwd).context("agent.cwd")?,
        env: agent.env.clone(),
        inherit: match &agent.inherit_env {
            InheritConfig::All(true) => None,
            InheritConfig::All(false) => Some(LEAST.map(str::to_owned).to_vec()),
            InheritConfig::Only(names) => Some(names.clone()),
        },
        limits: Limits {
            memory_mib: limit(agent.max_memory_mib),
            files: limit(agent.max_files),
            cpu_seconds: limit(agent.max_cpu_seconds),
            file_mib: limit(agent.max_file_mib),
        },
        grace: Duration::from_secs(agent.grace_seconds),
    })
}

/// A folder by its whole path.
///
/// # Errors
/// If it is not there.
pub(crate) fn folder(path: &Path) -> anyhow::Result<std::path::PathBuf> {
    std::fs::canonicalize(path).with_context(|| path.display().to_string())
}

fn remote(agent: &AgentConfig) -> anyhow::Result<Remote> {
    let key = match &agent.key_file {
        Some(path) => {
            let text = std::fs::read_to_string(path);
            Some(text.with_context(|| format!("agent.key_file: {}", path.display()))?.trim().to_owned())
        }
        None => None,
    };
    Ok(Remote::new(RemoteOptions {
        url: agent.url.clone().unwrap_or_default(),
        key,
        poll: Duration::from_secs_f64(agent.poll_seconds),
        deadline: Duration::from_secs(agent.request_seconds.max(1)),
        failures: agent.failures,
        grace: Duration::from_secs(agent.grace_seconds),
    })?)
}

/// What a function is told to sample with.
fn request_kwargs(sampling: &SamplingConfig) -> Map<String, Value> {
    let mut told = json!({"temperature": sampling.temperature, "top_p": sampling.top_p});
    if sampling.top_k > 0 {
        told["top_k"] = json!(sampling.top_k);
    }
    if sampling.max_tokens > 0 {
        told["max_tokens"] = json!(sampling.max_tokens);
    }
    told.as_object().cloned().unwrap_or_default()
}
