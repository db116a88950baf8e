//! What an agent finds in its environment.

use std::collections::BTreeMap;
use std::path::Path;

/// Where an agent's session is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// The server's root, without a trailing slash.
    pub server: String,
    /// The session's public name.
    pub session: String,
    /// The session's token, which is also the API key.
    pub token: String,
    /// The model's name.
    pub model: String,
    /// `train` or `eval`.
    pub mode: String,
    /// The group.
    pub group: String,
}

impl Seat {
    /// The session's own root, under which it needs no key: for clients that are given nothing but a URL.
    pub fn root(&self) -> String {
        format!("{}/sessions/{}", self.server, self.token)
    }
}

/// The files of one agent.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Its folder, deleted when it is gone.
    pub folder: &'a Path,
    /// What it is to do.
    pub input: &'a Path,
    /// What it may leave behind.
    pub output: &'a Path,
}

/// Variables that would let an agent past its session, and that it therefore does not inherit.
pub(crate) const HIDDEN: [&str; 2] = ["VERBATIM_CONTROL_KEY", "VERBATIM_CONTROL_KEY_FILE"];

/// The variables: ours, those of Relax's agents, and those that OpenAI's and Anthropic's SDKs read by themselves, so
/// that an agent which knows none of the others runs as it is.
pub(crate) fn variables(
    seat: &Seat,
    place: Place<'_>,
    mine: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let api = format!("{}/v1", seat.server);
    let ours = [
        ("VERBATIM_INPUT_JSON", path(place.input)),
        ("VERBATIM_OUTPUT_JSON", path(place.output)),
        ("VERBATIM_SESSION_IO_DIR", path(place.folder)),
        ("VERBATIM_BASE_URL", api.clone()),
        ("VERBATIM_API_KEY", seat.token.clone()),
        ("VERBATIM_SESSION_ID", seat.token.clone()),
        ("VERBATIM_MODEL", seat.model.clone()),
        ("VERBATIM_ROLLOUT_MODE", seat.mode.clone()),
        ("VERBATIM_GROUP_ID", seat.group.clone()),
        ("RELAX_INPUT_JSON", path(place.input)),
        ("RELAX_OUTPUT_JSON", path(place.output)),
        ("RELAX_SESSION_IO_DIR", path(place.folder)),
        // Relax's agents append `v1/chat/completions` to a URL that ends in a slash.
        ("RELAX_BASE_URL", format!("{}/", seat.server)),
        ("RELAX_SESSION_ID", seat.token.clone()),
        ("RELAX_ROLLOUT_MODE", seat.mode.clone()),
        ("RELAX_GROUP_ID", seat.group.clone()),
        ("OPENAI_BASE_URL", api.clone()),
        ("OPENAI_API_BASE", api),
        ("OPENAI_API_KEY", seat.token.clone()),
        ("ANTHROPIC_BASE_URL", seat.server.clone()),
        ("ANTHROPIC_API_KEY", seat.token.clone()),
    ];
    let mut all = mine.clone();
    all.extend(ours.map(|(name, value)| (name.to_owned(), value)));
    all
}
