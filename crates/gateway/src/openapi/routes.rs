//! The routes, one line each.

/// Who may ask.
#[derive(Clone, Copy)]
pub(super) enum Keyed {
    /// Anyone.
    Open,
    /// Who sends a session's token.
    Session,
    /// Who sends the control key, if there is one.
    Control,
}

/// What a success holds.
#[derive(Clone, Copy)]
pub(super) enum Answer {
    Nothing,
    Json,
    /// JSON, or server-sent events if the request has `stream`.
    Reply,
    File,
    Any,
}

/// One method of one path.
pub(super) struct Route {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) name: &'static str,
    pub(super) does: &'static str,
    pub(super) keyed: Keyed,
    /// Names of query parameters with their JSON types.
    pub(super) query: &'static [(&'static str, &'static str)],
    /// The schema of its body, and whether there must be one.
    pub(super) body: Option<(&'static str, bool)>,
    pub(super) answer: (&'static str, Answer),
}

const fn route(
    method: &'static str,
    path: &'static str,
    name: &'static str,
    keyed: Keyed,
    does: &'static str,
) -> Route {
    Route { method, path, name, does, keyed, query: &[], body: None, answer: ("200", Answer::Json) }
}

impl Route {
    const fn takes(self, schema: &'static str) -> Self {
        Self { body: Some((schema, true)), ..self }
    }

    const fn may_take(self, schema: &'static str) -> Self {
        Self { body: Some((schema, false)), ..self }
    }

    const fn asks(self, query: &'static [(&'static str, &'static str)]) -> Self {
        Self { query, ..self }
    }

    const fn gives(self, status: &'static str, answer: Answer) -> Self {
        Self { answer: (status, answer), ..self }
    }
}

use Keyed::{Control, Open, Session};

const SHOWN: &[(&str, &str)] = &[("records", "boolean"), ("replay", "boolean"), ("audit", "boolean")];
const BATCH: &[(&str, &str)] =
    &[("step", "integer"), ("wait", "number"), ("lend", "number"), ("format", "string")];

/// All of them.
pub(super) const ROUTES: &[Route] = &[
    route("get", "/health", "health", Open, "Whether the server works"),
    route("get", "/metrics", "metrics", Open, "Metrics, as Prometheus reads them").gives("200", Answer::Any),
    route("get", "/openapi.json", "openapi", Open, "This document"),
    route("get", "/v1/models", "models", Open, "The one model"),
    route("get", "/v1/models/{*model}", "model", Open, "The model, by its name"),
    route("post", "/v1/chat/completions", "chat_by_key", Session, "A turn in Chat Completions")
        .takes("Chat")
        .gives("200", Answer::Reply),
    route("post", "/v1/completions", "complete_by_key", Session, "A turn after a prompt of the client's own")
        .takes("Completions")
        .gives("200", Answer::Reply),
    route("post", "/v1/tokens", "tokens_by_key", Session, "The same, ids for ids").takes("Tokens"),
    route("post", "/v1/responses", "respond_by_key", Session, "A turn in Responses")
        .takes("Responses")
        .gives("200", Answer::Reply),
    route("get", "/v1/responses/{id}", "response_by_key", Session, "A reply of the session"),
    route("post", "/v1/messages", "message_by_key", Session, "A turn in Messages")
        .takes("Messages")
        .gives("200", Answer::Reply),
    route("post", "/v1/messages/count_tokens", "count_by_key", Session, "The tokens of a turn's prompt")
        .takes("Count"),
    route("post", "/sessions", "open_session", Control, "Opens a session").may_take("OpenSession"),
    route("get", "/sessions/{session}", "show_session", Control, "What a session holds").asks(SHOWN),
    route("delete", "/sessions/{session}", "close_session", Control, "Closes a session")
        .gives("204", Answer::Nothing),
    route("post", "/sessions/{session}/samples", "samples", Control, "A session's rows")
        .may_take("Samples")
        .gives("200", Answer::File),
    route("get", "/sessions/{session}/v1/models", "models_in", Open, "The one model"),
    route("get", "/sessions/{session}/v1/models/{*model}", "model_in", Open, "The model, by its name"),
    route("post", "/sessions/{session}/v1/chat/completions", "chat", Open, "A turn in Chat Completions")
        .takes("Chat")
        .gives("200", Answer::Reply),
    route(
        "post",
        "/sessions/{session}/v1/completions",
        "complete",
        Open,
        "A turn after a prompt of one's own",
    )
    .takes("Completions")
    .gives("200", Answer::Reply),
    route("post", "/sessions/{session}/v1/tokens", "tokens", Open, "The same, ids for ids").takes("Tokens"),
    route("post", "/sessions/{session}/v1/responses", "respond", Open, "A turn in Responses")
        .takes("Responses")
        .gives("200", Answer::Reply),
    route("get", "/sessions/{session}/v1/responses/{id}", "response", Open, "A reply of the session"),
    route("post", "/sessions/{session}/v1/messages", "message", Open, "A turn in Messages")
        .takes("Messages")
        .gives("200", Answer::Reply),
    route("post", "/sessions/{session}/v1/messages/count_tokens", "count", Open, "The tokens of a prompt")
        .takes("Count"),
    route("post", "/sessions/{session}/{*path}", "pass", Open, "Something of the engine's own")
        .gives("200", Answer::Any),
    route("post", "/control/pause", "pause", Control, "No attempt starts").may_take("Order"),
    route("post", "/control/resume", "resume", Control, "Held turns go on").may_take("Order"),
    route("post", "/control/begin_update", "begin_update", Control, "New weights are to come")
        .may_take("Order"),
    route("post", "/control/end_update", "end_update", Control, "The new weights are there")
        .takes("EndUpdate"),
    route("post", "/control/load_weights", "load_weights", Control, "Engines take the weights of a folder")
        .takes("LoadWeights"),
    route("get", "/control/adapters", "adapters", Control, "The published adapters"),
    route("post", "/control/adapters", "publish_adapter", Control, "An adapter is current from now on")
        .takes("Adapter"),
    route(
        "delete",
        "/control/adapters",
        "remove_adapter",
        Control,
        "An adapter that nobody is bound to goes",
    )
    .takes("Adapter"),
    route("post", "/control/flush", "flush", Control, "Engines forget cached prefixes").may_take("Order"),
    route("post", "/control/version", "version", Control, "The name of the weights").may_take("Order"),
    route("get", "/control/engines", "engines", Control, "The engines as they are known"),
    route("post", "/control/engines", "add_engine", Control, "An engine joins").takes("Engine"),
    route("delete", "/control/engines", "remove_engine", Control, "An engine leaves").takes("Engine"),
    route("get", "/rollout", "rollout", Control, "The rollout as it is"),
    route("post", "/rollout/steps", "open_step", Control, "Opens the next step")
        .may_take("OpenStep")
        .gives("201", Answer::Json),
    route("get", "/rollout/steps/{step}", "step", Control, "A step; with wait, once it is done")
        .asks(&[("wait", "number")]),
    route("get", "/rollout/batches", "next_batch", Control, "The next group's rows")
        .asks(BATCH)
        .gives("200", Answer::File),
    route("post", "/rollout/batches/{batch}/ack", "acknowledge", Control, "The rows are kept")
        .gives("204", Answer::Nothing),
    route("post", "/rollout/evaluations", "evaluate", Control, "Runs the datasets of the evaluation")
        .may_take("Evaluate")
        .gives("201", Answer::Json),
    route("get", "/rollout/evaluations/{evaluation}", "evaluation", Control, "What came of an evaluation")
        .asks(&[("wait", "number")]),
    route("post", "/rollout/optimizer_step", "optimizer_step", Control, "What the trainer made of the rows")
        .takes("OptimizerStep")
        .gives("204", Answer::Nothing),
    route("post", "/rollout/drain", "drain", Control, "No group begins any more")
        .gives("202", Answer::Nothing),
];
