//! Settings that no job could begin with are no PASS of a check.

use serde_json::Value;

use crate::support::{GOOD, Rollout, root, verbatim};

/// What a check says that keeps a rollout from being ready.
fn blocking(rollout: &Rollout, settings: &[&str]) -> Vec<String> {
    let mut command = verbatim();
    command.args(["check", "--json"]).arg(rollout.path("rollout.toml"));
    // Functions are loaded by a host, which need not be installed.
    command.args(["--set", &format!("plugins.search_paths={:?}", [root().join("python")])]);
    for setting in settings {
        command.args(["--set", setting]);
    }
    let output = command.output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let parts = told["parts"].as_object().unwrap().values();
    let lines = parts.flat_map(|part| part.as_array().into_iter().flatten());
    let blocks = lines.filter(|line| line["verdict"] == "NEEDS_CHANGES" || line["verdict"] == "UNSAFE");
    blocks
        .map(|line| format!("{}: {}", line["about"].as_str().unwrap(), line["what"].as_str().unwrap()))
        .collect()
}

#[test]
fn a_setting_that_no_job_could_begin_with_is_named_before_one_does() {
    let rollout = Rollout::new(GOOD, 2, 2, "");
    assert!(blocking(&rollout, &[]).is_empty(), "{:?}", blocking(&rollout, &[]));
    let file = rollout.path("tasks.jsonl").join("x").display().to_string();
    let wrong: [(&[&str], &str); 18] = [
        (&["server.listen=nowhere"], "server.listen"),
        (&["server.trust_cidr=[\"some\"]"], "server.trust_cidr"),
        (&["server.control_key_file=/no/such/key"], "server.control_key_file"),
        (&["server.body_mib=0"], "server.body_mib"),
        (&["plugins.picker=\"no.such:function\""], "plugins.picker"),
        (&["plugins.postprocessor=\"no.such:function\""], "plugins.postprocessor"),
        (&["reward.session=\"no.such:function\""], "reward.session"),
        (&["sessions.matcher=\"no.such:function\""], "sessions.matcher"),
        (&["sessions.matcher=nobody"], "sessions.matcher"),
        (&["reward.cwd=/no/such/folder", "reward.session={ command = \"true\" }"], "reward.cwd"),
        (&["rollout.sink=store"], "rollout.output"),
        (&["rollout.sink=folder", "rollout.output=s3://bucket/run"], "rollout.output"),
        (&["rollout.mode=sometimes"], "rollout.mode"),
        (&["agent.server_url=somewhere"], "agent.server_url"),
        (&["agent.timeout_seconds=0"], "agent.timeout_seconds"),
        (&["journal.segment_mib=0"], "journal.segment_mib"),
        (&["engine.sim_script=/no/such/script"], "/no/such/script"),
        (&[&format!("journal.folder={file}")], "journal.folder"),
    ];
    for (settings, named) in wrong {
        let said = blocking(&rollout, settings);
        assert!(said.iter().any(|line| line.contains(named)), "{settings:?}: {said:?}");
    }
}
