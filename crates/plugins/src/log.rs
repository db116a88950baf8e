//! A worker's log: what plug-ins print, kept small.

use std::path::Path;

/// How much of a log goes into an error.
const TAIL: u64 = 8192;
/// A log that is larger than this is emptied.
const MOST: u64 = 8 << 20;

/// The end of a log; empty if it cannot be read.
pub(crate) fn tail(log: &Path) -> String {
    verbatim_process::tail(log, TAIL)
}

/// Empties a log that grew too large. It is only ever appended to, so its writer is not disturbed.
pub(crate) fn trim(log: &Path) {
    let trimmed = || {
        let file = std::fs::File::options().write(true).open(log)?;
        if file.metadata()?.len() > MOST { file.set_len(0) } else { Ok(()) }
    };
    if let Err(error) = trimmed() {
        tracing::debug!(%error, "a plug-in worker's log could not be trimmed");
    }
}
