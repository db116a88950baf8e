//! `verbatim eval`: every session is in the denominator, whatever became of it.

use serde_json::{Value, json};

use crate::support::{Rollout, alive, text, until};

/// Takes a turn; task 1 passes, task 2 fails, task 3 hangs.
const SCRIPT: &str = r#"
test "$VERBATIM_ROLLOUT_MODE" = eval || exit 12
curl -sS --fail-with-body "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" \
  -d '{"messages": [{"role": "user", "content": "hi"}], "max_tokens": 8}' > reply.json || exit 1
number=$(grep -o '"number":[0-9]*' "$VERBATIM_INPUT_JSON" | cut -d: -f2)
test "$number" = 2 && exit 3
test "$number" = 3 && sleep 7106.5
echo "{\"reward\": {\"reward\": $((number % 2)), \"steps\": 4}}" > "$VERBATIM_OUTPUT_JSON"
"#;

fn rollout(tasks: usize, more: &str) -> Rollout {
    let eval = format!(
        "[[eval]]\nname = \"held_out\"\npath = \"held_out.jsonl\"\nsamples = 2\nconcurrency = 3\n{more}"
    );
    let rollout = Rollout::new(SCRIPT, 1, 1, &eval);
    let line = |task| format!("{}\n", json!({"input": "q", "metadata": {"number": task}}));
    std::fs::write(rollout.path("held_out.jsonl"), (0..tasks).map(line).collect::<String>()).unwrap();
    rollout
}

/// Evaluates; whether it went well, what was said, and the report of its dataset.
fn evaluate(rollout: &Rollout, flags: &[&str]) -> (bool, String, Value) {
    let output = crate::support::verbatim()
        .arg("eval")
        .arg(rollout.path("rollout.toml"))
        .arg("--output")
        .arg(rollout.path("report.json"))
        .args(flags)
        .output()
        .unwrap();
    let report = std::fs::read(rollout.path("report.json")).unwrap_or_else(|_| b"{}".to_vec());
    let report: Value = serde_json::from_slice(&report).unwrap();
    (output.status.success(), text(&output), report["datasets"][0].clone())
}

#[test]
fn failures_are_in_the_denominator_and_no_reward_of_zero() {
    let rollout = rollout(4, "sampling = { max_tokens = 4, temperature = 0.0 }");
    let (good, said, report) = evaluate(&rollout, &["--set", "agent.timeout_seconds=3"]);
    assert!(good, "{said}");
    let told = ["sessions", "passed", "pass_rate", "mean_reward", "rewarded"].map(|key| report[key].clone());
    assert_eq!(json!(told), json!([8, 2, 0.25, 0.5, 4]), "{report}");
    assert_eq!(report["failed"], json!({"agent_failed": 2, "agent_timeout": 2}));
    assert_eq!(report["pass_at"], json!({"1": 0.25, "2": 0.25}), "of one task both passed");
    assert_eq!((&report["metrics"], &report["turns"]), (&json!({"steps": 4.0}), &json!(8)));
    assert!(report["sampled_tokens"].as_u64().unwrap() <= 32, "each turn is cut at its pin: {report}");
    assert!(
        said.contains("held_out") && said.contains("25.0 %") && said.contains("2 agent_timeout"),
        "{said}"
    );
    assert_eq!(rollout.told("\"event\":\"evaluated\""), 1);
    assert!(rollout.told("\"cause\":\"overridden\",\"detail\":\"max_tokens\"") > 0);
    assert_eq!((rollout.rows().len(), alive("7106.5")), (0, 0));
}

#[test]
fn ctrl_c_ends_an_evaluation_and_leaves_no_process() {
    use rustix::process::{Pid, Signal, kill_process};

    let rollout = rollout(4, "");
    let child = crate::support::verbatim().arg("eval").arg(rollout.path("rollout.toml")).spawn().unwrap();
    until("an agent hangs", || alive("7106.5") > 0);
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::INT).unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert_eq!(alive("7106.5"), 0);
}

#[test]
fn what_cannot_be_evaluated_is_named() {
    let (good, said, _) = evaluate(&rollout(1, ""), &["--datasets", "held_in"]);
    assert!(!good && said.contains("\"held_in\" is none of [\"held_out\"]"), "{said}");
    let (good, said, _) = evaluate(&Rollout::new(SCRIPT, 1, 1, ""), &[]);
    assert!(!good && said.contains("[[eval]]"), "{said}");
    let (good, said, _) = evaluate(&rollout(1, "sampling = { stop = \"x\" }"), &[]);
    assert!(!good && said.contains("eval.sampling.stop"), "{said}");
    let (good, said, _) = evaluate(&rollout(0, ""), &[]);
    assert!(!good && said.contains("\"held_out\": the dataset is empty"), "{said}");
}
