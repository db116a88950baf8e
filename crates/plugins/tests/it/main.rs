//! A call ends, with a result or a named error, and no process outlives its host.
//!
//! Real interpreters run these tests: `python3`, and for samples the one of the Python tests, which has
//! numpy and safetensors.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assumption fails the test")]

mod calls;
mod life;
mod loads;
mod samples;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};
use verbatim_plugins::{Cause, Host, HostOptions, Kind, Plugin, PluginError};
use verbatim_process::Launcher;

const OWNER: &str = env!("CARGO_BIN_EXE_verbatim-plugins-owner");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn options() -> HostOptions {
    HostOptions {
        search_paths: vec![root().join("python"), root().join("crates/plugins/tests/it/py")],
        launcher: Some(Launcher::at(OWNER.into())),
        cancel_grace: Duration::from_millis(500),
        ..HostOptions::default()
    }
}

async fn host(workers: usize) -> Host {
    Host::start(HostOptions { workers, ..options() }).await.unwrap()
}

async fn loaded(host: &Host, kind: Kind, name: &str) -> Plugin {
    host.load(kind, &format!("plug:{name}")).await.unwrap()
}

/// Calls with positional arguments.
async fn call(plugin: &Plugin, args: Value) -> Result<Value, PluginError> {
    plugin.call(json!({ "args": args }), Bytes::new()).await.map(|(value, _)| value)
}

fn cause(error: &PluginError) -> Cause {
    match error {
        PluginError::Refused { cause, .. } => *cause,
        other => panic!("not a plug-in's: {other}"),
    }
}

/// How many processes were started with this argument.
fn alive(argument: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes()))
        .count()
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
