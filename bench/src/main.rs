//! `verbatim-bench`: what is claimed of speed, measured.
//!
//! The promise: every figure comes from the server's own code as `verbatim serve` wires it, with a
//! mock in place of the engine and nothing else; what is measured of the server is measured of a
//! process that is nothing but the server.

mod args;
mod assets;
mod client;
mod conversation;
mod dialects;
mod engine;
mod engines;
mod journal;
mod load;
mod local;
#[cfg(feature = "heap")]
mod memory;
mod passes;
mod process;
mod render;
mod resident;
mod samples;
mod service;
mod stats;
mod streams;
mod words;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};

/// As in `verbatim`.
#[cfg(not(feature = "heap"))]
#[global_allocator]
static HEAP: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> anyhow::Result<()> {
    // The server gets the runtime that `verbatim serve` has; the generator one thread, so that it
    // leaves the machine to the server.
    let mut builder = match args.command {
        Command::Serve(_) => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    builder.enable_all().build()?.block_on(async {
        match args.command {
            Command::Serve(serve) => service::run(&serve).await,
            Command::Load(load) => load::run(&load).await,
            Command::Journal(journal) => journal::run(&journal).await,
            Command::Samples(samples) => samples::run(&samples).await,
            Command::Dialects(dialects) => dialects::run(&dialects),
            Command::Render(render) => render::run(&render),
            Command::Resident(resident) => resident::run(&resident),
            Command::Streams(streams) => streams::run(&streams).await,
            Command::Engines(engines) => engines::run(&engines).await,
            Command::Passes(passes) => passes::run(&passes).await,
            #[cfg(feature = "heap")]
            Command::Memory(memory) => memory::run(&memory).await,
        }
    })
}
