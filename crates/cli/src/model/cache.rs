//! Where pulled models are.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// The cache folder; models are in `assets/NAME` below it.
#[derive(Clone, Debug)]
pub(crate) struct Cache(PathBuf);

impl Cache {
    /// The given folder, else `$VERBATIM_CACHE`, else `$XDG_CACHE_HOME/verbatim`, else
    /// `~/.cache/verbatim`.
    ///
    /// # Errors
    /// If none of them is known.
    pub(crate) fn at(given: Option<&Path>) -> anyhow::Result<Self> {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        given
            .map(Path::to_owned)
            .or_else(|| variable("VERBATIM_CACHE"))
            .or_else(|| variable("XDG_CACHE_HOME").map(|home| home.join("verbatim")))
            .or_else(|| variable("HOME").map(|home| home.join(".cache/verbatim")))
            .map(Self)
            .context("no cache folder: set VERBATIM_CACHE")
    }

    /// The folder of one model.
    pub(crate) fn model(&self, name: &str) -> PathBuf {
        self.0.join("assets").join(name.replace('/', "--"))
    }
}
