//! Replay payloads beyond what memory may hold.
//!
//! The invariant: bytes of a payload never change once they are kept, wherever they are kept; a payload that
//! nobody holds any more takes up neither memory nor disk.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use memmap2::Mmap;
use verbatim_tokens::Replay;

/// Bytes of one file. A file goes away with the last payload in it.
const SEGMENT: usize = 256 << 20;

/// How much memory replay payloads may take up, and where they go beyond that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpillOptions {
    /// Bytes of payloads in memory; what comes beyond goes to files.
    pub memory: usize,
    /// The folder of the files, which have no names there; the system's temporary folder if `None`.
    pub folder: Option<PathBuf>,
}

impl Default for SpillOptions {
    /// Two gigabytes, then the temporary folder.
    fn default() -> Self {
        Self { memory: 2 << 30, folder: None }
    }
}

/// Keeps payloads. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Spill(Arc<Shared>);

struct Shared {
    options: SpillOptions,
    /// Bytes of payloads in memory.
    held: Arc<AtomicUsize>,
    segment: Mutex<Option<Segment>>,
}

/// The file that is being filled.
struct Segment {
    file: File,
    /// All of the file, written or not.
    all: Bytes,
    filled: usize,
}

/// A payload in memory, which is counted.
struct Counted {
    bytes: Bytes,
    held: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.held.fetch_sub(self.bytes.len(), Ordering::AcqRel);
    }
}

impl Spill {
    pub(crate) fn new(options: SpillOptions) -> Self {
        Self(Arc::new(Shared { options, held: Arc::default(), segment: Mutex::default() }))
    }

    /// Keeps a payload, in memory if there is room. One that cannot be written stays in memory: losing rows of
    /// a sampled turn is worse than holding more than one may.
    pub(crate) async fn keep(&self, payload: Option<Replay>) -> Option<Arc<Replay>> {
        let payload = payload?;
        let bytes = payload.bytes().clone();
        let length = bytes.len();
        if self.0.held.load(Ordering::Acquire) + length <= self.0.options.memory {
            return Some(Arc::new(self.count(payload)));
        }
        let shared = Arc::clone(&self.0);
        let written = tokio::task::spawn_blocking(move || shared.write(&bytes)).await;
        let kept = match written {
            Ok(Ok(mapped)) => payload.held_by(mapped).unwrap_or(payload),
            failed => {
                tracing::warn!(
                    ?failed,
                    length,
                    "a replay payload cannot be written to disk and stays in memory"
                );
                self.count(payload)
            }
        };
        Some(Arc::new(kept))
    }

    fn count(&self, payload: Replay) -> Replay {
        let (bytes, held) = (payload.bytes().clone(), Arc::clone(&self.0.held));
        held.fetch_add(bytes.len(), Ordering::AcqRel);
        payload.held_by(Bytes::from_owner(Counted { bytes, held })).unwrap_or(payload)
    }
}

impl Shared {
    /// Writes a payload and gives it back as it lies in its file.
    fn write(&self, bytes: &[u8]) -> io::Result<Bytes> {
        let mut segment = self.segment.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = segment.as_ref().is_some_and(|segment| segment.filled + bytes.len() <= segment.all.len());
        if !fits {
            *segment = None;
        }
        let segment = match &mut *segment {
            Some(segment) => segment,
            none => none.insert(self.open(bytes.len().max(SEGMENT))?),
        };
        let place = segment.filled..segment.filled + bytes.len();
        segment.file.write_all_at(bytes, place.start as u64)?;
        segment.filled = place.end;
        Ok(segment.all.slice(place))
    }

    fn open(&self, length: usize) -> io::Result<Segment> {
        let file = match &self.options.folder {
            Some(folder) => tempfile::tempfile_in(folder)?,
            None => tempfile::tempfile()?,
        };
        file.set_len(length as u64)?;
        #[expect(
            unsafe_code,
            reason = "mapping a file that others could change is; nobody else can open this one"
        )]
        // SAFETY: the file has no name, so no other process opens it, and it is never cut. We write only where
        // no payload is yet, and hand out only what was written.
        let map = unsafe { Mmap::map(&file)? };
        Ok(Segment { file, all: Bytes::from_owner(map), filled: 0 })
    }
}

#[cfg(test)]
mod tests {
    use verbatim_tokens::Width;

    use super::*;

    fn payload(fill: u8, rows: usize) -> Replay {
        Replay::new(0, 1, 2, Width::U8, vec![fill; rows * 2]).unwrap()
    }

    async fn kept(spill: &Spill, fill: u8, rows: usize) -> Arc<Replay> {
        spill.keep(Some(payload(fill, rows))).await.unwrap()
    }

    #[tokio::test]
    async fn what_memory_cannot_hold_lies_on_disk_and_reads_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let spill = Spill::new(SpillOptions { memory: 100, folder: Some(folder.path().into()) });
        let all: Vec<_> =
            [kept(&spill, 1, 40).await, kept(&spill, 2, 40).await, kept(&spill, 3, 10).await].into();
        for (fill, (kept, rows)) in (1..).zip(all.iter().zip([40, 40, 10])) {
            assert_eq!(**kept, payload(fill, rows));
        }
        let in_memory = || spill.0.held.load(Ordering::Acquire);
        assert_eq!(in_memory(), 100, "the second had no room, the third had");
        let filled = spill.0.segment.lock().unwrap().as_ref().unwrap().filled;
        assert_eq!(filled, 80);
        drop(all);
        assert_eq!(in_memory(), 0);
    }

    #[tokio::test]
    async fn files_are_many_and_go_away_with_their_payloads() {
        let spill = Spill::new(SpillOptions { memory: 0, folder: None });
        let large = SEGMENT / 4;
        let all = [kept(&spill, 1, large).await, kept(&spill, 2, large).await, kept(&spill, 3, large).await];
        assert_eq!(spill.0.segment.lock().unwrap().as_ref().unwrap().filled, SEGMENT / 2, "the second file");
        assert!(all.iter().zip(1..).all(|(kept, fill)| kept.bytes().iter().all(|byte| *byte == fill)));
    }

    #[tokio::test]
    async fn a_folder_that_is_not_there_loses_nothing() {
        let options = SpillOptions { memory: 0, folder: Some("/nowhere/at/all".into()) };
        let spill = Spill::new(options);
        assert_eq!(*kept(&spill, 7, 3).await, payload(7, 3));
    }
}
