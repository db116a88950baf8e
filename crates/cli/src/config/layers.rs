//! Flags over file over defaults.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use toml::{Table, Value};

use super::Config;

/// Where a setting came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nobody set it.
    Default,
    /// The settings file.
    File(PathBuf),
    /// A flag.
    Flag,
}

/// The settings, with the origin of each that is not a default.
#[derive(Debug)]
pub(crate) struct Layered {
    /// The settings.
    pub(crate) config: Config,
    origins: BTreeMap<String, Origin>,
}

impl Layered {
    /// Puts flags over the file over the defaults. A flag is a dotted key and its value; a value that
    /// is no TOML is taken as text. Relative paths of the file are relative to the file.
    ///
    /// # Errors
    /// If the file cannot be read, or a setting is unknown or of another type; the error names it.
    pub(crate) fn new(file: Option<&Path>, flags: &[(String, String)]) -> anyhow::Result<Self> {
        let mut table = Table::new();
        let mut origins = BTreeMap::new();
        if let Some(path) = file {
            let text =
                std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            table = toml::from_str(&text).with_context(|| format!("{} is not valid TOML", path.display()))?;
            record(&table, "", &Origin::File(path.to_owned()), &mut origins);
            anchor(&mut table, path.parent().unwrap_or(Path::new("")));
        }
        for (key, text) in flags {
            let value = value(text);
            set(&mut table, key, value).with_context(|| format!("--set {key}={text}"))?;
            origins.insert(key.clone(), Origin::Flag);
        }
        let config = serde_path_to_error::deserialize(Value::Table(table)).map_err(|error| {
            let path = error.path().to_string();
            let origin = origins.get(&path).map_or_else(String::new, |origin| format!(" ({origin})"));
            anyhow::anyhow!("setting {path}{origin}: {}", error.into_inner().message())
        })?;
        Ok(Self { config, origins })
    }

    /// Every setting as `section.name`, its value as TOML, and where it came from.
    pub(crate) fn each(&self) -> anyhow::Result<Vec<(String, String, Origin)>> {
        let table = Table::try_from(&self.config)?;
        let mut all = Vec::new();
        for (section, value) in &table {
            match value {
                Value::Table(inner) => all.extend(inner.iter().map(|(name, value)| {
                    let key = format!("{section}.{name}");
                    let origin = self.origin(&key);
                    (key, value.to_string(), origin)
                })),
                value => all.push((section.clone(), value.to_string(), self.origin(section))),
            }
        }
        Ok(all)
    }

    /// Where a setting came from.
    pub(crate) fn origin(&self, key: &str) -> Origin {
        self.origins.get(key).cloned().unwrap_or(Origin::Default)
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Flag => f.write_str("flag"),
        }
    }
}

/// The settings that are paths.
pub(crate) const PATHS: [&str; 16] = [
    "journal.folder",
    "sessions.spill",
    "plugins.search_paths",
    "engine.cache",
    "engine.api_key_file",
    "engine.admin_key_file",
    "engine.sim_script",
    "family.chat_template",
    "server.control_key_file",
    "log.events",
    "dataset.path",
    "agent.cwd",
    "agent.key_file",
    "reward.cwd",
    "rollout.output",
    "engine.model",
];

/// Whether what may be a path is a URL.
pub(crate) fn is_url(text: &str) -> bool {
    text.contains("://")
}

fn anchor(table: &mut Table, folder: &Path) {
    if let Some(Value::Array(evals)) = table.get_mut("eval") {
        for path in evals.iter_mut().filter_map(|eval| eval.get_mut("path")) {
            if let Value::String(path) = path {
                *path = folder.join(path.as_str()).to_string_lossy().into_owned();
            }
        }
    }
    for key in PATHS {
        let Some((section, name)) = key.split_once('.') else { continue };
        let found = table.get_mut(section).and_then(|section| section.get_mut(name));
        let paths = match found {
            Some(Value::Array(paths)) => paths.as_mut_slice(),
            Some(path) => std::slice::from_mut(path),
            None => continue,
        };
        for path in paths {
            let Value::String(path) = path else { continue };
            if is_url(path) {
                continue;
            }
            // A model may also be a name; only what is spelt as a path is one.
            if key != "engine.model" || path.starts_with('.') {
                *path = folder.join(path.as_str()).to_string_lossy().into_owned();
            }
        }
    }
}

fn record(table: &Table, prefix: &str, origin: &Origin, origins: &mut BTreeMap<String, Origin>) {
    for (name, value) in table {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            Value::Table(inner) => record(inner, &key, origin, origins),
            _ => {
                origins.insert(key, origin.clone());
            }
        }
    }
}

fn value(text: &str) -> Value {
    toml::from_str::<Table>(&format!("value = {text}"))
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::String(text.to_owned()))
}

fn set(table: &mut Table, key: &str, value: Value) -> anyhow::Result<()> {
    match key.split_once('.') {
        None => {
            table.insert(key.to_owned(), value);
            Ok(())
        }
        Some((section, rest)) => {
            let inner = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
            match inner {
                Value::Table(inner) => set(inner, rest, value),
                _ => bail!("{section} is a value, not a section"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flag(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn a_flag_wins_over_the_file_which_wins_over_the_default() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("verbatim.toml");
        std::fs::write(&file, "[sampling]\ntemperature = 0.5\ntop_p = 0.9\n[log]\nevents = \"e.jsonl\"\n[plugins]\nsearch_paths = [\"mine\"]\n")
            .unwrap();
        let layered = Layered::new(Some(&file), &[flag("sampling.top_p", "0.8")]).unwrap();
        let sampling = &layered.config.sampling;
        assert_eq!((sampling.temperature, sampling.top_p, sampling.top_k), (0.5, 0.8, 0));
        assert_eq!(layered.origin("sampling.temperature"), Origin::File(file));
        assert_eq!(layered.origin("sampling.top_p"), Origin::Flag);
        assert_eq!(layered.origin("sampling.top_k"), Origin::Default);
        assert_eq!(layered.config.log.events, Some(folder.path().join("e.jsonl")));
        assert_eq!(layered.config.plugins.search_paths, [folder.path().join("mine")]);
    }

    #[test]
    fn what_is_wrong_is_named_with_where_it_came_from() {
        let unknown = Layered::new(None, &[flag("sampling.temprature", "1")]).unwrap_err().to_string();
        assert!(unknown.contains("sampling") && unknown.contains("temprature"), "{unknown}");
        let kind = Layered::new(None, &[flag("sampling.top_k", "many")]).unwrap_err().to_string();
        assert!(kind.contains("sampling.top_k (flag)"), "{kind}");
    }
}
