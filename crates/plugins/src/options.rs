//! How a host is run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use verbatim_process::Launcher;

/// The settings of a [`crate::Host`].
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// The interpreter, found on `PATH` unless it is a path. By default the one beside the running binary,
    /// where the package's wheel puts it, else `python3`.
    pub python: String,
    /// Folders that modules are found in, before `PYTHONPATH` and the installed ones. `cwd` comes first.
    pub search_paths: Vec<PathBuf>,
    /// Where the workers run; the owner's folder if `None`.
    pub cwd: Option<PathBuf>,
    /// How many workers there are; at least one.
    pub workers: usize,
    /// How long a call may take, unless it says otherwise.
    pub deadline: Duration,
    /// How long an async callable may take to end after it was cancelled, before its worker is killed.
    pub cancel_grace: Duration,
    /// How long a worker may take to come up, or to load a plug-in.
    pub start_deadline: Duration,
    /// The first pause before a worker that died is started again; it doubles up to `backoff_most`, and
    /// starts anew after a call that was answered.
    pub backoff: Duration,
    /// The longest pause.
    pub backoff_most: Duration,
    /// The binary that is run again as `launcher`; the running one if `None`.
    pub launcher: Option<Launcher>,
    /// Variables of the owner's environment that workers do not get.
    pub hide: Vec<String>,
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            python: interpreter(std::env::current_exe().ok().as_deref()),
            search_paths: Vec::new(),
            cwd: None,
            workers: 2,
            deadline: Duration::from_secs(60),
            cancel_grace: Duration::from_secs(5),
            start_deadline: Duration::from_secs(120),
            backoff: Duration::from_millis(100),
            backoff_most: Duration::from_secs(10),
            launcher: None,
            hide: vec!["VERBATIM_CONTROL_KEY".to_owned(), "VERBATIM_CONTROL_KEY_FILE".to_owned()],
        }
    }
}

/// The interpreter of the environment that the binary was installed into, if it was.
fn interpreter(binary: Option<&Path>) -> String {
    let beside = binary.and_then(Path::parent).map(|folder| folder.join("python3"));
    match beside.filter(|python| python.exists()) {
        Some(python) => python.to_string_lossy().into_owned(),
        None => "python3".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_beside_the_binary_is_preferred() {
        let folder = tempfile::tempdir().unwrap();
        let binary = folder.path().join("verbatim");
        assert_eq!(interpreter(Some(&binary)), "python3");
        assert_eq!(interpreter(None), "python3");
        std::fs::write(folder.path().join("python3"), "").unwrap();
        assert_eq!(Path::new(&interpreter(Some(&binary))), folder.path().join("python3"));
    }
}
