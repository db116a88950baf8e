//! `verbatim verify template`.

use std::process::ExitCode;

use verbatim_stages::verify::{Cut, TemplateReport, template};

use crate::args::VerifyTemplate;
use crate::model;
use crate::wiring::settings;

/// Differences shown; the JSON report has all of them.
const SHOWN: usize = 5;

/// Tries the family at every cut. The exit code is 0 only if nothing differs.
pub(crate) fn run(args: &VerifyTemplate) -> anyhow::Result<ExitCode> {
    let mut config = settings(&args.settings, &[])?.config;
    if args.chat_template.is_some() {
        config.family.chat_template.clone_from(&args.chat_template);
    }
    let report = template(model::family_alone(&config)?.as_ref());
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print(&report);
    }
    Ok(if report.holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(report: &TemplateReport) {
    println!(
        "family {}: {} cuts, {} replies parsed and said again",
        report.family, report.cuts, report.replies
    );
    for warning in &report.warnings {
        println!("warning: {warning}");
    }
    for refused in &report.refused {
        println!("refused: {}: {}", refused.shape, refused.reason);
    }
    for found in report.differences.iter().take(SHOWN) {
        let what = match found.cut {
            Cut::Before => "what came before is rewritten",
            Cut::After => "what follows is not what the whole has",
            Cut::Reply => "a parsed reply is said otherwise",
        };
        println!("{}, cut after message {}: {what}, at token {}", found.shape, found.after, found.token);
        println!("  - {:?}\n  + {:?}", found.expected, found.got);
    }
    let more = report.differences.len().saturating_sub(SHOWN);
    if more > 0 {
        println!("and {more} more");
    }
    println!("{}", if report.holds { "PASS: append-only at every cut" } else { "FAIL" });
}
