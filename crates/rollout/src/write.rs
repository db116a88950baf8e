//! Rows on disk, whole or not at all.

use std::path::Path;

use crate::{Outcome, Plan, RolloutError};

/// Makes the folder.
pub(crate) fn prepare(folder: &Path) -> Result<(), RolloutError> {
    std::fs::create_dir_all(folder).map_err(|source| RolloutError::File { path: folder.to_owned(), source })
}

/// Writes a group's rows as one file, which has its name only once it is complete.
pub(crate) fn group(plan: &Plan, outcome: &Outcome) -> Result<(), RolloutError> {
    let bytes = plan.format.write(&outcome.rows)?;
    let name = outcome.group.as_str().replace(':', "-");
    let path = plan.folder.join(format!("{name}.{}", plan.format.extension()));
    let part = plan.folder.join(format!(".{name}.part"));
    std::fs::write(&part, bytes)
        .and_then(|()| std::fs::rename(&part, &path))
        .map_err(|source| RolloutError::File { path, source })
}
