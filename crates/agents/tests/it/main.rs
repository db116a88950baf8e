//! Agents of all three ways: real commands, real Python functions, and a service that stands in.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed assumption fails the test")]

mod commands;
mod functions;
mod outputs;
mod service;
mod services;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use tokio::sync::oneshot;
use verbatim_agents::{Agent, AgentFailure, Input, Output, Seat, Told, Way};
use verbatim_process::Launcher;

fn launcher() -> Launcher {
    Launcher::at(env!("CARGO_BIN_EXE_verbatim-agents-owner").into())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn seat() -> Seat {
    Seat {
        server: "http://127.0.0.1:9".into(),
        session: "session-1".into(),
        token: "token-1".into(),
        model: "model".into(),
        mode: "train".into(),
        group: "train:7".into(),
    }
}

fn input() -> Input {
    let metadata = json!({"number": 7}).as_object().unwrap().clone();
    Input { messages: vec![json!({"role": "user", "content": "hi"})], metadata }
}

fn agent(way: Way) -> Agent {
    Agent { way, time: Duration::from_secs(30) }
}

/// Runs an agent to its end.
async fn run(way: Way) -> Result<Output, AgentFailure> {
    let (_told, never) = oneshot::channel();
    agent(way).run(&launcher(), &seat(), &input(), never).await
}

/// Runs an agent and tells it something once `when` is over.
async fn told(way: Way, told: Told, when: impl Future<Output = ()>) -> AgentFailure {
    let (sender, heard) = oneshot::channel();
    let (launcher, agent, seat, input) = (launcher(), agent(way), seat(), input());
    let run = agent.run(&launcher, &seat, &input, heard);
    let tell = async {
        when.await;
        sender.send(told).unwrap();
    };
    tokio::join!(run, tell).0.unwrap_err()
}

/// Waits until something holds.
async fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..1000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("never: {what}");
}
