//! `verbatim run`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::ensure;
use comfy_table::Table;
use comfy_table::presets::NOTHING;
use indicatif::{ProgressBar, ProgressStyle};
use verbatim_gateway::{Access, ControlKey};
use verbatim_rollout::{Outcome, Progress, Rollout, Summary};

use crate::args;
use crate::config::Origin;
use crate::rollout::{Driven, Prepared};
use crate::telemetry::Telemetry;
use crate::wiring::{Service, interruption, quoted, settings};
use crate::{journal, model};

/// Runs a rollout file.
pub(crate) async fn run(args: args::Run) -> anyhow::Result<ExitCode> {
    ensure!(args.settings.config.is_none(), "a rollout file is the settings file: leave --config out");
    let flags = args::Settings { config: Some(args.rollout.clone()), ..args.settings };
    let layered = settings(
        &flags,
        &[
            ("dataset.limit", args.limit.map(|limit| limit.to_string())),
            ("rollout.group_size", args.group_size.map(|size| size.to_string())),
            ("rollout.output", args.output.map(|path| quoted(&path.to_string_lossy()))),
            ("journal.folder", args.journal.map(|path| quoted(&path.to_string_lossy()))),
        ],
    )?;
    let origin = layered.origin("server.listen");
    let mut config = layered.config;
    // Nobody but the agents talks to this server, so that any free port does.
    if origin == Origin::Default {
        config.server.listen = "127.0.0.1:0".into();
    }
    let _telemetry = Telemetry::start(&config.log)?;
    let prepared = Prepared::new(&config, &args.rollout, Driven::ByItself).await?;
    let place = prepared.place.clone();

    let began = Instant::now();
    let loaded = model::load(&config).await?;
    eprintln!("{} is ready after {:.1} s", loaded.model, began.elapsed().as_secs_f32());
    // A key that nobody is told: agents cannot open sessions or read other sessions' rows.
    let control = ControlKey::new(&format!("{:032x}", rand::random::<u128>()))?;
    let access = Access { key: Some(control), trusted: Vec::new() };
    let bar = Bar::new(prepared.groups.unwrap_or_default());
    let progress = Box::new(bar.clone());
    let journal = journal::open(&config.journal, loaded.family.as_ref())?;
    let (service, started) =
        Service::with_rollout(&config, &loaded, access, prepared, progress, journal).await?;
    let rollout = started.control.rollout.clone();
    let goes_on = rollout.view().await.is_some_and(|view| !view.steps.is_empty());
    if goes_on {
        eprintln!("the journal has a rollout over this dataset: it goes on");
    }

    let interrupted = interruption()?;
    tokio::pin!(interrupted);
    let began = Instant::now();
    let was_interrupted = tokio::select! {
        () = steps(&rollout) => false,
        () = &mut interrupted => {
            let kept = place.as_deref().map(|place| place.display().to_string()).unwrap_or_default();
            eprintln!("\ninterrupted: ending agents; finished groups stay in {kept}");
            true
        }
    };
    rollout.stop();
    let summary = started.ending.await?;
    bar.0.finish_and_clear();
    service.stop().await;
    let summary = summary?;
    println!("{}", table(&summary, began.elapsed()));
    if let Some(place) = place {
        println!("rows: {}", std::fs::canonicalize(&place).unwrap_or(place).display());
    }
    let code = if was_interrupted {
        ExitCode::from(130)
    } else if summary.groups == 0 && goes_on {
        eprintln!("nothing was left to do");
        ExitCode::SUCCESS
    } else if summary.groups == 0 {
        eprintln!("no group was kept; the warnings above say why");
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    };
    Ok(code)
}

/// One step after the other; nobody trains in between.
async fn steps(rollout: &Rollout) {
    // One that an earlier process was stopped in goes on first.
    let open = rollout.view().await.and_then(|view| view.steps.last().map(|step| step.step));
    if let Some(step) = open
        && rollout.done(step).await.is_some()
    {
        rollout.trained(step);
    }
    while let Ok(step) = rollout.open(None).await {
        if rollout.done(step).await.is_none() {
            return;
        }
        rollout.trained(step);
    }
}

#[derive(Clone)]
struct Bar(ProgressBar);

impl Bar {
    fn new(groups: usize) -> Self {
        let bar = ProgressBar::new(groups as u64);
        let style = ProgressStyle::with_template("{elapsed_precise} {bar:40} {pos}/{len} groups {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(250));
        Self(bar)
    }
}

impl Progress for Bar {
    fn group(&mut self, outcome: &Outcome) {
        if let Some(cause) = &outcome.dropped {
            let first = outcome.failures.first().map_or(cause.detail(), String::as_str);
            self.0.suspend(|| eprintln!("{} was dropped ({}): {first}", outcome.group, cause.name()));
        }
        let rewards: Vec<f64> = outcome.rows.iter().filter_map(|row| row.reward).collect();
        if !rewards.is_empty() {
            let mean = rewards.iter().sum::<f64>() / rewards.len() as f64;
            self.0.set_message(format!("(last reward {mean:.2})"));
        }
        self.0.inc(1);
    }
}

fn table(summary: &Summary, took: Duration) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(["what", "count"]);
    let seconds = took.as_secs_f64();
    let mut line = |what: &str, count: String| {
        table.add_row([what.to_owned(), count]);
    };
    line("groups kept", summary.groups.to_string());
    for (cause, count) in &summary.dropped {
        line(&format!("groups dropped: {cause}"), count.to_string());
    }
    line("groups whose rewards differ", summary.mixed_groups.to_string());
    line("sessions", format!("{} ({} failed)", summary.sessions, summary.failed_sessions));
    line("turns", summary.turns.to_string());
    line(
        "tokens sampled",
        format!("{} ({:.1} a second)", summary.sampled_tokens, summary.sampled_tokens as f64 / seconds),
    );
    line("rows", summary.rows.to_string());
    line("tokens trained", summary.trained_tokens.to_string());
    if let Some(mean) = summary.mean_reward() {
        let (least, most) = summary
            .rewards
            .iter()
            .fold((f64::MAX, f64::MIN), |(least, most), r| (least.min(*r), most.max(*r)));
        line("reward", format!("mean {mean:.3}, from {least:.3} to {most:.3}"));
        let rate = 100.0 * summary.pass_rate().unwrap_or_default();
        line(
            "sessions that passed",
            format!("{} of {} ({rate:.1} %)", summary.passed, summary.rewards.len()),
        );
    }
    for (name, (sum, count)) in &summary.metrics {
        line(&format!("reward.{name}"), format!("mean {:.3} of {count}", sum / *count as f64));
    }
    line("time", format!("{seconds:.1} s"));
    table
}
