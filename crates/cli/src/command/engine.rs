//! `verbatim engine`.

use std::process::ExitCode;

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use verbatim_engine_http::{Options, Parse, connect};
use verbatim_stages::engine::{EngineReport, State, inspect};
use verbatim_tokens::TokenId;

use crate::args::EngineProbe;
use crate::model;
use crate::telemetry::Telemetry;
use crate::wiring::settings;

/// Looks at one server.
pub(crate) async fn probe(args: EngineProbe) -> anyhow::Result<ExitCode> {
    let mut flags = args.settings.clone();
    flags.url = vec![args.server.clone()];
    let config = settings(&flags, &[])?.config;
    let _telemetry = Telemetry::start(&config.log)?;
    // Whoever parses, ids and logprobs are what is looked at.
    let options = Options { parse: Parse::Family, ..model::options(&config.engine)? };
    let server = connect(&args.server, model::kind(&config.engine), &options).await?;
    let ids = match args.ids.is_empty() {
        false => args.ids.into_iter().map(TokenId).collect(),
        true => model::question(&config, &server).unwrap_or_else(|error| {
            eprintln!("asking with low ids, because no tokenizer is at hand: {error:#}");
            (1..9).map(TokenId).collect()
        }),
    };
    let report = inspect(&server, &ids).await?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print(&report);
    }
    Ok(if report.ready { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(report: &EngineReport) {
    let release = report.facts.release.as_deref().unwrap_or("of an unknown release");
    println!("{}: {} {release}, model {}, context {}", report.url, report.kind, report.model, report.context);
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["what", "", "seen"]);
    for check in &report.checks {
        let state = match (check.state, check.needed) {
            (State::Yes, _) => "yes",
            (State::No, true) => "NO",
            (State::No, false) => "no",
            (State::Unknown, _) => "?",
        };
        table.add_row([check.what, state, &check.note]);
    }
    println!("{table}");
    match report.ready {
        true => println!("READY: nothing that rows need is lost"),
        false => println!("NOT READY: what is marked NO makes rows wrong or incomplete"),
    }
}
