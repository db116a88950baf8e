//! What a job would be refused for as it begins, besides the rules of its rollout.
//!
//! The invariant: a setting that no job could begin with is no PASS of a check. Functions are loaded as the job loads
//! them, and called by nobody; nothing is written.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, ensure};

use crate::config::{Config, is_url};
use crate::plugins::Plugins;
use crate::wiring::access;
use crate::{agent, credit, journal};

/// Each begins with the name of its setting.
pub(super) async fn refused(config: &Config) -> Vec<String> {
    let mut found = Vec::new();
    let mut look =
        |checked: anyhow::Result<()>| found.extend(checked.err().map(|error| format!("{error:#}")));
    look(access(config).map(drop));
    look(listens(&config.server.listen));
    look(bodies(config));
    look(journal::check(&config.journal));
    for (name, place) in places(config) {
        look(can_be_made(name, place));
    }
    if let Some(named) = &config.agent {
        look(reached(named.server_url.as_deref()));
        look(match named.timeout_seconds {
            0 => Err(anyhow!("agent.timeout_seconds: with 0 s no agent comes to its first turn")),
            _ => Ok(()),
        });
    }
    look(callables(config).await);
    found
}

fn listens(address: &str) -> anyhow::Result<()> {
    let named =
        address.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    ensure!(
        named || address.parse::<SocketAddr>().is_ok(),
        "server.listen: {address:?} is no address and port, as 127.0.0.1:8377"
    );
    Ok(())
}

fn bodies(config: &Config) -> anyhow::Result<()> {
    ensure!(config.server.body_mib > 0, "server.body_mib: 0 MiB hold no request");
    Ok(())
}

fn reached(url: Option<&str>) -> anyhow::Result<()> {
    let Some(url) = url else { return Ok(()) };
    let is_http = url.starts_with("http://") || url.starts_with("https://");
    ensure!(is_http, "agent.server_url: {url:?} is no URL, as http://HOST:PORT");
    Ok(())
}

/// Where a job writes, by the setting that says so.
fn places(config: &Config) -> Vec<(&'static str, PathBuf)> {
    let output = Some(&config.rollout.output).filter(|output| {
        // Rows that a trainer pulls, or that go to a store, are written nowhere here.
        config.rollout.sink == "folder" && !is_url(&output.to_string_lossy())
    });
    let all = [
        ("log.events", config.log.events.as_deref().and_then(Path::parent)),
        ("journal.folder", config.journal.folder.as_deref()),
        ("sessions.spill", config.sessions.spill.as_deref()),
        ("rollout.output", output.map(PathBuf::as_path)),
    ];
    all.into_iter().filter_map(|(name, place)| Some((name, std::path::absolute(place?).ok()?))).collect()
}

/// Whether a folder is there, or can be made, as far as that is seen without making it.
fn can_be_made(name: &str, place: PathBuf) -> anyhow::Result<()> {
    let there = place.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    let about = std::fs::metadata(there).with_context(|| format!("{name}: {}", there.display()))?;
    ensure!(about.is_dir(), "{name}: {} is no folder", there.display());
    ensure!(!about.permissions().readonly(), "{name}: {} cannot be written to", there.display());
    Ok(())
}

/// Loads every function that settings name.
async fn callables(config: &Config) -> anyhow::Result<()> {
    let plugins = Plugins::load(config).await?;
    credit::credit(config, plugins.host()).await?;
    if let Some(named) = config.agent.as_ref().filter(|named| named.function.is_some()) {
        agent::agent(config, named, plugins.host()).await?;
    }
    Ok(())
}
