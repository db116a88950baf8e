//! The arguments of the stages.

use std::path::PathBuf;

use clap::Args as Arguments;

use super::Settings;

/// How a stage's report is told.
#[derive(Clone, Debug, Default, Arguments)]
pub(crate) struct Reported {
    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the report here: .json, .md, .html or .txt, by the file's name. Give it once for each.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Vec<PathBuf>,
}

/// `verbatim assess`.
#[derive(Debug, Arguments)]
pub(crate) struct Assess {
    /// A rollout file: its agent is run on its tasks. Else give --recording, or a command behind --.
    #[arg(value_name = "ROLLOUT.TOML")]
    pub(crate) rollout: Option<PathBuf>,
    /// Read this instead of running anything: HAR, or lines of JSON with a request each. Give it once for each run.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rollout", "command"])]
    pub(crate) recording: Vec<PathBuf>,
    /// An agent: any command. It finds its model in $OPENAI_BASE_URL and $OPENAI_API_KEY, or $ANTHROPIC_BASE_URL and
    /// $ANTHROPIC_API_KEY.
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "rollout")]
    pub(crate) command: Vec<String>,
    /// Run it so often: on so many tasks of the rollout file.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) tasks: usize,
    /// The prompt in the command's $VERBATIM_INPUT_JSON.
    #[arg(long, value_name = "TEXT", default_value = "Say hello.")]
    pub(crate) prompt: String,
    /// Pass requests on to this API instead of an engine of our own.
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: Option<String>,
    /// --upstream: the environment variable that holds its key.
    #[arg(long, value_name = "NAME", requires = "upstream")]
    pub(crate) upstream_key: Option<String>,
    /// Hold the first request so long, to see whether the client waits.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    pub(crate) hold: f64,
    /// Seconds that one run may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub(crate) limit: u64,
    /// Which replayed messages are the same [default: the settings' one].
    #[arg(long, value_name = "NAME")]
    pub(crate) matcher: Option<String>,
    /// Declare that branches are meant, and exported by name.
    #[arg(long)]
    pub(crate) branches: bool,
    /// Keep the recordings in this folder.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// Where the report goes, and how it is printed.
    #[command(flatten)]
    pub(crate) reported: Reported,
    /// Settings.
    #[command(flatten)]
    pub(crate) settings: Settings,
}

impl Default for Assess {
    fn default() -> Self {
        Self {
            rollout: None,
            recording: Vec::new(),
            command: Vec::new(),
            tasks: 1,
            prompt: "Say hello.".to_owned(),
            upstream: None,
            upstream_key: None,
            hold: 0.0,
            limit: 600,
            matcher: None,
            branches: false,
            output: None,
            reported: Reported::default(),
            settings: Settings::default(),
        }
    }
}

/// `verbatim bridge`.
#[derive(Debug, Arguments)]
pub(crate) struct Bridge {
    /// The agent: any command.
    #[arg(last = true, value_name = "COMMAND", required = true)]
    pub(crate) command: Vec<String>,
    /// The adapter: a folder, written whole or not at all.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) output: PathBuf,
    /// Decide from this recording of the agent instead of running it. Give it once for each run.
    #[arg(long, value_name = "FILE")]
    pub(crate) recording: Vec<PathBuf>,
    /// The dataset; without one, a single task of the prompt.
    #[arg(long, value_name = "FILE")]
    pub(crate) tasks: Option<PathBuf>,
    /// The dataset's column of the prompt.
    #[arg(long, value_name = "NAME", default_value = "input")]
    pub(crate) input_key: String,
    /// The dataset's column of the agent's metadata.
    #[arg(long, value_name = "NAME")]
    pub(crate) metadata_key: Option<String>,
    /// The prompt of the trial.
    #[arg(long, value_name = "TEXT", default_value = "Say hello.")]
    pub(crate) prompt: String,
    /// A variable of the agent's own, and the one of ours that it takes its value from. Give it once for each.
    #[arg(long, value_name = "OWN=OURS")]
    pub(crate) map: Vec<String>,
    /// Who gives the reward where the agent does not: a function's dotted path, or a URL.
    #[arg(long, value_name = "WHO")]
    pub(crate) reward: Option<String>,
    /// Who shares the credit where there are several contexts: a function's dotted path, or a URL.
    #[arg(long, value_name = "WHO")]
    pub(crate) advantage: Option<String>,
    /// Declare that branches are meant, and exported by name.
    #[arg(long)]
    pub(crate) branches: bool,
    /// Take every choice that changes what rows mean, and do not ask.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Leave this choice out, and do not ask. Give it once for each.
    #[arg(long, value_name = "SETTING")]
    pub(crate) without: Vec<String>,
    /// Seconds that one run may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub(crate) limit: u64,
    /// Settings.
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// `verbatim check`.
#[derive(Debug, Arguments)]
pub(crate) struct Check {
    /// The rollout.
    #[arg(value_name = "ROLLOUT.TOML")]
    pub(crate) rollout: PathBuf,
    /// A trainer opens the steps (`verbatim serve --rollout`), not `verbatim run`.
    #[arg(long)]
    pub(crate) trainer: bool,
    /// Slots outside that sessions need: sandboxes, browsers. Of an agent's service they are asked for.
    #[arg(long, value_name = "N")]
    pub(crate) slots: Option<u64>,
    /// Slots of their own for evaluations; --slots are then those for training.
    #[arg(long, value_name = "N", requires = "slots")]
    pub(crate) eval_slots: Option<u64>,
    /// The client's read timeout, where none was declared or measured.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) client_timeout: Option<f64>,
    /// The shortest idle timeout of what stands between agent and server.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) proxy_timeout: Option<f64>,
    /// The longest that a turn is held, where it was measured.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) worst_hold: Option<f64>,
    /// How the trainer makes batches: `rows` or `tokens`.
    #[arg(long, value_name = "HOW")]
    pub(crate) batching: Option<String>,
    /// Where the report goes, and how it is printed.
    #[command(flatten)]
    pub(crate) reported: Reported,
    /// Settings.
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// `verbatim demonstrate`.
#[derive(Debug, Arguments)]
pub(crate) struct Demonstrate {
    /// The rollout, which has passed `verbatim check`.
    #[arg(value_name = "ROLLOUT.TOML", required_unless_present = "replay")]
    pub(crate) rollout: Option<PathBuf>,
    /// Judge this bundle again, and run nothing.
    #[arg(long, value_name = "BUNDLE", conflicts_with = "rollout")]
    pub(crate) replay: Option<PathBuf>,
    /// The job: a command that runs the rollout and trains on it [default: `verbatim run`, which trains nothing]. It
    /// opens the file of $VERBATIM_ROLLOUT and keeps rows in $VERBATIM_ROWS.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) job: Option<String>,
    /// Tasks of `verbatim run`.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) tasks: usize,
    /// Where rows of the job are, if it pulls them and keeps them.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) rows: Option<PathBuf>,
    /// Run without a passing check. That is recorded, and never ends in PASS.
    #[arg(long)]
    pub(crate) force: bool,
    /// The bundle, a folder that is not there yet [default: .verbatim/NAME/bundle beside the rollout file, written anew].
    #[arg(long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Settings.
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// `verbatim stage`.
#[derive(Debug, Arguments)]
pub(crate) struct Stage {
    /// The rollout.
    #[arg(value_name = "ROLLOUT.TOML")]
    pub(crate) rollout: PathBuf,
    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Settings.
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// `verbatim diagnose`.
#[derive(Debug, Arguments)]
pub(crate) struct Diagnose {
    /// An event log, a folder that holds one (a bundle, a rollout's output), or a rollout file.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Where the report goes, and how it is printed.
    #[command(flatten)]
    pub(crate) reported: Reported,
}
