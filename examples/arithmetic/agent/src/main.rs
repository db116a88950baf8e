//! An agent that solves word problems with a calculator.
//!
//! It talks to any OpenAI-compatible server: `OPENAI_BASE_URL` and `OPENAI_API_KEY` are all it knows.
//! The model acts in text: a line `CALC: 3 + 4` is computed and answered with `RESULT: 7`, a line
//! `ANSWER: 7` ends the episode. The reward is 1 for the right answer, else 0.

mod calculator;
mod transcript;

use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;
use serde_json::{Value, json};

use transcript::{Step, read};

#[derive(Parser)]
struct Args {
    /// A JSON file: `{"messages": […], "metadata": {"answer": 7}}`.
    #[arg(long)]
    task: PathBuf,
    /// Where the result is written.
    #[arg(long)]
    result: PathBuf,
    /// The most turns that an episode may take.
    #[arg(long, default_value_t = 5)]
    turns: usize,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let base = std::env::var("OPENAI_BASE_URL").context("OPENAI_BASE_URL is not set")?;
    let key = std::env::var("OPENAI_API_KEY").context("OPENAI_API_KEY is not set")?;
    let task: Value = serde_json::from_slice(&std::fs::read(&args.task)?)?;
    let mut messages = task["messages"].as_array().cloned().unwrap_or_default();
    let expected = task["metadata"]["answer"].as_f64().context("metadata.answer is missing")?;

    let client = reqwest::Client::new();
    let mut answer = None;
    let mut calculations = 0;
    for _ in 0..args.turns {
        let body = json!({"model": "policy", "messages": messages, "max_completion_tokens": 48});
        let reply =
            client.post(format!("{base}/chat/completions")).bearer_auth(&key).json(&body).send().await?;
        let status = reply.status();
        let reply: Value = reply.json().await?;
        anyhow::ensure!(status.is_success(), "{status}: {reply}");
        let message = &reply["choices"][0]["message"];
        let said = message["content"].as_str().unwrap_or_default().to_owned();
        println!("assistant: {said}");
        messages.push(json!({"role": "assistant", "content": said}));
        if reply["choices"][0]["finish_reason"] == "length" {
            // A sentence that was cut is no step, and a server may refuse to go on after it.
            break;
        }
        let observation = match read(&said) {
            Step::Answer(value) => {
                answer = Some(value);
                break;
            }
            Step::Calculate(expression) => {
                calculations += 1;
                match calculator::evaluate(&expression) {
                    Ok(value) => format!("RESULT: {value}"),
                    Err(problem) => format!("ERROR: {problem}"),
                }
            }
            Step::Neither => "Write one line: CALC: and an expression, or ANSWER: and a number.".to_owned(),
        };
        println!("user: {observation}");
        messages.push(json!({"role": "user", "content": observation}));
    }
    let right = answer.is_some_and(|answer: f64| (answer - expected).abs() < 1e-6);
    let result = json!({
        "reward": if right { 1.0 } else { 0.0 },
        "metadata": {"answered": answer, "calculations": calculations},
    });
    std::fs::write(&args.result, serde_json::to_vec(&result)?)?;
    Ok(())
}
