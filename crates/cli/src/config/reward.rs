//! `[reward]`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// `[reward]`: who is asked for rewards and advantages where the agent gives none.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RewardConfig {
    /// Which field of a reward that is an object is the reward.
    pub(crate) key: String,
    /// The reward of a session: the dotted path of a Python function, an `http://` URL, or `{ command = "…" }`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<SourceConfig>,
    /// The rewards of a group's sessions, instead of those they have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<SourceConfig>,
    /// The advantages of a group's contexts, or none to drop it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) advantage: Option<SourceConfig>,
    /// Whether a group is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) filter: Option<SourceConfig>,
    /// How many of these may be asked at once.
    pub(crate) concurrency: usize,
    /// How often one that failed is asked again.
    pub(crate) retries: u32,
    /// Seconds that a command or a URL may take; of functions `plugins.deadline_seconds` says.
    pub(crate) timeout_seconds: u64,
    /// Where commands run.
    pub(crate) cwd: PathBuf,
    /// How many contexts a session has: `one`, or `several`, which agents export by name and
    /// `reward.advantage` gives their credit.
    pub(crate) contexts: String,
}

/// Who is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum SourceConfig {
    /// A dotted path or a URL.
    Named(String),
    /// A command.
    Run(CommandConfig),
}

/// A command that scores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommandConfig {
    /// Run by `bash -c`.
    pub(crate) command: String,
}

impl Default for RewardConfig {
    fn default() -> Self {
        Self {
            key: "reward".into(),
            session: None,
            group: None,
            advantage: None,
            filter: None,
            concurrency: 64,
            retries: 2,
            timeout_seconds: 60,
            cwd: ".".into(),
            contexts: "one".into(),
        }
    }
}

impl RewardConfig {
    /// The settings that name who is asked, with their names.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&'static str, &SourceConfig)> {
        let all = [
            ("reward.session", &self.session),
            ("reward.group", &self.group),
            ("reward.advantage", &self.advantage),
            ("reward.filter", &self.filter),
        ];
        all.into_iter().filter_map(|(name, source)| Some((name, source.as_ref()?)))
    }
}

impl SourceConfig {
    /// The dotted path, if it is one.
    pub(crate) fn function(&self) -> Option<&str> {
        match self {
            Self::Named(name) if !name.contains("://") => Some(name),
            _ => None,
        }
    }
}
