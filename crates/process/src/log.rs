//! The logs that processes write.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The last `most` bytes of a log as text; empty if it cannot be read.
pub fn tail(log: &Path, most: u64) -> String {
    let read = || {
        let mut file = std::fs::File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
        let mut end = Vec::new();
        file.read_to_end(&mut end)?;
        Ok::<_, std::io::Error>(String::from_utf8_lossy(&end).into_owned())
    };
    read().unwrap_or_default()
}
