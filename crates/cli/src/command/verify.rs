//! `verbatim verify`.

use std::process::ExitCode;

use verbatim_stages::verify::{Bound, RowsReport, rows as verify_rows};

use super::rows_files;
use crate::args::VerifyRows;
use crate::model;
use crate::telemetry::Telemetry;
use crate::wiring::settings;

/// Scores rows again. The exit code is 0 only if they hold.
pub(crate) async fn rows(args: VerifyRows) -> anyhow::Result<ExitCode> {
    let config = settings(&args.settings, &[])?.config;
    let _telemetry = Telemetry::start(&config.log)?;
    let mut all = Vec::new();
    for path in &args.files {
        all.extend(rows_files::read(path)?);
    }
    let loaded = model::load(&config).await?;
    let bound = Bound { max: args.max_gap, mean: args.mean_gap };
    let report = verify_rows(loaded.engine.as_ref(), &all, bound).await?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print(&report);
    }
    Ok(if report.holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(report: &RowsReport) {
    println!("{} rows", report.rows);
    for (kind, gap) in &report.gaps {
        println!("{kind} logprobs: {} tokens, gap mean {:.2e}, max {:.2e}", gap.tokens, gap.mean, gap.max);
        if let Some(worst) = gap.worst {
            let (row, token) = (worst.row, worst.token);
            println!(
                "  largest at row {row}, token {token}: recorded {:.5}, scored {:.5}",
                worst.recorded, worst.scored
            );
        }
    }
    if report.missing > 0 {
        println!("{} sampled tokens have no logprob to compare", report.missing);
    }
    let Bound { max, mean } = report.bound;
    let verdict = if report.holds { "PASS" } else { "FAIL" };
    println!("{verdict}: raw logprobs within {max:.0e} a token and {mean:.0e} on average");
}
