//! The other commands, and what they say when something is wrong.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use crate::support::{GOOD, Rollout, text, verbatim};

fn says(arguments: &[&str]) -> (bool, String) {
    let output = verbatim().args(arguments).output().unwrap();
    (output.status.success(), text(&output))
}

#[test]
fn help_teaches() {
    let (ok, said) = says(&["--help"]);
    assert!(ok && said.contains("First steps") && said.contains("verbatim run"), "{said}");
}

#[test]
fn config_prints_every_setting_and_where_it_came_from() {
    let rollout = Rollout::new(GOOD, 1, 1, "");
    let file = rollout.path("rollout.toml");
    let (ok, said) = says(&[
        "config",
        "--config",
        file.to_str().unwrap(),
        "--set",
        "sampling.temperature=0.5",
        "--engine",
        "sim",
    ]);
    assert!(ok, "{said}");
    let line = |start: &str| said.lines().find(|line| line.starts_with(start)).unwrap_or_default().to_owned();
    assert!(line("temperature").contains("0.5") && line("temperature").ends_with("# flag"), "{said}");
    assert!(line("group_size").ends_with("rollout.toml"), "{said}");
    assert!(line("hold_seconds").ends_with("# default"), "{said}");
}

#[test]
fn mistakes_are_named_with_the_way_out() {
    let cases: [(&[&str], &str); 8] = [
        (
            &["serve", "--engine", "sim", "--family", "smollm2", "--set", "family.tool_call_parser=kimi_k2"],
            "kimi_k2",
        ),
        (&["serve", "--set", "sampling.temprature=1"], "temprature"),
        (&["serve", "--engine", "gpu"], "engine.kind"),
        (&["serve", "--model", "no-such-model"], "smollm2-135m-instruct"),
        (&["serve", "--engine", "sim", "--family", "gpt9"], "smollm2"),
        (&["serve", "--engine", "sim", "--listen", "0.0.0.0:0"], "--control-key-file"),
        (&["inspect", "rows.csv"], ".parquet"),
        (&["run", "no-such-file.toml"], "no-such-file.toml"),
    ];
    for (arguments, names) in cases {
        let (ok, said) = says(arguments);
        assert!(!ok && said.contains(names), "{arguments:?}: {said}");
    }
}

#[test]
fn inspect_shows_who_made_each_token() {
    let rollout = Rollout::new(GOOD, 1, 2, "");
    let events = format!("log.events={}", rollout.path("rows/events.jsonl").display());
    assert!(rollout.run(&["--set", &events]).status.success());
    let rows = rollout.path("rows");
    let (ok, said) = says(&["inspect", rows.to_str().unwrap(), "--tokens", "--row", "1"]);
    assert!(ok && said.contains("row 1") && !said.contains("row 0"), "{said}");
    assert!(
        said.contains("observation") && said.contains("trained") && said.contains("<|im_start|>"),
        "{said}"
    );
    let (ok, said) = says(&["inspect", rows.to_str().unwrap(), "--row", "2"]);
    assert!(!ok && said.contains("there are 2 rows"), "{said}");
}

#[test]
fn serve_says_where_it_listens_and_ends_on_a_signal() {
    let mut child = verbatim()
        .args(["serve", "--engine", "sim", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("listening on http://127.0.0.1:") && line.contains("family smollm2"), "{line}");
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
}

/// Takes HTTP requests until one is a POST to this path; returns its body.
fn posted(listener: &std::net::TcpListener, path: &str) -> Vec<u8> {
    loop {
        let (socket, _) = listener.accept().unwrap();
        socket.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        let mut reader = BufReader::new(socket);
        let mut first = String::new();
        reader.read_line(&mut first).unwrap();
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        reader.into_inner().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
        if first.starts_with(&format!("POST {path} ")) {
            return body;
        }
    }
}

#[test]
fn spans_are_exported_where_the_settings_say() {
    let collector = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let otlp = format!("log.otlp=http://{}", collector.local_addr().unwrap());
    let rollout = Rollout::new(GOOD, 1, 1, "");
    let running = std::thread::spawn(move || rollout.run(&["--set", &otlp]));
    let spans = posted(&collector, "/v1/traces");
    let text = String::from_utf8_lossy(&spans);
    assert!(text.contains("turn") && text.contains("verbatim") && text.contains("session"), "{text}");
    drop(collector);
    assert!(running.join().unwrap().status.success());
}
