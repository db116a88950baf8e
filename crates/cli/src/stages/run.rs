//! Running an agent against a recording endpoint.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::json;
use tokio::sync::oneshot;
use verbatim_agents::{Agent, Command, Input, Limits, Output, Seat, Told, Way};
use verbatim_gateway::Access;
use verbatim_process::Launcher;
use verbatim_session::OpenOptions;
use verbatim_stages::assess::{Recorder, Upstream};

use crate::args::Assess;
use crate::config::Config;
use crate::model::{self, Loaded};
use crate::plugins::Plugins;
use crate::rollout::dataset_of;
use crate::wiring::Service;

/// One run of an agent.
pub(super) struct Ran {
    /// Its name.
    pub(super) name: String,
    /// Its recording: lines of JSON.
    pub(super) lines: Vec<String>,
    /// What it left, or why it ended badly.
    pub(super) output: Result<Output, String>,
}

/// Runs the agent that was asked for, task by task. The model is that of the settings, or a service elsewhere.
///
/// # Errors
/// If the model cannot be loaded, or the agent cannot be found; what goes wrong in a run is in the run.
pub(super) async fn run(args: &Assess, config: &Config) -> anyhow::Result<(Vec<Ran>, Option<Loaded>)> {
    // Before a model is loaded, which takes its time.
    ensure!(
        args.rollout.is_some() || !args.command.is_empty(),
        "give a rollout file, --recording FILE, or a command behind --"
    );
    ensure!(
        args.rollout.is_none() || config.agent.is_some(),
        "section [agent] is missing: it says how the agent is started"
    );
    let inputs = inputs(args, config)?;
    let hold = Duration::try_from_secs_f64(args.hold).context("--hold")?;
    let served = match &args.upstream {
        Some(_) => None,
        None => {
            let loaded = model::load(config).await?;
            let service = Service::start(config, &loaded, Access::default(), None).await?;
            Some((loaded, service))
        }
    };
    let headers = match &args.upstream_key {
        Some(name) => {
            let key = std::env::var(name).with_context(|| format!("--upstream-key: ${name} is not set"))?;
            vec![("authorization".to_owned(), format!("Bearer {key}")), ("x-api-key".to_owned(), key)]
        }
        None => Vec::new(),
    };
    let plugins = Plugins::load(config).await?;
    let agent = agent(args, config, &plugins).await?;
    let launcher = Launcher::this()?;
    let mut runs = Vec::new();
    for (number, input) in inputs.iter().enumerate() {
        let upstream = match (&args.upstream, &served) {
            (Some(url), _) => url.trim_end_matches('/').trim_end_matches("/v1").to_owned(),
            (None, Some((_, service))) => service.url.clone(),
            (None, None) => bail!("no server to record"),
        };
        let recorder = Recorder::start(Upstream { url: upstream, headers: headers.clone(), hold }).await?;
        let opened = match &served {
            Some((_, service)) => Some(service.sessions.open(OpenOptions::default())?),
            None => None,
        };
        let token =
            opened.as_ref().map_or_else(|| "assess".to_owned(), |(token, _)| token.as_str().to_owned());
        let seat = Seat {
            server: recorder.url.clone(),
            session: opened
                .as_ref()
                .map_or_else(|| "assess".to_owned(), |(_, session)| session.id().to_string()),
            token: token.clone(),
            model: served
                .as_ref()
                .map_or_else(|| config.engine.model.clone(), |(loaded, _)| loaded.model.clone()),
            mode: "train".to_owned(),
            group: "assess".to_owned(),
        };
        let output = one(&agent, &launcher, &seat, input, Duration::from_secs(args.limit)).await;
        if let Some((_, service)) = &served {
            let _ = service.sessions.close(&token).await;
        }
        runs.push(Ran { name: format!("run {number}"), lines: recorder.take(), output });
    }
    let loaded = match served {
        Some((loaded, service)) => {
            service.stop().await;
            Some(loaded)
        }
        None => None,
    };
    Ok((runs, loaded))
}

async fn one(
    agent: &Agent,
    launcher: &Launcher,
    seat: &Seat,
    input: &Input,
    limit: Duration,
) -> Result<Output, String> {
    let (tell, told) = oneshot::channel();
    let running = agent.run(launcher, seat, input, told);
    tokio::pin!(running);
    let ended = tokio::select! {
        ended = &mut running => ended,
        () = tokio::time::sleep(limit) => {
            let _ = tell.send(Told::TimeUp);
            running.await
        }
    };
    ended.map_err(|failure| failure.to_string())
}

/// What the agent is given, run by run.
fn inputs(args: &Assess, config: &Config) -> anyhow::Result<Vec<Input>> {
    ensure!(args.tasks > 0, "--tasks: 0 of them assess nothing");
    let Some(dataset) = config.dataset.clone() else {
        let messages = vec![json!({"role": "user", "content": args.prompt})];
        return Ok(vec![Input { messages, ..Input::default() }; args.tasks]);
    };
    let tasks = dataset_of(dataset).read()?;
    ensure!(!tasks.is_empty(), "the dataset is empty");
    Ok(tasks.into_iter().take(args.tasks).map(|task| task.input).collect())
}

async fn agent(args: &Assess, config: &Config, plugins: &Plugins) -> anyhow::Result<Agent> {
    if args.rollout.is_some() {
        let named = config.agent.as_ref().context("section [agent] is missing")?;
        crate::rollout::set_up(named)?;
        return crate::agent::agent(config, named, plugins.host()).await;
    }
    let quoted = |word: &String| format!("'{}'", word.replace('\'', "'\\''"));
    let line = match args.command.as_slice() {
        // One word is a shell's line.
        [line] => line.clone(),
        words => words.iter().map(quoted).collect::<Vec<_>>().join(" "),
    };
    let command = Command {
        command: line,
        cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
        env: std::collections::BTreeMap::new(),
        inherit: None,
        limits: Limits::default(),
        grace: Duration::from_secs(5),
    };
    Ok(Agent { way: Way::Command(command), time: Duration::from_secs(args.limit) })
}
