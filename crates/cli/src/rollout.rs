//! From settings to a rollout.

use std::collections::HashSet;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use verbatim_gateway::RolloutControl;
use verbatim_plugins::Host;
use verbatim_process::Launcher;
use verbatim_rollout::{
    Custody, Dataset, Ending, Folder, Lane, Order, Parts, Plan, Progress, Pull, Rollout, Sink, Store, Task,
};
use verbatim_samples::{Format, Pick};
use verbatim_scheduler::{Asked, Rules};
use verbatim_session::Sessions;

use crate::config::{AgentConfig, Config, DatasetConfig, EvalConfig, RolloutConfig, is_url};
use crate::journal::Opened;
use crate::wiring::pinned;
use crate::{agent, credit};

/// Who drives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Driven {
    /// `verbatim run`: one step after the other, to the dataset's end.
    ByItself,
    /// `verbatim serve --rollout`: a trainer opens steps.
    ByTrainer,
}

/// A rollout that was checked and has not begun.
pub(crate) struct Prepared {
    /// How groups are rolled out.
    pub(crate) rules: Rules,
    /// The groups that come, if they end.
    pub(crate) groups: Option<usize>,
    /// Where rows go, if nobody comes for them.
    pub(crate) place: Option<PathBuf>,
    tasks: Vec<Task>,
    order: Order,
    agent: AgentConfig,
    outline: Outline,
    lanes: Vec<Lane>,
    sink: Arc<dyn Sink>,
    pull: Option<Pull>,
}

/// What a plan has besides its agent and its credit, which need the plug-in host.
struct Outline {
    mode: String,
    pick: Pick,
}

/// A rollout under way.
pub(crate) struct Started {
    /// Its driver's end.
    pub(crate) control: RolloutControl,
    /// Its own.
    pub(crate) ending: Ending,
}

impl Prepared {
    /// Reads the dataset, checks the settings and sets the agent up.
    ///
    /// # Errors
    /// If a section is missing, a setting is wrong, or the agent's set-up fails.
    pub(crate) async fn new(config: &Config, file: &std::path::Path, driven: Driven) -> anyhow::Result<Self> {
        let file = file.display();
        let dataset =
            config.dataset.clone().with_context(|| format!("{file}: section [dataset] is missing"))?;
        let agent = config.agent.clone().with_context(|| format!("{file}: section [agent] is missing"))?;
        agent::check(&agent)?;
        credit::check(config)?;
        let order = order(&dataset, driven);
        let lanes = lanes(&config.eval, &dataset)?;
        let tasks = dataset_of(dataset).read()?;
        ensure!(!tasks.is_empty(), "the dataset is empty");
        let all = order.epochs.map(|epochs| {
            let all = u64::try_from(tasks.len()).unwrap_or(u64::MAX).saturating_mul(epochs);
            usize::try_from(all.saturating_sub(order.taken)).unwrap_or(usize::MAX)
        });
        ensure!(all != Some(0), "dataset.taken: {} tasks are all that there are", order.taken);
        let steps = (config.rollout.steps > 0).then_some(config.rollout.steps);
        ensure!(
            driven == Driven::ByTrainer || all.is_some() || steps.is_some(),
            "dataset.epochs: 0 has no end; set rollout.steps"
        );
        let rules = |agents| {
            rules(&config.rollout, &agent, agents, all, tasks.len(), steps).context("section [rollout]")
        };
        // What is wrong in itself is said before anything is set up, and a service may be set up, too.
        rules(agent.concurrency.max(1))?;
        let (sink, pull, place) = sink(&config.rollout, driven).await?;
        let outline = outline(&config.rollout)?;
        set_up(&agent)?;
        let rules = rules(agent::at_once(&agent).await?)?;
        let groups = match (all, steps) {
            (all, None) => all,
            (all, Some(steps)) => {
                let most = usize::try_from(steps).unwrap_or(usize::MAX).saturating_mul(rules.asked().batch);
                Some(all.map_or(most, |all| all.min(most)))
            }
        };
        Ok(Self { rules, groups, place, tasks, order, agent, outline, lanes, sink, pull })
    }

    /// Starts it over sessions that are served at a URL, with the model's name for the agents.
    ///
    /// # Errors
    /// If no agent can be started, or a function cannot be loaded.
    pub(crate) async fn start(
        self,
        config: &Config,
        (sessions, server, model): (Sessions, String, &str),
        host: Option<&Host>,
        progress: Box<dyn Progress>,
        journal: Option<Opened>,
    ) -> anyhow::Result<Started> {
        let custody = journal.map(|Opened { journal, recovery }| {
            Custody::open(journal, &recovery, self.tasks.len(), self.order)
        });
        let custody = custody.transpose()?;
        let rollout = &config.rollout;
        let plan = Plan {
            agent: agent::agent(config, &self.agent, host).await?,
            credit: credit::credit(config, host).await?,
            group_size: rollout.group_size,
            mode: self.outline.mode,
            pick: self.outline.pick,
            max_seq_len: (rollout.max_seq_len > 0).then_some(rollout.max_seq_len),
            model: model.to_owned(),
        };
        let parts = Parts {
            plan,
            sessions,
            launcher: Launcher::this()?,
            server: self.agent.server_url.map_or(server, |url| url.trim_end_matches('/').to_owned()),
            tasks: self.tasks,
            order: self.order,
            lanes: self.lanes,
            sink: self.sink,
            custody,
            progress,
        };
        let (rollout, ending) = Rollout::start(parts);
        Ok(Started { control: RolloutControl { rollout, pull: self.pull }, ending })
    }
}

/// What of a rollout's settings it would be refused for, found without setting anything up: each begins with the
/// setting's name where it has one.
pub(crate) fn problems(config: &Config, file: &std::path::Path, driven: Driven) -> Vec<String> {
    let mut found = Vec::new();
    let mut look =
        |checked: anyhow::Result<()>| found.extend(checked.err().map(|error| format!("{error:#}")));
    let (Some(dataset), Some(agent)) = (&config.dataset, &config.agent) else {
        return vec![format!("{}: sections [dataset] and [agent] must be there", file.display())];
    };
    look(agent::check(agent));
    look(agent::folder(&agent.cwd).context("agent.cwd").map(drop));
    look(credit::check(config));
    look(outline(&config.rollout).map(drop));
    look(Format::of(&format!(".{}", config.rollout.format)).context("rollout.format").map(drop));
    look(taken(&config.rollout, driven));
    look(lanes(&config.eval, dataset).map(drop));
    look(crate::wiring::session_settings(config).map(drop));
    match dataset_of(dataset.clone()).read().context("dataset.path") {
        Err(error) => look(Err(error)),
        Ok(tasks) => {
            let order = order(dataset, driven);
            let all = order
                .epochs
                .map(|epochs| tasks.len().saturating_mul(usize::try_from(epochs).unwrap_or(usize::MAX)));
            let steps = (config.rollout.steps > 0).then_some(config.rollout.steps);
            look(if tasks.is_empty() { Err(anyhow::anyhow!("dataset.path: it is empty")) } else { Ok(()) });
            let made = rules(&config.rollout, agent, agent.concurrency.max(1), all, tasks.len(), steps);
            look(made.map(drop).map_err(|error| {
                // What is wrong with one of them begins with its name.
                let text = format!("{error:#}");
                let named = text.split_once(": ").is_some_and(|(name, _)| !name.contains(' '));
                anyhow::anyhow!("rollout{}{text}", if named { "." } else { ": " })
            }));
        }
    }
    found
}

/// The dataset that settings name.
pub(crate) fn dataset_of(config: DatasetConfig) -> Dataset {
    Dataset {
        path: config.path,
        input_key: config.input_key,
        metadata_key: config.metadata_key,
        label_key: config.label_key,
        multimodal_keys: config.multimodal_keys,
        limit: config.limit,
    }
}

/// The datasets that are evaluated on.
fn lanes(evals: &[EvalConfig], training: &DatasetConfig) -> anyhow::Result<Vec<Lane>> {
    let mut names = HashSet::new();
    let lane = |eval: &EvalConfig| {
        let name = &eval.name;
        ensure!(!name.is_empty() && names.insert(name.clone()), "eval.name: {name:?} must be there once");
        ensure!(eval.samples > 0, "eval.samples of {name:?}: 0 of them evaluate nothing");
        let tasks = dataset_of(eval.dataset(training)).read()?;
        ensure!(!tasks.is_empty(), "eval {name:?}: the dataset is empty");
        let pins = pinned("eval.sampling", &eval.sampling)?;
        Ok(Lane {
            name: name.clone(),
            tasks: tasks.into(),
            samples: eval.samples,
            concurrency: eval.concurrency.max(1),
            pins: (!eval.sampling.is_empty()).then(|| Arc::new(pins)),
            pass: eval.pass,
        })
    };
    evals.iter().map(lane).collect()
}

fn order(dataset: &DatasetConfig, driven: Driven) -> Order {
    let epochs = match (dataset.epochs, driven) {
        (Some(0), _) | (None, Driven::ByTrainer) => None,
        (Some(epochs), _) => Some(epochs),
        (None, Driven::ByItself) => Some(1),
    };
    Order { epochs, shuffle: dataset.shuffle, taken: dataset.taken }
}

/// Runs the agent's set-up command.
///
/// # Errors
/// If it cannot be run, or fails.
pub(crate) fn set_up(agent: &AgentConfig) -> anyhow::Result<()> {
    let Some(command) = &agent.setup else { return Ok(()) };
    eprintln!("setting the agent up: {command}");
    let status = std::process::Command::new("/bin/bash")
        .args(["-c", command])
        .current_dir(&agent.cwd)
        .stdout(std::io::stderr())
        .status()
        .with_context(|| format!("cannot run agent.setup in {}", agent.cwd.display()))?;
    ensure!(status.success(), "agent.setup ended with {status}: {command}");
    Ok(())
}

/// How groups are rolled out, `all` of them, over a dataset of so many tasks.
fn rules(
    rollout: &RolloutConfig,
    agent: &AgentConfig,
    agents: usize,
    all: Option<usize>,
    tasks: usize,
    steps: Option<u64>,
) -> anyhow::Result<Rules> {
    let batch = if rollout.batch == 0 { all.unwrap_or(tasks) } else { rollout.batch };
    let size = rollout.group_size;
    let (retries, keep_at_least) = on_session_failure(rollout)?;
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
        needed: if keep_at_least == 0 { size } else { keep_at_least },
        retries,
        batch,
        over_sampling: rollout.over_sampling,
        resident,
        agents,
        prelaunch: rollout.prelaunch,
        barrier: (rollout.barrier_seconds > 0).then(|| Duration::from_secs(rollout.barrier_seconds)),
        agent_time: Duration::from_secs(agent.timeout_seconds),
        steps: steps.or_else(|| all.map(|all| all.div_ceil(batch.max(1)) as u64)),
        give_up: NonZeroU32::new(rollout.give_up),
    })?)
}

/// How often a failed session is run again, and how many of a group must succeed; 0 is all.
fn on_session_failure(rollout: &RolloutConfig) -> anyhow::Result<(u32, usize)> {
    let Some(policy) = rollout.on_session_failure.as_deref() else {
        return Ok((rollout.retries, rollout.keep_at_least));
    };
    let accepted = policy.strip_prefix("accept(").and_then(|rest| rest.strip_suffix(')'));
    match (policy, accepted.map(|count| count.trim().parse())) {
        ("drop_group", _) => Ok((0, 0)),
        ("retry_session", _) => Ok((rollout.retries.max(1), 0)),
        (_, Some(Ok(count))) if count > 0 => Ok((rollout.retries, count)),
        _ => bail!(
            "on_session_failure: {policy:?} is none of drop_group, retry_session, accept(K) with K above 0"
        ),
    }
}

/// Where rows go.
type Where = (Arc<dyn Sink>, Option<Pull>, Option<PathBuf>);

async fn sink(rollout: &RolloutConfig, driven: Driven) -> anyhow::Result<Where> {
    let format = Format::of(&format!(".{}", rollout.format)).context("rollout.format")?;
    let place = rollout.output.clone();
    let url = place.to_str().filter(|place| is_url(place));
    taken(rollout, driven)?;
    match (rollout.sink.as_str(), driven, url) {
        ("store", _, Some(url)) | ("auto", Driven::ByItself, Some(url)) => {
            let said = std::env::vars_os();
            let said = said.filter_map(|(name, value)| name.into_string().ok().zip(value.into_string().ok()));
            let store = Store::open(url, said, format).await.context("rollout.output")?;
            Ok((Arc::new(store), None, Some(place)))
        }
        ("folder", _, None) | ("auto", Driven::ByItself, None) => {
            Ok((Arc::new(Folder::new(place.clone(), format)?), None, Some(place)))
        }
        ("pull" | "auto", Driven::ByTrainer, _) => {
            let pull = Pull::new();
            Ok((Arc::new(pull.clone()), Some(pull), None))
        }
        (other, ..) => bail!("rollout.sink: {other:?} takes no rows of this rollout"),
    }
}

/// Checks that somebody takes the rows, before anything is opened.
fn taken(rollout: &RolloutConfig, driven: Driven) -> anyhow::Result<()> {
    let place = &rollout.output;
    let url = place.to_str().filter(|place| is_url(place));
    match (rollout.sink.as_str(), driven, url) {
        ("folder", _, Some(url)) => {
            bail!("rollout.output: {url:?} is no folder; set rollout.sink = \"store\"")
        }
        ("store", _, None) => {
            bail!("rollout.output: {place:?} is no URL of an object store, as s3://bucket/run")
        }
        ("pull", Driven::ByItself, _) => {
            bail!(
                "rollout.sink: nobody pulls from `verbatim run`; use \"folder\", or `verbatim serve --rollout`"
            )
        }
        ("auto" | "folder" | "store" | "pull", ..) => Ok(()),
        (other, ..) => bail!("rollout.sink: {other:?} is none of auto, folder, store, pull"),
    }
}

fn outline(rollout: &RolloutConfig) -> anyhow::Result<Outline> {
    Ok(Outline {
        mode: match rollout.purpose.as_str() {
            "train" | "eval" => rollout.purpose.clone(),
            other => bail!("rollout.purpose: {other:?} is none of train, eval"),
        },
        pick: match rollout.pick.as_str() {
            "drop_retries" => Pick::DropRetries,
            "all" => Pick::All,
            other => bail!("rollout.pick: {other:?} is none of drop_retries, all"),
        },
    })
}
