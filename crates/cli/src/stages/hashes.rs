//! What a verdict was given for.
//!
//! The invariant: a hash is of contents, not of times; what can change a stage's verdict is under one of the names.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use verbatim_families::Family;
use verbatim_stages::check::Hashes;

use crate::config::{Config, SourceConfig};

/// The largest file whose contents are hashed; of a larger one (weights) length and change time are.
const WHOLE: u64 = 16 << 20;

/// Settings that no verdict rests on: where the server listens and who may control it, what is logged, where models and
/// files that grow lie. Every other one is under a hash, also those that nobody has thought of here.
pub(super) const BESIDE: [&str; 11] = [
    "engine.cache",
    "journal.folder",
    "log.events",
    "log.filter",
    "log.json",
    "log.otlp",
    "rollout.output",
    "server.control_key_file",
    "server.listen",
    "server.trust_cidr",
    "sessions.spill",
];

/// The hashes of settings: `configuration`, `agent`, `engine`, `family`, `sessions`.
pub(super) fn hashes(config: &Config, family: Option<&dyn Family>) -> anyhow::Result<Hashes> {
    let mut sections = serde_json::to_value(config)?;
    for key in BESIDE {
        let Some((section, name)) = key.split_once('.') else { continue };
        if let Some(section) = sections.get_mut(section).and_then(Value::as_object_mut) {
            // The others keep their order, which is hashed.
            section.shift_remove(name);
        }
    }
    let mut take = |section: &str| sections.as_object_mut().and_then(|all| all.shift_remove(section));
    let agent = json!({"agent": take("agent"), "files": each(agent_files(config))});
    let script = config.engine.sim_script.as_deref().map(file);
    let engine = json!({"engine": take("engine"), "model": file(Path::new(&config.engine.model)), "script": script,
        "verbatim": env!("CARGO_PKG_VERSION")});
    let spoken = family.map(|family| {
        let stops: Vec<u32> = family.stop_ids().iter().map(|id| id.0).collect();
        json!({"name": family.name(), "stop": stops})
    });
    let family = json!({"family": take("family"), "template": config.family.chat_template.as_deref().map(file), "spoken": spoken});
    let sessions = json!({"sessions": sections["sessions"], "contexts": config.reward.contexts,
        "matcher": each(module(config, &config.sessions.matcher))});
    let whole = json!({
        "settings": sections,
        "data": config.dataset.as_ref().map(|dataset| file(&dataset.path)),
        "evaluated": each(config.eval.iter().map(|eval| &eval.path)),
        "functions": each(functions(config)),
    });
    let named = [
        ("configuration", whole),
        ("agent", agent),
        ("engine", engine),
        ("family", family),
        ("sessions", sessions),
    ];
    named.into_iter().map(|(name, of)| Ok((name.to_owned(), hash(&serde_json::to_vec(&of)?)))).collect()
}

fn each(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Vec<String> {
    paths.into_iter().map(|path| file(path.as_ref())).collect()
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

/// The files that an agent's commands name, and its function's module.
fn agent_files(config: &Config) -> Vec<PathBuf> {
    let Some(agent) = &config.agent else { return Vec::new() };
    let mut files = Vec::new();
    for line in agent.command.iter().chain(&agent.setup) {
        files.extend(words(line, &agent.cwd));
    }
    files.extend(agent.function.iter().flat_map(|path| module(config, path)));
    files
}

/// The files that a line of a shell names.
fn words(line: &str, cwd: &Path) -> impl Iterator<Item = PathBuf> {
    let words = line.split_whitespace().map(|word| cwd.join(word.trim_matches(['"', '\''])));
    words.filter(|path| path.is_file()).collect::<Vec<_>>().into_iter()
}

/// The files of whoever decides about rows and rewards.
fn functions(config: &Config) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for (_, source) in config.reward.sources() {
        match source {
            SourceConfig::Run(run) => files.extend(words(&run.command, &config.reward.cwd)),
            SourceConfig::Named(_) => files.extend(source.function().and_then(|path| module(config, path))),
        }
    }
    let plugins = [Some(&config.plugins.picker), config.plugins.postprocessor.as_ref()];
    files.extend(plugins.into_iter().flatten().filter_map(|path| module(config, path)));
    files
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
