//! How engines are spoken to.

use std::time::Duration;

use verbatim_tokens::LogprobKind;

/// What a user decides about the engines' HTTP side.
#[derive(Clone, Debug)]
pub struct Options {
    /// The key of ordinary requests, sent as a bearer token.
    pub api_key: Option<String>,
    /// The key of control requests, where the engine has another for them.
    pub admin_key: Option<String>,
    /// Who reads replies.
    pub parse: Parse,
    /// The model's layers and its experts a token, for an engine that sends routed experts without
    /// their shape (SGLang).
    pub experts: Option<ExpertsShape>,
    /// Which distribution logprobs are of, where the server was made to report another than it usually
    /// does (`SGLANG_RETURN_ORIGINAL_LOGPROB`); `None` is what is known of its kind.
    pub logprobs: Option<LogprobKind>,
    /// Prompt and reply together may hold this many tokens, where the engine does not say or says more.
    pub max_context: Option<usize>,
    /// Ids are below this, where the engine does not say.
    pub vocabulary: usize,
    /// Where attempts are aborted, if not at the server that they were sent to: the engines behind a
    /// router.
    pub aborts_at: Vec<String>,
    /// How long an engine has to accept a connection.
    pub connect: Duration,
    /// How long a reply may take in all, or, where it is streamed, keep silent.
    pub silence: Duration,
    /// How long an aborted attempt may take to give its tokens back before its connection is dropped.
    pub abort_wait: Duration,
    /// How long control requests may take.
    pub control: Duration,
}

/// Who reads an engine's replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parse {
    /// The family's own parser, from ids.
    #[default]
    Family,
    /// The engine's parsers: ids go to its chat endpoint, and its message is taken.
    Engine,
}

/// The shape of one row of routed experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpertsShape {
    /// Hidden layers, dense ones included.
    pub layers: usize,
    /// Replay a token and layer.
    pub top_k: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            api_key: None,
            admin_key: None,
            parse: Parse::Family,
            experts: None,
            logprobs: None,
            max_context: None,
            vocabulary: 1 << 20,
            aborts_at: Vec::new(),
            connect: Duration::from_secs(5),
            silence: Duration::from_secs(1800),
            abort_wait: Duration::from_secs(5),
            control: Duration::from_secs(30),
        }
    }
}
