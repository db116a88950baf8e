//! Telling a stage's report.

use std::path::Path;

use anyhow::{Context, bail, ensure};
use serde::Serialize;
use verbatim_stages::page::Page;

use crate::args::Reported;

impl Reported {
    /// Whether every report can be written, as far as that is known before there is one.
    ///
    /// # Errors
    /// If a name says no format, or its folder is not there.
    pub(crate) fn can_be_told(&self) -> anyhow::Result<()> {
        for path in &self.report {
            let known = path.extension().and_then(|extension| extension.to_str());
            ensure!(
                known.is_some_and(|known| FORMATS.contains(&known)),
                "--report {}: the name must end in .json, .md, .html or .txt",
                path.display()
            );
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            ensure!(
                folder.is_none_or(Path::is_dir),
                "--report {}: there is no such folder; make it first",
                path.display()
            );
        }
        Ok(())
    }
}

/// Endings of a report's name.
const FORMATS: [&str; 4] = ["json", "md", "html", "txt"];

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
