//! Flags. Their defaults are the shapes that `docs/bench.md` reports.

use clap::{Args as Flags, Parser, Subcommand};

/// Measures Verbatim's session server, engine excluded.
#[derive(Debug, Parser)]
#[command(name = "verbatim-bench", version)]
pub(crate) struct Args {
    /// What to measure.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The benches.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve sessions over the mock engine until standard input ends; `load` starts this itself
    Serve(Serve),
    /// Drive sessions against a server of their own, and report its speed, CPU and memory
    Load(Load),
    /// Measure what the journal costs a turn at each level, what it writes, and how sessions come back
    Journal(Journal),
    /// Time the rows of one long session: assembly, and each encoding
    Samples(Samples),
    /// Time each linear pass of a turn, and the turn's own work, against the length of history
    Passes(Passes),
    /// Time splitting and hashing one conversation in each dialect
    Dialects(Dialects),
    /// Compare encoding and rendering with the merging library and with minijinja
    Render(Render),
    /// Simulate rollouts with long-tailed turns: the engine's use and the steps' time in each mode
    Resident(Resident),
    /// Stream many replies at once, each at an engine's pace: what the server adds to each token
    Streams(Streams),
    /// Compare the clients of real engines with bare calls that read the same replies
    Engines(Engines),
    /// Count the bytes that open sessions hold for each stored token
    #[cfg(feature = "heap")]
    Memory(Memory),
}

/// What the mock engine says.
#[derive(Clone, Debug, Flags)]
pub(crate) struct Replies {
    /// Tokens of each reply, the stop token included (at least 6)
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(6..))]
    pub(crate) output_tokens: u32,
    /// Tokens that the engine gives at a time; 0 is the whole reply at once
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) chunk: u32,
    /// Bytes of routed experts that the engine tells for each token it forwarded, told once each; a multiple of 4
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub(crate) payload: u32,
    /// How sessions grow: `linear` (Miles' v1) or `tree` (its v2)
    #[arg(long, value_name = "POLICY", default_value = "tree")]
    pub(crate) lineage: String,
}

/// Flags of `serve`.
#[derive(Clone, Debug, Flags)]
pub(crate) struct Serve {
    /// The engine
    #[command(flatten)]
    pub(crate) replies: Replies,
    /// The simulated engine instead, which says so many tokens a second in each stream; 0 is the mock
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) pace: u32,
    /// Where its sessions are kept; without it they are not
    #[arg(long, value_name = "FOLDER")]
    pub(crate) journal: Option<std::path::PathBuf>,
    /// Whether keeping them waits for the disk
    #[arg(long)]
    pub(crate) disk: bool,
    /// Where the times of the simulated engine's tokens are written at the end
    #[arg(long, value_name = "FILE")]
    pub(crate) stamps: Option<std::path::PathBuf>,
}

/// Flags of `journal`.
#[derive(Clone, Debug, Flags)]
pub(crate) struct Journal {
    /// The load at each level
    #[command(flatten)]
    pub(crate) load: Load,
    /// Sessions that come back
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) back: u32,
    /// Turns of each of them
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) back_turns: u32,
}

/// Flags of `streams`.
#[derive(Clone, Debug, Flags)]
pub(crate) struct Streams {
    /// How many at once; a run for each
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [250, 500, 1000, 1500, 2000])]
    pub(crate) streams: Vec<u32>,
    /// Words of each reply
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) tokens: u32,
    /// Tokens a second of each stream
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pace: u32,
    /// The streams begin spread over so long
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    pub(crate) spread_ms: u64,
}

/// Flags of `resident`.
#[derive(Clone, Debug, Flags)]
pub(crate) struct Resident {
    /// Simulations of each mode
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seeds: u64,
    /// Steps of a simulation
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(2..))]
    pub(crate) steps: u64,
}

/// Flags of `load`.
#[derive(Clone, Debug, Flags)]
pub(crate) struct Load {
    /// Sessions at once
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) sessions: u32,
    /// Turns of each session, one after another
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) turns: u32,
    /// Tokens of each user message
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) input_tokens: u32,
    /// The engine
    #[command(flatten)]
    pub(crate) replies: Replies,
    /// Ask for streamed replies
    #[arg(long)]
    pub(crate) stream: bool,
    /// Rounds on one server: new sessions each time
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// How often to repeat all that, each time with a new server
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
}

/// Flags of `samples`.
#[derive(Clone, Debug, Flags)]
pub(crate) struct Samples {
    /// Turns of the session
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) turns: u32,
    /// Tokens of the session, about
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(crate) tokens: u32,
    /// How the session grows: `linear` or `tree`
    #[arg(long, value_name = "POLICY", default_value = "tree")]
    pub(crate) lineage: String,
    /// How often to time each step; the median is reported
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
}

/// Flags of `passes`.
#[derive(Clone, Debug, Flags)]
pub(crate) struct Passes {
    /// Lengths of history to measure at, in tokens, ascending
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [1_000, 4_000, 16_000, 64_000, 256_000])]
    pub(crate) tokens: Vec<u32>,
    /// Tokens of each user message
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) input_tokens: u32,
    /// The engine
    #[command(flatten)]
    pub(crate) replies: Replies,
    /// How often to time each pass; the median is reported
    #[arg(long, value_name = "N", default_value_t = 31, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
}

/// Flags of `dialects`.
#[derive(Clone, Debug, Flags)]
pub(crate) struct Dialects {
    /// Turns of the conversations
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [10, 100, 1000])]
    pub(crate) turns: Vec<u32>,
    /// Words of each thought, call and result
    #[arg(long, value_name = "N", default_value_t = 150, value_parser = clap::value_parser!(u32).range(3..))]
    pub(crate) words: u32,
    /// How often to time each; the median and p99 are reported
    #[arg(long, value_name = "N", default_value_t = 101, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
}

/// Flags of `render`.
#[derive(Clone, Debug, Flags)]
pub(crate) struct Render {
    /// Turns of the conversations
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [1, 10, 50])]
    pub(crate) turns: Vec<u32>,
    /// How often to time each way; the median is reported
    #[arg(long, value_name = "N", default_value_t = 101, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
}

/// Flags of `engines`.
#[derive(Clone, Debug, Flags)]
pub(crate) struct Engines {
    /// Tokens of each reply
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) tokens: u32,
    /// Tokens of each prompt
    #[arg(long, value_name = "N", default_value_t = 4_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) prompt: u32,
    /// How often to time each way; the median is reported
    #[arg(long, value_name = "N", default_value_t = 31, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
}

/// Flags of `memory`.
#[cfg(feature = "heap")]
#[derive(Clone, Debug, Flags)]
pub(crate) struct Memory {
    /// Sessions
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) sessions: u32,
    /// Turns of each session
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) turns: u32,
    /// Tokens of each user message
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) input_tokens: u32,
    /// The engine
    #[command(flatten)]
    pub(crate) replies: Replies,
}
