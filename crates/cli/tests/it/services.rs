//! Agents of a service in a process of its own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::support::{Rollout, text};

/// A running service.
struct Service {
    process: Child,
    url: String,
}

impl Service {
    fn start(slots: usize) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/py/service.py");
        let mut process = Command::new("python3")
            .args([script, &slots.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { process, url: format!("http://127.0.0.1:{}", port.trim()) }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn rollout(service: &Service, size: usize) -> Rollout {
    let folder = tempfile::tempdir().unwrap();
    let line = |task| format!("{}\n", json!({"input": format!("task {task}")}));
    std::fs::write(folder.path().join("tasks.jsonl"), (0..3).map(line).collect::<String>()).unwrap();
    let agent = format!("url = \"{}\"\npoll_seconds = 0.05", service.url);
    Rollout::with(folder, &agent, size, "")
}

#[test]
fn groups_of_a_services_agents_cross_their_barriers_with_as_many_slots_as_they_need() {
    let service = Service::start(2);
    let rollout = rollout(&service, 2);
    let output = rollout.run(&["--set", "rollout.barrier_seconds=60"]);
    let said = text(&output);
    assert!(output.status.success() && said.contains("has 2 slots"), "{said}");
    let rows: Vec<_> = rollout.rows().into_iter().flatten().collect();
    assert_eq!(rows.len(), 6, "{said}");
    assert!(rows.iter().all(|row| row.reward == Some(1.0) && row.metadata["by"] == "the service"), "{said}");
    assert_eq!(rollout.told("group_ready"), 3);
}

#[test]
fn a_group_that_needs_more_slots_than_there_are_is_refused_at_the_start() {
    let service = Service::start(2);
    let output = rollout(&service, 3).run(&["--set", "rollout.barrier_seconds=60"]);
    let said = text(&output);
    assert!(!output.status.success(), "{said}");
    assert!(
        said.contains("only with 3 agents alive, and 2 may live") && !said.contains("is ready"),
        "{said}"
    );
}
