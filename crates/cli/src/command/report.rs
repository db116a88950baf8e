//! Telling a report: to a person, as JSON, into a file.

use anyhow::Context;
use serde::Serialize;

use crate::args::Told;

/// Writes the report where it was asked for, and prints it: as JSON, or by `print`.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn tell<R: Serialize>(told: &Told, report: &R, print: impl FnOnce(&R)) -> anyhow::Result<()> {
    let json = serde_json::to_string_pretty(report)?;
    if let Some(path) = &told.report {
        std::fs::write(path, &json).with_context(|| format!("cannot write {}", path.display()))?;
    }
    match told.json {
        true => println!("{json}"),
        false => print(report),
    }
    Ok(())
}

/// The first characters of a text on one line.
pub(super) fn short(text: &str) -> String {
    const SHOWN: usize = 160;
    let shown: String = text.chars().take(SHOWN).collect();
    let more = if shown.len() < text.len() { " …" } else { "" };
    format!("{shown:?}{more}")
}
