//! A demonstration's bundle: all that its verdicts rest on.
//!
//! The invariant: a bundle is there whole or not at all, and its manifest holds the hash of every other file; whoever
//! reads it judges the same evidence again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use verbatim_stages::check::Hashes;
use verbatim_stages::demonstrate::{Demonstration, Proof, points};
use verbatim_stages::log::{Entry, read_log};

use crate::command::rows_files;

/// The event log.
pub(super) const EVENTS: &str = "events.jsonl";
/// The configuration that ran, every setting written out.
pub(super) const ROLLOUT: &str = "rollout.toml";
/// The folder of the rows.
pub(super) const ROWS: &str = "rows";
/// What was seen besides events and rows.
pub(super) const EVIDENCE: &str = "evidence.json";
/// The hashes of all other files.
const MANIFEST: &str = "hashes.json";

/// What a demonstration is judged by, besides its event log and its rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Evidence {
    /// The rest of the proof; its rows are counted anew.
    pub(super) proof: Proof,
    /// Why it ran without a passing check, if it did.
    pub(super) forced: Option<String>,
    /// How the job failed, if it did.
    pub(super) failed: Option<String>,
    /// What it was given for.
    pub(super) hashes: Hashes,
}

/// The rows of a folder, by session; none if there is no file of them.
pub(super) fn rows(folder: &Path) -> anyhow::Result<Option<BTreeMap<String, usize>>> {
    let any = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if !any {
        return Ok(None);
    }
    let mut counts = BTreeMap::new();
    for row in rows_files::read(folder)? {
        *counts.entry(row.session.to_string()).or_default() += 1;
    }
    Ok(Some(counts))
}

/// Judges what lies in a folder.
///
/// # Errors
/// If the event log or the rows cannot be read.
pub(super) fn judge(folder: &Path, evidence: &Evidence) -> anyhow::Result<Demonstration> {
    let proof = Proof { rows: rows(&folder.join(ROWS))?, ..evidence.proof.clone() };
    let ended = evidence.failed.clone().map_or(Ok(()), Err);
    let points = points(&events(&folder.join(EVENTS))?, &proof);
    Ok(Demonstration::new(points, evidence.forced.clone(), ended, evidence.hashes.clone()))
}

/// The events of a log; none if nothing was ever logged.
///
/// # Errors
/// If a line is no event.
pub(super) fn events(path: &Path) -> anyhow::Result<Vec<Entry>> {
    match std::fs::read_to_string(path) {
        Ok(text) => read_log(&text).with_context(|| path.display().to_string()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// A file of a bundle.
///
/// # Errors
/// If it is not there, or says something else.
pub(super) fn read<T: DeserializeOwned>(folder: &Path, name: &str) -> anyhow::Result<T> {
    let path = folder.join(name);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}

/// Writes the manifest.
///
/// # Errors
/// If a file cannot be read or written.
pub(super) fn seal(folder: &Path) -> anyhow::Result<()> {
    let manifest = serde_json::to_string_pretty(&manifest(folder)?)?;
    std::fs::write(folder.join(MANIFEST), manifest).context("cannot write the manifest")
}

/// Checks every file against the manifest.
///
/// # Errors
/// If one is missing, is another, or is not in it.
pub(super) fn unseal(folder: &Path) -> anyhow::Result<()> {
    ensure!(
        folder.join(MANIFEST).is_file(),
        "{} is no bundle: it has no {MANIFEST}; `verbatim demonstrate ROLLOUT.TOML --output FOLDER` writes one",
        folder.display()
    );
    let told: BTreeMap<String, String> = read(folder, MANIFEST)?;
    let found = manifest(folder)?;
    for (name, hash) in &told {
        match found.get(name) {
            None => bail!("{}: {name} is missing", folder.display()),
            Some(now) => ensure!(now == hash, "{}: {name} was changed", folder.display()),
        }
    }
    if let Some(name) = found.keys().find(|name| !told.contains_key(*name)) {
        bail!("{}: {name} is none of the bundle's files", folder.display());
    }
    Ok(())
}

fn manifest(folder: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let mut hashes = BTreeMap::new();
    for path in files(folder)? {
        let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
        if name == MANIFEST {
            continue;
        }
        let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let hash = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        hashes.insert(name, hash);
    }
    Ok(hashes)
}

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        match path.is_dir() {
            true => all.extend(files(&path)?),
            false => all.push(path),
        }
    }
    Ok(all)
}
