//! Files that are not as they were written.

use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::What;

#[derive(Clone, Debug)]
enum Harm {
    /// A bit of a file is another.
    Flip { file: prop::sample::Index, at: prop::sample::Index, bit: u8 },
    /// A file ends early.
    Truncate { file: prop::sample::Index, at: prop::sample::Index },
    /// The end of a file is zeros.
    Zero { file: prop::sample::Index, at: prop::sample::Index },
    /// A file is gone.
    Lose { file: prop::sample::Index },
    /// Two segments have each other's name.
    Swap { one: prop::sample::Index, other: prop::sample::Index },
}

fn harm() -> impl Strategy<Value = Harm> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        (index(), index(), 0u8..8).prop_map(|(file, at, bit)| Harm::Flip { file, at, bit }),
        (index(), index()).prop_map(|(file, at)| Harm::Truncate { file, at }),
        (index(), index()).prop_map(|(file, at)| Harm::Zero { file, at }),
        index().prop_map(|file| Harm::Lose { file }),
        (index(), index()).prop_map(|(one, other)| Harm::Swap { one, other }),
    ]
}

/// A journal of nine lines over several segments, and what it holds.
fn written(folder: &Path) -> Lines {
    let (journal, _) = open(folder);
    let mut truth = Lines::new();
    for at in 0..36u8 {
        let line = format!("line-{}", at % 9);
        let entry = (vec![at; 90], vec![vec![at; 40]]);
        wait(append(&journal, &line, &entry.0, &[&entry.1[0]]).expect("room").kept()).expect("kept");
        truth.entry(line).or_default().push(entry);
    }
    truth
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path());
    let mut files =
        all.filter(|path| path.extension().is_some_and(|its| its == extension)).collect::<Vec<_>>();
    files.sort();
    files
}

fn apply(harm: &Harm, folder: &Path) {
    let records = files(folder, "records");
    let all = [records.clone(), files(folder, "payloads")].concat();
    let change = |file: &prop::sample::Index, how: &dyn Fn(&mut Vec<u8>)| {
        let path = file.get(&all);
        let mut bytes = std::fs::read(path).expect("a file");
        how(&mut bytes);
        std::fs::write(path, bytes).expect("written");
    };
    match harm {
        Harm::Flip { file, at, bit } => change(file, &|bytes| {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }),
        Harm::Truncate { file, at } => change(file, &|bytes| bytes.truncate(at.index(bytes.len()))),
        Harm::Zero { file, at } => change(file, &|bytes| {
            let at = at.index(bytes.len());
            bytes[at..].fill(0);
        }),
        Harm::Lose { file } => std::fs::remove_file(file.get(&all)).expect("removed"),
        Harm::Swap { one, other } => {
            let (one, other) = (one.get(&records), other.get(&records));
            if one != other {
                let aside = folder.join("aside");
                std::fs::rename(one, &aside).expect("renamed");
                std::fs::rename(other, one).expect("renamed");
                std::fs::rename(aside, other).expect("renamed");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn harm_is_named_the_rest_is_recovered_and_nothing_else_is_ever_told(harm in harm()) {
        let folder = tempfile::tempdir().expect("a folder");
        let truth = written(folder.path());
        let last = files(folder.path(), "records").pop().expect("a segment");
        let before = std::fs::read(&last).expect("a file");
        apply(&harm, folder.path());
        let was_last_alone = std::fs::read(&last).ok().is_none_or(|now| now != before);

        let (journal, recovery) = open(folder.path());
        let found = lines(&recovery);
        let mut missing = 0;
        for (line, entries) in &truth {
            let there = found.get(line).cloned().unwrap_or_default();
            prop_assert_eq!(&there[..], &entries[..there.len()], "{} is not a beginning of what was written", line);
            missing += entries.len() - there.len();
        }
        prop_assert!(found.keys().all(|line| truth.contains_key(line)));
        if missing > 0 {
            // Only the end of the last segment can be lost without a trace: it looks like a write that did not end.
            let is_named = !recovery.damages.is_empty() || (was_last_alone && missing <= 9);
            prop_assert!(is_named, "{missing} entries are missing and nothing says so: {harm:?}");
        }
        for damage in &recovery.damages {
            prop_assert!(damage.path.starts_with(folder.path()));
        }

        // It goes on, and what it takes then is kept beside what was recovered.
        for at in 0..30u8 {
            wait(append(&journal, "after", &[at; 90], &[]).expect("room").kept()).expect("kept");
        }
        drop(journal);
        let (_, again) = open(folder.path());
        let mut now = lines(&again);
        let after = now.remove("after").expect("what came after");
        prop_assert_eq!(after.len(), 30);
        prop_assert_eq!(now, found);
    }
}

#[test]
fn segments_that_were_swapped_are_read_in_their_order_and_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let truth = written(folder.path());
    let records = files(folder.path(), "records");
    let (one, other) = (&records[0], &records[2]);
    let aside = folder.path().join("aside");
    std::fs::rename(one, &aside).expect("renamed");
    std::fs::rename(other, one).expect("renamed");
    std::fs::rename(&aside, other).expect("renamed");
    let recovery = Recovery::read(folder.path()).expect("it is read");
    assert_eq!(lines(&recovery), truth);
    let whats = recovery.damages.iter().map(|damage| damage.what.clone()).collect::<Vec<_>>();
    assert_eq!(whats, [What::Misnamed { says: 3 }, What::Misnamed { says: 1 }]);
}

#[test]
fn a_damage_says_where_and_what_in_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    written(folder.path());
    let first = &files(folder.path(), "records")[0];
    let mut bytes = std::fs::read(first).expect("a file");
    bytes[60] ^= 1;
    std::fs::write(first, bytes).expect("written");
    let recovery = Recovery::read(folder.path()).expect("it is read");
    let told = recovery.damages[0].to_string();
    assert!(told.starts_with(&format!("{}, byte 32: ", first.display())), "{told}");
    assert!(told.ends_with("bytes are no record; 1 records are lost"), "{told}");
}
