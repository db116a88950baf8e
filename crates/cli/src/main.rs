//! `verbatim`: flags, configuration, wiring, printing. Nothing else reads them.

mod agent;
mod args;
mod command;
mod config;
mod credit;
mod event_log;
mod journal;
mod model;
mod plugins;
mod rollout;
mod stages;
mod telemetry;
mod wiring;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};

/// What a turn made on one thread is often freed on another, where the system's allocator waits for a lock.
#[global_allocator]
static HEAP: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The launcher must stay small and single: it runs once for every agent.
    if std::env::args_os().nth(1).is_some_and(|first| first == "launcher") {
        return verbatim_process::launcher::main();
    }
    match run(Args::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        match args.command {
            Command::Serve(serve) => command::serve::run(serve).await,
            Command::Run(run) => command::run::run(run).await,
            Command::Eval(eval) => command::eval::run(eval).await,
            Command::Pull(pull) => command::pull::run(&pull),
            Command::Inspect(inspect) => command::inspect::run(&inspect).await,
            Command::Verify { what: args::Verify::Rows(rows) } => command::verify::rows(rows).await,
            Command::Verify { what: args::Verify::Template(template) } => {
                command::verify_template::run(&template)
            }
            Command::Verify { what: args::Verify::Session(session) } => {
                command::verify_session::run(session).await
            }
            Command::Verify { what: args::Verify::Parser(parser) } => {
                command::verify_parser::run(parser).await
            }
            Command::Engine { what: args::EngineCommand::Probe(probe) } => {
                command::engine::probe(probe).await
            }
            Command::Journal { what } => command::journal::run(&what),
            Command::Assess(args) => stages::assess::run(args).await,
            Command::Bridge(args) => stages::bridge::run(args).await,
            Command::Check(args) => stages::check::run(args).await,
            Command::Demonstrate(args) => stages::demonstrate::run(args).await,
            Command::Stage(args) => stages::stage::run(args).await,
            Command::Diagnose(args) => stages::diagnose::run(&args),
            Command::Config(config) => command::config::run(&config),
        }
    })
}
