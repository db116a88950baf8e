//! `verbatim verify parser`.

use std::process::ExitCode;

use verbatim_stages::verify::{Asking, ParserReport, parser};

use super::report::{short, tell};
use crate::args::VerifyParser;
use crate::config::ParseKind;
use crate::model;
use crate::telemetry::Telemetry;
use crate::wiring::settings;

/// Disagreements shown; the JSON report has all of them.
const SHOWN: usize = 5;

/// Lets both read the same replies. The exit code is 0 only if they mean the same.
pub(crate) async fn run(args: VerifyParser) -> anyhow::Result<ExitCode> {
    let mut config = settings(&args.settings, &[])?.config;
    config.engine.parse = ParseKind::Engine;
    let _telemetry = Telemetry::start(&config.log)?;
    let loaded = model::load(&config).await?;
    let asking = Asking { replies: args.replies, max_tokens: args.max_tokens, temperature: args.temperature };
    let template = &config.family.template_arguments;
    let report = parser(loaded.family.as_ref(), loaded.engine.as_ref(), template, asking).await?;
    tell(&args.told, &report, print)?;
    Ok(if report.holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(report: &ParserReport) {
    println!("family {}, engine {}, model {}", report.family, report.engine, report.model);
    let [reasoning, calls, flaws] = report.with;
    println!(
        "{} replies: {reasoning} with reasoning, {calls} with calls, {flaws} unfinished or malformed",
        report.replies
    );
    for found in report.disagreements.iter().take(SHOWN) {
        println!("reply {}: {:?}", found.reply, found.differs);
        println!("  ids    {}", short(&found.text));
        for (who, message) in [("ours", &found.ours), ("theirs", &found.theirs)] {
            println!("  {who:6} {}", short(&serde_json::to_string(message).unwrap_or_default()));
        }
    }
    let more = report.disagreements.len().saturating_sub(SHOWN);
    if more > 0 {
        println!("and {more} more");
    }
    println!("{}", if report.holds { "PASS: both mean the same" } else { "FAIL: they read another message" });
}
