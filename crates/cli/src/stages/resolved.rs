//! Settings that mean the same wherever their file lies.

use std::path::{Path, PathBuf};

use crate::config::{Config, is_url};

/// The settings with every path whole.
///
/// # Errors
/// If the working folder is gone.
pub(super) fn resolved(config: &Config) -> anyhow::Result<Config> {
    let mut config = config.clone();
    let model = Path::new(&config.engine.model);
    if model.exists() {
        config.engine.model = whole(model)?.to_string_lossy().into_owned();
    }
    let agent = config.agent.as_mut();
    let (cwd, key) = agent.map_or((None, None), |agent| (Some(&mut agent.cwd), agent.key_file.as_mut()));
    let optional = [
        config.journal.folder.as_mut(),
        config.sessions.spill.as_mut(),
        config.engine.cache.as_mut(),
        config.engine.api_key_file.as_mut(),
        config.engine.admin_key_file.as_mut(),
        config.engine.sim_script.as_mut(),
        config.family.chat_template.as_mut(),
        config.server.control_key_file.as_mut(),
        config.log.events.as_mut(),
        config.dataset.as_mut().map(|dataset| &mut dataset.path),
        cwd,
        key,
        Some(&mut config.reward.cwd),
        // Rows may also go to a store's URL.
        Some(&mut config.rollout.output).filter(|output| !is_url(&output.to_string_lossy())),
    ];
    let evals = config.eval.iter_mut().map(|eval| &mut eval.path);
    let all = optional.into_iter().flatten().chain(&mut config.plugins.search_paths).chain(evals);
    for path in all {
        *path = whole(path)?;
    }
    Ok(config)
}

fn whole(path: &Path) -> anyhow::Result<PathBuf> {
    Ok(std::path::absolute(if path.as_os_str().is_empty() { Path::new(".") } else { path })?)
}
