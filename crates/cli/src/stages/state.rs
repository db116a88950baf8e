//! What stages leave behind for the next: files beside the rollout file.
//!
//! The invariant: a file is there whole or not at all.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use verbatim_stages::assess::{Adaptation, Need, Readiness};
use verbatim_stages::check::{Hashes, Traffic};
use verbatim_stages::lineage::Topology;

/// What an assessment was given for: when one of these differs, it is of another agent.
pub(super) const ASSESSED_FOR: [&str; 4] = ["agent", "engine", "family", "sessions"];

/// What a check was given for.
pub(super) const CHECKED_FOR: [&str; 4] = ["configuration", "agent", "engine", "family"];

/// The folder of a rollout's stages.
pub(super) struct State(PathBuf);

/// What `verbatim assess ROLLOUT.TOML` found, as far as the next stages need it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Assessed {
    /// Whether it can be trained.
    pub(super) readiness: Readiness,
    /// The shape of its contexts.
    pub(super) topology: Topology,
    /// In words, what that rests on.
    pub(super) summary: String,
    /// The client's read timeout, declared or measured.
    pub(super) timeout: Option<f64>,
    /// The longest that it waited.
    pub(super) waited: Option<f64>,
    /// What its traffic shows of parsing.
    pub(super) traffic: Traffic,
    /// Whether it gave rewards; none if it did not end well.
    pub(super) rewarded: Option<bool>,
    /// What it was given for.
    pub(super) hashes: Hashes,
    /// What the agent does that matters.
    pub(super) adaptations: Vec<Adaptation>,
}

impl Assessed {
    /// What nobody knows yet, in a line each.
    pub(super) fn unknowns(&self) -> Vec<String> {
        let open = self.adaptations.iter().filter(|found| found.need == Need::Unknown);
        open.map(Adaptation::line).collect()
    }
}

impl State {
    /// That of a rollout file.
    pub(super) fn of(rollout: &Path) -> Self {
        let stem = rollout.file_stem().unwrap_or_default();
        Self(rollout.parent().unwrap_or(Path::new("")).join(".verbatim").join(stem))
    }

    /// The folder, made if it is not there.
    ///
    /// # Errors
    /// If it cannot be made.
    pub(super) fn folder(&self) -> anyhow::Result<&Path> {
        std::fs::create_dir_all(&self.0).with_context(|| format!("cannot make {}", self.0.display()))?;
        Ok(&self.0)
    }

    /// What a stage left; none if it never ran, or an older version wrote something else.
    pub(super) fn read<T: DeserializeOwned>(&self, stage: &str) -> Option<T> {
        serde_json::from_str(&std::fs::read_to_string(self.0.join(format!("{stage}.json"))).ok()?).ok()
    }

    /// Leaves what a stage found.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn write(&self, stage: &str, found: &impl Serialize) -> anyhow::Result<()> {
        let path = self.folder()?.join(format!("{stage}.json"));
        let part = path.with_extension("part");
        std::fs::write(&part, serde_json::to_string_pretty(found)?)
            .and_then(|()| std::fs::rename(&part, &path))
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Which of these hashes differ now, of those named; all where nothing names them.
pub(super) fn stale(then: &Hashes, now: &Hashes, of: &[&str]) -> Vec<String> {
    of.iter().filter(|what| then.get(**what) != now.get(**what)).map(|what| (*what).to_owned()).collect()
}
