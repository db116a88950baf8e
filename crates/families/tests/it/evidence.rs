//! What the tests of a family counted, for the table in `docs/families.md`.

use std::path::Path;

use crate::assets::Model;

/// Writes a count down where `tools/families/table.py` asks for it.
pub(crate) fn record(model: &Model, what: &str, count: usize) {
    if let Some(folder) = std::env::var_os("VERBATIM_EVIDENCE") {
        std::fs::write(Path::new(&folder).join(format!("{}.{what}", model.name)), count.to_string()).unwrap();
    }
}
