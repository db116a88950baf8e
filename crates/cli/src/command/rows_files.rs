//! Reading rows from files and folders.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use verbatim_samples::{Format, Row};

/// All rows of a file, or of every rows file in a folder, in the order of names. An event log may lie
/// beside them.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<Row>> {
    if !path.is_dir() {
        return file(path);
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(path)
        .with_context(|| format!("cannot read {}", path.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            !name.starts_with('.') && Format::of(&name).is_ok() && !is_event_log(path)
        })
        .collect();
    files.sort();
    ensure!(!files.is_empty(), "{} holds no rows file (.parquet, .safetensors, .jsonl)", path.display());
    let mut rows = Vec::new();
    for path in files {
        rows.extend(file(&path)?);
    }
    Ok(rows)
}

fn is_event_log(path: &Path) -> bool {
    const FIRST: &[u8] = b"{\"event\":";
    let mut begins = [0; FIRST.len()];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut begins)).is_ok() && begins == FIRST
}

fn file(path: &Path) -> anyhow::Result<Vec<Row>> {
    let format = Format::of(&path.to_string_lossy())?;
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    format.read(&bytes).with_context(|| path.display().to_string())
}
