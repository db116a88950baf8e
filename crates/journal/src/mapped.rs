//! Files that are read where they lie.
//!
//! The invariant: a mapped file never becomes shorter. The folder has one owner; files in it grow within their size, or go
//! as a whole, and one that anybody may have mapped is not filled anew.

use std::fs::File;
use std::io::Result;
use std::path::Path;

use bytes::Bytes;
use memmap2::Mmap;

/// A file's bytes, which are not in memory before somebody looks at them.
pub(crate) fn map(path: &Path) -> Result<Bytes> {
    let file = File::open(path)?;
    #[expect(unsafe_code, reason = "memmap2 asks that nobody truncates the file, and nobody does")]
    // SAFETY: the invariant of this module.
    let mapped = unsafe { Mmap::map(&file)? };
    Ok(Bytes::from_owner(mapped))
}
