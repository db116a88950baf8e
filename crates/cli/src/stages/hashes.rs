//! What a verdict was given for.
//!
//! The invariant: a hash is of contents, not of times; what can change a stage's verdict is under one of the names.

use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest, Sha256};
use verbatim_families::Family;
use verbatim_stages::check::Hashes;

use crate::config::{Config, SourceConfig};

/// The largest file whose contents are hashed; of a larger one (weights) length and change time are.
const WHOLE: u64 = 16 << 20;

/// The hashes of settings: `configuration`, `agent`, `engine`, `family`, `sessions`.
pub(super) fn hashes(config: &Config, family: Option<&dyn Family>) -> anyhow::Result<Hashes> {
    let whole = json!({
        "sampling": config.sampling, "server": {"connections": config.server.connections},
        "rollout": config.rollout, "dataset": config.dataset, "eval": config.eval, "reward": config.reward,
        "sessions": config.sessions, "journal": config.journal, "plugins": config.plugins,
        "data": config.dataset.as_ref().map(|dataset| file(&dataset.path)),
        "evaluated": config.eval.iter().map(|eval| file(&eval.path)).collect::<Vec<_>>(),
        "functions": functions(config).iter().map(|path| file(path)).collect::<Vec<_>>(),
    });
    let agent = json!({"agent": config.agent, "files": agent_files(config).iter().map(|path| file(path)).collect::<Vec<_>>()});
    let engine = json!({"engine": config.engine, "model": file(Path::new(&config.engine.model)), "verbatim": env!("CARGO_PKG_VERSION")});
    let spoken = family.map(|family| {
        let stops: Vec<u32> = family.stop_ids().iter().map(|id| id.0).collect();
        json!({"name": family.name(), "stop": stops})
    });
    let family = json!({"family": config.family, "template": config.family.chat_template.as_deref().map(file), "spoken": spoken});
    let each = [
        ("configuration", whole),
        ("agent", agent),
        ("engine", engine),
        ("family", family),
        ("sessions", json!({"sessions": config.sessions, "contexts": config.reward.contexts})),
    ];
    each.into_iter().map(|(name, of)| Ok((name.to_owned(), hash(&serde_json::to_vec(&of)?)))).collect()
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Of a file's contents; empty if there is none.
fn file(path: &Path) -> String {
    let Ok(about) = std::fs::metadata(path) else { return String::new() };
    if about.is_file() && about.len() <= WHOLE {
        return std::fs::read(path).map(|bytes| hash(&bytes)).unwrap_or_default();
    }
    let changed = about.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    format!("{} bytes, {}", about.len(), changed.unwrap_or_default().as_secs())
}

/// The files that an agent's command names, and its function's module.
fn agent_files(config: &Config) -> Vec<PathBuf> {
    let Some(agent) = &config.agent else { return Vec::new() };
    let words = agent.command.iter().flat_map(|line| line.split_whitespace());
    let words = words.map(|word| agent.cwd.join(word.trim_matches(['"', '\''])));
    let mut files: Vec<PathBuf> = words.filter(|path| path.is_file()).collect();
    files.extend(agent.function.iter().flat_map(|path| module(config, path)));
    files
}

fn functions(config: &Config) -> Vec<PathBuf> {
    let named = config.reward.sources().filter_map(|(_, source): (_, &SourceConfig)| source.function());
    named.flat_map(|path| module(config, path)).collect()
}

/// The file of a dotted path's module, where it is in a search path.
fn module(config: &Config, dotted: &str) -> Option<PathBuf> {
    let name = dotted.split(':').next().unwrap_or(dotted).replace('.', "/");
    config
        .plugins
        .search_paths
        .iter()
        .map(|folder| folder.join(format!("{name}.py")))
        .find(|path| path.is_file())
}
