//! A journal that is open.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use bytes::Bytes;
use tokio::sync::{Semaphore, oneshot};

use crate::disk::{Disk, System};
use crate::pen::Pen;
use crate::queue::{Draft, Order, Queue};
use crate::recover::{self, Recovery};
use crate::writer::Writer;
use crate::{JournalError, Level};

/// Bytes that may wait to be written.
const WAITING: usize = 64 << 20;
/// A permit is so many bytes.
const PERMIT: usize = 1 << 10;
/// No record is larger.
pub(crate) const LARGEST: usize = 1 << 30;

/// How a journal is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What it survives.
    pub level: Level,
    /// Bytes of a segment's file. A larger record has a segment of its own.
    pub segment_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { level: Level::default(), segment_bytes: 64 << 20 }
    }
}

/// The journal of one folder, which no other process has. Clones are the same one.
#[derive(Clone)]
pub struct Journal(Arc<Shared>);

struct Shared {
    queue: Arc<Queue>,
    pen: Arc<Pen>,
    room: Arc<Semaphore>,
    thread: Mutex<Option<JoinHandle<()>>>,
    folder: PathBuf,
    /// Held until the thread has ended.
    _lock: File,
}

/// Room for a record, which somebody waited for.
pub struct Room {
    draft: Draft,
    permit: tokio::sync::OwnedSemaphorePermit,
}

/// A record on its way to the disk.
#[must_use = "a record counts once it is kept"]
pub struct Appended {
    told: oneshot::Receiver<Result<(), JournalError>>,
    /// What writes it, until somebody was asked to.
    pen: Option<Arc<Pen>>,
}

impl Journal {
    /// Opens the journal of a folder, which is made if it is not there, and reads what it holds.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn open(folder: &Path, options: Options) -> Result<(Self, Recovery), JournalError> {
        Self::open_on(Box::new(System), folder, options)
    }

    pub(crate) fn open_on(
        disk: Box<dyn Disk>,
        folder: &Path,
        options: Options,
    ) -> Result<(Self, Recovery), JournalError> {
        std::fs::create_dir_all(folder)
            .map_err(|error| JournalError::file(folder, "making the folder", error))?;
        let lock = lock(folder)?;
        let (recovery, state) = recover::recover(folder)?;
        recover::cut(folder, disk.as_ref(), &state, recovery.torn)?;
        let queue = Arc::new(Queue::default());
        let writer = Writer::new(disk, folder, options, state)?;
        let pen = Arc::new(Pen::new(Arc::clone(&queue), writer, options.level));
        let thread = std::thread::Builder::new().name("journal".into()).spawn({
            let pen = Arc::clone(&pen);
            move || pen.run()
        });
        let thread = thread.map_err(|error| JournalError::file(folder, "starting its writer", error))?;
        let shared = Shared {
            queue,
            pen,
            room: Arc::new(Semaphore::new(WAITING / PERMIT)),
            thread: Mutex::new(Some(thread)),
            folder: folder.to_owned(),
            _lock: lock,
        };
        Ok((Self(Arc::new(shared)), recovery))
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.0.folder
    }

    /// Waits until there is room for an entry of a line. A slow disk is felt here.
    ///
    /// # Errors
    /// [`JournalError`], if it takes nothing any more.
    pub async fn entry(&self, line: &str, body: Vec<u8>, payloads: Vec<Bytes>) -> Result<Room, JournalError> {
        self.room(Draft::Entry { line: line.into(), body: body.into(), payloads }).await
    }

    /// Waits until there is room for a note, which takes the place of the one with this name.
    ///
    /// # Errors
    /// [`JournalError`], if it takes nothing any more.
    pub async fn note(&self, name: &str, body: Vec<u8>) -> Result<Room, JournalError> {
        self.room(Draft::Note { name: name.into(), body: body.into() }).await
    }

    /// Ends a line: nothing of it is kept.
    pub fn cut(&self, line: &str) -> Appended {
        self.push(Draft::Cut { line: line.into() }, None)
    }

    /// Forgets a note.
    pub fn forget(&self, name: &str) -> Appended {
        self.push(Draft::Forget { name: name.into() }, None)
    }

    /// Appends a small entry that is not worth waiting for room.
    pub fn append_small(&self, line: &str, body: Vec<u8>) -> Appended {
        self.push(Draft::Entry { line: line.into(), body: body.into(), payloads: Vec::new() }, None)
    }

    /// Sets a small note that is not worth waiting for room.
    pub fn note_small(&self, name: &str, body: Vec<u8>) -> Appended {
        self.push(Draft::Note { name: name.into(), body: body.into() }, None)
    }

    /// Waits until all that was appended so far is kept.
    ///
    /// # Errors
    /// [`JournalError`]: some of it is not.
    pub async fn settled(&self) -> Result<(), JournalError> {
        self.push(Draft::Mark, None).kept().await
    }

    /// Appends a record. Records are kept in the order of these calls; does not wait.
    pub fn append(&self, room: Room) -> Appended {
        self.push(room.draft, Some(room.permit))
    }

    /// Why it takes nothing any more, if so.
    pub fn failure(&self) -> Option<JournalError> {
        self.0.queue.failure()
    }

    /// Writes what was appended, and ends.
    pub fn close(&self) {
        self.0.close();
    }

    async fn room(&self, draft: Draft) -> Result<Room, JournalError> {
        let bytes = draft.bytes();
        if bytes > LARGEST {
            return Err(JournalError::TooLarge { bytes, most: LARGEST });
        }
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        let permits = bytes.div_ceil(PERMIT).clamp(1, WAITING / PERMIT) as u32;
        let permit = Arc::clone(&self.0.room).acquire_many_owned(permits).await;
        Ok(Room { draft, permit: permit.map_err(|_| JournalError::Closed)? })
    }

    fn push(&self, draft: Draft, permit: Option<tokio::sync::OwnedSemaphorePermit>) -> Appended {
        let (kept, told) = oneshot::channel();
        self.0.queue.push(Order { draft, permit, kept });
        Appended { told, pen: Some(Arc::clone(&self.0.pen)) }
    }
}

impl Appended {
    /// Waits until the record is kept, as the journal's level has it.
    ///
    /// # Errors
    /// [`JournalError`]: it is not, and nothing that was appended after it is.
    pub async fn kept(mut self) -> Result<(), JournalError> {
        if let Some(pen) = self.pen.take() {
            pen.lead();
        }
        (&mut self.told).await.unwrap_or(Err(JournalError::Closed))
    }
}

/// Nobody waits for it.
impl Drop for Appended {
    fn drop(&mut self) {
        if let Some(pen) = self.pen.take() {
            pen.leave();
        }
    }
}

impl Shared {
    fn close(&self) {
        self.queue.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // One that panicked has nothing to write any more.
            let _ = thread.join();
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.close();
    }
}

fn lock(folder: &Path) -> Result<File, JournalError> {
    let path = folder.join("lock");
    let lock = File::create(&path).map_err(|error| JournalError::file(&path, "making it", error))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(JournalError::Taken { folder: folder.to_owned() }),
        Err(TryLockError::Error(error)) => Err(JournalError::file(&path, "locking it", error)),
    }
}
