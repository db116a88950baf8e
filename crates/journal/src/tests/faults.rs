//! Disks that fail while a journal is written.

use std::io::{Error, ErrorKind, Result};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::*;
use crate::disk::{Disk, Medium, System};

/// What a disk does at its n-th action.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// Writes a part and says that it failed.
    Short { part: u8, kind: ErrorKind },
    /// Does nothing and says that it failed.
    Refuse(ErrorKind),
}

#[derive(Clone)]
struct Faulty {
    left: Arc<Mutex<u32>>,
    fault: Fault,
}

impl Faulty {
    /// The fault, if its time has come. A disk that failed once goes on failing.
    fn now(&self) -> Option<Fault> {
        let mut left = self.left.lock().expect("a lock");
        let is_now = *left == 0;
        *left = left.saturating_sub(1);
        is_now.then_some(self.fault)
    }

    fn refuse(&self) -> Result<()> {
        match self.now() {
            Some(Fault::Short { kind, .. } | Fault::Refuse(kind)) => Err(Error::from(kind)),
            None => Ok(()),
        }
    }
}

impl Disk for Faulty {
    fn create(&self, path: &Path, size: u64) -> Result<Box<dyn Medium>> {
        match self.now() {
            Some(Fault::Refuse(kind)) => Err(Error::from(kind)),
            Some(Fault::Short { part, kind }) => {
                System.create(path, size * u64::from(part) / 256)?;
                Err(Error::from(kind))
            }
            None => Ok(Box::new(FaultyFile { under: System.create(path, size)?, disk: self.clone() })),
        }
    }

    fn open(&self, path: &Path) -> Result<Box<dyn Medium>> {
        Ok(Box::new(FaultyFile { under: System.open(path)?, disk: self.clone() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.refuse()?;
        System.rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.refuse()?;
        System.remove(path)
    }

    fn sync_names(&self, folder: &Path) -> Result<()> {
        self.refuse()?;
        System.sync_names(folder)
    }
}

struct FaultyFile {
    under: Box<dyn Medium>,
    disk: Faulty,
}

impl Medium for FaultyFile {
    fn write(&mut self, bytes: &[u8], at: u64) -> Result<()> {
        match self.disk.now() {
            Some(Fault::Refuse(kind)) => Err(Error::from(kind)),
            Some(Fault::Short { part, kind }) => {
                self.under.write(&bytes[..bytes.len() * usize::from(part) / 256], at)?;
                Err(Error::from(kind))
            }
            None => self.under.write(bytes, at),
        }
    }

    fn sync(&mut self) -> Result<()> {
        self.disk.refuse()?;
        self.under.sync()
    }
}

fn fault() -> impl Strategy<Value = Fault> {
    let kind = prop_oneof![Just(ErrorKind::StorageFull), Just(ErrorKind::Other)];
    prop_oneof![
        (any::<u8>(), kind.clone()).prop_map(|(part, kind)| Fault::Short { part, kind }),
        kind.prop_map(Fault::Refuse),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn whatever_fails_all_that_was_told_as_kept_is_there_and_nothing_is_told_after(
        fault in fault(), left in 0u32..120, level in prop_oneof![Just(Level::Process), Just(Level::Disk)],
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = Faulty { left: Arc::new(Mutex::new(left)), fault };
        let options = Options { level, ..SMALL };
        let mut told = Lines::new();
        let mut appended = Lines::new();
        let mut failed = None;
        if let Ok((journal, _)) = Journal::open_on(Box::new(disk), folder.path(), options) {
            for at in 0..60u8 {
                let line = format!("{}", at % 3);
                // A line that is over now and then, so that space is made while the disk fails.
                if at % 16 == 15 {
                    let cut = wait(journal.cut(&line).kept());
                    appended.remove(&line);
                    if cut.is_ok() {
                        told.remove(&line);
                    }
                }
                let entry = (vec![at; 100], vec![vec![at; 50]]);
                let kept = append(&journal, &line, &entry.0, &[&entry.1[0]]).and_then(|appended| wait(appended.kept()));
                appended.entry(line.clone()).or_default().push(entry.clone());
                match kept {
                    Ok(()) => {
                        prop_assert!(failed.is_none(), "entry {at} is told as kept after a failure");
                        told.entry(line).or_default().push(entry);
                    }
                    Err(error) => {
                        failed.get_or_insert(error);
                        break;
                    }
                }
            }
            if let Some(error) = &failed {
                prop_assert!(matches!(error, JournalError::File { .. }), "{error}");
                prop_assert!(journal.failure().is_some());
                let refused = append(&journal, "late", b"x", &[]).and_then(|late| wait(late.kept()));
                prop_assert!(refused.is_err());
            }
        }
        // The disk is well again.
        let (_, recovery) = Journal::open(folder.path(), options).expect("it opens again");
        prop_assert_eq!(&recovery.damages, &[]);
        let found = lines(&recovery);
        for (line, entries) in &told {
            // A line whose end was not told may be there or not.
            let Some(there) = found.get(line) else {
                prop_assert!(!appended.contains_key(line) || appended[line].len() < entries.len(), "{line} is gone");
                continue;
            };
            prop_assert!(there.len() >= entries.len() || appended[line].len() < entries.len());
            if appended.get(line).is_some_and(|appended| appended.len() >= entries.len()) {
                prop_assert_eq!(&there[..entries.len()], &entries[..]);
            }
        }
    }
}

#[test]
fn a_full_disk_is_named_with_its_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = Faulty { left: Arc::new(Mutex::new(4)), fault: Fault::Refuse(ErrorKind::StorageFull) };
    let (journal, _) = Journal::open_on(Box::new(disk), folder.path(), SMALL).expect("a journal");
    let error = (0..9).find_map(|_| wait(append(&journal, "a", b"x", &[]).expect("room").kept()).err());
    let error = error.expect("an error");
    assert!(error.is_full());
    assert!(error.to_string().contains("0000000001.records: writing"), "{error}");
}
