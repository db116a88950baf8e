//! The user's Python callables that the settings name.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use verbatim_chat::matcher_by_name;
use verbatim_gateway::{Hooks, UserMatcher};
use verbatim_plugins::{Host, HostOptions, Matcher, Picker, PostProcessor};
use verbatim_session::Matching;

use crate::config::{Config, PluginsConfig};

/// What was loaded; the host lives as long as this does.
pub(crate) struct Plugins {
    /// Who says which replayed messages are the same.
    pub(crate) matching: Matching,
    /// What is asked when rows are made.
    pub(crate) hooks: Arc<Hooks>,
    host: Option<Host>,
}

impl Plugins {
    /// Loads what the settings name; no interpreter is started if they name nothing.
    ///
    /// # Errors
    /// If a matcher is unknown, or a callable cannot be loaded.
    pub(crate) async fn load(config: &Config) -> anyhow::Result<Self> {
        let plugins = &config.plugins;
        let matcher = &config.sessions.matcher;
        let scores = config.reward.sources().any(|(_, source)| source.function().is_some());
        let acts = config.agent.as_ref().is_some_and(|agent| agent.function.is_some());
        let asked = matcher.contains(['.', ':'])
            || plugins.picker.contains('.')
            || plugins.postprocessor.is_some()
            || scores
            || acts;
        let host = if asked { Some(Host::start(options(plugins)).await.context("plugins")?) } else { None };

        let matching = match &host {
            Some(host) if matcher.contains(['.', ':']) => {
                let loaded = Matcher::load(host, matcher).await;
                let loaded = loaded.with_context(|| {
                    format!("sessions.matcher: failed to resolve --session-message-matcher {matcher}")
                })?;
                Matching::Predicate(Arc::new(UserMatcher::new(matcher, loaded)))
            }
            _ => Matching::Matcher(matcher_by_name(matcher).context("sessions.matcher")?),
        };
        let mut hooks = Hooks::default();
        match (&host, plugins.picker.as_str()) {
            (Some(host), path) if path.contains('.') => {
                hooks.picker = Some(Picker::load(host, path).await.context("plugins.picker")?);
            }
            (_, name) => {
                hooks.pick = serde_json::from_value(name.into()).with_context(|| {
                    format!(
                        "plugins.picker: {name:?} is none of drop_retries, all, keep_all, nor a dotted path"
                    )
                })?;
            }
        }
        if let (Some(host), Some(path)) = (&host, &plugins.postprocessor) {
            hooks.postprocessor =
                Some(PostProcessor::load(host, path).await.context("plugins.postprocessor")?);
        }
        Ok(Self { matching, hooks: Arc::new(hooks), host })
    }
}

impl Plugins {
    /// The host, if one runs.
    pub(crate) fn host(&self) -> Option<&Host> {
        self.host.as_ref()
    }
}

fn options(plugins: &PluginsConfig) -> HostOptions {
    let usual = HostOptions::default();
    HostOptions {
        python: plugins.python.clone().unwrap_or(usual.python),
        search_paths: plugins.search_paths.clone(),
        workers: plugins.workers.max(1),
        deadline: Duration::from_secs(plugins.deadline_seconds.max(1)),
        ..usual
    }
}
