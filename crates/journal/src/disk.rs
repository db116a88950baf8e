//! What a journal asks of the system.
//!
//! The invariant: the writer does nothing to a file but by this trait, so that every failure of a disk can be tried.

use std::fs::{File, OpenOptions};
use std::io::{Result, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How much is zeroed by one write. Linux may hold a file in pages as large as the writes that made it, and a small write
/// then walks the whole of one: over 1 MiB it took twice as long as over this.
const ZEROS: usize = 64 << 10;

/// Where files are.
pub(crate) trait Disk: Send {
    /// A new file full of `size` zeros, which no later write within it can find no room for.
    fn create(&self, path: &Path, size: u64) -> Result<Box<dyn Medium>>;
    /// A file that was there, to be written again.
    fn open(&self, path: &Path) -> Result<Box<dyn Medium>>;
    /// Gives a file another name, in the place of one that has it.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;
    /// Deletes a file.
    fn remove(&self, path: &Path) -> Result<()>;
    /// Keeps what was done to names.
    fn sync_names(&self, folder: &Path) -> Result<()>;
}

/// A file.
pub(crate) trait Medium: Send {
    /// Writes all of `bytes`.
    fn write(&mut self, bytes: &[u8], at: u64) -> Result<()>;
    /// Waits until the disk has what was written.
    fn sync(&mut self) -> Result<()>;
}

/// The system's own.
pub(crate) struct System;

impl Disk for System {
    fn create(&self, path: &Path, size: u64) -> Result<Box<dyn Medium>> {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
        let zeros = vec![0; ZEROS];
        let mut left = size;
        while left > 0 {
            let now = left.min(ZEROS as u64);
            file.write_all(&zeros[..now as usize])?;
            left -= now;
        }
        Ok(Box::new(file))
    }

    fn open(&self, path: &Path) -> Result<Box<dyn Medium>> {
        Ok(Box::new(OpenOptions::new().write(true).open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        std::fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        std::fs::remove_file(path)
    }

    fn sync_names(&self, folder: &Path) -> Result<()> {
        File::open(folder)?.sync_all()
    }
}

impl Medium for File {
    fn write(&mut self, bytes: &[u8], at: u64) -> Result<()> {
        self.write_all_at(bytes, at)
    }

    fn sync(&mut self) -> Result<()> {
        self.sync_data()
    }
}
