//! The examples, as their READMEs say to run them, on fewer tasks.

use std::path::PathBuf;
use std::process::Command;

use verbatim_samples::{Advantages, Format};

use crate::support::{names, root, text, verbatim};

#[test]
fn search_makes_every_context_a_row_and_gives_it_credit_or_drops_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let (rows, events) = (folder.path().join("rows"), folder.path().join("events.jsonl"));
    let cache = std::env::var("VERBATIM_CACHE").map_or(root().join(".cache"), PathBuf::from);
    let paths = format!("plugins.search_paths={:?}", [root().join("python"), root().join("examples/search")]);
    let output = verbatim()
        .arg("run")
        .arg(root().join("examples/search/rollout.toml"))
        .args(["--limit", "5", "--set", &paths])
        .args(["--set", &format!("rollout.output={:?}", rows)])
        .args(["--set", &format!("log.events={:?}", events)])
        .args(["--set", &format!("engine.cache={:?}", cache)])
        .output()
        .unwrap();
    let said = text(&output);
    let log = std::fs::read_to_string(&events).unwrap();
    let count = |what: &str| log.lines().filter(|line| line.contains(what)).count();
    let filtered = count("\"cause\":\"filtered\",\"detail\":\"no advantage\"");
    assert_eq!(names(&rows).len() + filtered, 5, "each group is kept, or teaches nothing: {said}");
    assert!(said.contains("20 (0 failed)"), "{said}");
    for name in names(&rows) {
        let rows = Format::Jsonl.read(&std::fs::read(rows.join(name)).unwrap()).unwrap();
        let mut sum = 0.0;
        for session in rows.chunk_by(|a, b| a.session == b.session) {
            let Some(Advantages::Whole(main)) = session[0].advantages else { panic!("{:?}", session[0]) };
            assert_eq!(session[0].name.as_deref(), Some("main"));
            let share = 0.5 * main / (session.len() - 1) as f64;
            for (at, searcher) in session[1..].iter().enumerate() {
                assert_eq!(searcher.name, Some(format!("searcher_{at}")));
                assert_eq!(searcher.advantages, Some(Advantages::Whole(share)));
            }
            assert!(session.iter().all(|row| row.trained() > 0 && row.turns.len() == 1));
            sum += main;
        }
        assert!(sum.abs() < 1e-9, "normalised over the group");
    }
}

#[test]
fn searchs_credit_drops_groups_whose_rewards_are_all_the_same() {
    let script = "
from credit import advantages
session = lambda reward: {'main': {'reward': reward}, 'searcher_0': {}, 'searcher_1': {}}
assert advantages([session(1.0), session(1.0)]) is None
first, second = advantages([session(1.0), session(0.0)])
assert first == {'main': 1.0, 'searcher_0': 0.25, 'searcher_1': 0.25}, first
assert second == {'main': -1.0, 'searcher_0': -0.25, 'searcher_1': -0.25}, second
";
    let ran = Command::new("python3")
        .args(["-c", script])
        .env("PYTHONPATH", root().join("examples/search"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", text(&ran));
}
