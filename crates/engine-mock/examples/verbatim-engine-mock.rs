//! A mock server over the simulated engine, for tests in other languages and for trying things by hand.
//!
//! It says where it listens in one line on standard output and runs until it is interrupted.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use verbatim_engine_mock::{Experts, Mock, Options, Width, Wire};
use verbatim_engine_sim::{Drawn, Latency, SimEngine, SimOptions};
use verbatim_tokens::TokenId;

/// Serves random ids under the contract of an inference engine.
#[derive(Parser)]
#[command(name = "verbatim-engine-mock")]
struct Args {
    /// Whose contract.
    #[arg(long, value_enum, default_value = "sglang")]
    wire: Face,
    /// The port; 0 is any.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The served model's name.
    #[arg(long, default_value = "policy")]
    model: String,
    /// Ids are below this, and drawn from all of them but the stop.
    #[arg(long, default_value_t = 1000)]
    vocabulary: u32,
    /// The id that ends a turn.
    #[arg(long, default_value_t = 2)]
    stop: u32,
    /// The mean number of tokens before it.
    #[arg(long, default_value_t = 32)]
    mean: usize,
    /// Tokens that prompt and reply may hold.
    #[arg(long, default_value_t = 32_768)]
    context: usize,
    /// Milliseconds a token.
    #[arg(long, default_value_t = 0)]
    pace: u64,
    /// Everything random follows from it.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// SGLang: chunks are deltas.
    #[arg(long)]
    incremental: bool,
    /// As releases before the present ones were seen to behave.
    #[arg(long)]
    legacy: bool,
    /// Replies have text: each id as a number and a space.
    #[arg(long)]
    text: bool,
    /// Hidden layers that report four of sixteen experts.
    #[arg(long)]
    layers: Option<usize>,
    /// The key of normal routes.
    #[arg(long)]
    api_key: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Face {
    Sglang,
    Vllm,
    LlamaCpp,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    let wire = match args.wire {
        Face::Sglang => Wire::Sglang,
        Face::Vllm => Wire::Vllm,
        Face::LlamaCpp => Wire::LlamaCpp,
    };
    let ids = (0..args.vocabulary).filter(|id| *id != args.stop).map(TokenId).collect();
    let latency = Latency { decode_token: Duration::from_millis(args.pace), ..Latency::NONE };
    let options = SimOptions {
        seed: args.seed,
        max_context: args.context,
        vocabulary: args.vocabulary as usize,
        latency,
        ..SimOptions::default()
    };
    let engine = SimEngine::new(options, Drawn { ids, stop: TokenId(args.stop), mean: args.mean });
    let mut options = Options {
        port: args.port,
        model: args.model,
        incremental: args.incremental,
        legacy: args.legacy,
        eos: vec![args.stop],
        api_key: args.api_key,
        record: false,
        ..Options::new(wire)
    };
    options.experts = args.layers.map(|layers| Experts { layers, top_k: 4, experts: 16, width: Width::U8 });
    if args.text {
        options.decode = Some(Arc::new(|ids| ids.iter().map(|id| format!("{id} ")).collect()));
    }
    let mock = Mock::start(Arc::new(engine), options).await?;
    println!("listening on {}", mock.url());
    tokio::signal::ctrl_c().await?;
    Ok(())
}
