//! Rewards and credit, from real agents through real functions, commands and URLs to rows on disk.

use std::io::{Read, Write};
use std::net::TcpListener;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;
use verbatim_samples::{Advantages, Row};

use crate::support::{GOOD, Rollout, alive, names, root, text, until};

/// An agent that takes one turn and gives no reward.
const SILENT: &str = r#"
curl -sS --fail-with-body "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" \
  -d '{"messages": [{"role": "user", "content": "hi"}], "max_tokens": 8}' > reply.json || exit 1
"#;

/// A main line of two turns, and helpers with one turn each; the records are what follows in `$1`.
const HELPED: &str = r#"
import json, os, sys, urllib.request

def chat(messages):
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"messages": messages, "max_tokens": 400}).encode(),
        {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as reply:
        message = json.load(reply)["choices"][0]["message"]
    return messages + [{key: value for key, value in message.items() if value is not None}]

number = json.load(open(os.environ["VERBATIM_INPUT_JSON"]))["metadata"]["number"]
main = chat([{"role": "user", "content": "the question"}])
helpers = [chat([{"role": "user", "content": f"search {at}"}]) for at in range(2)]
main = chat(main + [{"role": "user", "content": "what they found"}])
reward = int.from_bytes(os.urandom(1), "big") / 255
records = [{"name": "main", "messages": main, "reward": reward, "turn_rewards": [None, 1]}]
records += [{"name": f"searcher_{at}", "messages": helper, "odd": 1} for at, helper in enumerate(helpers)]
EXTRA
with open(os.environ["VERBATIM_OUTPUT_JSON"], "w") as file:
    file.writelines(json.dumps(record) + "\n" for record in records)
"#;

/// Flags that make Python's functions be found, a folder of its own among their places.
fn with(settings: &[&str]) -> Vec<String> {
    let paths = [root().join("python"), root().join("crates/cli/tests/it/py")];
    let paths = format!("plugins.search_paths={}", json!(paths));
    let retries = "reward.retries=1".to_owned();
    let given = settings.iter().map(|setting| (*setting).to_owned());
    [paths, retries].into_iter().chain(given).flat_map(|setting| ["--set".to_owned(), setting]).collect()
}

fn run(rollout: &Rollout, settings: &[&str]) -> (bool, String) {
    let flags = with(settings);
    let output = rollout.run(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    (output.status.success(), text(&output))
}

/// Tasks with their number as metadata and as label.
fn labelled(script: &str, tasks: usize, size: usize) -> Rollout {
    let rollout = Rollout::new(script, tasks, size, "");
    let line = |task| format!("{}\n", json!({"input": "q", "metadata": {"number": task}, "label": task}));
    std::fs::write(rollout.path("tasks.jsonl"), (0..tasks).map(line).collect::<String>()).unwrap();
    rollout
}

/// A rollout of the helped agent.
fn helped(extra: &str, tasks: usize, size: usize) -> Rollout {
    let rollout = Rollout::new("python3 \"$AGENT\"", tasks, size, "");
    std::fs::write(rollout.path("agent.py"), HELPED.replace("EXTRA", extra)).unwrap();
    let script = format!("python3 {}", rollout.path("agent.py").display());
    std::fs::write(rollout.path("agent.sh"), script).unwrap();
    rollout
}

fn rewards(rows: &[Row]) -> Vec<Option<f64>> {
    rows.iter().map(|row| row.reward).collect()
}

#[test]
fn a_function_rewards_sessions_whose_agents_did_not() {
    let rollout = labelled(SILENT, 2, 2);
    let settings = ["dataset.label_key=\"label\"", "reward.session=\"scores:by_label\""];
    let (good, said) = run(&rollout, &settings);
    assert!(good, "{said}");
    for (task, rows) in rollout.rows().iter().enumerate() {
        let task = task as f64;
        assert_eq!(rewards(rows), [Some(task), Some(task + 1.0)], "{said}");
        let identity: Vec<_> = rows.iter().map(|row| (row.group_index, row.sample_index)).collect();
        let index = task as u64;
        assert_eq!(identity, [(Some(index), Some(2 * index)), (Some(index), Some(2 * index + 1))]);
        assert_eq!(rows[0].metadata["reward"]["word"], "no number", "the object is kept whole");
    }
    assert!(said.contains("reward.length") && said.contains("mean 1.000, from 0.000 to 2.000"), "{said}");
    assert!(said.contains("3 of 4 (75.0 %)"), "the pass rate is of sessions: {said}");
    assert_eq!((rollout.told("session_scored"), rollout.told("group_scored")), (4, 2));
}

#[test]
fn an_agents_own_reward_is_not_asked_for_and_a_groups_rewards_replace_all() {
    let rollout = labelled(GOOD, 1, 2);
    let settings = ["reward.session=\"scores:says_words\"", "reward.group=\"scores:ranks\""];
    let (good, said) = run(&rollout, &settings);
    assert!(good, "{said}");
    assert_eq!(rewards(&rollout.rows()[0]), [Some(0.0), Some(1.0)], "equal ones rank by place");
}

#[test]
fn a_command_and_a_url_reward_as_a_function_does() {
    let rollout = labelled(SILENT, 1, 1);
    let script = "python3 -c 'import json, os; given = json.load(open(os.environ[\\\"VERBATIM_INPUT_JSON\\\"])); \
                  json.dump(given[\\\"turns\\\"] + 0.5, open(os.environ[\\\"VERBATIM_OUTPUT_JSON\\\"], \\\"w\\\"))'";
    let (good, said) = run(&rollout, &[&format!("reward.session={{command = \"{script}\"}}")]);
    assert!(good && said.contains("mean 1.500"), "{said}");

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("reward.session=\"http://{}/score\"", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        // It fails once.
        for reply in [
            "HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n0.25",
        ] {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"}") {
                let mut some = [0; 4096];
                let count = stream.read(&mut some).unwrap();
                request.extend_from_slice(&some[..count]);
            }
            stream.write_all(reply.as_bytes()).unwrap();
        }
    });
    let (good, said) = run(&rollout, &[&url]);
    assert!(good && said.contains("mean 0.250"), "{said}");
    served.join().unwrap();
    assert_eq!(rollout.told("\"attempts\":2"), 1);
}

#[test]
fn a_reward_that_cannot_be_had_drops_its_group_and_is_never_zero() {
    let rollout = labelled(SILENT, 3, 1);
    let py = rollout.path("py");
    std::fs::create_dir(&py).unwrap();
    std::fs::copy(root().join("crates/cli/tests/it/py/scores.py"), py.join("mine.py")).unwrap();
    let paths = format!("plugins.search_paths={}", json!([root().join("python"), py]));
    let (good, said) = run(&rollout, &[&paths, "reward.session=\"mine:fails_for_one\""]);
    assert!(good, "{said}");
    assert_eq!(names(&rollout.path("rows")), ["train-0.jsonl", "train-2.jsonl"], "{said}");
    assert!(said.contains("groups dropped: reward_failed") && said.contains("the judge is down"), "{said}");
    assert!(said.contains("3 (0 failed)"), "it is no failure of a session's: {said}");
    assert_eq!(std::fs::read_to_string(py.join("asked")).unwrap(), "xx", "asked again once");
}

#[test]
fn an_answer_that_is_no_reward_is_named() {
    let rollout = labelled(SILENT, 1, 1);
    let (good, said) = run(&rollout, &["reward.session=\"scores:says_words\""]);
    assert!(!good && said.contains("reward.session: it answered a string"), "{said}");
    assert_eq!(rollout.told("reward_failed"), 1);
}

#[test]
fn a_filter_drops_groups_with_its_reason() {
    let rollout = labelled(GOOD, 3, 1);
    let (good, said) = run(&rollout, &["reward.filter=\"scores:keeps_even\""]);
    assert!(good, "{said}");
    assert_eq!(names(&rollout.path("rows")), ["train-0.jsonl", "train-2.jsonl"], "{said}");
    assert_eq!(rollout.told("\"cause\":\"filtered\",\"detail\":\"odd task\""), 1, "{said}");
}

#[test]
fn exported_contexts_are_rows_with_shared_credit_and_none_drops_their_group() {
    let rollout = helped("", 2, 2);
    let (good, said) = run(&rollout, &["reward.advantage=\"scores:shares\"", "reward.contexts=\"several\""]);
    assert!(good, "{said}");
    assert_eq!(names(&rollout.path("rows")), ["train-0.jsonl"], "task 1 teaches nothing: {said}");
    assert_eq!(rollout.told("\"cause\":\"filtered\",\"detail\":\"no advantage\""), 1, "{said}");
    let rows = &rollout.rows()[0];
    let told: Vec<_> = rows.iter().map(|row| (row.name.as_deref().unwrap(), row.turns.len())).collect();
    let session = [("main", 2), ("searcher_0", 1), ("searcher_1", 1)];
    assert_eq!(told, [session, session].concat());
    assert_eq!(rows.iter().map(|row| row.sample_index.unwrap()).collect::<Vec<_>>(), [0, 0, 0, 1, 1, 1]);
    let mut sum = 0.0;
    for session in rows.chunks(3) {
        let Some(Advantages::Turns(main)) = &session[0].advantages else { panic!("{:?}", session[0]) };
        let half = Some(Advantages::Whole(0.25 * main[0]));
        assert_eq!((&session[1].advantages, &session[2].advantages), (&half, &half));
        assert_eq!(session[0].turn_rewards(), Some(vec![None, Some(1.0)]));
        assert_eq!(session[0].weight, 1.0 / 3.0);
        assert!(session.iter().all(|row| row.trained() > 0));
        sum += main[0];
    }
    assert!(sum.abs() < 1e-9);
    assert_eq!(rollout.told("output.odd"), 8, "a key that means nothing is counted, each time");
}

#[test]
fn credit_that_is_not_whole_drops_its_group() {
    let rollout = helped("", 1, 1);
    let (good, said) = run(&rollout, &["reward.advantage=\"scores:forgets_one\""]);
    assert!(
        !good && said.contains("reward.advantage: session 0: context \"searcher_0\" has no advantage"),
        "{said}"
    );

    let rollout = helped("", 1, 1);
    let (good, said) = run(&rollout, &[]);
    assert!(!good && said.contains("groups dropped: contexts_uncredited"), "{said}");
    assert!(said.contains("reward.advantage"), "the way out is named: {said}");

    let (good, said) = run(&rollout, &["reward.contexts=\"several\""]);
    assert!(!good && said.contains("needs reward.advantage") && !said.contains("is ready"), "{said}");
}

#[test]
fn a_record_must_be_a_conversation_of_its_session() {
    let said_otherwise = "records[1]['messages'][-1]['content'] = 'never said'";
    let cases = [
        (said_otherwise, "export_unknown", "record 2 (\"searcher_0\")"),
        ("records[1]['messages'] = records[1]['messages'][:1]", "export_unknown", "record 2"),
        (
            "records[1]['tools'] = [{'type': 'function', 'function': {'name': 'f'}}]",
            "export_unknown",
            "record 2",
        ),
        ("records[2]['name'] = 'main'", "agent_output", "line 3: name: \"main\""),
        ("records[1]['messages'][0]['role'] = 'nobody'", "agent_output", "messages[0].role"),
        ("records[0]['turn_rewards'] = [1]", "agent_output", "1 for 2 turns"),
        ("records[0]['reward'] = {'other': 1}", "agent_output", "no number \"reward\""),
    ];
    for (extra, cause, says) in cases {
        let rollout = helped(extra, 1, 1);
        let (good, said) = run(&rollout, &["reward.advantage=\"scores:shares\""]);
        assert!(!good && said.contains(&format!("groups dropped: {cause}")), "{extra}: {said}");
        assert!(said.contains(says), "{extra}: {said}");
    }
}

fn folder(tasks: usize) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let line = |task| format!("{}\n", json!({"input": format!("task {task}"), "metadata": {"number": task}}));
    std::fs::write(folder.path().join("tasks.jsonl"), (0..tasks).map(line).collect::<String>()).unwrap();
    folder
}

#[test]
fn a_python_function_is_an_agent() {
    let rollout = Rollout::with(folder(2), "function = \"scores:run_agent\"", 2, "");
    let (good, said) = run(&rollout, &["sampling.temperature=0.5"]);
    assert!(good && said.contains("mean 0.500"), "{said}");
    for row in rollout.rows().iter().flatten() {
        assert_eq!(
            (row.metadata["said"].as_str(), &row.metadata["temperature"]),
            (Some("assistant"), &json!(0.5))
        );
    }
}

#[test]
fn a_function_that_uses_up_its_time_is_cancelled_and_its_group_dropped() {
    let rollout = Rollout::with(folder(2), "function = \"scores:hangs\"", 1, "");
    let (good, said) = run(&rollout, &["agent.timeout_seconds=3"]);
    assert!(good && said.contains("groups dropped: agent_timeout"), "{said}");
    assert_eq!(names(&rollout.path("rows")), ["train-0.jsonl"]);
}

#[test]
fn ctrl_c_ends_what_is_scored_and_leaves_no_process() {
    let rollout = labelled(SILENT, 1, 1);
    let flags = with(&["reward.session={command = \"sleep 7105.5\"}"]);
    let child = rollout.start(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    until("the reward is asked for", || alive("7105.5") == 1);
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output));
    until("nothing of it is left", || alive("7105.5") == 0);
    assert_eq!(rollout.told("\"cause\":\"interrupted\""), 1);
}

#[test]
fn one_word_says_what_a_failed_session_does_to_its_group() {
    // Fails the first time it sees a task.
    let script =
        format!("{GOOD}\nmkdir \"$SEEN/$(basename $VERBATIM_GROUP_ID)\" 2>/dev/null && exit 1\ntrue");
    for (policy, kept, sessions) in [
        ("drop_group", false, "1 (1 failed)"),
        ("retry_session", true, "3 (1 failed)"),
        ("accept(1)", true, "2 (1 failed)"),
    ] {
        let rollout = Rollout::new(&script, 1, 2, "");
        std::fs::create_dir(rollout.path("seen")).unwrap();
        let policy = format!("rollout.on_session_failure=\"{policy}\"");
        let mut command = rollout.command(&["--set", &policy, "--set", "agent.concurrency=1"]);
        let output = command.env("SEEN", rollout.path("seen")).output().unwrap();
        let said = text(&output);
        assert_eq!(output.status.success(), kept, "{policy}: {said}");
        assert!(said.contains(sessions), "{policy}: {said}");
    }
    let output = Rollout::new(GOOD, 1, 1, "").run(&["--set", "rollout.on_session_failure=\"accept(0)\""]);
    assert!(text(&output).contains("accept(K) with K above 0"), "{}", text(&output));
}

#[test]
fn an_agent_is_one_of_three_ways() {
    for (agent, says) in [
        ("env = {}", "it has none"),
        ("command = \"true\"\nfunction = \"scores:run_agent\"", "it has command and function"),
        ("function = \"scores:nothing\"", "agent.function"),
        ("url = \"https://agents.example\"", "agent.url"),
        ("function = \"scores:run_agent\"\nmax_files = 5", "agent.max_"),
    ] {
        let (good, said) = run(&Rollout::with(folder(1), agent, 1, ""), &[]);
        assert!(!good && said.contains(says), "{agent}: {said}");
    }
}
