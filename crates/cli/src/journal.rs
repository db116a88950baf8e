//! The journal that the settings name.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use verbatim_families::Family;
use verbatim_journal::{Journal, Level, Options, Recovery};
use verbatim_session::Restored;

use crate::config::{JournalConfig, JournalLevel};

/// Whose ids a journal's are.
const FAMILY: &str = "family";

/// What cannot change from one server of a journal to the next: ids mean something in one vocabulary only.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Vocabulary {
    family: String,
    size: usize,
}

/// A journal with what it held when it was opened.
pub(crate) struct Opened {
    pub(crate) journal: Journal,
    pub(crate) recovery: Recovery,
}

/// Checks what can be known before anything is opened.
///
/// # Errors
/// If a setting is out of its range.
pub(crate) fn check(config: &JournalConfig) -> anyhow::Result<()> {
    ensure!(
        (1..=1024).contains(&config.segment_mib),
        "journal.segment_mib: {} is not in 1..=1024",
        config.segment_mib
    );
    Ok(())
}

/// Opens the journal, if there is to be one.
///
/// # Errors
/// If it cannot be read or written, another server has it, or its ids are of another family.
pub(crate) fn open(config: &JournalConfig, family: &dyn Family) -> anyhow::Result<Option<Opened>> {
    let level = match config.level {
        JournalLevel::Off => return Ok(None),
        JournalLevel::Process => Level::Process,
        JournalLevel::Disk => Level::Disk,
    };
    let Some(folder) = &config.folder else { return Ok(None) };
    check(config)?;
    let options = Options { level, segment_bytes: config.segment_mib << 20 };
    let (journal, recovery) = Journal::open(folder, options).context("journal")?;
    let own = Vocabulary { family: family.name().to_owned(), size: family.tokenizer().vocabulary() };
    match recovery.notes.get(FAMILY) {
        Some(note) => {
            let kept: Vocabulary = serde_json::from_slice(note)
                .with_context(|| format!("journal: {}: its family cannot be read", folder.display()))?;
            ensure!(
                kept == own,
                "journal: {} holds ids of the family {} with {} tokens, and this server's is {} with {}: give it the same model, or another folder",
                folder.display(),
                kept.family,
                kept.size,
                own.family,
                own.size
            );
        }
        None => drop(journal.note_small(FAMILY, serde_json::to_vec(&own)?)),
    }
    Ok(Some(Opened { journal, recovery }))
}

impl Opened {
    /// Says what came back, and what did not.
    pub(crate) fn tell(&self, restored: &Restored, took: Duration) {
        for damage in &self.recovery.damages {
            tracing::error!("journal: {damage}");
        }
        if self.recovery.torn > 0 {
            let bytes = self.recovery.torn;
            tracing::warn!(bytes, "journal: a write did not end; nobody was told that it had");
        }
        for (session, problem) in &restored.refused {
            tracing::error!(session, problem, "journal: a session does not come back");
        }
        let Restored { sessions, turns, ended, .. } = restored;
        let (folder, milliseconds) = (self.journal.folder().display(), took.as_millis() as u64);
        tracing::info!(%folder, sessions, turns, ended, milliseconds, "journal: sessions are back");
    }
}
