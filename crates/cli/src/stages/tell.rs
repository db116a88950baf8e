//! Telling a stage's report.

use std::path::Path;

use anyhow::{Context, bail};
use serde::Serialize;
use verbatim_stages::page::Page;

use crate::args::Reported;

/// Writes the report where it was asked for, and prints it.
///
/// # Errors
/// If a file cannot be written, or its name says no format.
pub(super) fn tell(reported: &Reported, page: &Page, data: &impl Serialize) -> anyhow::Result<()> {
    let json = serde_json::to_string_pretty(data)?;
    for path in &reported.report {
        write(path, page, &json)?;
    }
    match reported.json {
        true => println!("{json}"),
        false => print!("{}", page.text()),
    }
    Ok(())
}

/// Writes one report, in the format that the file's name says.
pub(super) fn write(path: &Path, page: &Page, json: &str) -> anyhow::Result<()> {
    let text = match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => json.to_owned(),
        Some("md") => page.markdown(),
        Some("html") => page.html(),
        Some("txt") => page.text(),
        _ => bail!("--report {}: the name must end in .json, .md, .html or .txt", path.display()),
    };
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
