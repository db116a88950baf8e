//! Whether the agent's client waits as long as a turn may be held.
//!
//! The invariant: PASS only if a timeout is known and not below the worst hold; a client that was seen to wait so long
//! passes, too.

use serde::{Deserialize, Serialize};

use super::{Line, Verdict};

/// The longest that a turn may be held, in seconds, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hold {
    /// Seconds.
    pub seconds: f64,
    /// What holds it.
    pub by: String,
}

/// What is known of whoever may give up before the reply: the client, and the proxies on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Patience {
    /// The client's read timeout, declared or measured, in seconds.
    pub client: Option<f64>,
    /// The longest that it was seen to wait, in seconds.
    pub waited: Option<f64>,
    /// The shortest idle timeout of a proxy, in seconds; none if none is on the way or it is not known.
    pub proxy: Option<f64>,
    /// Whether there may be proxies: the agent reaches the server at a URL that is not its own.
    pub proxied: bool,
}

/// The worst hold of a rollout: with `prelaunch`, in `partial` and in `async` the hold deadline, as a turn waits for the
/// rest of the rollout, the trainer and the evaluation; else the barrier's. `known` replaces it: somebody has measured.
pub fn hold(retained: bool, barrier: f64, deadline: f64, known: Option<f64>) -> Hold {
    match (known, retained, barrier > 0.0) {
        (Some(seconds), _, _) => Hold { seconds, by: "as declared".into() },
        (None, true, _) => Hold { seconds: deadline, by: "sessions.hold_seconds".into() },
        (None, false, true) => Hold { seconds: barrier.min(deadline), by: "rollout.barrier_seconds".into() },
        (None, false, false) => Hold { seconds: 0.0, by: "nothing is held".into() },
    }
}

/// Whether nobody gives up before.
pub fn timeout(hold: &Hold, patience: Patience) -> Line {
    let about = "Per-request timeout";
    let worst = format!("a turn may be held for {:.0} s ({})", hold.seconds, hold.by);
    let short = |seconds: Option<f64>| seconds.is_some_and(|seconds| seconds < hold.seconds);
    let way_out = |who: &str| {
        format!(
            "let {who} wait {:.0} s or longer, or lower the hold (sessions.hold_seconds)",
            hold.seconds.max(1.0)
        )
    };
    for (who, seconds) in [("the client", patience.client), ("the proxy", patience.proxy)] {
        if short(seconds) {
            let gives_up = seconds.unwrap_or_default();
            return Line::new(
                Verdict::Unsafe,
                about,
                format!("{worst}, and {who} gives up after {gives_up:.0} s"),
                way_out(who),
            );
        }
    }
    let patient = patience.client.or(patience.waited).is_some_and(|seconds| seconds >= hold.seconds);
    let known = patient || hold.seconds == 0.0;
    if known && (!patience.proxied || patience.proxy.is_some() || hold.seconds == 0.0) {
        return Line::new(Verdict::Pass, about, worst, "");
    }
    let (what, way_out) = match known {
        false => (
            format!("{worst}, and the client's timeout is unknown"),
            "measure it (`verbatim assess --hold SECONDS`) or declare it (--client-timeout SECONDS)",
        ),
        true => (
            format!("{worst}, and what stands between is unknown"),
            "declare the shortest idle timeout on the way (--proxy-timeout SECONDS)",
        ),
    };
    Line::new(Verdict::Unverified, about, what, way_out)
}
