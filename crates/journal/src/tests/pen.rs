//! Which thread writes.

use std::io::Result;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::*;
use crate::disk::{Disk, Medium, System};

/// Notes which thread wrote, takes its time, and fails when it is told to.
#[derive(Clone, Default)]
struct Watched {
    wrote: Arc<Mutex<Vec<bool>>>,
    takes: Arc<Mutex<Duration>>,
    fails: Arc<AtomicBool>,
}

impl Watched {
    /// Whether the journal's thread made each write since the last look.
    fn by_thread(&self) -> Vec<bool> {
        std::mem::take(&mut *self.wrote.lock().expect("a lock"))
    }
}

impl Disk for Watched {
    fn create(&self, path: &Path, size: u64) -> Result<Box<dyn Medium>> {
        Ok(Box::new(WatchedFile { under: System.create(path, size)?, disk: self.clone() }))
    }

    fn open(&self, path: &Path) -> Result<Box<dyn Medium>> {
        Ok(Box::new(WatchedFile { under: System.open(path)?, disk: self.clone() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        System.rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        System.remove(path)
    }

    fn sync_names(&self, folder: &Path) -> Result<()> {
        System.sync_names(folder)
    }
}

struct WatchedFile {
    under: Box<dyn Medium>,
    disk: Watched,
}

impl Medium for WatchedFile {
    fn write(&mut self, bytes: &[u8], at: u64) -> Result<()> {
        if self.disk.fails.load(Ordering::Relaxed) {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        std::thread::sleep(*self.disk.takes.lock().expect("a lock"));
        let own = std::thread::current().name() == Some("journal");
        self.disk.wrote.lock().expect("a lock").push(own);
        self.under.write(bytes, at)
    }

    fn sync(&mut self) -> Result<()> {
        self.under.sync()
    }
}

fn watched(folder: &Path, level: Level) -> (Journal, Watched) {
    let disk = Watched::default();
    let options = Options { level, segment_bytes: 1 << 20 };
    let (journal, _) = Journal::open_on(Box::new(disk.clone()), folder, options).expect("a journal");
    disk.by_thread();
    (journal, disk)
}

fn kept(journal: &Journal, body: &[u8], payloads: &[&[u8]]) {
    wait(append(journal, "line", body, payloads).expect("room").kept()).expect("kept");
}

#[test]
fn who_waits_for_a_little_writes_it_and_what_is_large_is_the_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    let (journal, disk) = watched(folder.path(), Level::Process);
    kept(&journal, &[1; 100], &[]);
    assert_eq!(disk.by_thread(), [false]);
    kept(&journal, &[2; 100_000], &[]);
    assert_eq!(disk.by_thread(), [true]);
    kept(&journal, &[3; 100], &[&[0; 10]]);
    assert_eq!(disk.by_thread(), [true, true], "a payload, and its record");
    // What nobody waits for is written, too.
    drop(journal.append_small("line", vec![4; 100]));
    journal.close();
    assert_eq!(disk.by_thread(), [true]);
    drop(journal);
    assert_eq!(lines(&open(folder.path()).1)["line"].len(), 4);
}

#[test]
fn once_two_writes_were_slow_the_thread_writes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (journal, disk) = watched(folder.path(), Level::Process);
    *disk.takes.lock().expect("a lock") = Duration::from_millis(20);
    (1..=3).for_each(|body| kept(&journal, &[body; 100], &[]));
    assert_eq!(disk.by_thread(), [false, false, true]);
}

/// Who comes while another writes neither waits for that nor wakes the thread: the other writes it.
#[test]
fn who_writes_writes_for_who_comes_meanwhile() {
    let folder = tempfile::tempdir().expect("a folder");
    let (journal, disk) = watched(folder.path(), Level::Process);
    *disk.takes.lock().expect("a lock") = Duration::from_millis(200);
    std::thread::scope(|scope| {
        scope.spawn(|| kept(&journal, &[1; 100], &[]));
        std::thread::sleep(Duration::from_millis(50));
        kept(&journal, &[2; 100], &[]);
    });
    assert_eq!(disk.by_thread(), [false, false]);
}

#[test]
fn a_disk_that_is_waited_for_is_waited_for_by_the_thread() {
    let folder = tempfile::tempdir().expect("a folder");
    let (journal, disk) = watched(folder.path(), Level::Disk);
    kept(&journal, &[1; 100], &[]);
    assert_eq!(disk.by_thread(), [true]);
}

/// What the disk did with the write that failed is not known, even if it takes others again.
#[test]
fn after_a_failure_nothing_is_kept_whoever_would_write_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (journal, disk) = watched(folder.path(), Level::Process);
    kept(&journal, &[1; 100], &[]);
    disk.fails.store(true, Ordering::Relaxed);
    let failed = append(&journal, "line", &[2; 100], &[]).expect("room");
    assert!(wait(failed.kept()).expect_err("a failure").is_full());
    disk.fails.store(false, Ordering::Relaxed);
    assert!(append(&journal, "line", &[3; 100], &[]).is_err());
    assert!(wait(journal.append_small("line", vec![4; 100]).kept()).is_err());
    assert!(wait(journal.cut("line").kept()).is_err());
    assert!(wait(journal.settled()).is_err());
    drop(journal);
    assert_eq!(lines(&open(folder.path()).1)["line"].len(), 1);
}

#[test]
fn many_that_write_at_once_keep_the_order_of_each_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let (journal, _) = watched(folder.path(), Level::Process);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().expect("a runtime");
    let writers: Vec<_> = (0..16u8)
        .map(|line| {
            let journal = journal.clone();
            runtime.spawn(async move {
                for at in 0..100u8 {
                    // Some are large, so that the thread and the tasks take turns.
                    let size = if at % 10 == line % 10 { 70_000 } else { 50 };
                    let room =
                        journal.entry(&line.to_string(), vec![at; size], Vec::new()).await.expect("room");
                    journal.append(room).kept().await.expect("kept");
                }
            })
        })
        .collect();
    for writer in writers {
        runtime.block_on(writer).expect("an end");
    }
    drop(journal);
    let lines = lines(&open(folder.path()).1);
    assert_eq!(lines.len(), 16);
    for (name, entries) in lines {
        let order: Vec<u8> = entries.iter().map(|(body, _)| body[0]).collect();
        assert!(order.iter().copied().eq(0..100), "line {name}: {order:?}");
    }
}
