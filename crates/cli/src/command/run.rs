//! `verbatim run`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use comfy_table::Table;
use comfy_table::presets::NOTHING;
use indicatif::{ProgressBar, ProgressStyle};
use tokio_util::sync::CancellationToken;
use verbatim_agents::Agent;
use verbatim_gateway::{Access, ControlKey};
use verbatim_process::Launcher;
use verbatim_rollout::{Credit, Dataset, Outcome, Plan, Progress, Run, Summary};
use verbatim_samples::{Format, Pick};
use verbatim_scheduler::{Asked, Rules};

use crate::config::{AgentConfig, Config, DatasetConfig, Origin};
use crate::model;
use crate::telemetry::Telemetry;
use crate::wiring::{Service, interruption, quoted, settings};
use crate::{agent, args, credit};

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
        ],
    )?;
    let origin = layered.origin("server.listen");
    let mut config = layered.config;
    // Nobody but the agents talks to this server, so that any free port does.
    if origin == Origin::Default {
        config.server.listen = "127.0.0.1:0".into();
    }
    let file = args.rollout.display();
    let dataset = config.dataset.clone().with_context(|| format!("{file}: section [dataset] is missing"))?;
    let agent = config.agent.clone().with_context(|| format!("{file}: section [agent] is missing"))?;
    let _telemetry = Telemetry::start(&config.log)?;
    let tasks = dataset_of(dataset).read()?;
    ensure!(!tasks.is_empty(), "the dataset is empty");
    agent::check(&agent)?;
    credit::check(&config)?;
    let agents = agent::at_once(&agent).await?;
    let rules = rules(&config, &agent, agents, tasks.len()).context("section [rollout]")?;
    set_up(&agent)?;

    let began = Instant::now();
    let loaded = model::load(&config).await?;
    eprintln!("{} is ready after {:.1} s", loaded.model, began.elapsed().as_secs_f32());
    // A key that nobody is told: agents cannot open sessions or read other sessions' rows.
    let control = ControlKey::new(&format!("{:032x}", rand::random::<u128>()))?;
    let access = Access { key: Some(control), trusted: Vec::new() };
    let service = Service::start(&config, &loaded, access, Some(rules)).await?;
    let host = service.plugins.host();
    let ways = agent::agent(&config, &agent, host).await?;
    let plan = plan(&config, ways, credit::credit(&config, host).await?, &loaded.model)?;
    let folder = plan.folder.clone();
    let run = Run::new(plan, service.sessions.clone(), Launcher::this()?, service.url.clone());

    let interrupted = interruption()?;
    let stop = CancellationToken::new();
    let mut bar = Bar::new(tasks.len());
    let began = Instant::now();
    let summary = {
        let running = run.tasks(tasks, &mut bar, &stop);
        tokio::pin!(running);
        tokio::select! {
            summary = &mut running => summary,
            () = interrupted => {
                eprintln!("\ninterrupted: ending agents; finished groups stay in {}", folder.display());
                stop.cancel();
                running.await
            }
        }
    };
    bar.0.finish_and_clear();
    service.stop().await;
    let summary = summary?;
    println!("{}", table(&summary, began.elapsed()));
    let folder = std::fs::canonicalize(&folder).unwrap_or(folder);
    println!("rows: {}", folder.display());
    let code = if stop.is_cancelled() {
        ExitCode::from(130)
    } else if summary.groups == 0 {
        eprintln!("no group was kept; the warnings above say why");
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    };
    Ok(code)
}

fn dataset_of(config: DatasetConfig) -> Dataset {
    Dataset {
        path: config.path,
        input_key: config.input_key,
        metadata_key: config.metadata_key,
        label_key: config.label_key,
        multimodal_keys: config.multimodal_keys,
        limit: config.limit,
    }
}

/// Runs the agent's set-up command.
fn set_up(agent: &AgentConfig) -> anyhow::Result<()> {
    let Some(command) = &agent.setup else { return Ok(()) };
    eprintln!("setting the agent up: {command}");
    let status = std::process::Command::new("/bin/bash")
        .args(["-c", command])
        .current_dir(&agent.cwd)
        .status()
        .with_context(|| format!("cannot run agent.setup in {}", agent.cwd.display()))?;
    ensure!(status.success(), "agent.setup ended with {status}: {command}");
    Ok(())
}

/// How groups are rolled out, over so many tasks.
fn rules(config: &Config, agent: &AgentConfig, agents: usize, tasks: usize) -> anyhow::Result<Rules> {
    let rollout = &config.rollout;
    let batch = if rollout.batch == 0 { tasks } else { rollout.batch };
    let size = rollout.group_size;
    let resident = match rollout.resident {
        // One more than agents need, so that none idles while a group ends.
        0 => agents.div_ceil(size.max(1)) + 1,
        resident => resident,
    };
    Ok(Rules::new(Asked {
        mode: rollout.mode.clone(),
        staleness: (rollout.staleness > 0).then_some(rollout.staleness),
        max_aborted_count: (rollout.max_aborted_count > 0).then_some(rollout.max_aborted_count),
        group_size: size,
        needed: if rollout.keep_at_least == 0 { size } else { rollout.keep_at_least },
        retries: rollout.retries,
        batch,
        over_sampling: rollout.over_sampling,
        resident,
        agents,
        prelaunch: rollout.prelaunch,
        barrier: (rollout.barrier_seconds > 0).then(|| Duration::from_secs(rollout.barrier_seconds)),
        agent_time: Duration::from_secs(agent.timeout_seconds),
        steps: Some(tasks.div_ceil(batch) as u64),
    })?)
}

fn plan(config: &Config, agent: Agent, credit: Credit, model: &str) -> anyhow::Result<Plan> {
    let rollout = &config.rollout;
    Ok(Plan {
        agent,
        credit,
        group_size: rollout.group_size,
        mode: match rollout.purpose.as_str() {
            "train" | "eval" => rollout.purpose.clone(),
            other => bail!("rollout.purpose: {other:?} is none of train, eval"),
        },
        pick: match rollout.pick.as_str() {
            "drop_retries" => Pick::DropRetries,
            "all" => Pick::All,
            other => bail!("rollout.pick: {other:?} is none of drop_retries, all"),
        },
        max_seq_len: (rollout.max_seq_len > 0).then_some(rollout.max_seq_len),
        folder: rollout.output.clone(),
        format: Format::of(&format!(".{}", rollout.format)).context("rollout.format")?,
        model: model.to_owned(),
    })
}

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
            let first = outcome.failures.first().map_or("", String::as_str);
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
    }
    line("time", format!("{seconds:.1} s"));
    table
}
