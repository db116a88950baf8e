//! A journal against a map that is never lost.

use proptest::prelude::*;
use std::collections::BTreeMap;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Append { line: u8, body: Vec<u8>, payloads: Vec<Vec<u8>> },
    Cut { line: u8 },
    Note { name: u8, body: Vec<u8> },
    Forget { name: u8 },
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = |most| prop::collection::vec(any::<u8>(), 0..most);
    prop_oneof![
        6 => (0u8..5, bytes(300), prop::collection::vec(bytes(200), 0..3))
            .prop_map(|(line, body, payloads)| Step::Append { line, body, payloads }),
        2 => (0u8..5).prop_map(|line| Step::Cut { line }),
        2 => (0u8..4, bytes(80)).prop_map(|(name, body)| Step::Note { name, body }),
        1 => (0u8..4).prop_map(|name| Step::Forget { name }),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_kept_is_there_however_often_it_is_opened_and_space_comes_back(steps in prop::collection::vec(step(), 1..160)) {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut journal, _) = open(folder.path());
        let mut truth = Lines::new();
        let mut notes = BTreeMap::new();
        let mut last = None;
        for step in steps {
            match step {
                Step::Append { line, body, payloads } => {
                    let refs = payloads.iter().map(Vec::as_slice).collect::<Vec<_>>();
                    last = Some(append(&journal, &line.to_string(), &body, &refs).expect("room"));
                    truth.entry(line.to_string()).or_default().push((body, payloads));
                }
                Step::Cut { line } => {
                    last = Some(journal.cut(&line.to_string()));
                    truth.remove(&line.to_string());
                }
                Step::Note { name, body } => {
                    last = Some(note(&journal, &name.to_string(), &body).expect("room"));
                    notes.insert(name.to_string(), body);
                }
                Step::Forget { name } => {
                    last = Some(journal.forget(&name.to_string()));
                    notes.remove(&name.to_string());
                }
                Step::Reopen => {
                    last.take().map(|last| wait(last.kept())).transpose().expect("kept");
                    drop(journal);
                    let (again, recovery) = open(folder.path());
                    journal = again;
                    prop_assert_eq!(&recovery.damages, &[]);
                    prop_assert_eq!(recovery.torn, 0);
                    prop_assert_eq!(lines(&recovery), truth.clone());
                    let kept = recovery.notes.iter().map(|(name, body)| (name.to_string(), body.to_vec()));
                    prop_assert_eq!(kept.collect::<BTreeMap<_, _>>(), notes.clone());
                }
            }
        }
        drop(journal);
        let (journal, recovery) = open(folder.path());
        prop_assert_eq!(lines(&recovery), truth.clone());
        drop(journal);
        // The payloads of dead lines go with their segments; what is left is some times what counts.
        let live = truth.values().flatten().map(|(body, payloads)| {
            body.len() + payloads.iter().map(Vec::len).sum::<usize>() + 200
        }).sum::<usize>() + notes.values().map(|body| body.len() + 100).sum::<usize>();
        let held = bytes_of(folder.path());
        prop_assert!(held <= 3 * live as u64 + 12 * SMALL.segment_bytes, "{held} bytes are held for {live}");
    }
}

#[test]
fn a_folder_belongs_to_one_and_is_free_when_it_has_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let (journal, _) = open(folder.path());
    let refused = Journal::open(folder.path(), SMALL).err().expect("a refusal");
    assert!(matches!(refused, JournalError::Taken { .. }), "{refused}");
    assert!(refused.to_string().contains("another server keeps its journal here"), "{refused}");
    drop(journal);
    open(folder.path());
}

#[test]
fn a_record_larger_than_a_segment_has_one_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let (journal, _) = open(folder.path());
    wait(append(&journal, "a", b"first", &[]).expect("room").kept()).expect("kept");
    let large = vec![7; 10 * SMALL.segment_bytes as usize];
    wait(append(&journal, "a", &large, &[]).expect("room").kept()).expect("kept");
    wait(append(&journal, "a", b"last", &[]).expect("room").kept()).expect("kept");
    drop(journal);
    let (_, recovery) = open(folder.path());
    let bodies = recovery.lines["a"].iter().map(|kept| kept.body.to_vec()).collect::<Vec<_>>();
    assert_eq!(bodies, [b"first".to_vec(), large, b"last".to_vec()]);
}

#[test]
fn a_journal_that_ended_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let (journal, _) = open(folder.path());
    journal.close();
    let appended = append(&journal, "a", b"late", &[]).expect("room");
    assert!(matches!(wait(appended.kept()), Err(JournalError::Closed)));
}
