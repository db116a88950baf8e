//! Measures a model on this machine: `cargo run --release --example speed -- MODEL`.
//!
//! For both precisions: seconds to load, tokens a second of a 512-token prompt, of one sequence
//! decoding, and of eight together after a prompt of 128 tokens.

use std::path::PathBuf;

use futures::StreamExt;
use futures::future::join_all;
use verbatim_engine::{AttemptId, Engine, Params, Prompt, SessionKey};
use verbatim_engine_embedded::{EmbeddedEngine, Options, Precision, Stats};
use verbatim_tokens::TokenId;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = PathBuf::from(std::env::args().nth(1).ok_or("name a GGUF file or a folder")?);
    for precision in [Precision::F32, Precision::Q8] {
        let started = std::time::Instant::now();
        let (engine, source) = EmbeddedEngine::load(&path, Options { precision, ..Options::default() })?;
        println!("{} {precision:?}: loaded in {:.1} s", source.name, started.elapsed().as_secs_f64());
        let ids: Vec<_> = (0..512).map(|at| TokenId(1000 + at * 7919 % 20_000)).collect();

        let (prefill, decode) = measure(&engine, std::slice::from_ref(&ids)).await;
        println!("  prompt {prefill:.0} tokens/s, one sequence {decode:.1} tokens/s");
        let several: Vec<_> = (0..8).map(|at| ids[at * 40..at * 40 + 128].to_vec()).collect();
        let (_, decode) = measure(&engine, &several).await;
        println!("  eight sequences {decode:.1} tokens/s");
    }
    Ok(())
}

/// Prompt and decoding tokens a second of prompts that run together.
async fn measure(engine: &EmbeddedEngine, prompts: &[Vec<TokenId>]) -> (f64, f64) {
    let params = Params { max_tokens: 64, temperature: 0.0, ..Params::default() };
    let before = engine.stats();
    join_all(prompts.iter().zip(0..).map(|(ids, at)| {
        let prompt = Prompt::new(ids.as_slice(), SessionKey(format!("{at}").into()));
        engine.generate(AttemptId::fresh(), prompt, &params).count()
    }))
    .await;
    let Stats { prefill_tokens, decoded_tokens, prefill_seconds, decode_seconds, .. } = engine.stats();
    (
        (prefill_tokens - before.prefill_tokens) as f64 / (prefill_seconds - before.prefill_seconds),
        (decoded_tokens - before.decoded_tokens) as f64 / (decode_seconds - before.decode_seconds),
    )
}
