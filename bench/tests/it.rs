//! The benches run end to end, small.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test's own functions may fail as its test does")]

use std::path::Path;
use std::process::Command;

/// Runs the program and returns what it printed.
fn bench(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_verbatim-bench"));
    let ran = command.args(args).current_dir(Path::new(env!("CARGO_MANIFEST_DIR"))).output().unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{args:?}: {told}");
    String::from_utf8(ran.stdout).unwrap()
}

/// The value printed behind a name.
fn figure(printed: &str, name: &str) -> f64 {
    let line = printed.lines().find_map(|line| line.trim_start().strip_prefix(name));
    line.unwrap_or_else(|| panic!("no {name} in {printed}")).trim().parse().unwrap()
}

#[test]
fn a_generator_drives_a_server() {
    let small = ["load", "--sessions", "2", "--turns", "3", "--rounds", "2", "--runs", "1"];
    let printed = bench(&small);
    // 64 + 64 tokens and the frame of a turn, for each of six turns.
    let stored = figure(&printed, "tokens stored");
    assert!((768.0..900.0).contains(&stored), "{printed}");
    assert!(figure(&printed, "turns/s") > 0.0, "{printed}");
    assert!(figure(&printed, "RSS peak, MiB") > 0.0, "{printed}");

    let streamed = bench(&[&small[..], &["--stream", "--chunk", "1"]].concat());
    assert_eq!(figure(&streamed, "tokens stored"), stored, "{streamed}");
}

#[test]
fn rows_and_passes_are_timed() {
    let printed = bench(&["samples", "--turns", "3", "--tokens", "600", "--runs", "1"]);
    assert!(printed.contains("assembly") && printed.contains("op over HTTP, jsonl"), "{printed}");
    let printed = bench(&["passes", "--tokens", "200,600", "--runs", "2"]);
    assert!(printed.contains("split+hash") && printed.contains("R2"), "{printed}");
}

#[test]
fn rendering_is_compared_where_the_ids_are_equal() {
    let printed = bench(&["render", "--turns", "1,2", "--runs", "2"]);
    assert_eq!(printed.matches("tokenizers crate alone").count(), 2, "{printed}");
    assert_eq!(printed.matches("minijinja").count(), 4, "{printed}");
}

#[test]
fn modes_are_simulated() {
    let printed = bench(&["resident", "--seeds", "1", "--steps", "2"]);
    assert_eq!(printed.lines().filter(|line| line.starts_with("async")).count(), 3, "{printed}");
}
