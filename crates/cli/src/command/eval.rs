//! `verbatim eval`.

use std::process::ExitCode;

use anyhow::{Context, ensure};
use comfy_table::Table;
use comfy_table::presets::NOTHING;
use verbatim_gateway::{Access, ControlKey};
use verbatim_rollout::{DatasetReport, EvalReport};

use crate::args;
use crate::config::Origin;
use crate::model;
use crate::rollout::{Driven, Prepared};
use crate::telemetry::Telemetry;
use crate::wiring::{Service, interruption, settings};

/// Evaluates on the datasets of a rollout file.
pub(crate) async fn run(args: args::Eval) -> anyhow::Result<ExitCode> {
    ensure!(args.settings.config.is_none(), "a rollout file is the settings file: leave --config out");
    let flags = args::Settings { config: Some(args.rollout.clone()), ..args.settings };
    let layered = settings(&flags, &[])?;
    let origin = layered.origin("server.listen");
    let mut config = layered.config;
    // Nobody but the agents talks to this server, so that any free port does.
    if origin == Origin::Default {
        config.server.listen = "127.0.0.1:0".into();
    }
    // Nothing trains, and no rows are written.
    config.rollout.sink = "pull".into();
    let _telemetry = Telemetry::start(&config.log)?;
    let prepared = Prepared::new(&config, &args.rollout, Driven::ByTrainer).await?;
    let loaded = model::load(&config).await?;
    let control = ControlKey::new(&format!("{:032x}", rand::random::<u128>()))?;
    let access = Access { key: Some(control), trusted: Vec::new() };
    let (service, started) =
        Service::with_rollout(&config, &loaded, access, prepared, Box::new(()), None).await?;
    let rollout = started.control.rollout.clone();
    let names = (!args.datasets.is_empty()).then_some(args.datasets.as_slice());
    let evaluation = rollout.evaluate(names)?;
    let interrupted = interruption()?;
    let report = tokio::select! {
        report = rollout.evaluated(evaluation) => report,
        () = interrupted => {
            eprintln!("\ninterrupted: ending agents");
            None
        }
    };
    rollout.stop();
    started.ending.await??;
    service.stop().await;
    let Some(report) = report else { return Ok(ExitCode::from(130)) };
    println!("{}", table(&report));
    if let Some(path) = &args.output {
        let text = serde_json::to_vec_pretty(report.as_ref())?;
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("report: {}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// A report as a table: a line for each dataset.
fn table(report: &EvalReport) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header([
        "dataset",
        "tasks",
        "sessions",
        "failed",
        "passed",
        "pass rate",
        "pass at k",
        "mean reward",
        "time",
    ]);
    for dataset in &report.datasets {
        let DatasetReport { pass_rate, mean_reward, seconds, .. } = dataset;
        let failed: Vec<_> = dataset.failed.iter().map(|(cause, count)| format!("{count} {cause}")).collect();
        let pass_at: Vec<_> = dataset.pass_at.iter().map(|(k, share)| format!("{k}: {share:.3}")).collect();
        table.add_row([
            dataset.dataset.clone(),
            dataset.tasks.to_string(),
            dataset.sessions.to_string(),
            if failed.is_empty() { "0".to_owned() } else { failed.join(", ") },
            dataset.passed.to_string(),
            format!("{:.1} %", 100.0 * pass_rate),
            pass_at.join("  "),
            mean_reward.map_or_else(String::new, |mean| format!("{mean:.3} of {}", dataset.rewarded)),
            format!("{seconds:.1} s"),
        ]);
    }
    table
}
